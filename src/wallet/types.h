// What the wallet speaks of: wallets, transactions, coins, leases, balances.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "chain/block.h"

namespace coffer::wallet {

using WalletId = StrongU64<struct WalletIdTag>;
using LockId = FixedBytes<32, struct LockIdTag>;

// The statuses of 001 §3. Confirmed is not one of them: it is published and has a height.
enum class TxStatus : std::uint8_t { kPending, kPublished, kReplaced, kFailed, kOrphaned };
std::string_view to_string(TxStatus status);  // "pending", as in the database
// Errors: kInvalidInput naming the known ones.
Result<TxStatus> parse_status(std::string_view text);
inline bool is_active(TxStatus status) {
  return status == TxStatus::kPending || status == TxStatus::kPublished;
}

// The states of a coin (001 §4.2, W13). They follow from its transaction and from who spends it.
enum class CoinState : std::uint8_t {
  kConfirmed,
  kUnconfirmed,
  kImmature,  // of a coinbase with less than 100 blocks upon it
  kPending,   // made by a transaction that is not published yet
  kLocked,    // spent by a pending transaction
  kSpent,
  kDead,      // made by a replaced or failed transaction
  kOrphaned,  // made by a coinbase that left the chain, and may come back
};
std::string_view to_string(CoinState state);
Result<CoinState> parse_state(std::string_view text);

struct WalletInfo {
  WalletId id;
  std::string name;
  std::uint64_t birthday_height = 0;
  std::uint32_t gap_limit = 20;
  std::int64_t created_at_ms = 0;
  // Of a rescan that is under way: the next block to look at and the last one.
  std::optional<std::uint64_t> rescan_next, rescan_to;
  std::uint64_t rescans_asked = 0;  // ever: tells a request from the one before
};

struct AccountInfo {
  std::uint64_t id = 0;
  std::string name;
};

struct DescriptorInfo {
  std::uint64_t id = 0;
  std::string account;
  std::string text;  // canonical, with checksum
  bool internal = false;
  bool is_ranged = false;
  std::uint32_t next_index = 0;  // the first that was not given out
  std::uint32_t derived_to = 0;  // the first that is not watched
};

struct AddressInfo {
  std::uint64_t id = 0;
  std::string account;
  std::string text;  // the address; empty where a script has none
  Bytes script;
  std::string type;                     // "p2wpkh"
  std::optional<std::uint32_t> branch;  // 0 receiving, 1 change; single ones: 1 or nothing
  std::optional<std::uint32_t> index;
  bool given_out = false;
  bool used = false;  // some transaction pays to it
  std::string label;
};

// Amounts in satoshi (W13). confirmed, unconfirmed, immature and locked are disjoint.
struct Balance {
  std::uint64_t confirmed = 0, unconfirmed = 0, immature = 0, locked = 0;
  std::uint64_t leased = 0;  // a part of confirmed + unconfirmed
  std::uint64_t spendable = 0;
  std::uint64_t total = 0;  // the first four
  std::uint64_t coins = 0;  // how many make up the total
  std::int64_t tip_height = -1;
  friend bool operator==(const Balance&, const Balance&) = default;
};

struct Lease {
  LockId lock_id{};
  std::int64_t expires_at_ms = 0;
  friend bool operator==(const Lease&, const Lease&) = default;
};

struct Coin {
  std::uint64_t id = 0;
  chain::Outpoint outpoint;
  Amount amount;
  CoinState state = CoinState::kConfirmed;
  std::string account;
  std::uint64_t address_id = 0;
  Bytes script;
  std::optional<std::uint64_t> height;
  std::uint64_t confirmations = 0;
  bool coinbase = false;
  std::optional<Hash256> spent_by;
  std::optional<Lease> lease;        // while it lasts
  std::string label, address_label;  // of the output itself, and of its address
};

struct LeasedCoin {
  chain::Outpoint outpoint;
  Amount amount;
  CoinState state = CoinState::kConfirmed;
  Lease lease;
};

struct LabelInfo {
  std::string kind, ref, label;  // tx, address or output; what it names; its text
};

// A line of the history.
struct HistoryEntry {
  std::uint64_t id = 0;  // in the database; the order in which the wallet met them
  Hash256 tx{};
  TxStatus status = TxStatus::kPending;
  std::string reason;  // why it is not valid; else empty
  std::optional<std::uint64_t> height;
  std::uint64_t confirmations = 0;
  std::optional<std::int64_t> block_time_s;
  std::int64_t received_ms = 0;
  bool coinbase = false, in_mempool = false;
  bool pruned = false;               // a stub: amounts and bytes are gone
  std::uint64_t received = 0;        // paid to this wallet
  std::uint64_t sent = 0;            // of this wallet's coins
  std::optional<std::uint64_t> fee;  // known if all inputs are this wallet's
  std::vector<Hash256> replaces, replaced_by;
  std::string label;
};

struct TxInputInfo {
  chain::Outpoint prev;
  std::optional<Amount> amount;  // of a coin of this wallet
};
struct TxOutputInfo {
  std::uint32_t index = 0;
  Amount amount;
  Bytes script;
  bool mine = false;
  std::optional<CoinState> state;  // of a coin of this wallet
  std::string label, address_label;
};
// One transaction, put together again.
struct TxDetail {
  HistoryEntry entry;
  Bytes raw;  // empty if pruned
  std::vector<TxInputInfo> inputs;
  std::vector<TxOutputInfo> outputs;
};

}  // namespace coffer::wallet
