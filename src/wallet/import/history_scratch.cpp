#include "wallet/import/history_scratch.h"

#include <stdlib.h>

#include "base/file.h"
#include "base/result.h"
#include "sql/connection.h"
#include "wallet/store_impl.h"

namespace coffer::wallet {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAccountColumns[] = {"wallet_id", "id", "name"};
constexpr std::string_view kDescriptorColumns[] = {"wallet_id",  "id",         "account_id",
                                                   "branch",     "descriptor", "is_ranged",
                                                   "next_index", "derived_to"};
constexpr std::string_view kAddressColumns[] = {
    "wallet_id",     "id",          "account_id",     "descriptor_id", "branch",
    "address_index", "script_type", "script_pub_key", "script_hash",   "given_out_at"};

Result<sql::Rows> read(sql::Transaction& sql, std::string_view table,
                       std::span<const std::string_view> columns, WalletId wallet) {
  return sql.stream(fmt::format("SELECT {} FROM {} WHERE wallet_id = $1 ORDER BY id",
                                fmt::join(columns, ", "), table),
                    {wallet});
}

Result<> copy_accounts(sql::Transaction& from, WalletId wallet, sql::Transaction& to, WalletId as) {
  auto batch = TRY(to.insert_into("accounts", kAccountColumns));
  sql::Rows rows = TRY(read(from, "accounts", kAccountColumns, wallet));
  while (TRY(rows.next())) {
    const auto id = TRY(rows.get<std::uint64_t>(1));
    const auto name = TRY(rows.get<std::string_view>(2));
    TRY(batch.add({as, id, name}));
  }
  (void)TRY(batch.finish());
  return {};
}

Result<> copy_descriptors(sql::Transaction& from, WalletId wallet, sql::Transaction& to,
                          WalletId as) {
  auto batch = TRY(to.insert_into("descriptors", kDescriptorColumns));
  sql::Rows rows = TRY(read(from, "descriptors", kDescriptorColumns, wallet));
  while (TRY(rows.next())) {
    const auto id = TRY(rows.get<std::uint64_t>(1));
    const auto account = TRY(rows.get<std::uint64_t>(2));
    const auto branch = TRY(rows.get<std::uint32_t>(3));
    const auto text = TRY(rows.get<std::string_view>(4));
    const auto is_ranged = TRY(rows.get<bool>(5));
    const auto next_index = TRY(rows.get<std::uint32_t>(6));
    const auto derived_to = TRY(rows.get<std::uint32_t>(7));
    TRY(batch.add({as, id, account, branch, text, is_ranged, next_index, derived_to}));
  }
  (void)TRY(batch.finish());
  return {};
}

Result<> copy_addresses(sql::Transaction& from, WalletId wallet, sql::Transaction& to,
                        WalletId as) {
  auto batch = TRY(to.insert_into("addresses", kAddressColumns));
  sql::Rows rows = TRY(read(from, "addresses", kAddressColumns, wallet));
  while (TRY(rows.next())) {
    const auto id = TRY(rows.get<std::uint64_t>(1));
    const auto account = TRY(rows.get<std::uint64_t>(2));
    const auto descriptor = TRY(rows.get<std::optional<std::uint64_t>>(3));
    const auto branch = TRY(rows.get<std::optional<std::uint32_t>>(4));
    const auto index = TRY(rows.get<std::optional<std::uint32_t>>(5));
    const auto type = TRY(rows.get<std::string_view>(6));
    const auto script = TRY(rows.get<ByteView>(7));
    const auto hash = TRY(rows.get<ByteView>(8));
    const auto given_out = TRY(rows.get<std::optional<std::int64_t>>(9));
    TRY(batch.add({as, id, account, descriptor, branch, index, type, script, hash, given_out}));
  }
  (void)TRY(batch.finish());
  return {};
}

}  // namespace

Result<std::unique_ptr<ScratchWallet>> ScratchWallet::copy(const Store& store, WalletId wallet) {
  std::unique_ptr<ScratchWallet> scratch(new ScratchWallet);
  // The connection goes back at once: there may be one only, and copying takes it.
  const auto find = [&]() -> Result<WalletInfo> {
    auto connection = TRY(store.database().acquire());
    return wallet_row(connection, "id = $1", {wallet}, "of that id");
  };
  const WalletInfo original = TRY(find());
  TRY(scratch->open(store, original));
  TRY(scratch->copy_rows(store, wallet));
  return scratch;
}

ScratchWallet::~ScratchWallet() {
  store_.reset();
  database_.reset();
  std::error_code ignored;
  if (!dir_.empty()) fs::remove_all(dir_, ignored);
}

Result<> ScratchWallet::open(const Store& from, const WalletInfo& original) {
  std::string dir = (fs::temp_directory_path() / "coffer-import-XXXXXX").string();
  if (::mkdtemp(dir.data()) == nullptr) return fail(errno_error(errno, "cannot make " + dir));
  dir_ = dir;
  sql::DatabaseOptions options;
  options.location = "sqlite:" + dir + "/wallet.db";
  database_ = TRY(sql::Database::open(options));
  StoreOptions rules = from.options_;
  rules.schema = sql::Schema::kMigrate;  // it is ours, and empty
  store_ = TRY(Store::open(*database_, from.network(), std::move(rules)));
  Store::NewWallet same{original.name, original.birthday_height, original.gap_limit};
  wallet_ = TRY(store_->create(same)).id;
  return {};
}

Result<> ScratchWallet::copy_rows(const Store& from, WalletId wallet) {
  return from.database().run_transaction(
      [&](sql::Transaction& reading) -> Result<> {
        return database_->run_transaction([&](sql::Transaction& writing) -> Result<> {
          TRY(copy_accounts(reading, wallet, writing, wallet_));
          TRY(copy_descriptors(reading, wallet, writing, wallet_));
          return copy_addresses(reading, wallet, writing, wallet_);
        });
      },
      kRead);
}

}  // namespace coffer::wallet
