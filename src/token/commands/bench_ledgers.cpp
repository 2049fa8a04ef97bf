#include "token/commands/bench_ledgers.h"

#include <atomic>
#include <mutex>
#include <thread>

#include "base/stopwatch.h"
#include "sql/connection.h"
#include "sql/postgres_array.h"
#include "token/community.h"

namespace coffer::token {
namespace {

constexpr std::int64_t kRich = 1'000'000'000'000'000, kStart = 1'000'000'000;
constexpr std::size_t kFundedAtOnce = 10'000;
const Actor kBench{"cli", "coffer bench token"};

// 002, "Table Definitions": what a transfer touches.
constexpr std::string_view kPlainTables = R"(
CREATE TABLE wallets (
    id UUID PRIMARY KEY,
    balance BIGINT NOT NULL DEFAULT 0,
    is_frozen BOOLEAN NOT NULL DEFAULT FALSE,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    CONSTRAINT balance_non_negative CHECK (balance >= 0),
    CONSTRAINT created_at_positive CHECK (created_at > 0),
    CONSTRAINT updated_at_after_created CHECK (updated_at >= created_at)
);
ALTER TABLE wallets SET (
    autovacuum_vacuum_scale_factor = 0.05,
    autovacuum_analyze_scale_factor = 0.02,
    autovacuum_vacuum_cost_limit = 1000
);
CREATE TABLE system_accounts (
    id UUID PRIMARY KEY,
    wallet_id UUID NOT NULL UNIQUE,
    name VARCHAR(255) NOT NULL UNIQUE,
    created_at BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    CONSTRAINT fk_wallet FOREIGN KEY (wallet_id) REFERENCES wallets(id) ON DELETE RESTRICT
);
CREATE TABLE transactions (
    id UUID PRIMARY KEY,
    from_wallet_id UUID NOT NULL,
    to_wallet_id UUID NOT NULL,
    amount BIGINT NOT NULL,
    transaction_type INTEGER NOT NULL,
    created_at BIGINT NOT NULL,
    CONSTRAINT amount_positive CHECK (amount > 0),
    CONSTRAINT transaction_type_valid CHECK (transaction_type >= 1 AND transaction_type < 100),
    CONSTRAINT created_at_positive CHECK (created_at > 0),
    CONSTRAINT fk_from_wallet FOREIGN KEY (from_wallet_id)
        REFERENCES wallets(id) ON DELETE RESTRICT,
    CONSTRAINT fk_to_wallet FOREIGN KEY (to_wallet_id)
        REFERENCES wallets(id) ON DELETE RESTRICT
);
CREATE INDEX idx_transactions_created_at ON transactions(created_at DESC);
CREATE INDEX idx_transactions_transaction_type ON transactions(transaction_type, created_at DESC);
CREATE INDEX idx_transactions_self_transfer ON transactions(from_wallet_id, to_wallet_id)
    WHERE from_wallet_id = to_wallet_id;
ALTER TABLE transactions SET (
    autovacuum_enabled = on,
    autovacuum_vacuum_insert_scale_factor = 0.1
);
)";

// 002, "Automatic Timestamp Updates" to "System Wallet Protection".
constexpr std::string_view kPlainTriggers = R"(
CREATE FUNCTION update_updated_at_unix() RETURNS TRIGGER AS $$
BEGIN
    NEW.updated_at = (EXTRACT(EPOCH FROM NOW()) * 1000)::BIGINT;
    RETURN NEW;
END;
$$ LANGUAGE plpgsql;
CREATE TRIGGER update_wallets_updated_at
    BEFORE UPDATE ON wallets
    FOR EACH ROW EXECUTE FUNCTION update_updated_at_unix();
CREATE FUNCTION prevent_transaction_modification() RETURNS TRIGGER AS $$
BEGIN
    RAISE EXCEPTION 'Transactions are immutable and cannot be modified or deleted';
END;
$$ LANGUAGE plpgsql;
CREATE TRIGGER prevent_transaction_update
    BEFORE UPDATE ON transactions
    FOR EACH ROW EXECUTE FUNCTION prevent_transaction_modification();
CREATE TRIGGER prevent_transaction_delete
    BEFORE DELETE ON transactions
    FOR EACH ROW EXECUTE FUNCTION prevent_transaction_modification();
CREATE FUNCTION validate_transaction_balance() RETURNS TRIGGER AS $$
DECLARE
    sender_balance BIGINT;
    sender_frozen BOOLEAN;
    recipient_frozen BOOLEAN;
    is_system_wallet BOOLEAN;
    is_self_transfer BOOLEAN;
BEGIN
    is_self_transfer := (NEW.from_wallet_id = NEW.to_wallet_id);
    SELECT balance, is_frozen INTO sender_balance, sender_frozen
    FROM wallets WHERE id = NEW.from_wallet_id FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Sender wallet not found';
    END IF;
    IF sender_frozen THEN
        RAISE EXCEPTION 'Sender wallet is frozen';
    END IF;
    IF is_self_transfer THEN
        SELECT EXISTS(
            SELECT 1 FROM system_accounts WHERE wallet_id = NEW.from_wallet_id
        ) INTO is_system_wallet;
        IF NOT is_system_wallet THEN
            RAISE EXCEPTION 'Only system account wallets can perform self-transfers (issuance)';
        END IF;
        RETURN NEW;
    END IF;
    SELECT is_frozen INTO recipient_frozen
    FROM wallets WHERE id = NEW.to_wallet_id FOR UPDATE;
    IF NOT FOUND THEN
        RAISE EXCEPTION 'Recipient wallet not found';
    END IF;
    IF recipient_frozen THEN
        RAISE EXCEPTION 'Recipient wallet is frozen';
    END IF;
    IF sender_balance < NEW.amount THEN
        RAISE EXCEPTION 'Insufficient balance: has %, needs %', sender_balance, NEW.amount;
    END IF;
    RETURN NEW;
END;
$$ LANGUAGE plpgsql;
CREATE TRIGGER check_transaction_balance
    BEFORE INSERT ON transactions
    FOR EACH ROW EXECUTE FUNCTION validate_transaction_balance();
CREATE FUNCTION update_wallet_balances() RETURNS TRIGGER AS $$
DECLARE
    current_time_ms BIGINT;
BEGIN
    current_time_ms := (EXTRACT(EPOCH FROM NOW()) * 1000)::BIGINT;
    IF NEW.from_wallet_id != NEW.to_wallet_id THEN
        UPDATE wallets SET balance = balance - NEW.amount, updated_at = current_time_ms
        WHERE id = NEW.from_wallet_id;
    END IF;
    UPDATE wallets SET balance = balance + NEW.amount, updated_at = current_time_ms
    WHERE id = NEW.to_wallet_id;
    RETURN NEW;
END;
$$ LANGUAGE plpgsql;
CREATE TRIGGER update_balances_after_transaction
    AFTER INSERT ON transactions
    FOR EACH ROW EXECUTE FUNCTION update_wallet_balances();
CREATE FUNCTION prevent_system_wallet_freeze() RETURNS TRIGGER AS $$
BEGIN
    IF NEW.is_frozen = TRUE THEN
        IF EXISTS (SELECT 1 FROM system_accounts WHERE wallet_id = NEW.id) THEN
            RAISE EXCEPTION 'System wallets cannot be frozen';
        END IF;
    END IF;
    RETURN NEW;
END;
$$ LANGUAGE plpgsql;
CREATE TRIGGER check_system_wallet_freeze
    BEFORE INSERT OR UPDATE OF is_frozen ON wallets
    FOR EACH ROW EXECUTE FUNCTION prevent_system_wallet_freeze();
)";

std::vector<Uuid> random_uuids(std::size_t count) {
  std::vector<Uuid> ids(count);
  for (Uuid& id : ids) id = random_uuid();
  return ids;
}

}  // namespace

PlainLedger::PlainLedger(sql::Database& database, std::string schema)
    : database_(&database),
      schema_(std::move(schema)),
      insert_one_(fmt::format(
          "INSERT INTO {}.transactions (id, from_wallet_id, to_wallet_id, amount,"
          " transaction_type, created_at) VALUES ($1::uuid, $2::uuid, $3::uuid, $4, 1, $5)",
          schema_)),
      insert_all_(fmt::format(
          "INSERT INTO {}.transactions (id, from_wallet_id, to_wallet_id, amount,"
          " transaction_type, created_at) SELECT u.id, u.sender, u.recipient, u.amount, 1, $5"
          " FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::bigint[])"
          " AS u (id, sender, recipient, amount)",
          schema_)) {}

Result<PlainLedger> PlainLedger::make(sql::Database& database, std::string schema, bool triggers,
                                      std::size_t wallets) {
  PlainLedger ledger(database, std::move(schema));
  ledger.wallets_ = random_uuids(wallets);
  TRY(ledger.drop());
  sql::PostgresArray ids(sql::PostgresArray::Element::kUuid);
  for (const Uuid& wallet : ledger.wallets_) ids.add(wallet);
  // Functions of 002 have no search path of their own: each session needs it.
  const Result<> filled = database.run_transaction([&](sql::Transaction& sql) -> Result<> {
    TRY(sql.script(fmt::format("CREATE SCHEMA {0}; SET LOCAL search_path = {0};", ledger.schema_)));
    TRY(sql.script(kPlainTables));
    if (triggers) {
      TRY(sql.script(kPlainTriggers));
      for (const char* name :
           {"update_updated_at_unix", "validate_transaction_balance", "update_wallet_balances"})
        TRY(sql.script(
            fmt::format("ALTER FUNCTION {}() SET search_path = {}", name, ledger.schema_)));
    }
    (void)TRY(
        sql.execute("INSERT INTO wallets (id, balance, created_at, updated_at)"
                    " SELECT u.id, CASE WHEN u.place = 1 THEN $2::bigint ELSE $3::bigint END, 1, 1"
                    " FROM unnest($1::uuid[]) WITH ORDINALITY AS u (id, place)",
                    {ids.view(), kRich, kStart}));
    return sql.script("ANALYZE wallets");
  });
  TRY(filled);
  return ledger;
}

Result<> PlainLedger::drop() {
  return drop_schema(*database_, schema_);
}

Result<> PlainLedger::insert(sql::Connection& connection, const Transfer& transfer) const {
  sql::Transaction sql = TRY(connection.begin());
  TRY(sql.commit_with(
      {{insert_one_,
        {transfer.id, transfer.from, transfer.to, transfer.amount, system_clock().unix_ms()}}}));
  return {};
}

Result<> PlainLedger::insert_all(sql::Connection& connection,
                                 std::span<const Transfer> transfers) const {
  using Element = sql::PostgresArray::Element;
  sql::PostgresArray ids(Element::kUuid), senders(Element::kUuid), recipients(Element::kUuid),
      amounts(Element::kInt8);
  for (const Transfer& transfer : transfers) {
    ids.add(transfer.id);
    senders.add(transfer.from);
    recipients.add(transfer.to);
    amounts.add(transfer.amount);
  }
  sql::Transaction sql = TRY(connection.begin());
  TRY(sql.commit_with({{insert_all_,
                        {ids.view(), senders.view(), recipients.view(), amounts.view(),
                         system_clock().unix_ms()}}}));
  return {};
}

Result<> drop_schema(sql::Database& database, const std::string& name) {
  return database.run_transaction([&](sql::Transaction& sql) {
    return sql.script(fmt::format("DROP SCHEMA IF EXISTS {} CASCADE", name));
  });
}

Result<BenchCommunity> make_bench_community(sql::Database& database, const std::string& name,
                                            std::size_t wallets) {
  StoreOptions options;
  options.community = name;
  options.schema = sql::Schema::kMigrate;
  BenchCommunity made{TRY(Store::open(database, options)), random_uuids(wallets)};
  const Seeded seeded = TRY(made.store->seed({.issuance = kRich}, kBench));
  made.wallets.front() = seeded.account.wallet;
  const Community& community = made.store->ledger();
  const Result<> filled = database.run_transaction([&](sql::Transaction& sql) -> Result<> {
    sql::Batch rows = TRY(sql.batch(community.sql(
        "INSERT INTO @wallets (id, created_at, updated_at) VALUES ($1::uuid, 1, 1)")));
    for (std::size_t i = 1; i < made.wallets.size(); ++i)
      TRY(rows.add({community.id(made.wallets[i])}));
    (void)TRY(rows.finish());
    return {};
  });
  TRY(filled);
  std::vector<Transfer> funding;
  for (std::size_t i = 1; i < made.wallets.size(); ++i) {
    funding.push_back({.id = random_uuid(),
                       .from = made.wallets.front(),
                       .to = made.wallets[i],
                       .amount = kStart});
    if (funding.size() < kFundedAtOnce && i + 1 < made.wallets.size()) continue;
    TRY(made.store->batch(funding, BatchMode::kAll, kBench));
    funding.clear();
  }
  return made;
}

Transfer bench_transfer(Rng& rng, std::span<const Uuid> wallets, BenchLoad load) {
  const std::uint64_t count = wallets.size();
  const std::uint64_t from = load == BenchLoad::kHot ? 0 : rng.below(count);
  const std::uint64_t to = (from + 1 + rng.below(count - 1)) % count;
  return {.id = random_uuid(), .from = wallets[from], .to = wallets[to], .amount = 1};
}

Result<double> rate_of(std::size_t threads, double seconds,
                       const std::function<Result<>(std::size_t thread, Rng& rng)>& one) {
  std::atomic<std::uint64_t> done{0};
  std::atomic<bool> failed{false};
  std::mutex mutex;
  Result<> failure;
  const Stopwatch watch;
  {
    std::vector<std::jthread> running;
    running.reserve(threads);
    for (std::size_t thread = 0; thread < threads; ++thread)
      running.emplace_back([&, thread] {
        Rng rng(thread + 1);
        while (!failed && watch.seconds() < seconds) {
          const auto result = one(thread, rng);
          if (result) {
            done.fetch_add(1, std::memory_order_relaxed);
          } else if (!result.error().retryable) {
            const std::lock_guard lock(mutex);
            failure = std::unexpected(result.error());
            failed = true;
          }
        }
      });
  }
  TRY(failure);
  return static_cast<double>(done) / watch.seconds();
}

}  // namespace coffer::token
