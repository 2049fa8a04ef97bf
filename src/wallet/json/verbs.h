// The verbs that change a wallet, with the fields of their requests. The routes and the commands
// of the wallet both read their requests by these declarations, and the schemas of the bodies are
// made of them.
#pragma once

#include <coffer/wallet/store.h>
#include "node/verb.h"

namespace coffer::wallet {

struct ImportDescriptor : ImportOptions {
  std::string descriptor;
};
struct ImportScripts : ImportOptions {
  std::vector<std::string> addresses, scripts;  // as they were given
};
struct NewAddress {
  std::string account = "default";
  bool internal = false;
};
struct RecordTransaction : RecordOptions {
  Bytes raw;
  // The parts of `block`, which is named whole or not at all; only the time may be missing.
  std::optional<std::uint64_t> height;
  std::optional<Hash256> block_hash;
  std::optional<std::uint32_t> block_index;
  std::int64_t block_time_s = 0;
};
struct ReleaseCoins {
  std::vector<chain::Outpoint> coins;  // unless all
  LockId lock_id{};
  bool all = false;
};
struct SetLabel {
  std::string kind, ref, label;  // an empty label removes it
};
struct Rescan {
  std::optional<std::uint64_t> from_height;  // nothing: the wallet's birthday
};

struct Verbs {
  node::Verb<Store::NewWallet> create;
  node::Verb<ImportDescriptor> import_descriptor;
  node::Verb<ImportScripts> import_scripts;
  node::Verb<NewAddress> new_address;
  node::Verb<RecordTransaction> record;
  node::Verb<LeaseRequest> lease, renew;  // of one schema
  node::Verb<LeaseSelection> select;
  node::Verb<ReleaseCoins> release;
  node::Verb<SetLabel> label;
  node::Verb<PruneOptions> prune;
  node::Verb<Rescan> rescan;
};

// Thread-safe.
const Verbs& verbs();

// Calls visit(verb) for each. A member that is missing here does not compile.
template <typename Visit>
void for_each_verb(Visit visit) {
  const auto visit_all = [&](const auto&... verb) { (visit(verb), ...); };
  const auto& [v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12] = verbs();
  visit_all(v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12);
}

// The scripts that an import names, addresses first. Thread-safe. Errors: kInvalidInput naming the
// first that is none.
Result<std::vector<Bytes>> parse_scripts(const chain::Network& network,
                                         const ImportScripts& import);

}  // namespace coffer::wallet
