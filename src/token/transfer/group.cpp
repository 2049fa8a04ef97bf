#include "token/transfer/group.h"

#include <algorithm>
#include <iterator>

#include "token/store_impl.h"

namespace coffer::token {
namespace {

constexpr int kGroupAttempts = 3;  // of one item that fails alone
// Groups of one process have no wallet in common: who holds a lock for longer is somebody else, and
// then those who do not need that wallet must not wait with the others.
constexpr int kBriefLockMs = 5;

bool is_own_fault(const Error& error) {
  return error.code == Code::kConflict || error.code == Code::kInvalidInput ||
         error.code == Code::kNotFound;
}

// The items that can be decided, and where they stand in the group.
struct Decidable {
  std::vector<Pending> pending;
  std::vector<std::size_t> places;
};

Decidable decidable(const GroupItems& items, std::span<const GroupAnswer> answers) {
  Decidable list;
  list.pending.reserve(items.size());
  list.places.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (answers[i].locked_elsewhere) continue;
    list.pending.push_back({.transfer = &items[i]->transfer,
                            .actor = items[i]->actor.name,
                            .was_sent = items[i]->was_sent});
    list.places.push_back(i);
  }
  return list;
}

void set_aside(const GroupItems& items, const std::unordered_set<Uuid, HashOfHash>& locked,
               std::vector<GroupAnswer>& answers) {
  for (std::size_t i = 0; i < items.size(); ++i)
    for (const Uuid& wallet : {items[i]->transfer.to, items[i]->transfer.from})
      if (locked.contains(wallet)) answers[i].locked_elsewhere = wallet;
}

bool has_repeated_id(const GroupItems& items) {
  std::unordered_set<Uuid, HashOfHash> ids;
  ids.reserve(items.size());
  return !std::ranges::all_of(
      items, [&](const auto& item) { return ids.insert(item->transfer.id).second; });
}

// Nothing if the group has to be decided item by item.
std::optional<std::vector<GroupAnswer>> insert_group(const Community& community,
                                                     const GroupItems& items,
                                                     GroupCaution& caution) {
  if (caution.take() || has_repeated_id(items)) return std::nullopt;
  std::vector<GroupAnswer> answers(items.size());
  Decidable list = decidable(items, answers);
  sql::TransactionOptions once = kWrite;
  once.max_attempts = 1;
  const auto done = community.database().run_transaction(
      [&](sql::Transaction& sql) {
        return insert_at_once(sql, community, list.pending, kBriefLockMs);
      },
      once);
  if (!done) {
    caution.raise();
    if (is_commit_unknown(done.error()))
      for (const auto& item : items) item->was_sent = true;
    return std::nullopt;
  }
  for (std::size_t i = 0; i < items.size(); ++i)
    answers[i].applied = std::move(list.pending[i].answer);
  return answers;
}

std::vector<GroupAnswer> decide_group(const Community& community, GroupItems& items);

// Those from `from` on, as a group of their own.
std::vector<GroupAnswer> run_part(const Community& community, GroupItems& items, std::size_t from,
                                  std::size_t to) {
  const auto begin = items.begin() + static_cast<std::ptrdiff_t>(from);
  const auto end = items.begin() + static_cast<std::ptrdiff_t>(to);
  GroupItems part(std::make_move_iterator(begin), std::make_move_iterator(end));
  auto answers = decide_group(community, part);
  std::move(part.begin(), part.end(), begin);
  return answers;
}

std::vector<GroupAnswer> decide_group(const Community& community, GroupItems& items) {
  std::vector<GroupAnswer> answers;
  Result<> done;
  for (int attempt = 1; attempt <= kGroupAttempts; ++attempt) {
    done = community.database().run_transaction(
        [&](sql::Transaction& sql) { return commit_group(sql, community, items, answers); },
        kWrite);
    if (done) return answers;
    if (!is_own_fault(done.error())) break;
    if (items.size() > 1) {
      answers = run_part(community, items, 0, items.size() / 2);
      auto rest = run_part(community, items, items.size() / 2, items.size());
      std::ranges::move(rest, std::back_inserter(answers));
      return answers;
    }
  }
  const Error error = explain(std::move(done).error());
  answers.assign(items.size(), {.applied = std::unexpected(error)});
  return answers;
}

}  // namespace

Result<> commit_group(sql::Transaction& sql, const Community& community, const GroupItems& items,
                      std::vector<GroupAnswer>& answers) {
  answers.assign(items.size(), {});
  Decidable list = decidable(items, answers);
  Situation situation = TRY(read_situation(sql, community, list.pending, LockMode::kSkipLocked));
  const auto locked = TRY(find_locked_elsewhere(sql, community, list.pending, situation));
  if (!locked.empty()) {
    set_aside(items, locked, answers);
    list = decidable(items, answers);
  }
  if (forget_unsent(list.pending, situation))
    for (const auto& item : items) item->was_sent = false;
  auto accepted = decide(list.pending, situation);
  if (TRY(expire_holds_in_the_way(sql, community, list.pending, situation.judge.now_ms()))) {
    situation = TRY(read_situation(sql, community, list.pending, LockMode::kSkipLocked));
    accepted = decide(list.pending, situation);
  }
  auto done = insert_and_commit(sql, community, list.pending, accepted);
  if (!done && is_commit_unknown(done.error()))
    for (const std::size_t place : accepted) items[list.places[place]]->was_sent = true;
  TRY(std::move(done));
  for (std::size_t i = 0; i < list.places.size(); ++i)
    answers[list.places[i]].applied = std::move(list.pending[i].answer);
  return {};
}

std::vector<GroupAnswer> run_group(const Community& community, GroupItems& items,
                                   GroupCaution& caution) {
  if (auto answers = insert_group(community, items, caution)) return *std::move(answers);
  return decide_group(community, items);
}

}  // namespace coffer::token
