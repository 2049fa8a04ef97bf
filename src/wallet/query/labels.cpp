#include "wallet/query/labels.h"

#include <algorithm>
#include <charconv>

#include <coffer/chain/address.h>
#include "base/result.h"
#include "sql/connection.h"
#include "wallet/store_impl.h"

namespace coffer::wallet {
namespace {

constexpr std::size_t kMost = 128;  // names in one statement

// The labels of these names, which differ: at most kMost, in the order of their names, as the
// places are.
Result<> read_some(sql::Reader& sql, WalletId wallet, std::string_view kind,
                   std::span<const std::string_view> refs, std::span<const LabelPlace> places) {
  // Few different texts, because each is prepared once: the last name is repeated.
  const std::size_t asked = refs.size() == 1 ? 1 : refs.size() <= 16 ? 16 : kMost;
  std::vector<sql::Param> params = {wallet, kind};
  std::string list;
  for (std::size_t i = 0; i < asked; ++i) {
    params.emplace_back(refs[std::min(i, refs.size() - 1)]);
    list += fmt::format("{}${}", i == 0 ? "" : ", ", params.size());
  }
  sql::Rows rows = TRY(sql.query(fmt::format("SELECT ref, label FROM labels WHERE wallet_id = $1"
                                             " AND kind = $2 AND ref IN ({})",
                                             list),
                                 params));
  while (TRY(rows.next())) {
    const std::string ref = TRY(rows.get<std::string>(0));
    const std::string label = TRY(rows.get<std::string>(1));
    for (const LabelPlace& place : std::ranges::equal_range(places, ref, {}, &LabelPlace::ref))
      *place.label = label;
  }
  return {};
}

// Most wallets have none, and then no name needs to be spelled.
Result<bool> has_labels(sql::Reader& sql, WalletId wallet, std::string_view kind) {
  const auto found = TRY(sql.value<std::int64_t>(
      "SELECT 1 FROM labels WHERE wallet_id = $1 AND kind = $2 LIMIT 1", {wallet, kind}));
  return found.has_value();
}

// As Bitcoin prints it.
Result<std::string> txid_text(std::string_view text) {
  const auto bytes = from_hex(text);
  if (!bytes || bytes->size() != Hash256::kSize)
    return fail(Code::kInvalidInput, "transaction: expected 64 hex digits");
  return to_hex(*bytes);
}

Result<std::string> output_text(std::string_view text) {
  const std::size_t at = text.find_first_of("#:");
  if (at == std::string_view::npos)
    return fail(Code::kInvalidInput, "an output is TX#INDEX, such as 5f0e…(64 hex digits)#0");
  const std::string tx = TRY(txid_text(text.substr(0, at)));
  const std::string_view digits = text.substr(at + 1);
  std::uint32_t index = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
  if (error != std::errc() || end != digits.data() + digits.size())
    return fail(Code::kInvalidInput, "output index: expected a whole number below 2^32");
  return fmt::format("{}:{}", tx, index);
}

}  // namespace

std::string label_ref(const Hash256& tx) {
  return to_display(tx);
}
std::string label_ref(const chain::Network& network, ByteView script) {
  return chain::address_text(network, script).value_or(to_hex(script));
}
std::string label_ref(const chain::Outpoint& output) {
  return fmt::format("{}:{}", to_display(output.tx), output.index);
}

Result<> read_labels(sql::Reader& sql, WalletId wallet, std::string_view kind,
                     const std::function<std::vector<LabelPlace>()>& make_places) {
  if (!TRY(has_labels(sql, wallet, kind))) return {};
  std::vector<LabelPlace> places = make_places();
  std::ranges::sort(places, {}, &LabelPlace::ref);
  std::vector<std::string_view> refs;
  for (const LabelPlace& place : places)
    if (refs.empty() || refs.back() != place.ref) refs.push_back(place.ref);
  const std::span<const std::string_view> all(refs);
  for (std::size_t from = 0; from < all.size(); from += kMost)
    TRY(read_some(sql, wallet, kind, all.subspan(from, std::min(kMost, all.size() - from)),
                  places));
  return {};
}

Result<> add_labels(sql::Reader& sql, WalletId wallet, std::span<HistoryEntry> entries) {
  return read_labels(sql, wallet, "tx", [&] {
    std::vector<LabelPlace> places;
    for (HistoryEntry& entry : entries) places.push_back({label_ref(entry.tx), &entry.label});
    return places;
  });
}

Result<> add_labels(sql::Reader& sql, const chain::Network& network, WalletId wallet,
                    std::span<Coin> coins) {
  TRY(read_labels(sql, wallet, "output", [&] {
    std::vector<LabelPlace> places;
    for (Coin& coin : coins) places.push_back({label_ref(coin.outpoint), &coin.label});
    return places;
  }));
  return read_labels(sql, wallet, "address", [&] {
    std::vector<LabelPlace> places;
    for (Coin& coin : coins)
      places.push_back({label_ref(network, coin.script), &coin.address_label});
    return places;
  });
}

Result<> add_labels(sql::Reader& sql, const chain::Network& network, WalletId wallet,
                    std::span<AddressInfo> addresses) {
  return read_labels(sql, wallet, "address", [&] {
    std::vector<LabelPlace> places;
    for (AddressInfo& address : addresses)
      places.push_back({label_ref(network, address.script), &address.label});
    return places;
  });
}

Result<> add_labels(sql::Reader& sql, const chain::Network& network, WalletId wallet,
                    TxDetail& detail) {
  TRY(read_labels(sql, wallet, "output", [&] {
    std::vector<LabelPlace> places;
    places.reserve(detail.outputs.size());
    for (TxOutputInfo& output : detail.outputs)
      places.push_back({label_ref(chain::Outpoint{detail.entry.tx, output.index}), &output.label});
    return places;
  }));
  return read_labels(sql, wallet, "address", [&] {
    std::vector<LabelPlace> places;
    places.reserve(detail.outputs.size());
    for (TxOutputInfo& output : detail.outputs)
      places.push_back({label_ref(network, output.script), &output.address_label});
    return places;
  });
}

Result<LabelTarget> parse_label_target(const chain::Network& network, std::string_view kind,
                                       std::string_view ref) {
  LabelTarget target{std::string(kind), ""};
  if (kind == "tx") {
    target.ref = TRY(txid_text(ref));
    return target;
  }
  if (kind == "output") {
    target.ref = TRY(output_text(ref));
    return target;
  }
  if (kind == "address") {
    const Bytes script = TRY_IN("address", chain::parse_address(network, ref));
    target.ref = label_ref(network, script);
    return target;
  }
  return fail(Code::kInvalidInput, "kind: '{}' has no labels; tx, address and output have", kind);
}

Result<Page<LabelInfo>> Store::labels(WalletId wallet, const PageOptions& page) const {
  TRY(check_page(page));
  const std::size_t colon = page.cursor.find(':');
  if (!page.cursor.empty() && colon == std::string::npos) return bad_cursor();
  auto connection = TRY(database_.acquire());
  TRY(require_wallet(connection, wallet));
  std::string kind, ref;  // before all others
  if (!page.cursor.empty())
    kind = page.cursor.substr(0, colon), ref = page.cursor.substr(colon + 1);
  sql::Rows rows = TRY(connection.query(
      "SELECT kind, ref, label FROM labels WHERE wallet_id = $1 AND (kind, ref) > ($2, $3)"
      " ORDER BY kind, ref LIMIT $4",
      {wallet, kind, ref, page.count + 1}));
  Page<LabelInfo> answer;
  while (TRY(rows.next())) {
    LabelInfo one;
    one.kind = TRY(rows.get<std::string>(0));
    one.ref = TRY(rows.get<std::string>(1));
    one.label = TRY(rows.get<std::string>(2));
    answer.items.push_back(std::move(one));
  }
  if (answer.items.size() > page.count) {
    answer.items.resize(page.count);
    answer.cursor = answer.items.back().kind + ":" + answer.items.back().ref;
  }
  return answer;
}

}  // namespace coffer::wallet
