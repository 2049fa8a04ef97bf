// Watching scripts, inside one SQL transaction.
// Invariant: of a ranged descriptor the gap_limit indexes after the last used or given out one are
// watched.
#pragma once

#include "sql/connection.h"
#include "wallet/store.h"

namespace coffer::wallet {

inline constexpr std::uint32_t kMaxIndex = 0x7fffffff;
// Ranged descriptors are derived at most this far in one step: a bound on what an import can cost.
inline constexpr std::uint32_t kMaxDerivedAtOnce = 1'000'000;

Hash256 script_hash(ByteView script);

// The wallet's account of that name, made if it is not there.
Result<std::uint64_t> account_id(sql::Transaction& sql, WalletId wallet, std::string_view name);

// A descriptor's row.
struct DescriptorRow {
  std::uint64_t id = 0, account_id = 0;
  std::uint32_t branch = 0;
  std::string text;
  std::uint32_t next_index = 0, derived_to = 0;
};
// Watches the indexes from derived_to to below `to`; how many scripts are new.
Result<std::size_t> derive_to(sql::Transaction& sql, const chain::Network& network, WalletId wallet,
                              DescriptorRow& row, std::uint32_t to);
// The last index from here on that is used or given out, if there is one. Cost: the indexes from
// there.
Result<std::optional<std::uint32_t>> last_used(sql::Transaction& sql, WalletId wallet,
                                               std::uint64_t descriptor_id, std::uint32_t from);
// An address at this index is used or given out: watches the gap after it, and after what turns out
// to be in use there. True if there is more to watch now.
Result<bool> use_index(sql::Transaction& sql, const chain::Network& network, WalletId wallet,
                       std::uint64_t descriptor_id, std::uint32_t index);

}  // namespace coffer::wallet
