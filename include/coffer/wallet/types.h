// The types of the wallet: wallets, addresses, transactions, coins, leases, balances.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include <coffer/chain/block.h>

namespace coffer::wallet {

using WalletId = StrongU64<struct WalletIdTag>;
using LockId = FixedBytes<32, struct LockIdTag>;

// The statuses of a transaction (001 §3). A confirmed transaction is published and has a height.
enum class TxStatus : std::uint8_t { kPending, kPublished, kReplaced, kFailed, kOrphaned };
// The name in the database, in JSON and on the command line: "pending".
std::string_view to_string(TxStatus status);
std::span<const std::string_view> tx_status_names();  // in the order of the enum
// Errors: kInvalidInput; the message lists the known names.
Result<TxStatus> parse_status(std::string_view text);
inline bool is_active(TxStatus status) {
  return status == TxStatus::kPending || status == TxStatus::kPublished;
}

// The states of a coin (001 §4.2, W13). They follow from the transaction that created it and from
// its spender: coin_state() in query/coin_state.h, and the view coin_states in the database.
enum class CoinState : std::uint8_t {
  kConfirmed,
  kUnconfirmed,
  kImmature,  // created by a coinbase with fewer than 100 blocks on top
  kPending,   // created by a transaction that is not published yet
  kLocked,    // spent by a pending transaction
  kSpent,
  kDead,      // created by a replaced or failed transaction
  kOrphaned,  // created by a coinbase that left the chain; it is valid again if that returns
};
// The name in the database, in JSON and on the command line: "confirmed".
std::string_view to_string(CoinState state);
std::span<const std::string_view> coin_state_names();  // in the order of the enum
// Errors: kInvalidInput; the message lists the known names.
Result<CoinState> parse_state(std::string_view text);

struct WalletInfo {
  WalletId id;
  std::string name;
  std::uint64_t birthday_height = 0;
  std::uint32_t gap_limit = 20;
  std::int64_t created_at_ms = 0;
  // The next block that a rescan under way reads, and the last one; nothing without a rescan.
  std::optional<std::uint64_t> rescan_next, rescan_to;
  std::uint64_t rescans_asked = 0;  // number of rescan requests so far
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
  std::uint32_t next_index = 0;  // the first index that was not given out
  std::uint32_t derived_to = 0;  // the first index that is not watched
};

struct AddressInfo {
  std::uint64_t id = 0;
  std::string account;
  std::string text;  // the address; empty if the script has no address form
  Bytes script;
  std::string type;                     // "p2wpkh"
  std::optional<std::uint32_t> branch;  // 0 receiving, 1 change; of a single script 1 or nothing
  std::optional<std::uint32_t> index;
  bool given_out = false;
  bool used = false;  // a transaction pays to it
  std::string label;
};

// Amounts in satoshi (W13). confirmed, unconfirmed, immature and locked do not overlap.
struct Balance {
  std::uint64_t confirmed = 0, unconfirmed = 0, immature = 0, locked = 0;
  std::uint64_t leased = 0;     // the leased part of confirmed and unconfirmed
  std::uint64_t spendable = 0;  // confirmed without what is leased of it
  std::uint64_t total = 0;      // the sum of the first four
  std::uint64_t coins = 0;      // the number of coins in the total
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
  std::optional<Lease> lease;        // the active lease
  std::string label, address_label;  // the labels of the output and of its address
};

struct LeasedCoin {
  chain::Outpoint outpoint;
  Amount amount;
  CoinState state = CoinState::kConfirmed;
  Lease lease;
};

struct LabelInfo {
  std::string kind;   // "tx", "address" or "output"
  std::string ref;    // the labelled transaction, address or output
  std::string label;  // the text
};

// One transaction in the history of a wallet.
struct HistoryEntry {
  std::uint64_t id = 0;  // the row id: ascending in the order in which the wallet received them
  Hash256 tx{};
  TxStatus status = TxStatus::kPending;
  std::string reason;  // why the transaction is invalid; empty if it is valid
  std::optional<std::uint64_t> height;
  std::uint64_t confirmations = 0;
  std::optional<std::int64_t> block_time_s;
  std::int64_t received_ms = 0;
  bool coinbase = false, in_mempool = false;
  bool pruned = false;               // only id and height are left; amounts and bytes were deleted
  std::uint64_t received = 0;        // the sum of the outputs that pay to this wallet
  std::uint64_t sent = 0;            // the sum of the inputs that spend coins of this wallet
  std::optional<std::uint64_t> fee;  // known if all inputs spend coins of this wallet
  std::vector<Hash256> replaces, replaced_by;
  std::string label;
};

struct TxInputInfo {
  chain::Outpoint prev;
  std::optional<Amount> amount;  // known if it spends a coin of this wallet
};
struct TxOutputInfo {
  std::uint32_t index = 0;
  Amount amount;
  Bytes script;
  bool mine = false;
  std::optional<CoinState> state;  // set if the output is a coin of this wallet
  std::string label, address_label;
};
// One transaction with its inputs and outputs.
struct TxDetail {
  HistoryEntry entry;
  Bytes raw;  // empty if pruned
  std::vector<TxInputInfo> inputs;
  std::vector<TxOutputInfo> outputs;
};

}  // namespace coffer::wallet
