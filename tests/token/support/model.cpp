#include "token/support/model.h"

#include <algorithm>
#include <limits>
#include <ostream>

namespace coffer::token::test {
namespace {

using Wide = __int128_t;
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kDayMs = 86'400'000;

bool is_json_object(const std::string& text) {
  return text.size() <= kMaxMetadataBytes && text.starts_with('{') && text.ends_with('}');
}
bool has_valid_fields(const Transfer& t) {
  return t.amount > 0 && t.type >= 1 && t.type <= 99 &&
         (!t.memo || t.memo->size() <= kMaxMemoLength) &&
         (!t.metadata || is_json_object(*t.metadata)) && (!t.created_at_ms || *t.created_at_ms > 0);
}
bool is_same(const Transfer& a, const Transfer& b) {
  return a.from == b.from && a.to == b.to && a.amount == b.amount && a.type == b.type &&
         a.memo == b.memo && a.metadata == b.metadata &&
         (!b.created_at_ms || a.created_at_ms == b.created_at_ms);
}
Answer refused(std::string reason) {
  return {.refused = std::move(reason)};
}

}  // namespace

std::ostream& operator<<(std::ostream& out, const Answer& answer) {
  if (!answer.refused.empty()) return out << answer.refused;
  return out << (answer.is_repeat ? "repeat" : "done") << " balance " << answer.balance;
}

std::int64_t Model::balance_at(const Uuid& wallet, std::int64_t at_ms) const {
  Wide sum = 0;
  for (const Moved& moved : history_) {
    if (moved.at_ms > at_ms) continue;
    const Transfer& t = moved.transfer;
    if (t.to == wallet) sum += t.amount;
    if (t.from == wallet && t.from != t.to) sum -= t.amount;
  }
  return static_cast<std::int64_t>(sum);
}
std::int64_t Model::balance(const Uuid& wallet) const {
  return balance_at(wallet, kMax);
}

std::int64_t Model::held(const Uuid& wallet) const {
  std::int64_t sum = 0;
  for (const auto& [id, row] : holds_)
    if (row.state == HoldState::kOpen && row.hold.wallet == wallet) sum += row.hold.amount;
  return sum;
}

std::int64_t Model::issued() const {
  std::int64_t sum = 0;
  for (const Moved& moved : history_)
    if (moved.transfer.from == moved.transfer.to) sum += moved.transfer.amount;
  return sum;
}

// What counts is what was sent today while there was a limit per day.
std::int64_t Model::spent_today(const Uuid& wallet) const {
  std::int64_t sum = 0;
  for (const Moved& moved : history_) {
    const Transfer& t = moved.transfer;
    if (t.from == wallet && t.to != wallet && moved.had_daily_limit &&
        moved.at_ms / kDayMs == now_ms / kDayMs)
      sum += t.amount;
  }
  return sum;
}

Supply Model::supply() const {
  Supply supply;
  supply.issuance = issued();
  for (const auto& [id, holder] : wallets_) {
    std::int64_t& place = holder.owner == Owner::kSystem ? supply.pool
                          : holder.is_deleted            ? supply.deleted_users
                                                         : supply.circulation;
    place += balance(id);
  }
  return supply;
}

const Model::Moved* Model::find(const Uuid& id) const {
  const auto found =
      std::ranges::find_if(history_, [&](const Moved& m) { return m.transfer.id == id; });
  return found == history_.end() ? nullptr : &*found;
}

std::string Model::judge(const Transfer& t) const {
  if (t.created_at_ms && *t.created_at_ms > now_ms + kDayMs) return "created_in_future";
  const auto from = wallets_.find(t.from), to = wallets_.find(t.to);
  if (from == wallets_.end()) return "sender_not_found";
  const Holder& sender = from->second;
  if (sender.is_frozen) return "sender_frozen";
  if (sender.is_deleted) return "sender_deleted";
  if (t.from == t.to) {
    if (sender.owner != Owner::kSystem) return "not_a_system_wallet";
    return Wide(issued()) + t.amount > kMax ? "issuance_overflow" : "";
  }
  if (to == wallets_.end()) return "recipient_not_found";
  if (to->second.is_frozen) return "recipient_frozen";
  if (to->second.is_deleted) return "recipient_deleted";
  const std::int64_t has = balance(t.from);
  if (has < t.amount) return "insufficient_balance";
  if (has - held(t.from) < t.amount) return "balance_held";
  if (sender.limits.per_transfer && t.amount > *sender.limits.per_transfer)
    return "above_transfer_limit";
  if (sender.limits.per_day && Wide(spent_today(t.from)) + t.amount > *sender.limits.per_day)
    return "above_daily_limit";
  return "";
}

Answer Model::move(const Transfer& t, bool is_reversal) {
  if (std::string reason = judge(t); !reason.empty()) return refused(std::move(reason));
  history_.push_back({.transfer = t,
                      .at_ms = now_ms,
                      .is_reversal = is_reversal,
                      .had_daily_limit = wallets_.at(t.from).limits.per_day.has_value()});
  history_.back().balance = balance(t.from);
  return {.balance = history_.back().balance};
}

Answer Model::transfer(const Transfer& t) {
  if (!has_valid_fields(t)) return refused("invalid_input");
  if (const Moved* known = find(t.id)) {
    if (!is_same(known->transfer, t)) return refused("id_taken");
    return {.is_repeat = true, .balance = known->balance};
  }
  expire_due(t.from);
  return move(t);
}

Answer Model::raw_transfer(const Transfer& t) {
  if (find(t.id) != nullptr) return refused("unique");
  return move(t);
}

std::vector<Answer> Model::batch(const std::vector<Transfer>& transfers, BatchMode mode) {
  const Model before = *this;
  std::vector<Answer> answers;
  if (mode == BatchMode::kAll && !std::ranges::all_of(transfers, has_valid_fields))
    return {refused("invalid_input")};
  for (const Transfer& t : transfers) {
    answers.push_back(transfer(t));
    if (mode == BatchMode::kAll && !answers.back().refused.empty()) {
      *this = before;
      return {answers.back()};
    }
  }
  return answers;
}

Answer Model::reverse(const Uuid& transaction, const Uuid& reversal) {
  const Moved* original = find(transaction);
  if (original == nullptr) return refused("transaction_not_found");
  const Transfer& o = original->transfer;
  if (o.from == o.to) return refused("is_issuance");
  if (original->is_reversal) return refused("is_reversal");
  if (const auto done = reversals_.find(transaction); done != reversals_.end()) {
    if (done->second != reversal) return refused("already_reversed");
    return {.is_repeat = true, .balance = find(reversal)->balance};
  }
  if (find(reversal) != nullptr) return refused("id_taken");
  const Transfer back{.id = reversal, .from = o.to, .to = o.from, .amount = o.amount};
  expire_due(back.from);
  Answer answer = move(back, true);
  if (answer.refused.empty()) reversals_[transaction] = reversal;
  return answer;
}

Answer Model::open_hold(const NewHold& hold) {
  if (hold.amount <= 0 || hold.duration_ms <= 0 || hold.duration_ms > kMaxHoldMs ||
      hold.wallet == hold.to)
    return refused("invalid_input");
  if (const auto known = holds_.find(hold.id); known != holds_.end()) {
    const NewHold& k = known->second.hold;
    if (k.wallet != hold.wallet || k.to != hold.to || k.amount != hold.amount ||
        k.memo != hold.memo)
      return refused("id_taken");
    return {.is_repeat = true};
  }
  const auto from = wallets_.find(hold.wallet), to = wallets_.find(hold.to);
  if (from == wallets_.end()) return refused("sender_not_found");
  if (from->second.is_frozen) return refused("sender_frozen");
  if (from->second.is_deleted) return refused("sender_deleted");
  if (to == wallets_.end()) return refused("recipient_not_found");
  if (to->second.is_frozen) return refused("recipient_frozen");
  if (to->second.is_deleted) return refused("recipient_deleted");
  expire_due(hold.wallet);
  if (balance(hold.wallet) < hold.amount) return refused("insufficient_balance");
  if (balance(hold.wallet) - held(hold.wallet) < hold.amount) return refused("balance_held");
  holds_[hold.id] = {.hold = hold, .expires_at_ms = now_ms + hold.duration_ms};
  return {};
}

Answer Model::capture_hold(const Uuid& id, const Uuid& transaction,
                           std::optional<std::int64_t> amount) {
  const auto found = holds_.find(id);
  if (amount && *amount <= 0) return refused("invalid_input");
  if (found == holds_.end()) return refused("hold_not_found");
  HoldRow& row = found->second;
  const std::int64_t wanted = amount.value_or(row.hold.amount);
  if (row.state == HoldState::kCaptured && row.transaction == transaction && row.captured == wanted)
    return {.is_repeat = true};
  if (row.state != HoldState::kOpen) return refused("hold_ended");
  if (row.expires_at_ms <= now_ms) return refused("hold_expired");
  if (wanted > row.hold.amount) return refused("above_hold");
  if (find(transaction) != nullptr) return refused("id_taken");
  row.state = HoldState::kCaptured;  // the tokens are no longer held when the transfer is judged
  Answer moved =
      move({.id = transaction, .from = row.hold.wallet, .to = row.hold.to, .amount = wanted});
  if (!moved.refused.empty()) {
    row.state = HoldState::kOpen;
    return moved;
  }
  row.transaction = transaction;
  row.captured = wanted;
  return {};
}

Answer Model::release_hold(const Uuid& id) {
  const auto found = holds_.find(id);
  if (found == holds_.end()) return refused("hold_not_found");
  HoldRow& row = found->second;
  if (row.state == HoldState::kReleased) return {.is_repeat = true};
  if (row.state != HoldState::kOpen) return refused("hold_ended");
  row.state = HoldState::kReleased;
  return {};
}

void Model::expire_holds() {
  for (auto& [id, row] : holds_)
    if (row.state == HoldState::kOpen && row.expires_at_ms <= now_ms)
      row.state = HoldState::kExpired;
}

void Model::expire_due(const Uuid& wallet) {
  for (auto& [id, row] : holds_)
    if (row.hold.wallet == wallet && row.state == HoldState::kOpen && row.expires_at_ms <= now_ms)
      row.state = HoldState::kExpired;
}

Answer Model::set_deleted(const Uuid& user, bool deleted) {
  for (auto& [id, holder] : wallets_)
    if (holder.owner == Owner::kUser && holder.owner_id == user) {
      holder.is_deleted = deleted;
      return {};
    }
  return refused("user_not_found");
}

Answer Model::set_frozen(const Uuid& wallet, bool frozen) {
  const auto found = wallets_.find(wallet);
  if (found == wallets_.end()) return refused("wallet_not_found");
  if (found->second.owner == Owner::kSystem && frozen) return refused("system_wallet");
  found->second.is_frozen = frozen;
  return {};
}

Answer Model::set_limits(const Uuid& wallet, const WalletLimits& limits) {
  const auto found = wallets_.find(wallet);
  if (found == wallets_.end()) return refused("wallet_not_found");
  found->second.limits = limits;
  return {};
}

}  // namespace coffer::token::test
