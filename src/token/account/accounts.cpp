#include "token/account/accounts.h"

namespace coffer::token {
Result<SystemAccount> read_account(const Community& community, const sql::Rows& rows) {
  SystemAccount account;
  account.id = TRY(community.read_id(rows, 0));
  account.wallet = TRY(community.read_id(rows, 1));
  account.name = TRY(rows.get<std::string>(2));
  account.created_at_ms = TRY(rows.get<std::int64_t>(3));
  account.updated_at_ms = TRY(rows.get<std::int64_t>(4));
  return account;
}

namespace {

Result<std::optional<SystemAccount>> first_account(const Community& community, sql::Rows rows) {
  if (!TRY(rows.next())) return std::nullopt;
  return TRY(read_account(community, rows));
}

Result<> insert_wallet(sql::Transaction& sql, const Community& community, const Uuid& wallet,
                       std::int64_t now_ms) {
  (void)TRY(sql.execute(community.sql("INSERT INTO @wallets (id, created_at, updated_at)"
                                      " VALUES ($1::uuid, $2, $2)"),
                        {community.id(wallet), now_ms}));
  return {};
}

}  // namespace

Result<> check_id(std::string_view what, const Uuid& id) {
  if (id.is_zero())
    return fail(Code::kInvalidInput, "{}: the id is all zeros; use a random UUID", what);
  return {};
}

Result<> check_identity(const ExternalIdentity& identity) {
  TRY(check_text("issuer", identity.issuer, 1, kMaxIssuerLength));
  return check_text("subject", identity.subject, 1, kMaxSubjectLength);
}

std::string audit_detail(
    std::initializer_list<std::pair<std::string_view, std::string_view>> members) {
  json::Writer out;
  out.begin_object();
  for (const auto& [name, value] : members) out.field(name, value);
  out.end_object();
  return out.take();
}

Result<> audit_now(sql::Transaction& sql, const Community& community, const Actor& actor,
                   std::string_view action, std::string_view target, std::string_view detail) {
  const std::int64_t now_ms = TRY(database_now(sql, community));
  return write_audit(sql, community, actor, action, target, detail, now_ms);
}

Result<User> read_user(const Community& community, const sql::Rows& rows) {
  User user;
  user.id = TRY(community.read_id(rows, 0));
  user.wallet = TRY(community.read_id(rows, 1));
  user.name = TRY(rows.get<std::string>(2));
  user.created_at_ms = TRY(rows.get<std::int64_t>(3));
  user.updated_at_ms = TRY(rows.get<std::int64_t>(4));
  user.deleted_at_ms = TRY(rows.get<std::optional<std::int64_t>>(5));
  return user;
}

Result<std::optional<User>> find_user_row(sql::Reader& sql, const Community& community,
                                          const Uuid& user) {
  sql::Rows rows =
      TRY(sql.query(community.sql("SELECT id, wallet_id, username, created_at, updated_at,"
                                  " deleted_at FROM @users WHERE id = $1::uuid"),
                    {community.id(user)}));
  if (!TRY(rows.next())) return std::nullopt;
  return TRY(read_user(community, rows));
}

Result<User> get_user_row(sql::Reader& sql, const Community& community, const Uuid& user) {
  auto found = TRY(find_user_row(sql, community, user));
  if (!found)
    return std::unexpected(refusal(
        "user_not_found", fmt::format("there is no user {} in '{}'; list them with 'coffer token "
                                      "user list'",
                                      to_string(user), community.name())));
  return *std::move(found);
}

Result<std::optional<SystemAccount>> find_account_row(sql::Reader& sql, const Community& community,
                                                      const Uuid& account) {
  return first_account(
      community, TRY(sql.query(community.sql("SELECT id, wallet_id, name, created_at, updated_at"
                                             " FROM @system_accounts WHERE id = $1::uuid"),
                               {community.id(account)})));
}

Result<std::optional<SystemAccount>> find_account_by_name(sql::Reader& sql,
                                                          const Community& community,
                                                          std::string_view name) {
  return first_account(
      community, TRY(sql.query(community.sql("SELECT id, wallet_id, name, created_at, updated_at"
                                             " FROM @system_accounts WHERE name = $1"),
                               {name})));
}

Result<User> insert_user(sql::Transaction& sql, const Community& community, const Uuid& user,
                         const Uuid& wallet, std::string_view name, std::int64_t now_ms) {
  TRY(insert_wallet(sql, community, wallet, now_ms));
  (void)TRY(sql.execute(
      community.sql("INSERT INTO @users (id, wallet_id, username, created_at, updated_at)"
                    " VALUES ($1::uuid, $2::uuid, $3, $4, $4)"),
      {community.id(user), community.id(wallet), name, now_ms}));
  return User{user, wallet, std::string(name), now_ms, now_ms, std::nullopt};
}

Result<SystemAccount> insert_system_account(sql::Transaction& sql, const Community& community,
                                            const Uuid& account, const Uuid& wallet,
                                            std::string_view name, std::int64_t now_ms) {
  TRY(insert_wallet(sql, community, wallet, now_ms));
  (void)TRY(sql.execute(
      community.sql("INSERT INTO @system_accounts (id, wallet_id, name, created_at, updated_at)"
                    " VALUES ($1::uuid, $2::uuid, $3, $4, $4)"),
      {community.id(account), community.id(wallet), name, now_ms}));
  return SystemAccount{account, wallet, std::string(name), now_ms, now_ms};
}

Result<> expect_wallet(sql::Reader& sql, const Community& community, const Uuid& wallet) {
  const auto found = TRY(sql.value<std::int64_t>(
      community.sql("SELECT 1::bigint FROM @wallets WHERE id = $1::uuid"), {community.id(wallet)}));
  if (found) return {};
  return std::unexpected(refusal(
      "wallet_not_found", fmt::format("there is no wallet {} in '{}'; 'coffer token wallet list' "
                                      "shows them",
                                      to_string(wallet), community.name())));
}

}  // namespace coffer::token
