#include "wallet/json/input.h"

#include <charconv>

#include <coffer/chain/address.h>
#include "api/input.h"
#include "base/result.h"
#include "chain/bitcoin_limits.h"
#include "wallet/descriptor/scripts.h"
#include "wallet/json/output.h"

namespace coffer::wallet {
namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kBlanks = " \t\r\n";
  const auto begin = text.find_first_not_of(kBlanks);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kBlanks) - begin + 1);
}

Result<bool> parse_flag(std::string_view text) {
  if (text != "true" && text != "false") return fail(Code::kInvalidInput, "expected true or false");
  return text == "true";
}

// What one of several parameters says, if it is there.
template <typename T, typename Parse>
Result<> take(const http::Fields& query, std::string_view name, std::optional<T>& to, Parse parse) {
  if (const auto text = http::find(query, name)) to = TRY_IN(name, parse(*text));
  return {};
}

// "a,b,c", each by `parse`.
template <typename T, typename Parse>
Result<std::vector<T>> parse_list(std::string_view text, Parse parse) {
  std::vector<T> items;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    items.push_back(TRY(parse(text.substr(at, end - at))));
    at = end + 1;
  }
  return items;
}

Result<> check_range(std::string_view name, const std::optional<std::uint64_t>& min,
                     const std::optional<std::uint64_t>& max) {
  if (min && max && *min > *max)
    return fail(Code::kInvalidInput, "min_{}: {} is more than max_{} {}", name, *min, name, *max);
  return {};
}

}  // namespace

Result<Hash256> parse_hash(std::string_view what, std::string_view text) {
  return TRY_IN(what, chain::parse_display(chain::Family::kBitcoin, text));
}

Result<wallet::CoinOrder> parse_order(std::string_view text) {
  using enum wallet::CoinOrder;
  if (text == "oldest") return kOldest;
  if (text == "newest") return kNewest;
  if (text == "largest") return kLargest;
  if (text == "smallest") return kSmallest;
  return fail(Code::kInvalidInput, "order: expected oldest, newest, largest or smallest");
}

Result<std::uint64_t> parse_satoshi(std::string_view text) {
  return api::parse_whole(text, 0, chain::kMaxMoney);
}

Result<std::uint64_t> parse_payment(std::string_view text) {
  return TRY_IN("amount", api::parse_whole(text, 1, chain::kMaxMoney));
}

Result<wallet::LockId> parse_lock_id(std::string_view text) {
  const auto bytes = from_hex(text);
  if (!bytes || bytes->size() != wallet::LockId::kSize)
    return fail(
        Code::kInvalidInput, "lock_id: expected 32 bytes of your choice as 64 hex digits, got {}",
        text.size() == 2 * wallet::LockId::kSize ? "a character that is none"
                                                 : fmt::format("{} characters", text.size()));
  return wallet::LockId::from(bytes->data());
}

Result<Bytes> parse_raw_tx(std::string_view text) {
  const std::string_view hex = trimmed(text);
  if (hex.empty()) return fail(Code::kInvalidInput, "transaction: expected its bytes in hex");
  return TRY_IN("transaction", from_hex(hex));
}

Result<Bytes> parse_script(std::string_view text) {
  Bytes script = TRY_IN("script", from_hex(text));
  if (script.empty() || script.size() > wallet::kMaxScriptBytes)
    return fail(Code::kInvalidInput, "script: expected 1 to {} bytes in hex, got {} bytes",
                wallet::kMaxScriptBytes, script.size());
  return script;
}

Result<wallet::PageOptions> parse_wallet_page(const http::Fields& query) {
  wallet::PageOptions page;
  if (const auto text = http::find(query, "count"))
    page.count = TRY_IN("count", api::parse_whole(*text, 1, wallet::kMaxPage));
  if (const auto text = http::find(query, "cursor")) page.cursor = *text;
  return page;
}

Result<wallet::Scope> parse_scope(const chain::Network& network, const http::Fields& query) {
  wallet::Scope scope;
  if (const auto text = http::find(query, "account")) scope.account = *text;
  if (const auto text = http::find(query, "address"))
    scope.script = TRY(api::parse_owner(network, *text));
  if (scope.account && scope.script)
    return fail(Code::kInvalidInput, "account and address: give one of them");
  return scope;
}

Result<wallet::CoinQuery> parse_coin_query(const chain::Network& network,
                                           const http::Fields& query) {
  const auto depth = [](std::string_view text) { return api::parse_whole(text, 0, kMaxHeight); };
  wallet::CoinQuery coins;
  coins.page = TRY(parse_wallet_page(query));
  if (const auto text = http::find(query, "state"))
    coins.states = TRY_IN("state", parse_list<wallet::CoinState>(*text, wallet::parse_state));
  if (const auto text = http::find(query, "account")) coins.account = *text;
  if (const auto text = http::find(query, "address"))
    coins.script = TRY(api::parse_owner(network, *text));
  TRY(take(query, "min_amount", coins.min_amount, parse_satoshi));
  TRY(take(query, "max_amount", coins.max_amount, parse_satoshi));
  TRY(check_range("amount", coins.min_amount, coins.max_amount));
  TRY(take(query, "min_confirmations", coins.min_confirmations, depth));
  TRY(take(query, "max_confirmations", coins.max_confirmations, depth));
  TRY(check_range("confirmations", coins.min_confirmations, coins.max_confirmations));
  TRY(take(query, "leased", coins.leased, parse_flag));
  if (const auto text = http::find(query, "spendable"))
    coins.spendable = TRY_IN("spendable", parse_flag(*text));
  if (const auto text = http::find(query, "chain_pending"))
    coins.chain_pending = TRY_IN("chain_pending", parse_flag(*text));
  if (coins.chain_pending && !coins.spendable)
    return fail(Code::kInvalidInput, "chain_pending: says what is spendable; give spendable too");
  if (const auto text = http::find(query, "order")) coins.order = TRY(parse_order(*text));
  return coins;
}

Result<wallet::HistoryQuery> parse_history_query(const http::Fields& query) {
  wallet::HistoryQuery history;
  history.page = TRY(parse_wallet_page(query));
  if (const auto text = http::find(query, "status"))
    history.statuses = TRY_IN("status", parse_list<wallet::TxStatus>(*text, wallet::parse_status));
  TRY(take(query, "confirmed", history.confirmed, parse_flag));
  return history;
}

}  // namespace coffer::wallet
