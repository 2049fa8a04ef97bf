#include "token/transfer/judge.h"

#include <limits>

#include <coffer/base/clock.h>
#include "token/reasons.h"

namespace coffer::token {
namespace {

constexpr std::int64_t kMostTokens = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t kFutureMs = 86'400'000;

template <typename... Args>
std::unexpected<Error> refuse_transfer(std::string_view reason, fmt::format_string<Args...> format,
                                       Args&&... args) {
  return std::unexpected(refusal(reason, fmt::format(format, std::forward<Args>(args)...)));
}

Result<> check_balance_room(const WalletState& recipient, std::int64_t amount) {
  if (recipient.balance > kMostTokens - amount)
    return refuse_transfer("balance_overflow", "wallet {}: its balance would pass {}",
                           to_string(recipient.id), kMostTokens);
  return {};
}

Result<> check_limits(const WalletState& sender, std::int64_t amount) {
  if (sender.per_transfer && amount > *sender.per_transfer)
    return refuse_transfer("above_transfer_limit",
                           "wallet {}: its limit per transfer is {}, not {}", to_string(sender.id),
                           *sender.per_transfer, amount);
  if (sender.per_day && amount > *sender.per_day - sender.spent_today)
    return refuse_transfer("above_daily_limit",
                           "wallet {}: its limit per day is {}, {} is spent, needs {}",
                           to_string(sender.id), *sender.per_day, sender.spent_today, amount);
  return {};
}

}  // namespace

Result<> check_sender(const Uuid& id, const WalletState* wallet) {
  if (wallet == nullptr)
    return refuse_transfer("sender_not_found", "sender wallet {} not found", to_string(id));
  if (wallet->is_frozen)
    return refuse_transfer("sender_frozen", "sender wallet {} is frozen", to_string(id));
  if (wallet->is_deleted)
    return refuse_transfer("sender_deleted", "sender wallet {} belongs to a deleted user",
                           to_string(id));
  return {};
}

Result<> check_recipient(const Uuid& id, const WalletState* wallet) {
  if (wallet == nullptr)
    return refuse_transfer("recipient_not_found", "recipient wallet {} not found", to_string(id));
  if (wallet->is_frozen)
    return refuse_transfer("recipient_frozen", "recipient wallet {} is frozen", to_string(id));
  if (wallet->is_deleted)
    return refuse_transfer("recipient_deleted", "recipient wallet {} belongs to a deleted user",
                           to_string(id));
  return {};
}

Result<> check_funds(const WalletState& sender, std::int64_t amount) {
  if (sender.balance < amount)
    return refuse_transfer("insufficient_balance",
                           "wallet {}: insufficient balance: has {}, needs {}",
                           to_string(sender.id), sender.balance, amount);
  if (sender.balance - sender.held < amount)
    return refuse_transfer("balance_held",
                           "wallet {}: insufficient balance: has {}, of which {} is held, needs {}",
                           to_string(sender.id), sender.balance, sender.held, amount);
  return {};
}

WalletState* Judge::find(const Uuid& wallet) {
  const auto found = wallets_.find(wallet);
  return found == wallets_.end() ? nullptr : &found->second;
}

Result<std::int64_t> Judge::apply(const Transfer& transfer) {
  if (transfer.created_at_ms && *transfer.created_at_ms > now_ms_ + kFutureMs)
    return refuse_transfer("created_in_future", "created_at: {} is more than 24 hours ahead of {}",
                           *transfer.created_at_ms, now_ms_);
  WalletState* const sender = find(transfer.from);
  TRY(check_sender(transfer.from, sender));
  if (transfer.from == transfer.to) return issue(transfer, *sender);
  WalletState* const recipient = find(transfer.to);
  TRY(check_recipient(transfer.to, recipient));
  TRY(check_funds(*sender, transfer.amount));
  TRY(check_balance_room(*recipient, transfer.amount));
  TRY(check_limits(*sender, transfer.amount));
  sender->balance -= transfer.amount;
  recipient->balance += transfer.amount;
  if (sender->per_day) sender->spent_today += transfer.amount;
  return sender->balance;
}

Result<std::int64_t> Judge::issue(const Transfer& transfer, WalletState& wallet) {
  if (!wallet.is_system)
    return refuse_transfer("not_a_system_wallet",
                           "wallet {}: only the wallet of a system account issues",
                           to_string(wallet.id));
  if (issuance_ > kMostTokens - transfer.amount)
    return refuse_transfer("issuance_overflow", "total issuance is {} and would pass {}", issuance_,
                           kMostTokens);
  TRY(check_balance_room(wallet, transfer.amount));
  issuance_ += transfer.amount;
  wallet.balance += transfer.amount;
  return wallet.balance;
}

}  // namespace coffer::token
