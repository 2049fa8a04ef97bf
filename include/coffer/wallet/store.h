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

#include <coffer/chain/network.h>
#include <coffer/sql/database.h>
#include <coffer/wallet/types.h>

namespace coffer::wallet {

struct CoreExport;  // wallet/import/core_export.h

struct StoreOptions {
  std::uint32_t gap_limit = 20;  // of new wallets
  // A confirmed transaction can be pruned when its block, and those of the spenders of its coins,
  // are this many blocks below the tip (X1).
  std::uint64_t prune_window = 288;
  // How many descriptor indexes an import adds, and how many transactions a prune deletes, in one
  // commit.
  std::size_t step = 1'000;
  // Called between two steps of a long import, while it holds nothing: others have their turn to
  // write then. False ends the import with kCancelled. May be null.
  std::function<bool()> go_on = nullptr;
  // Returns the hash of the block at a height, or nothing if it is not known here. May be null.
  std::function<Result<std::optional<Hash256>>(std::uint64_t height)> block_at = nullptr;
  // Whether open() may create or migrate the tables.
  sql::Schema schema = sql::Schema::kMigrate;
};

// What a balance is of: the whole wallet, one account, or one script.
struct Scope {
  std::optional<std::string> account = {};
  std::optional<Bytes> script = {};
};

struct PageOptions {
  std::size_t count = 100;  // at most kMaxPage
  std::string cursor;       // Page::cursor of the previous page; empty for the first page
};
inline constexpr std::size_t kMaxPage = 1'000;

enum class CoinOrder : std::uint8_t { kOldest, kNewest, kLargest, kSmallest };
struct CoinQuery {
  // Empty: all unspent coins of valid transactions. Other states (spent, dead …) read through the
  // history of the wallet and can be ordered by age only.
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
  std::vector<TxStatus> statuses;  // empty: all
  std::optional<bool> confirmed;
  PageOptions page;
};
template <typename T>
struct Page {
  std::vector<T> items;
  std::string cursor;  // the cursor of the next page; empty after the last page
};

// The place of a transaction in the chain.
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

// Thread-safe, and safe beside other processes with the same database. A name of a wallet, account
// or script that is not there is kNotFound everywhere; besides the codes named here everything may
// return those of sql::Reader. Each writing call is one durable transaction, but
// import_descriptor, import_core and prune take one for each StoreOptions::step, and what is done
// of them is valid by itself: the same call again does the rest. Imports may end with kCancelled
// between two.
class Store {
 public:
  // Prepares the schema as StoreOptions::schema says. The wallet knows Bitcoin's transactions only.
  // Errors: kUsage on another chain; those of sql::prepare_schema().
  static Result<std::unique_ptr<Store>> open(sql::Database& database, const chain::Network& network,
                                             StoreOptions options = {});
  ~Store();

  sql::Database& database() const { return database_; }
  const chain::Network& network() const { return network_; }

  // ---- wallets and addresses (import/imports.cpp, query/addresses.cpp) ----
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

  // Watches the scripts of a descriptor, the first gap_limit of a ranged one. A descriptor that is
  // already watched changes nothing. "<0;1>" makes the first branch receiving and the second
  // change. To find coins in earlier blocks, request a rescan. Errors: kInvalidInput; kConflict if
  // another account has the descriptor, or it was imported for another purpose; kTooLarge.
  Result<Imported> import_descriptor(WalletId wallet, std::string_view text,
                                     const ImportOptions& options);
  // Watches one script. If it is already watched, it is marked as used and new_address() will not
  // return it. Errors: as import_descriptor().
  Result<Imported> import_script(WalletId wallet, ByteView script, const ImportOptions& options);
  // Imports the descriptors of a Bitcoin Core wallet. An inactive descriptor gives out addresses
  // only if the account has no other. Errors: as import_descriptor().
  Result<Imported> import_core(WalletId wallet, const CoreExport& core);

  // The next address of the account's newest ranged descriptor that is not in use, committed before
  // it is returned (W12).
  // Errors: kNotFound if the account has no ranged descriptor for it; kTooLarge after the last.
  Result<AddressInfo> new_address(WalletId wallet, std::string_view account, bool internal);
  Result<Page<AddressInfo>> addresses(WalletId wallet, const PageOptions& page) const;

  // Lists labels by kind and reference, also of what the wallet does not know.
  Result<Page<LabelInfo>> labels(WalletId wallet, const PageOptions& page) const;
  Result<> set_label(WalletId wallet, std::string_view kind, std::string_view ref,
                     std::string_view label);  // an empty label removes it

  // ---- life cycle (lifecycle/record.cpp) ----
  // Puts a transaction of the wire format into a wallet. Errors: kInvalidInput (malformed, an input
  // twice, amounts above all money, a coinbase without its block, nothing of this wallet in it),
  // kConflict: a pending one on coins that are held or leased, one that conflicts with a confirmed
  // one, one that spends from an invalid one or from what it replaces; kTooLarge.
  Result<Recorded> record(WalletId wallet, ByteView raw, const RecordOptions& options);
  // Marks a pending transaction as broadcast. Errors: kConflict if it is neither pending nor
  // published.
  Result<Recorded> publish(WalletId wallet, const Hash256& tx);
  // Gives up a pending transaction and frees its coins. Errors: kConflict if it is published or
  // confirmed.
  Result<Recorded> cancel(WalletId wallet, const Hash256& tx);

  // ---- reads (query/): each reads one snapshot, and no writer waits for it ----
  Result<Balance> balance(WalletId wallet, const Scope& scope = {}) const;
  // Errors: kInvalidInput, also for coins that are not unspent in the order of their amounts.
  Result<Page<Coin>> coins(WalletId wallet, const CoinQuery& query) const;
  Result<Coin> coin(WalletId wallet, const chain::Outpoint& outpoint) const;
  Result<Page<HistoryEntry>> history(WalletId wallet, const HistoryQuery& query) const;
  Result<TxDetail> transaction(WalletId wallet, const Hash256& tx) const;

  // ---- leases (lifecycle/leases.cpp) ----
  // Leases coins that are free, whose lease has expired, or that this lock id holds. Returns when
  // the leases expire. Errors: kConflict if another lock id holds one, or a coin is spent, immature
  // or dead; kInvalidInput for a duration outside 1 ms to a year.
  Result<std::int64_t> lease(WalletId wallet, const LeaseRequest& request);
  // Selects spendable coins worth at least the amount and leases them atomically (W8). Coins that
  // the lock id already holds come first, so that a repeated request gets the same coins (E3).
  // Errors: kConflict if the spendable coins are worth less; kTooLarge if it takes more than
  // kMaxLeasedAtOnce coins; kUnavailable if others were faster too often; kInvalidInput.
  Result<SelectedCoins> select_and_lease(WalletId wallet, const LeaseSelection& selection);
  // Extends leases. Errors: kConflict if this lock id does not hold all of them now.
  Result<std::int64_t> renew(WalletId wallet, const LeaseRequest& request);
  // Releasing a coin that is not leased succeeds. Errors: kConflict if another lock id holds it.
  Result<> release(WalletId wallet, std::span<const chain::Outpoint> coins, const LockId& lock_id);
  // Releases all coins that a lock id holds now. Returns their number.
  Result<std::uint64_t> release_all(WalletId wallet, const LockId& lock_id);
  Result<Page<LeasedCoin>> leases(WalletId wallet, const PageOptions& page) const;
  // Deletes at most `limit` expired leases, in all wallets. Returns their number.
  Result<std::uint64_t> clean_leases(std::size_t limit = 10'000);

  // ---- rescans (sync/rescan.cpp): requests are stored, so that one continues after a restart ----
  // Requests a rescan from this height to the wallets' position; an unfinished request is widened.
  // Errors: kInvalidInput if the position is below the height.
  Result<WalletInfo> request_rescan(WalletId wallet, std::uint64_t from_height);
  // Stores that the rescan `asked` has read the blocks below `next`. Returns what is left of the
  // request: nothing, and the request is deleted, once it has reached the wallets' position;
  // another height to continue at if a request came meanwhile, because it may concern new scripts.
  Result<std::optional<WalletInfo>> save_rescan(const WalletInfo& asked, std::uint64_t next);
  Result<std::vector<WalletInfo>> requested_rescans() const;

  // ---- upkeep (lifecycle/prune.cpp, lifecycle/verify.cpp, query/stats.cpp) ----
  Result<Pruned> prune(WalletId wallet, const PruneOptions& options);
  Result<PrunedTotals> pruned(WalletId wallet) const;
  // Checks every invariant of the header comment. Errors: kCorrupt; the message names the first
  // that does not hold.
  Result<WalletVerified> verify(const std::function<void(std::string_view)>& progress = {}) const;
  // Counts rows for metrics. Cost: reads whole tables.
  Result<StoreStats> stats() const;

 private:
  friend class Consumer;
  friend class HistoryImport;
  friend class ScratchWallet;
  // Checks that the block that a user named is on the chain, as far as is known. Errors: kConflict.
  Result<> check_block(const RecordOptions& options) const;
  // record() inside a transaction that has begun.
  Result<Recorded> record_in(sql::Transaction& sql, WalletId wallet, const chain::Block& decoded,
                             const RecordOptions& options);
  Store(sql::Database& database, chain::Network network, StoreOptions options);
  Result<Recorded> change_pending(WalletId wallet, const Hash256& tx, TxStatus to);
  // Returns what prune() would do, without locking writers.
  Result<Pruned> prune_dry_run(WalletId wallet, const PruneOptions& options) const;

  sql::Database& database_;
  const chain::Network network_;
  const StoreOptions options_;
  struct Counters;
  std::unique_ptr<Counters> counters_;
};

}  // namespace coffer::wallet
