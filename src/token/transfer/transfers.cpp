// Transfers one by one and in batches.
#include <algorithm>
#include <future>

#include "token/store_impl.h"
#include "token/transfer/check.h"
#include "token/transfer/group_commit.h"
#include "token/transfer/ledger.h"

namespace coffer::token {
namespace {

constexpr int kBatchAttempts = 3;  // of a batch one of whose ids another session inserts meanwhile

using BatchAnswers = std::vector<Result<Applied>>;

std::string batch_item_name(std::size_t place) {
  return fmt::format("item {}", place + 1);
}

// A batch, in whose list are only those that check_transfer() lets through.
struct BatchWork {
  std::vector<Transfer> transfers;
  std::vector<std::size_t> places;  // in the request
  std::vector<Pending> pending;
};

Result<BatchWork> check_batch(std::span<const Transfer> transfers, BatchMode mode,
                              const Actor& actor, BatchAnswers& answers) {
  BatchWork work;
  work.transfers.reserve(transfers.size());
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    Transfer transfer = transfers[i];
    if (auto checked = check_transfer(transfer); !checked) {
      if (mode == BatchMode::kAll)
        return std::unexpected(std::move(checked).error().in(batch_item_name(i)));
      answers[i] = std::unexpected(std::move(checked).error());
      continue;
    }
    work.transfers.push_back(std::move(transfer));
    work.places.push_back(i);
  }
  for (const Transfer& transfer : work.transfers)
    work.pending.push_back({.transfer = &transfer, .actor = actor.name});
  return work;
}

Result<> refused_item(const BatchWork& work) {
  for (std::size_t i = 0; i < work.pending.size(); ++i)
    if (!work.pending[i].answer)
      return std::unexpected(
          Error(work.pending[i].answer.error()).in(batch_item_name(work.places[i])));
  return {};
}

Result<> commit_batch(sql::Transaction& sql, const Community& community, BatchMode mode,
                      BatchWork& work) {
  const bool is_all = mode == BatchMode::kAll;
  const auto decide_all = [&](Situation& situation) {
    for (Pending& item : work.pending) item.answer = Applied{};
    return decide(work.pending, situation, is_all);
  };
  Situation situation = TRY(read_situation(sql, community, work.pending, LockMode::kWait));
  (void)forget_unsent(work.pending, situation);
  auto accepted = decide_all(situation);
  if (TRY(expire_holds_in_the_way(sql, community, work.pending, situation.judge.now_ms()))) {
    situation = TRY(read_situation(sql, community, work.pending, LockMode::kWait));
    accepted = decide_all(situation);
  }
  if (is_all) TRY(refused_item(work));
  auto done = insert_and_commit(sql, community, work.pending, accepted);
  if (!done && is_commit_unknown(done.error()))
    for (const std::size_t place : accepted) work.pending[place].was_sent = true;
  return done;
}

bool is_refusal(const Error& error) {
  return error.code == Code::kConflict || error.code == Code::kInvalidInput ||
         error.code == Code::kNotFound;
}

// Most batches are good: they are inserted at once. What remains is decided first.
Result<> run_batch(const Community& community, BatchMode mode, BatchWork& work) {
  auto done = community.database().run_transaction(
      [&](sql::Transaction& sql) {
        auto inserted = insert_at_once(sql, community, work.pending);
        if (!inserted && is_commit_unknown(inserted.error()))
          for (Pending& item : work.pending) item.was_sent = true;
        return inserted;
      },
      kWrite);
  for (int attempt = 1; !done && is_refusal(done.error()); ++attempt) {
    if (attempt > kBatchAttempts) break;
    done = community.database().run_transaction(
        [&](sql::Transaction& sql) { return commit_batch(sql, community, mode, work); }, kWrite);
    if (!done && done.error().reason != "unique") break;
  }
  if (!done) return std::unexpected(explain(std::move(done).error()));
  return {};
}

}  // namespace

void Store::submit(Transfer transfer, Actor actor, Done done) {
  impl_->groups->submit(std::move(transfer), std::move(actor), std::move(done));
}

Store::GroupStats Store::group_stats() const {
  return impl_->groups->stats();
}

Result<Applied> Store::transfer(const Transfer& transfer, const Actor& actor) {
  auto answer = std::make_shared<std::promise<Result<Applied>>>();
  auto result = answer->get_future();
  submit(transfer, actor,
         [answer](Result<Applied> applied) { answer->set_value(std::move(applied)); });
  return result.get();
}

Result<BatchAnswers> Store::batch(std::span<const Transfer> transfers, BatchMode mode,
                                  const Actor& actor) {
  TRY(check_actor(actor));
  if (transfers.empty() || transfers.size() > kMaxBatch)
    return fail(Code::kInvalidInput, "batch: {} transfers; expected 1 to {}", transfers.size(),
                kMaxBatch);
  BatchAnswers answers(transfers.size());
  BatchWork work = TRY(check_batch(transfers, mode, actor, answers));
  if (!work.pending.empty()) TRY(run_batch(impl_->community, mode, work));
  for (std::size_t i = 0; i < work.places.size(); ++i)
    answers[work.places[i]] = std::move(work.pending[i].answer);
  return answers;
}

}  // namespace coffer::token
