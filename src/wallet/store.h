// Wallets in one SQL database: which coins are whose, and what became of every transaction.
// docs/wallet.md says how it behaves, docs/formats/wallet.md what the tables hold.
//
// Invariants, after every commit: of the active transactions that name an outpoint at most one is
// published, and the coin's spender is that one, or else the first pending one, or nobody; no
// active unconfirmed transaction spends from an invalid one; a transaction is confirmed exactly if
// its block is on the chain; the balance summary equals the sum of the coins.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "chain/network.h"
#include "sql/database.h"
#include "sql/migrations.h"
#include "wallet/core_export.h"
#include "wallet/types.h"

namespace coffer::wallet {

struct StoreOptions {
  std::uint32_t gap_limit = 20;  // of new wallets
  // A transaction goes when everything is this many blocks below the tip (X1).
  std::uint64_t prune_window = 288;
  // Indexes of descriptors that an import adds, and transactions that a prune takes away, within
  // one commit.
  std::size_t step = 1'000;
  // Which block the chain has at a height; nothing if that is not known here. Null: nobody knows.
  std::function<Result<std::optional<Hash256>>(std::uint64_t height)> block_at = nullptr;
};

// A filter for balance: everything, an account, or one script.
struct Scope {
  std::optional<std::string> account = {};
  std::optional<Bytes> script = {};
};

struct PageOptions {
  std::size_t count = 100;  // at most kMaxPage
  std::string cursor;       // of the page before; empty at first
};
inline constexpr std::size_t kMaxPage = 1'000;

enum class CoinOrder : std::uint8_t { kOldest, kNewest, kLargest, kSmallest };
struct CoinQuery {
  // Nothing: all that are unspent and alive. A state that is not unspent (spent, dead …) walks
  // through the history of the wallet, by age only.
  std::vector<CoinState> states;
  std::optional<std::string> account;
  std::optional<Bytes> script;
  std::optional<std::uint64_t> min_amount, max_amount;
  std::optional<std::uint64_t> min_confirmations, max_confirmations;
  std::optional<bool> leased;
  bool spendable = false;  // confirmed and not leased; with chain_pending also the other unspent
  bool chain_pending = false;  // with spendable: also coins that are not confirmed (W1)
  CoinOrder order = CoinOrder::kOldest;
  PageOptions page;
};
struct HistoryQuery {
  std::vector<TxStatus> statuses;  // nothing: all
  std::optional<bool> confirmed;
  PageOptions page;
};
template <typename T>
struct Page {
  std::vector<T> items;
  std::string cursor;  // of the next page; empty after the last
};

// Where a transaction is in the chain.
struct BlockRef {
  std::uint64_t height = 0;
  Hash256 hash{};
  std::int64_t time_s = 0;
  std::uint32_t index = 0;  // of the transaction in it
};

struct RecordOptions {
  TxStatus status = TxStatus::kPublished;  // or kPending
  std::optional<BlockRef> block = {};      // confirmed in it; the status is published then
  bool bump = false;                       // pending: may name inputs of an unconfirmed transaction
  std::optional<LockId> lock_id = {};      // pending: whose leases do not stand in the way
  bool force = false;                      // pending: nobody's do
};

// What an operation did to a transaction.
struct Recorded {
  Hash256 tx{};
  TxStatus status = TxStatus::kPending;
  std::optional<std::uint64_t> height;
  bool changed = false;              // false: all of it was known (E3)
  std::vector<Hash256> invalidated;  // what it made replaced or failed
};

struct ImportOptions {
  std::string account = "default";
  bool internal = false;                    // change
  std::optional<std::uint32_t> next_index;  // of a descriptor that is in use elsewhere
  std::optional<std::uint32_t> watch_to;    // at least so many, whatever the gap limit says
};
struct Imported {
  std::size_t descriptors = 0, addresses = 0;  // new ones
};

struct LeaseRequest {
  std::vector<chain::Outpoint> coins;  // all of them or none; at most kMaxLeasedAtOnce
  LockId lock_id{};
  std::int64_t duration_ms = 0;
};
inline constexpr std::size_t kMaxLeasedAtOnce = 10'000;
// Coins to be chosen and leased at once.
struct LeaseSelection {
  std::uint64_t amount = 0;  // at least so much
  LockId lock_id{};
  std::int64_t duration_ms = 0;
  std::optional<std::string> account = {};
  CoinOrder order = CoinOrder::kLargest;  // which are taken first
  bool chain_pending = false;             // W1: also those that are not confirmed
};
struct SelectedCoins {
  std::vector<Coin> coins;
  std::uint64_t amount = 0;
  std::int64_t expires_at_ms = 0;  // of the first that ends
};
inline constexpr std::int64_t kMaxLeaseMs = 365ll * 24 * 3600 * 1000;

struct PruneOptions {
  bool dry_run = false;
  std::optional<std::int64_t> invalid_older_than_ms =
      {};                      // also replaced, failed and orphaned ones
  std::size_t limit = 10'000;  // transactions at once
};
struct Pruned {
  std::uint64_t transactions = 0, stubs = 0, invalid = 0, coins = 0;
  bool more = false;  // the limit was reached
};

// What all pruning of a wallet has taken away (W6): with it, the history adds up.
struct PrunedTotals {
  std::uint64_t transactions = 0, coins = 0, received = 0, spent = 0;
  std::optional<std::uint64_t> lowest_height, highest_height;  // nothing was pruned: none
};

struct WalletVerified {
  std::uint64_t wallets = 0, transactions = 0, coins = 0, inputs = 0, addresses = 0;
};

struct TableSize {
  std::string table;
  std::uint64_t rows = 0;              // on PostgreSQL about
  std::optional<std::uint64_t> bytes;  // with its indexes; SQLite does not say
};

// For metrics.
struct StoreStats {
  std::int64_t counted_at_ms = 0;  // by the clock of the database
  std::uint64_t wallets = 0, addresses = 0, transactions = 0, coins = 0, unspent = 0;
  std::uint64_t leases = 0, active_leases = 0, replacements = 0, pruned = 0;
  std::uint64_t bytes = 0;  // of the database
  std::vector<TableSize> tables;
  // Since the start of this process.
  std::uint64_t invalidations = 0, leases_cleaned = 0, lease_cleanups = 0;
  double lease_cleanup_seconds = 0;
};

// Module `wallet`, and the network as the owner of the data (E5). Thread-safe.
sql::MigrateOptions migrations(const chain::Network& network);
// The same, but a database of another network that holds no wallet and no block may be taken over:
// a first sync that failed leaves such a one.
sql::MigrateOptions reusing_migrations(const chain::Network& network);

// Thread-safe, and safe beside other processes with the same database. A name of a wallet, account
// or script that is not there is kNotFound everywhere; besides the codes named here everything may
// return those of sql::Reader. Each writing call is one durable transaction, but
// import_descriptor, import_core and prune take one for each StoreOptions::step, and what is done
// of them is valid by itself: the same call again does the rest.
class Store {
 public:
  // Brings the schema up to date. The wallet knows Bitcoin's transactions only.
  // Errors: kUsage on another chain; those of sql::migrate().
  static Result<std::unique_ptr<Store>> open(sql::Database& database, const chain::Network& network,
                                             StoreOptions options = {});
  ~Store();

  sql::Database& database() const { return database_; }
  const chain::Network& network() const { return network_; }

  // ---- wallets and addresses (imports.cpp, addresses.cpp) ----
  struct NewWallet {
    std::string name;
    std::uint64_t birthday_height = 0;
    std::optional<std::uint32_t> gap_limit = {};
  };
  // Errors: kConflict if there is one of that name, kInvalidInput for a name that is none.
  Result<WalletInfo> create(const NewWallet& wallet);
  Result<WalletInfo> find(std::string_view name) const;
  Result<Page<WalletInfo>> list(const PageOptions& page) const;
  Result<std::vector<AccountInfo>> accounts(WalletId wallet) const;
  Result<std::vector<DescriptorInfo>> descriptors(WalletId wallet) const;

  // Watches the scripts of a descriptor, the first gap_limit of a ranged one. Known ones change
  // nothing. "<0;1>" makes the first receiving and the second change. Coins of blocks that the
  // wallet has passed are found by a rescan. Errors: kInvalidInput; kConflict if another account
  // has it, or it is there for another purpose; kTooLarge.
  Result<Imported> import_descriptor(WalletId wallet, std::string_view text,
                                     const ImportOptions& options);
  // One that is known is not given out from now on. Errors: the same.
  Result<Imported> import_script(WalletId wallet, ByteView script, const ImportOptions& options);
  // An inactive one gives out addresses only if the wallet has no other.
  Result<Imported> import_core(WalletId wallet, const CoreExport& core);

  // The next address of the account's newest ranged descriptor that is not in use, committed before
  // it is returned (W12).
  // Errors: kNotFound if the account has no ranged descriptor for it; kTooLarge after the last.
  Result<AddressInfo> new_address(WalletId wallet, std::string_view account, bool internal);
  Result<Page<AddressInfo>> addresses(WalletId wallet, const PageOptions& page) const;

  // By kind and name, whether the wallet knows what they name or not.
  Result<Page<LabelInfo>> labels(WalletId wallet, const PageOptions& page) const;
  Result<> set_label(WalletId wallet, std::string_view kind, std::string_view ref,
                     std::string_view label);  // an empty label takes it away

  // ---- life cycle (record.cpp) ----
  // Puts a transaction of the wire format into a wallet. Errors: kInvalidInput (malformed, an input
  // twice, amounts above all money, a coinbase without its block, nothing of this wallet in it),
  // kConflict: a pending one on coins that are held or leased, one that conflicts with a confirmed
  // one, one that spends from an invalid one or from what it replaces; kTooLarge.
  Result<Recorded> record(WalletId wallet, ByteView raw, const RecordOptions& options);
  // A pending transaction was broadcast. Errors: kConflict if it is neither pending nor published.
  Result<Recorded> publish(WalletId wallet, const Hash256& tx);
  // A pending transaction will never be. Errors: kConflict if it is published or confirmed.
  Result<Recorded> cancel(WalletId wallet, const Hash256& tx);

  // ---- reads (reads_*.cpp): each one snapshot; no writer waits for them ----
  Result<Balance> balance(WalletId wallet, const Scope& scope = {}) const;
  // Errors: kInvalidInput, also for coins that are not unspent in the order of their amounts.
  Result<Page<Coin>> coins(WalletId wallet, const CoinQuery& query) const;
  Result<Coin> coin(WalletId wallet, const chain::Outpoint& outpoint) const;
  Result<Page<HistoryEntry>> history(WalletId wallet, const HistoryQuery& query) const;
  Result<TxDetail> transaction(WalletId wallet, const Hash256& tx) const;

  // ---- leases (leases.cpp) ----
  // Takes, renews or takes over when expired; until when. Errors: kConflict if another lock id
  // holds one, or a coin is spent, immature or dead; kInvalidInput for a duration outside 1 ms to a
  // year.
  Result<std::int64_t> lease(WalletId wallet, const LeaseRequest& request);
  // Chooses coins that may be spent and leases them, as one atomic unit (W8). What the lock id
  // holds already comes first, so that the same request again gets the same coins (E3).
  // Errors: kConflict if there is not so much that may be spent; kTooLarge if it takes more than
  // kMaxLeasedAtOnce coins; kUnavailable if others were faster too often; kInvalidInput.
  Result<SelectedCoins> select_and_lease(WalletId wallet, const LeaseSelection& selection);
  // Errors: kConflict if this lock id does not hold all of them now.
  Result<std::int64_t> renew(WalletId wallet, const LeaseRequest& request);
  // Nothing happens if it is not leased, or not any more. Errors: kConflict if another holds it.
  Result<> release(WalletId wallet, std::span<const chain::Outpoint> coins, const LockId& lock_id);
  // All that a lock id holds now; how many.
  Result<std::uint64_t> release_all(WalletId wallet, const LockId& lock_id);
  Result<Page<LeasedCoin>> leases(WalletId wallet, const PageOptions& page) const;
  // Takes away what has expired, everywhere, at most `limit`; how many.
  Result<std::uint64_t> clean_leases(std::size_t limit = 10'000);

  // ---- rescans (rescan.cpp): what is left of them, so that one goes on after a restart ----
  // From this height to where the wallets stand; an earlier one that is not done is widened.
  // Errors: kInvalidInput if the wallets stand below it.
  Result<WalletInfo> request_rescan(WalletId wallet, std::uint64_t from_height);
  // What was asked is done to below `next`. What is left: nothing once all blocks are that the
  // wallets have passed meanwhile, too, and then the request is gone; another place to go on at if
  // somebody asked again, because what was looked at was looked at without what is new.
  Result<std::optional<WalletInfo>> save_rescan(const WalletInfo& asked, std::uint64_t next);
  Result<std::vector<WalletInfo>> requested_rescans() const;

  // ---- upkeep (prune.cpp, verify.cpp, stats.cpp) ----
  Result<Pruned> prune(WalletId wallet, const PruneOptions& options);
  Result<PrunedTotals> pruned(WalletId wallet) const;
  // Recomputes every invariant of the header comment. Errors: kCorrupt naming the first that fails.
  Result<WalletVerified> verify(const std::function<void(std::string_view)>& progress = {}) const;
  // Cost: a walk through whole tables.
  Result<StoreStats> stats() const;

 private:
  friend class Feed;
  friend class HistoryImport;
  friend class ScratchWallet;
  // The block that a person names is the chain's, as far as is known. Errors: kConflict.
  Result<> check_block(const RecordOptions& options) const;
  // record() inside a transaction that has begun.
  Result<Recorded> record_in(sql::Transaction& sql, WalletId wallet, const chain::Block& decoded,
                             const RecordOptions& options);
  Store(sql::Database& database, chain::Network network, StoreOptions options);
  Result<Recorded> change_pending(WalletId wallet, const Hash256& tx, TxStatus to);
  // What prune() would do, without a turn to write.
  Result<Pruned> promise_prune(WalletId wallet, const PruneOptions& options) const;

  sql::Database& database_;
  const chain::Network network_;
  const StoreOptions options_;
  struct Counters;
  std::unique_ptr<Counters> counters_;
};

}  // namespace coffer::wallet
