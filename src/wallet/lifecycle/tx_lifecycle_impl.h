// The life of transactions in one wallet, inside one SQL transaction.
//
// The one rule of spending: a coin is spent by the best of the active transactions that name it:
// the published one before the pending ones, then the earlier. There is at most one published one:
// whoever is confirmed or published makes its rivals invalid first. Whenever a status changes, the
// spenders of the coins that the transaction names are recomputed by that rule; nothing else ever
// writes spent_by_tx_id.
// Cost: a fixed number of statements for a transaction, and one walk and three statements for each
// that it invalidates; none of them looks at more of the wallet's history than the transactions
// that name the same outpoints. CROSS JOIN stands where SQLite would choose another order of the
// tables: it knows nothing of their sizes and would walk through all inputs of a wallet (W9).
#pragma once

#include <coffer/wallet/store.h>
#include "sql/connection.h"
#include "wallet/lifecycle/tx_view.h"

namespace coffer::wallet {

// More descendants than any mempool holds.
inline constexpr std::size_t kMaxInvalidated = 1'000'000;

// An output of a transaction that pays to an address of the wallet.
struct OwnedOutput {
  std::uint32_t index = 0;
  std::uint64_t address_id = 0, account_id = 0;
};

// Why a transaction is not valid: the column `reason`.
inline constexpr std::string_view kReplacedReason = "replaced";
inline constexpr std::string_view kDoubleSpentReason = "double_spent";
inline constexpr std::string_view kParentReason = "parent_invalid";
inline constexpr std::string_view kCancelledReason = "cancelled";

// Of a transaction `t`, as TxLifecycle::rows() reads them.
inline constexpr std::string_view kRowColumns =
    "t.id, t.tx_hash, t.status, t.block_height, t.is_coinbase, t.is_stub, t.reason, "
    "t.user_confirmed";

class TxLifecycle {
 public:
  TxLifecycle(sql::Transaction& sql, WalletId wallet) : sql_(sql), wallet_(wallet) {}

  // Nobody else changes this wallet until the end of the SQL transaction. Errors: kNotFound.
  Result<> lock();

  Result<Recorded> add_pending(const TxView& view, std::span<const OwnedOutput> owned,
                               const RecordOptions& options);
  // in_mempool: the node has it; otherwise somebody says that it was broadcast.
  Result<Recorded> add_published(const TxView& view, std::span<const OwnedOutput> owned,
                                 bool in_mempool);
  enum class ConfirmedBy : std::uint8_t { kChain, kUser };
  // The chain is always right (E1); a user cannot contradict a confirmed transaction. The row of
  // the block must be there.
  Result<Recorded> add_confirmed(const TxView& view, std::span<const OwnedOutput> owned,
                                 const BlockRef& block, ConfirmedBy confirmed_by);
  Result<Recorded> publish(const Hash256& hash);
  Result<Recorded> cancel(const Hash256& hash);
  // A coinbase has lost its block: what unconfirmed transactions made of it is invalid.
  Result<std::vector<Hash256>> invalidate_descendants(std::uint64_t coinbase_id);

 private:
  struct Row {
    std::uint64_t id = 0;
    Hash256 hash{};
    TxStatus status = TxStatus::kPending;
    std::optional<std::uint64_t> height;
    bool coinbase = false, stub = false;
    std::string reason;
    bool user_confirmed = false;  // a user named its block, the chain has not yet
  };
  struct Loser {
    Row row;
    TxStatus to = TxStatus::kFailed;
    std::string_view reason;
    bool direct = true;  // gets an edge to what displaced it
  };

  Result<std::optional<Row>> find(const Hash256& hash);
  Result<Row> must_find(const Hash256& hash);
  Result<std::vector<Row>> rows(std::string_view sql, sql::Params params);

  // ---- what was pruned (pruned.cpp) ----
  struct PrunedTx {
    Recorded answer;
    std::string outputs;  // its coins that went with it: ",0,7,"
    bool had(const OwnedOutput& output) const;
  };
  // A coin of the wallet that an input names.
  struct Claim {
    std::uint32_t input = 0;
    chain::Outpoint outpoint;
    std::uint64_t coin = 0, amount = 0;
  };
  Result<std::optional<PrunedTx>> find_pruned(const Hash256& hash);
  // The coins that it names and that no stub spends.
  Result<std::vector<Claim>> claims(const TxView& view);
  Result<Row> insert_stub(const TxView& view, const BlockRef& block);
  // The coins are spent by it, whoever held them; what that invalidates.
  Result<std::vector<Hash256>> spend_by_stub(const Row& stub, std::span<const Claim> claims,
                                             ConfirmedBy confirmed_by);
  // `row` is its stub, if it has one.
  Result<Recorded> add_coins_of_pruned(const PrunedTx& gone, std::optional<Row> row,
                                       const TxView& view, std::span<const OwnedOutput> owned,
                                       const BlockRef& block, ConfirmedBy confirmed_by);

  Result<Row> insert(const TxView& view, TxStatus status, const std::optional<BlockRef>& block,
                     bool in_mempool);
  // The inputs of a transaction whose block only a user named are watched for what contradicts it.
  Result<> set_user_confirmed(const Row& row, bool user_confirmed);
  Result<> set_status(const Row& row, TxStatus status, std::string_view reason);
  // Bytes that differ under the same id, in their witness: the network's replace a person's, and a
  // person's those that nobody else has. Whether they did. Errors: kConflict.
  Result<bool> keep_bytes(const Row& row, const TxView& view, bool from_network);
  // The active ones that name an input of this transaction too.
  Result<std::vector<Row>> conflicts(const Row& row);
  // Errors: kConflict if it spends from an invalid transaction, or a coin whose spender is pruned.
  Result<> check_parents(const Row& row);
  // A person's, and new: what it pays and what it spends, if all of that is known.
  // Errors: kInvalidInput.
  Result<> check_outlay(const Row& row, const TxView& view);
  // Errors: kConflict if it spends a coinbase that is too young.
  Result<> check_mature(const Row& row);
  Result<std::vector<Row>> pending_parents(const Row& row);
  // No published transaction spends from a pending one: the money would count twice.
  // Errors: kConflict.
  Result<> check_parents_published(const Row& row);
  Result<> check_children_pending(const Row& row);
  Result<> publish_parents_of_block(const Row& row, Recorded& answer);
  // The network has a transaction, so it has those that it spends from.
  Result<std::vector<Hash256>> publish_ancestors(const Row& row);
  Result<> check_leases(const Row& row, const RecordOptions& options);
  // The active ones; of the confirmed ones those that only a person has confirmed.
  Result<std::vector<Row>> descendants(const Row& root);
  // Adds the descendants, marks them all, draws edges to `winner`, recomputes the
  // spenders of their coins.
  Result<std::vector<Hash256>> invalidate(std::vector<Loser> losers, const Row* winner);
  // Gives each coin that the transaction names its spender.
  Result<> recompute_input_spenders(std::uint64_t tx_id);
  // The same for the coins that it holds: enough when it is not active any more, because of the
  // others it was not the best.
  Result<> recompute_held_spenders(std::uint64_t tx_id);
  Result<> recompute_spenders(std::string_view which_coins, std::uint64_t id);  // $2 is the id
  Result<bool> add_coins(const Row& row, const TxView& view, std::span<const OwnedOutput> owned);
  // The row is published and its losers are known: everything that follows from it.
  Result<Recorded> win(const Row& row, std::vector<Loser> losers);
  Result<Recorded> publish_row(Row row, bool is_new, bool from_network);
  Result<Recorded> unchanged(const Row& row, bool changed = false);

  sql::Transaction& sql_;
  const WalletId wallet_;
};

// A wallet's outputs of a transaction, one lookup an output; extends the gap of descriptors whose
// addresses are used (addresses.cpp).
Result<std::vector<OwnedOutput>> find_owned(sql::Transaction& sql, const chain::Network& network,
                                            WalletId wallet, const TxView& view);

// Every change takes the first, so that wallets are written side by side; the follower takes the
// second and is alone: it sees all that was committed before, and what comes later has higher ids
// (W12). Leases take neither. Until the end of the SQL transaction.
Result<> lock_writers_shared(sql::Transaction& sql);
Result<> lock_writers_exclusive(sql::Transaction& sql);

}  // namespace coffer::wallet
