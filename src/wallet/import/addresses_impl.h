// Watching scripts, inside one SQL transaction.
// Invariant: of a ranged descriptor the gap_limit indexes after the last used or given out one are
// watched.
#pragma once

#include <coffer/wallet/store.h>
#include "sql/connection.h"

namespace coffer::wallet {

inline constexpr std::uint32_t kMaxIndex = 0x7fffffff;
// Keys that one import derives: a bound on what it can cost.
inline constexpr std::uint32_t kMaxDerivedAtOnce = 1'000'000;
// Accounts and descriptors of a wallet, each: lists of them are complete.
inline constexpr std::uint64_t kMaxListed = 100'000;

Hash256 script_hash(ByteView script);

// The wallet's account of that name, made if it is not there.
Result<std::uint64_t> account_id(sql::Transaction& sql, WalletId wallet, std::string_view name);

// A descriptor's row, and the gap limit of its wallet.
struct DescriptorRow {
  std::uint64_t id = 0, account_id = 0;
  std::uint32_t branch = 0;
  std::string text;
  std::uint32_t next_index = 0, derived_to = 0;
  std::uint32_t gap = 1;
};
// The columns that read_descriptor() reads, of a descriptor `d` and its wallet `w`.
inline constexpr std::string_view kDescriptorRowColumns =
    "d.id, d.account_id, d.branch, d.descriptor, d.next_index, d.derived_to, w.gap_limit";
Result<DescriptorRow> read_descriptor(const sql::Rows& rows);
// How many scripts a ranged descriptor has at each index. Their keys are extended ones, which are
// always compressed.
std::uint32_t scripts_at_index(std::string_view descriptor);

// A script that the wallet watches. If several descriptors have it, it belongs to the first.
struct WatchedScript {
  std::uint64_t id = 0, account_id = 0;
  std::optional<std::uint64_t> descriptor_id;
  std::optional<std::uint32_t> branch, index;
  bool is_ranged = false;  // its descriptor
  bool in_use = false;     // paid to, or given out
};
Result<std::optional<WatchedScript>> find_script(sql::Transaction& sql, WalletId wallet,
                                                 ByteView script);

// Watches the indexes from derived_to to below `to`; how many scripts are new to the descriptor.
Result<std::size_t> derive_to(sql::Transaction& sql, const chain::Network& network, WalletId wallet,
                              DescriptorRow& row, std::uint32_t to);
// The last index from here on at which a script of a ranged descriptor is used or given out,
// whoever's it is; single ones become the descriptor's. Cost: the indexes from there, and all of
// them are derived if some belong to another descriptor.
Result<std::optional<std::uint32_t>> last_used(sql::Transaction& sql, const chain::Network& network,
                                               WalletId wallet, const DescriptorRow& row,
                                               std::uint32_t from);
// A script at this index of a ranged descriptor is used or given out: watches the gap after it, and
// after what turns out to be in use there. How many scripts are new.
Result<std::size_t> move_on(sql::Transaction& sql, const chain::Network& network, WalletId wallet,
                            DescriptorRow& row, std::uint32_t index);
// A script that belongs to the descriptor at this index is used or given out: moves that one on and
// the others that have the script. True if there is more to watch now. Cost: a look at each of the
// wallet's descriptors, and a derivation for each that shares scripts at this index.
Result<bool> use_script(sql::Transaction& sql, const chain::Network& network, WalletId wallet,
                        std::uint64_t descriptor_id, std::uint32_t index, ByteView script);
// The same for one that somebody has been told of; it is never given out again.
Result<bool> set_in_use(sql::Transaction& sql, const chain::Network& network, WalletId wallet,
                        const WatchedScript& found, ByteView script);

}  // namespace coffer::wallet
