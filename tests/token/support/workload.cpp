#include "token/support/workload.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "token/community.h"

namespace coffer::token::test {
namespace {

constexpr std::int64_t kStartMs = 1'760'000'000'000;
constexpr std::int64_t kHourMs = 3'600'000;
const Actor kActor{.name = "test", .reason = "a test"};

Answer of_error(const Error& error) {
  if (!error.reason.empty()) return {.refused = error.reason};
  return {.refused = error.code == Code::kInvalidInput ? "invalid_input" : error.message};
}
Answer of(const Result<Applied>& result) {
  if (!result) return of_error(result.error());
  return {.is_repeat = result->is_repeat, .balance = result->balance};
}
template <typename T>
Answer done_or(const Result<T>& result) {
  return result ? Answer{} : of_error(result.error());
}

}  // namespace

Workload::Workload(std::uint64_t seed, std::string location, Coverage& met)
    : seed_(seed),
      location_(std::move(location)),
      met_(met),
      rng_(seed),
      clock_(kStartMs),
      community_(fmt::format("seq_{}", seed)) {}
Workload::~Workload() = default;

void Workload::open_store() {
  store_.reset();
  database_.reset();
  sql::DatabaseOptions options;
  const bool is_server = location_.contains('=') || location_.starts_with("postgres");
  options.location = is_server ? location_ : fmt::format("sqlite:{}/{}.db", location_, community_);
  options.clock = &clock_;
  options.seed = seed_;
  options.max_connections = 4;
  auto opened = sql::Database::open(std::move(options));
  ASSERT_TRUE(opened) << opened.error().message;
  database_ = *std::move(opened);
  auto store = Store::open(
      *database_, {.community = community_, .schema = sql::Schema::kMigrate, .committers = 1});
  ASSERT_TRUE(store) << store.error().message;
  store_ = *std::move(store);
}

void Workload::set_clock(std::int64_t now_ms) {
  clock_.skew_ms(now_ms - clock_.unix_ms());
  model_.now_ms = now_ms;
  if (database_->dialect() != sql::Dialect::kSqlite) return;
  const auto set = database_->run_transaction(
      [&](sql::Transaction& sql) { return sql.execute("UPDATE clock SET now_ms = $1", {now_ms}); });
  ASSERT_TRUE(set) << set.error().message;
}

Uuid Workload::new_id() {
  Uuid id;
  rng_.fill(id);
  id[6] = static_cast<std::uint8_t>((id[6] & 0x0f) | 0x40);
  id[8] = static_cast<std::uint8_t>((id[8] & 0x3f) | 0x80);
  return id;
}

void Workload::begin() {
  ASSERT_NO_FATAL_FAILURE(open_store());
  ASSERT_NO_FATAL_FAILURE(set_clock(kStartMs));
  for (int i = 0; i < 2; ++i) {
    const auto made = store_->create_system_account(new_id(), fmt::format("system_{}", i), kActor);
    ASSERT_TRUE(made) << made.error().message;
    wallets_.push_back(made->wallet);
    model_.add_wallet(made->wallet, {.owner = Model::Owner::kSystem, .owner_id = made->id});
  }
  for (int i = 0; i < 4; ++i) {
    const auto made = store_->create_user(new_id(), fmt::format("user_{}", i), kActor);
    ASSERT_TRUE(made) << made.error().message;
    users_.push_back(made->id);
    wallets_.push_back(made->wallet);
    model_.add_wallet(made->wallet, {.owner = Model::Owner::kUser, .owner_id = made->id});
  }
  const Transfer issue{.id = new_id(), .from = wallets_[0], .to = wallets_[0], .amount = 1'000};
  compare("issue", of(store_->transfer(issue, kActor)), model_.transfer(issue));
}

void Workload::run(int steps) {
  SCOPED_TRACE(fmt::format("COFFER_SEED={}", seed_));
  begin();
  for (step_ = 0; step_ < steps && !testing::Test::HasFailure(); ++step_) {
    SCOPED_TRACE(fmt::format("step {}", step_));
    step();
    if (!testing::Test::HasFailure()) compare_state();
  }
  if (!testing::Test::HasFailure()) compare_history();
  if (testing::Test::HasFailure()) return;
  store_.reset();
  if (database_->dialect() == sql::Dialect::kPostgres) {
    const auto dropped = database_->run_transaction([&](sql::Transaction& sql) {
      return sql.script(fmt::format("DROP SCHEMA {} CASCADE", community_));
    });
    EXPECT_TRUE(dropped) << dropped.error().message;
  }
}

void Workload::step() {
  if (holds_are_due_) {
    // A transfer finds expired tokens free although nobody has expired the hold yet (T10).
    rng_.one_in(2) ? end_hold() : transfer();
    const auto expired = store_->expire_holds();
    ASSERT_TRUE(expired) << expired.error().message;
    model_.expire_holds();
    holds_are_due_ = false;
    return;
  }
  switch (rng_.below(20)) {
    case 0: return raw_transfer();
    case 1: return raw_damage();
    case 2:
    case 3: return batch();
    case 4: return reverse();
    case 5:
    case 6: return hold();
    case 7:
    case 8: return end_hold();
    case 9:
    case 10: return accounts();
    case 11: return limits();
    case 12: return move_clock();
    case 13: return rng_.one_in(4) ? crash() : together();
    default: return transfer();
  }
}

Uuid Workload::some_wallet() {
  return rng_.one_in(40) ? new_id() : wallets_[rng_.below(wallets_.size())];
}
Uuid Workload::some_user() {
  return rng_.one_in(30) ? new_id() : users_[rng_.below(users_.size())];
}

std::int64_t Workload::some_amount(const Uuid& wallet) {
  const std::int64_t has = model_.wallets().contains(wallet) ? model_.balance(wallet) : 5;
  switch (rng_.below(16)) {
    case 0: return has;  // a whole balance
    case 1: return has + 1;
    case 2: return 0;
    case 3: return -1;
    case 4: return has - model_.held(wallet) + 1;
    default: return 1 + static_cast<std::int64_t>(rng_.below(60));
  }
}

Transfer Workload::some_transfer() {
  if (!model_.history().empty() && rng_.one_in(8)) {
    Transfer again = model_.history()[rng_.below(model_.history().size())].transfer;
    if (rng_.one_in(2)) {
      again.created_at_ms.reset();
      return again;
    }
    again.amount += 1;
    return again;
  }
  Transfer t{.id = new_id(), .from = some_wallet(), .to = some_wallet()};
  if (rng_.one_in(6)) t.from = wallets_[rng_.below(2)];
  if (rng_.one_in(10)) t.to = t.from;
  t.amount = t.from == t.to && rng_.one_in(6) ? std::numeric_limits<std::int64_t>::max()
                                              : some_amount(t.from);
  if (rng_.one_in(20)) t.type = static_cast<int>(rng_.below(102));
  if (rng_.one_in(5)) t.memo = "for the coffee";
  if (rng_.one_in(5)) t.metadata = R"({"order":"17"})";
  if (rng_.one_in(30)) t.metadata = "[1]";
  if (rng_.one_in(10)) t.created_at_ms = model_.now_ms - kHourMs;
  if (rng_.one_in(25)) t.created_at_ms = model_.now_ms + 25 * kHourMs;
  return t;
}

void Workload::transfer() {
  const Transfer t = some_transfer();
  compare("transfer", of(store_->transfer(t, kActor)), model_.transfer(t));
}

void Workload::raw_transfer() {
  Transfer t = some_transfer();
  t.memo.reset();
  t.metadata.reset();
  t.type = 1;
  if (t.amount <= 0) t.amount = 1;
  if (!t.created_at_ms) t.created_at_ms = model_.now_ms;
  const Community& c = store_->ledger();
  const auto inserted = database_->run_transaction([&](sql::Transaction& sql) {
    return sql.execute(
        c.sql("INSERT INTO @transactions (id, from_wallet_id, to_wallet_id, amount,"
              " transaction_type, created_at) VALUES ($1::uuid, $2::uuid, $3::uuid, $4, 1, $5)"),
        {c.id(t.id), c.id(t.from), c.id(t.to), t.amount, *t.created_at_ms});
  });
  Answer got = inserted ? Answer{} : of_error(explain(inserted.error()));
  Answer expected = model_.raw_transfer(t);
  if (got.refused == "id_taken") got.refused = "unique";
  expected.balance = 0;
  compare("raw transfer", got, expected);
}

// What nobody may do, whatever he types.
void Workload::raw_damage() {
  const Community& c = store_->ledger();
  struct Try {
    const char* sql;
    const char* reason;
  };
  static constexpr Try kTries[] = {
      {"UPDATE @wallets SET balance = balance + 1", "balance_is_derived"},
      {"DELETE FROM @transactions", "immutable"},
      {"UPDATE @transactions SET amount = amount + 1", "immutable"},
      {"DELETE FROM @wallet_entries", "immutable"},
      {"DELETE FROM @system_accounts", "has_history"},
  };
  const Try& chosen = kTries[rng_.below(std::size(kTries))];
  const auto tried = database_->run_transaction(
      [&](sql::Transaction& sql) { return sql.execute(c.sql(chosen.sql)); });
  compare(chosen.sql, tried ? Answer{} : of_error(explain(tried.error())),
          {.refused = chosen.reason});
}

void Workload::batch() {
  std::vector<Transfer> transfers;
  for (std::uint64_t i = rng_.between(1, 6); i > 0; --i) transfers.push_back(some_transfer());
  if (rng_.one_in(5)) transfers.push_back(transfers.front());
  const BatchMode mode = rng_.one_in(2) ? BatchMode::kAll : BatchMode::kEach;
  if (mode == BatchMode::kAll && rng_.one_in(2)) {  // one that may well succeed
    std::erase_if(transfers, [](const Transfer& t) {
      return t.amount <= 0 || t.type < 1 || t.type > 99 || t.metadata == "[1]";
    });
    if (transfers.empty()) return;
  }
  const auto results = store_->batch(transfers, mode, kActor);
  const std::vector<Answer> expected = model_.batch(transfers, mode);
  if (!results) {
    ASSERT_EQ(mode, BatchMode::kAll) << results.error().message;
    return compare("batch", of_error(results.error()), expected.front());
  }
  ASSERT_EQ(results->size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    compare("item of a batch", of((*results)[i]), expected[i]);
}

void Workload::reverse() {
  const auto& history = model_.history();
  Uuid transaction = history[rng_.below(history.size())].transfer.id;
  if (rng_.one_in(15)) transaction = new_id();
  Uuid reversal = rng_.one_in(12) ? history[rng_.below(history.size())].transfer.id : new_id();
  if (reversal == transaction) reversal = new_id();
  const auto expected = model_.reverse(transaction, reversal);
  compare("reverse", of(store_->reverse(transaction, reversal, kActor)), expected);
  if (!expected.refused.empty() || !rng_.one_in(2)) return;
  compare("reverse again", of(store_->reverse(transaction, reversal, kActor)),
          model_.reverse(transaction, reversal));
}

void Workload::hold() {
  NewHold hold{.id = new_id(), .wallet = some_wallet(), .to = some_wallet()};
  hold.amount = some_amount(hold.wallet);
  hold.duration_ms = static_cast<std::int64_t>(rng_.between(1, 48)) * kHourMs;
  if (rng_.one_in(20)) hold.duration_ms = 0;
  if (!model_.holds().empty() && rng_.one_in(8)) {
    hold = model_.holds().begin()->second.hold;
    if (rng_.one_in(2)) ++hold.amount;
  }
  const Answer expected = model_.open_hold(hold);
  Answer got = done_or(store_->open_hold(hold, kActor));
  got.is_repeat = expected.is_repeat;  // a Hold does not say so
  compare("open hold", got, expected);
}

void Workload::end_hold() {
  Uuid id = new_id();
  if (!model_.holds().empty() && !rng_.one_in(15)) {
    auto chosen = model_.holds().begin();
    std::advance(chosen, static_cast<std::ptrdiff_t>(rng_.below(model_.holds().size())));
    id = chosen->first;
  }
  Answer got, expected;
  if (rng_.one_in(3)) {
    got = done_or(store_->release_hold(id, kActor));
    expected = model_.release_hold(id);
  } else {
    Uuid transaction = new_id();
    std::optional<std::int64_t> amount;
    const auto row = model_.holds().find(id);
    const bool is_open = row != model_.holds().end() && row->second.state == HoldState::kOpen;
    if (is_open && rng_.one_in(2)) amount = row->second.hold.amount - 1 + rng_.below(3);
    if (row != model_.holds().end() && row->second.state == HoldState::kCaptured &&
        rng_.one_in(2)) {
      transaction = row->second.transaction;
      amount = row->second.captured;
    }
    if (is_open && rng_.one_in(10)) transaction = model_.history().front().transfer.id;
    got = done_or(store_->capture_hold(id, transaction, amount, kActor));
    expected = model_.capture_hold(id, transaction, amount);
  }
  expected.is_repeat = false;
  compare("end hold", got, expected);
}

void Workload::accounts() {
  const Uuid wallet = some_wallet();
  const Uuid user = some_user();
  switch (rng_.below(6)) {
    case 0:
      return compare("freeze", done_or(store_->freeze(wallet, kActor)),
                     model_.set_frozen(wallet, true));
    case 1:
    case 2:
      return compare("unfreeze", done_or(store_->unfreeze(wallet, kActor)),
                     model_.set_frozen(wallet, false));
    case 3:
      return compare("delete user", done_or(store_->delete_user(user, kActor)),
                     model_.set_deleted(user, true));
    default:
      return compare("reactivate user", done_or(store_->reactivate_user(user, kActor)),
                     model_.set_deleted(user, false));
  }
}

void Workload::limits() {
  const Uuid wallet = some_wallet();
  const WalletLimits limits{.per_transfer = rng_.between(20, 200),
                            .per_day = rng_.between(30, 400)};
  compare("set limits", done_or(store_->set_limits(wallet, limits, kActor)),
          model_.set_limits(wallet, limits));
}

// The wall clock is set, also back: a skewed clock stops nothing (T6).
void Workload::move_clock() {
  std::int64_t by = static_cast<std::int64_t>(rng_.between(1, 30)) * kHourMs;
  if (rng_.one_in(4)) by = -static_cast<std::int64_t>(rng_.between(1, 5)) * 1'000;
  ASSERT_NO_FATAL_FAILURE(set_clock(model_.now_ms + by));
  holds_are_due_ = true;
}

void Workload::crash() {
  ASSERT_NO_FATAL_FAILURE(open_store());
}

// Several at once, without conflicts between them: all answers are those of any order.
void Workload::together() {
  std::vector<Transfer> transfers;
  for (std::size_t i = 2; i < wallets_.size(); ++i)
    transfers.push_back({.id = new_id(), .from = wallets_[i], .to = wallets_[0], .amount = 1});
  std::mutex mutex;
  std::condition_variable all_done;
  std::map<Uuid, Answer> answers;
  for (const Transfer& t : transfers)
    store_->submit(t, kActor, [&, id = t.id](const Result<Applied>& result) {
      const std::lock_guard lock(mutex);
      answers[id] = of(result);
      all_done.notify_one();
    });
  std::unique_lock lock(mutex);
  ASSERT_TRUE(all_done.wait_for(lock, std::chrono::seconds(60),
                                [&] { return answers.size() == transfers.size(); }));
  for (const Transfer& t : transfers) compare("one of several", answers[t.id], model_.transfer(t));
}

void Workload::compare(const char* what, const Answer& got, const Answer& expected) {
  EXPECT_EQ(got, expected) << what;
  ++met_[expected.refused.empty() ? (expected.is_repeat ? "repeat" : what) : expected.refused];
}

}  // namespace coffer::token::test
