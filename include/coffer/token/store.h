// The token ledger of one community, in a schema of PostgreSQL or a file of SQLite.
// docs/token.md says how it behaves, docs/formats/token.md what the tables hold.
//
// Invariants, after every commit, whoever wrote it: a wallet's balance is the sum of its history
// and never negative; all balances add up to the issuance; a transaction never changes.
//
// A refusal is an Error with a reason of its own in Error::reason, such as insufficient_balance:
// docs/token.md lists them with their codes. Nothing of what was refused is stored.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include <coffer/base/clock.h>
#include <coffer/sql/database.h>
#include <coffer/token/types.h>

namespace coffer::token {

class Community;

struct StoreOptions {
  std::string community = "communitytoken";
  sql::Schema schema = sql::Schema::kMustBeCurrent;
  // Group commit: how many transfers may wait, and how many threads commit groups of them.
  std::size_t max_waiting = 4'096;
  std::size_t committers = 2;  // on SQLite always one
};

struct PageOptions {
  std::size_t count = 100;  // at most kMaxPage
  std::string cursor = {};  // Page::cursor of the previous page; empty for the first page
};
template <typename T>
struct Page {
  std::vector<T> items;
  std::string cursor;  // the cursor of the next page; empty after the last page
};

struct Seed {
  std::string system_account = "system_account_communitytoken";
  std::int64_t issuance = 10'000;  // 0: nothing is issued
};
struct Seeded {
  SystemAccount account;
  bool is_new = false;  // false: the community was there already, and nothing changed
};

enum class BatchMode : std::uint8_t {
  kAll,   // all are applied, or none
  kEach,  // each for itself, in order
};

struct HistoryQuery {
  std::optional<Uuid> wallet = {};        // nothing: of the whole community
  std::optional<Uuid> counterparty = {};  // needs a wallet
  std::optional<int> type = {};
  std::optional<std::int64_t> from_ms = {}, to_ms = {};  // created_at, from inclusive, to exclusive
  bool newest_first = true;
  PageOptions page = {};
};

// A line of a statement: a step of a wallet's balance, by the database's clock (T13).
struct StatementLine {
  std::int64_t booked_at_ms = 0;
  std::uint64_t version = 0;  // counts the wallet's lines from 1
  Uuid transaction{};
  Uuid counterparty{};  // the wallet itself in an issuance
  std::string counterparty_name;
  std::int64_t delta = 0, balance = 0;
  int type = 1;
  std::optional<std::string> memo;
};

// One row of an import, of which at most 100,000 are taken at once: a member with the balance to
// begin with.
struct ImportRow {
  std::string username;
  std::int64_t balance = 0;
  std::optional<ExternalIdentity> identity = {};
  std::optional<Uuid> user = {};  // made if not given
  std::uint64_t line = 0;         // of the file, for problems; 0: the rows are counted from 1
};
struct ImportReport {
  std::uint64_t users = 0, identities = 0, transfers = 0;
  std::int64_t tokens = 0;            // distributed
  std::vector<std::string> problems;  // "line 3: …"; if there is one, nothing was changed
};

struct NewApiKey {
  std::string name;
  std::vector<std::string> scopes;
  std::int64_t duration_ms = 0;
};
struct MadeApiKey {
  ApiKey key;
  std::string secret;  // "ctk_…": shown once
};

// Thread-safe, and safe beside other processes with the same database. Besides the codes named here
// everything may return those of sql::Reader. Each writing call is one durable transaction and is
// audited in it.
class Store {
 public:
  // Errors: kUsage for a name that cannot be one; kNotFound if there is no such community and the
  // schema is not to be made; those of sql::migrate().
  static Result<std::unique_ptr<Store>> open(sql::Database& database, StoreOptions options = {});
  ~Store();  // answers what waits with kCancelled

  const std::string& community() const;
  sql::Database& database() const;

  // ---- set-up (account/seed.cpp) ----
  // The first system account and the first issuance, as 002 seeds them. Errors: kConflict if there
  // is another system account already.
  Result<Seeded> seed(const Seed& seed, const Actor& actor);

  // ---- transfers (transfer/) ----
  // Decided and committed together with others that wait (group commit). `done` is called once, on
  // a thread of the store, or on the caller's if the transfer is refused at once; it must not
  // block. Errors given to it: kInvalidInput for a field that
  // is out of its range; kConflict and the reasons of docs/token.md for a refusal, id_taken for the
  // id of another transfer; kUnavailable (retryable) if too many wait already.
  using Done = std::function<void(Result<Applied>)>;
  void submit(Transfer transfer, Actor actor, Done done);
  struct GroupStats {
    std::uint64_t groups = 0, transfers = 0;  // decided together so far, and transfers in them
    std::uint64_t waiting = 0;                // now
  };
  GroupStats group_stats() const;
  // submit(), and waits for the answer.
  Result<Applied> transfer(const Transfer& transfer, const Actor& actor);
  // Up to kMaxBatch, in order, in one SQL transaction. kAll: the error of the first that is refused
  // is returned, with "item N: " before its message. kEach: a result for each.
  Result<std::vector<Result<Applied>>> batch(std::span<const Transfer> transfers, BatchMode mode,
                                             const Actor& actor);
  // Sends the whole amount back, once, as the transaction `reversal_id`. actor.reason is required.
  // Errors: kNotFound; kConflict (is_issuance, is_reversal, already_reversed, and those of a
  // transfer).
  Result<Applied> reverse(const Uuid& transaction, const Uuid& reversal_id, const Actor& actor);
  // Memo, metadata and salts of a transaction go; their hashes stay. Errors: kNotFound.
  Result<> erase_details(const Uuid& transaction, const Actor& actor);

  // ---- holds (hold/holds.cpp) ----
  // Errors: as of a transfer; too_many_holds.
  Result<Hold> open_hold(const NewHold& hold, const Actor& actor);
  // Moves `amount` (all that is held if not given) to the recipient as the transaction
  // `transaction_id`; the rest is free again. The same capture again answers as the first time.
  // Errors: kNotFound; kConflict (hold_ended, hold_expired, above_hold).
  Result<Hold> capture_hold(const Uuid& hold, const Uuid& transaction_id,
                            std::optional<std::int64_t> amount, const Actor& actor);
  Result<Hold> release_hold(const Uuid& hold, const Actor& actor);
  // Ends holds whose time has passed, at most `limit`. How many it ended.
  Result<std::size_t> expire_holds(std::size_t limit = 1'000);
  Result<std::optional<Hold>> find_hold(const Uuid& hold) const;
  struct HoldQuery {
    std::optional<Uuid> wallet = {};     // whose tokens are held, or
    std::optional<Uuid> recipient = {};  // who may get them: one of the two
    bool open_only = false;
    PageOptions page = {};
  };
  // A page of open ones may be shorter than asked for; the last has no cursor.
  Result<Page<Hold>> holds(const HoldQuery& query) const;

  // ---- accounts (account/) ----
  // A user and its wallet, in one transaction. The same ids again answer as the first time.
  Result<User> create_user(const Uuid& user, std::string_view name, const Actor& actor);
  Result<SystemAccount> create_system_account(const Uuid& account, std::string_view name,
                                              const Actor& actor);
  Result<User> rename_user(const Uuid& user, std::string_view name, const Actor& actor);
  Result<User> delete_user(const Uuid& user, const Actor& actor);  // soft
  Result<User> reactivate_user(const Uuid& user, const Actor& actor);
  // actor.reason is required. Errors: kNotFound, kConflict (system_wallet). True if it changed.
  Result<bool> freeze(const Uuid& wallet, const Actor& actor);
  Result<bool> unfreeze(const Uuid& wallet, const Actor& actor);
  Result<WalletLimits> set_limits(const Uuid& wallet, const WalletLimits& limits,
                                  const Actor& actor);
  Result<std::optional<User>> find_user(const Uuid& user) const;
  struct UserQuery {
    std::optional<std::string> name = {};  // exactly
    bool with_deleted = false;
    PageOptions page = {};
  };
  Result<Page<User>> users(const UserQuery& query) const;
  Result<std::vector<SystemAccount>> system_accounts() const;
  Result<Page<Wallet>> wallets(const PageOptions& page) const;

  Result<> link_identity(const Uuid& user, const ExternalIdentity& identity, const Actor& actor);
  Result<> unlink_identity(const ExternalIdentity& identity, const Actor& actor);
  Result<std::optional<User>> find_user_by_identity(const ExternalIdentity& identity) const;
  Result<std::vector<IdentityLink>> identities(const Uuid& user) const;

  // Members and their opening balances, paid by a system account: checked as a whole first.
  // Nothing is changed if there is a problem or `dry_run`.
  Result<ImportReport> import_members(std::span<const ImportRow> rows, const Uuid& system_account,
                                      bool dry_run, const Actor& actor);

  // ---- reads (query/) ----
  Result<std::optional<Wallet>> find_wallet(const Uuid& wallet) const;
  // At the end of `at_ms`, by the database's clock (T13). Errors: kNotFound.
  Result<std::int64_t> balance_at(const Uuid& wallet, std::int64_t at_ms) const;
  Result<std::optional<Transaction>> find_transaction(const Uuid& transaction) const;
  Result<Page<Transaction>> history(const HistoryQuery& query) const;
  struct StatementQuery {
    Uuid wallet{};
    std::int64_t from_ms = 0, to_ms = 0;  // booked_at, from inclusive, to exclusive
    PageOptions page = {};
  };
  struct Statement {
    std::int64_t opening_balance = 0;  // before the first line of the page
    Page<StatementLine> lines;         // oldest first
  };
  Result<Statement> statement(const StatementQuery& query) const;
  Result<Supply> supply() const;
  // As of the last refresh.
  Result<std::optional<Statistics>> statistics() const;
  Result<Statistics> refresh_statistics();
  struct AuditQuery {
    std::optional<std::int64_t> from_ms = {}, to_ms = {};
    PageOptions page = {};
  };
  Result<Page<AuditEntry>> audit(const AuditQuery& query) const;

  // ---- integrity (integrity/) ----
  // Recomputes every wallet from its history (T4).
  Result<CheckReport> check() const;
  // Sets balances right that differ from their history; with dry_run only lists them. Needs the
  // owner's rights on PostgreSQL.
  Result<std::vector<WalletDifference>> rebuild_balances(bool dry_run, const Actor& actor);

  // ---- access (access/) ----
  Result<> grant_role(const ExternalIdentity& identity, Role role, const Actor& actor);
  Result<> revoke_role(const ExternalIdentity& identity, Role role, const Actor& actor);
  Result<std::vector<Role>> roles_of(const ExternalIdentity& identity) const;
  Result<Page<RoleGrant>> role_grants(const PageOptions& page) const;
  Result<MadeApiKey> make_api_key(const NewApiKey& key, const Actor& actor);
  Result<ApiKey> revoke_api_key(const Uuid& key, const Actor& actor);
  Result<Page<ApiKey>> api_keys(const PageOptions& page) const;
  // The key with this secret, if it is neither expired nor revoked; notes that it was used, at most
  // once a minute.
  Result<std::optional<ApiKey>> use_api_key(std::string_view secret);

  // For rooms of the engine that have a class of their own, such as the log.
  const Community& ledger() const;

  struct Impl;

 private:
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace coffer::token
