// The bodies of requests that change a wallet. A field that is unknown, missing, of another type or
// out of its range is an error that names it, before anything is done.
#pragma once

#include <coffer/wallet/store.h>

namespace coffer::wallet {

// All take the JSON text of a body, which the server has bounded; an empty one stands for {}.
// Thread-safe. Errors: kInvalidInput; kTooLarge for a list that is too long.

Result<wallet::Store::NewWallet> parse_new_wallet(std::string_view body);

struct DescriptorBody {
  std::string text;
  wallet::ImportOptions options;
};
Result<DescriptorBody> parse_descriptor_body(std::string_view body);

struct ScriptBody {
  Bytes script;  // of "address" or "script"
  wallet::ImportOptions options;
};
Result<ScriptBody> parse_script_body(const chain::Network& network, std::string_view body);

struct AddressBody {
  std::string account = "default";
  bool internal = false;
};
Result<AddressBody> parse_address_body(std::string_view body);

struct RecordBody {
  Bytes raw;
  wallet::RecordOptions options;
};
Result<RecordBody> parse_record_body(std::string_view body);

Result<wallet::LeaseRequest> parse_lease_body(const chain::Network& network, std::string_view body);

Result<wallet::LeaseSelection> parse_selection_body(std::string_view body);

struct ReleaseBody {
  std::vector<chain::Outpoint> coins;  // unless all
  bool all = false;
  wallet::LockId lock_id{};
};
Result<ReleaseBody> parse_release_body(const chain::Network& network, std::string_view body);

struct LabelBody {
  std::string kind, ref;  // as parse_label_target makes them
  std::string label;      // empty takes it away
};
Result<LabelBody> parse_label_body(const chain::Network& network, std::string_view body);

Result<wallet::PruneOptions> parse_prune_body(std::string_view body);

// The height to begin at; nothing: the wallet's birthday.
Result<std::optional<std::uint64_t>> parse_rescan_body(std::string_view body);

// Of a request that needs none.
Result<> parse_no_body(std::string_view body);

// A block is named whole or not at all.
struct BlockParts {
  std::optional<std::uint64_t> height, index;
  std::optional<std::string> hash;
  std::int64_t time_s = 0;
};
Result<std::optional<wallet::BlockRef>> block_of(const BlockParts& parts);

}  // namespace coffer::wallet
