// System accounts, and how a community begins: with the first of them and the first issuance.
#include "token/account/accounts.h"

namespace coffer::token {
namespace {

constexpr std::size_t kMaxSystemAccounts = 1'000;

Error name_taken(const SystemAccount& account) {
  return refusal("name_taken", fmt::format("system account {} has the name '{}'; use another name",
                                           to_string(account.id), account.name));
}

Result<std::vector<SystemAccount>> read_accounts(sql::Reader& sql, const Community& community) {
  sql::Rows rows = TRY(sql.query(community.sql("SELECT id, wallet_id, name, created_at, updated_at"
                                               " FROM @system_accounts ORDER BY name LIMIT $1"),
                                 {kMaxSystemAccounts}));
  std::vector<SystemAccount> accounts;
  while (TRY(rows.next())) accounts.push_back(TRY(read_account(community, rows)));
  return accounts;
}

// One seeding at a time; on SQLite there is one writer anyway.
Result<> lock_seeding(sql::Transaction& sql, const Community& community) {
  if (community.is_sqlite()) return {};
  TRY(sql.query("SELECT pg_advisory_xact_lock(hashtext('coffer token seed'), hashtext($1))",
                {community.name()}));
  return {};
}

Result<> issue(sql::Transaction& sql, const Community& community, const Uuid& wallet,
               std::int64_t amount, const Actor& actor, std::int64_t now_ms) {
  const Uuid id = random_uuid();
  (void)TRY(sql.execute(
      community.sql("INSERT INTO @transactions (id, from_wallet_id, to_wallet_id, amount,"
                    " transaction_type, created_at) VALUES ($1::uuid, $2::uuid, $2::uuid, $3, 1, "
                    "$4)"),
      {community.id(id), community.id(wallet), amount, now_ms}));
  (void)TRY(sql.execute(community.sql("INSERT INTO @transaction_details (transaction_id, actor)"
                                      " VALUES ($1::uuid, $2)"),
                        {community.id(id), actor.name}));
  return {};
}

}  // namespace

Result<Seeded> Store::seed(const Seed& seed, const Actor& actor) {
  TRY(check_account_name(seed.system_account));
  TRY(check_actor(actor));
  if (seed.issuance < 0)
    return fail(Code::kInvalidInput, "issuance: {}; expected 0 or more", seed.issuance);
  const Community& community = impl_->community;
  const Uuid id = random_uuid(), wallet = random_uuid();
  return write_as(community, actor, [&](sql::Transaction& sql) -> Result<Seeded> {
    TRY(lock_seeding(sql, community));
    const auto there = TRY(read_accounts(sql, community));
    for (const SystemAccount& account : there)
      if (account.name == seed.system_account) return Seeded{account, account.id == id};
    if (!there.empty())
      return std::unexpected(
          refusal("already_seeded",
                  fmt::format("'{}' has the system account '{}' already; make another one with "
                              "'coffer token system create'",
                              community.name(), there.front().name)));
    const std::int64_t now_ms = TRY(database_now(sql, community));
    SystemAccount made =
        TRY(insert_system_account(sql, community, id, wallet, seed.system_account, now_ms));
    if (seed.issuance > 0) TRY(issue(sql, community, wallet, seed.issuance, actor, now_ms));
    TRY(write_audit(sql, community, actor, "seed", to_string(id),
                    audit_detail({{"name", made.name},
                                  {"wallet", to_string(wallet)},
                                  {"issuance", std::to_string(seed.issuance)}}),
                    now_ms));
    return Seeded{std::move(made), true};
  });
}

Result<SystemAccount> Store::create_system_account(const Uuid& account, std::string_view name,
                                                   const Actor& actor) {
  TRY(check_id("system account", account));
  TRY(check_account_name(name));
  TRY(check_actor(actor));
  const Community& community = impl_->community;
  const Uuid wallet = random_uuid();
  return write_as(community, actor, [&](sql::Transaction& sql) -> Result<SystemAccount> {
    if (auto found = TRY(find_account_row(sql, community, account))) {
      if (found->name == name) return *std::move(found);
      return std::unexpected(
          refusal("id_taken", fmt::format("system account {} exists with the name '{}'; use "
                                          "another id",
                                          to_string(account), found->name)));
    }
    if (const auto found = TRY(find_account_by_name(sql, community, name)))
      return std::unexpected(name_taken(*found));
    const std::int64_t now_ms = TRY(database_now(sql, community));
    SystemAccount made = TRY(insert_system_account(sql, community, account, wallet, name, now_ms));
    TRY(write_audit(sql, community, actor, "create_system_account", to_string(account),
                    audit_detail({{"name", name}, {"wallet", to_string(wallet)}}), now_ms));
    return made;
  });
}

Result<std::vector<SystemAccount>> Store::system_accounts() const {
  const Community& community = impl_->community;
  return read_as_of_now(community,
                        [&](sql::Transaction& sql) { return read_accounts(sql, community); });
}

}  // namespace coffer::token
