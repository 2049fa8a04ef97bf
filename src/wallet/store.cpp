#include <coffer/wallet/store.h>

#include <charconv>

#include "base/check.h"
#include "base/result.h"
#include "sql/connection.h"
#include "wallet/schema.h"
#include "wallet/store_impl.h"

namespace coffer::wallet {
namespace {

constexpr std::string_view kWalletColumns =
    "id, name, birthday_height, gap_limit, created_at, rescan_next, rescan_to,"
    " rescans_asked";

Result<WalletInfo> read_wallet(const sql::Rows& rows) {
  WalletInfo wallet;
  wallet.id = TRY(rows.get<WalletId>(0));
  wallet.name = TRY(rows.get<std::string>(1));
  wallet.birthday_height = TRY(rows.get<std::uint64_t>(2));
  wallet.gap_limit = TRY(rows.get<std::uint32_t>(3));
  wallet.created_at_ms = TRY(rows.get<std::int64_t>(4));
  wallet.rescan_next = TRY(rows.get<std::optional<std::uint64_t>>(5));
  wallet.rescan_to = TRY(rows.get<std::optional<std::uint64_t>>(6));
  wallet.rescans_asked = TRY(rows.get<std::uint64_t>(7));
  return wallet;
}

// Names stand in URLs and on command lines.
Result<> check_name(std::string_view name) {
  const bool good = !name.empty() && name.size() <= 100 && name.front() != '-' &&
                    std::all_of(name.begin(), name.end(), [](unsigned char c) {
                      return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
                    });
  if (good && name.front() != '.') return {};
  return fail(
      Code::kInvalidInput,
      "the name of a wallet has 1 to 100 letters, digits, '-', '_' and '.', and starts with "
      "neither '-' nor '.'");
}

}  // namespace

std::unexpected<Error> bad_cursor() {
  return fail(Code::kInvalidInput, "cursor: not one that was given out for this question");
}

std::size_t rows_to_read(std::size_t wanted) {
  for (const std::size_t rows : {2u, 11u, 26u, 51u, 101u, 251u, 501u, 1'001u})
    if (wanted <= rows) return rows;
  return std::max<std::size_t>(wanted, 2'000);
}

Result<> check_page(const PageOptions& page) {
  if (page.count >= 1 && page.count <= kMaxPage) return {};
  return fail(Code::kInvalidInput, "count: from 1 to {}, not {}", kMaxPage, page.count);
}

Result<std::optional<std::int64_t>> number_cursor(std::string_view cursor) {
  if (cursor.empty()) return std::nullopt;
  std::int64_t number = 0;
  const auto [end, error] = std::from_chars(cursor.data(), cursor.data() + cursor.size(), number);
  if (error != std::errc() || end != cursor.data() + cursor.size() || number < 0)
    return bad_cursor();
  return number;
}

Result<std::vector<std::int64_t>> cursor_parts(std::string_view cursor, std::size_t count) {
  std::vector<std::int64_t> parts;
  const char* at = cursor.data();
  const char* const end = at + cursor.size();
  while (parts.size() < count) {
    std::int64_t number = 0;
    const auto [rest, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return bad_cursor();
    parts.push_back(number);
    const bool is_last = parts.size() == count;
    if (is_last ? rest != end : rest == end || *rest != '.') return bad_cursor();
    at = rest + 1;
  }
  return parts;
}

Result<WalletInfo> wallet_row(sql::Reader& sql, std::string_view where, sql::Params params,
                              std::string_view what) {
  sql::Rows rows =
      TRY(sql.query(fmt::format("SELECT {} FROM wallets WHERE {}", kWalletColumns, where), params));
  if (!TRY(rows.next()))
    return fail(Code::kNotFound, "there is no wallet {}; 'coffer wallet list' shows them", what);
  return read_wallet(rows);
}

Result<std::vector<WalletInfo>> wallet_rows(sql::Reader& sql, std::string_view where,
                                            sql::Params params) {
  sql::Rows rows = TRY(sql.query(
      fmt::format("SELECT {} FROM wallets WHERE {} ORDER BY id", kWalletColumns, where), params));
  std::vector<WalletInfo> list;
  while (TRY(rows.next())) list.push_back(TRY(read_wallet(rows)));
  return list;
}

Result<> require_wallet(sql::Reader& sql, WalletId wallet) {
  if (TRY(sql.value<std::int64_t>("SELECT id FROM wallets WHERE id = $1", {wallet}))) return {};
  return fail(Code::kNotFound, "there is no wallet {}", wallet);
}

Result<std::uint64_t> require_account(sql::Reader& sql, WalletId wallet, std::string_view name) {
  const auto id = TRY(sql.value<std::uint64_t>(
      "SELECT id FROM accounts WHERE wallet_id = $1 AND name = $2", {wallet, name}));
  if (!id) return fail(Code::kNotFound, "this wallet has no account {}", name);
  return *id;
}

sql::MigrateOptions migrations(const chain::Network& network) {
  sql::MigrateOptions options;
  options.known = embedded_migrations();
  options.identity = sql::Identity{.chain = std::string(network.chain_name()),
                                   .network = network.name,
                                   .genesis = network.genesis};
  return options;
}

sql::MigrateOptions reusing_migrations(const chain::Network& network) {
  sql::MigrateOptions options = migrations(network);
  options.in_use =
      "SELECT CASE WHEN EXISTS (SELECT 1 FROM wallets) OR EXISTS (SELECT 1 FROM blocks) OR"
      " EXISTS (SELECT 1 FROM sync_state WHERE tip_height >= 0) THEN 1 ELSE 0 END";
  return options;
}

Store::Store(sql::Database& database, chain::Network network, StoreOptions options)
    : database_(database),
      network_(std::move(network)),
      options_(std::move(options)),
      counters_(std::make_unique<Counters>()) {}
Store::~Store() = default;

Result<std::unique_ptr<Store>> Store::open(sql::Database& database, const chain::Network& network,
                                           StoreOptions options) {
  if (network.family != chain::Family::kBitcoin)
    return fail(Code::kUsage, "the wallet knows Bitcoin's transactions only, not {}'s",
                network.chain_name());
  (void)TRY(sql::prepare_schema(database, reusing_migrations(network), options.schema));
  return std::unique_ptr<Store>(new Store(database, network, std::move(options)));
}

Result<WalletInfo> Store::create(const NewWallet& wallet) {
  TRY(check_name(wallet.name));
  const std::uint32_t gap = wallet.gap_limit.value_or(options_.gap_limit);
  if (gap < 1 || gap > 100'000)
    return fail(Code::kInvalidInput, "the gap limit is from 1 to 100000, not {}", gap);
  return database_.run_transaction([&](sql::Transaction& sql) -> Result<WalletInfo> {
    const auto id = TRY(sql.value<std::uint64_t>(
        "INSERT INTO wallets (name, birthday_height, gap_limit, created_at)"
        " VALUES ($1, $2, $3, coffer_now()) ON CONFLICT (name) DO NOTHING RETURNING id",
        {wallet.name, wallet.birthday_height, gap}));
    if (!id) return fail(Code::kConflict, "there is a wallet {} already", wallet.name);
    return wallet_row(sql, "id = $1", {*id}, wallet.name);
  });
}

Result<WalletInfo> Store::find(std::string_view name) const {
  auto connection = TRY(database_.acquire());
  return wallet_row(connection, "name = $1", {name}, name);
}

Result<Page<WalletInfo>> Store::list(const PageOptions& page) const {
  TRY(check_page(page));
  const std::int64_t after = TRY(number_cursor(page.cursor)).value_or(0);
  auto connection = TRY(database_.acquire());
  Page<WalletInfo> answer;
  answer.items = TRY(
      wallet_rows(connection, "id IN (SELECT id FROM wallets WHERE id > $1 ORDER BY id LIMIT $2)",
                  {after, page.count + 1}));
  if (answer.items.size() > page.count) {
    answer.items.resize(page.count);
    answer.cursor = std::to_string(answer.items.back().id.value);
  }
  return answer;
}

Result<std::vector<AccountInfo>> Store::accounts(WalletId wallet) const {
  auto connection = TRY(database_.acquire());
  TRY(require_wallet(connection, wallet));
  sql::Rows rows = TRY(connection.query(
      "SELECT id, name FROM accounts WHERE wallet_id = $1 ORDER BY id LIMIT 100000", {wallet}));
  std::vector<AccountInfo> list;
  while (TRY(rows.next())) {
    AccountInfo account;
    account.id = TRY(rows.get<std::uint64_t>(0));
    account.name = TRY(rows.get<std::string>(1));
    list.push_back(std::move(account));
  }
  return list;
}

Result<> Store::set_label(WalletId wallet, std::string_view kind, std::string_view ref,
                          std::string_view label) {
  if (label.size() > 500) return fail(Code::kInvalidInput, "a label has at most 500 bytes");
  if (kind != "tx" && kind != "address" && kind != "output")
    return fail(Code::kInvalidInput, "labels are for tx, address or output, not for '{}'", kind);
  if (ref.empty() || ref.size() > 200)
    return fail(Code::kInvalidInput, "what is labelled has 1 to 200 bytes");
  return database_.run_transaction(
      [&](sql::Transaction& sql) -> Result<> {
        TRY(require_wallet(sql, wallet));
        if (label.empty()) {
          (void)TRY(
              sql.execute("DELETE FROM labels WHERE wallet_id = $1 AND kind = $2 AND ref = $3",
                          {wallet, kind, ref}));
          return {};
        }
        (void)TRY(
            sql.execute("INSERT INTO labels (wallet_id, kind, ref, label) VALUES ($1, $2, $3, $4)"
                        " ON CONFLICT (wallet_id, kind, ref) DO UPDATE SET label = excluded.label",
                        {wallet, kind, ref, label}));
        return {};
      },
      kWrite);
}

}  // namespace coffer::wallet
