// Which roles an identity has in this community.
#include "token/account/accounts.h"
#include "token/query/page.h"

namespace coffer::token {
namespace {

std::string role_target(const ExternalIdentity& identity) {
  return fmt::format("{} {}", identity.issuer, identity.subject);
}

Result<> check_role_change(const ExternalIdentity& identity, Role role, const Actor& actor) {
  TRY(check_identity(identity));
  (void)TRY(parse_role(to_string(role)));
  return check_actor(actor);
}

Result<std::vector<RoleGrant>> read_grants(sql::Reader& sql, const Community& community,
                                           const ExternalIdentity& from, std::string_view role,
                                           std::size_t limit) {
  sql::Rows rows =
      TRY(sql.query(community.sql("SELECT issuer, subject, role, created_at, created_by"
                                  " FROM @role_grants WHERE (issuer, subject, role) >="
                                  " ($1, $2, $3) ORDER BY issuer, subject, role LIMIT $4"),
                    {from.issuer, from.subject, role, limit}));
  std::vector<RoleGrant> grants;
  while (TRY(rows.next())) {
    RoleGrant grant;
    grant.identity = {TRY(rows.get<std::string>(0)), TRY(rows.get<std::string>(1))};
    const auto name = TRY(rows.get<std::string>(2));
    grant.role = TRY(parse_role(name));
    grant.created_at_ms = TRY(rows.get<std::int64_t>(3));
    grant.created_by = TRY(rows.get<std::string>(4));
    grants.push_back(std::move(grant));
  }
  return grants;
}

}  // namespace

Result<> Store::grant_role(const ExternalIdentity& identity, Role role, const Actor& actor) {
  TRY(check_role_change(identity, role, actor));
  const Community& community = impl_->community;
  return write_as(community, actor, [&](sql::Transaction& sql) -> Result<> {
    const auto there = TRY(
        sql.value<std::int64_t>(community.sql("SELECT created_at FROM @role_grants"
                                              " WHERE issuer = $1 AND subject = $2 AND role = $3"),
                                {identity.issuer, identity.subject, to_string(role)}));
    if (there) return {};
    const std::int64_t now_ms = TRY(database_now(sql, community));
    (void)TRY(sql.execute(
        community.sql("INSERT INTO @role_grants (issuer, subject, role, created_at, created_by)"
                      " VALUES ($1, $2, $3, $4, $5)"),
        {identity.issuer, identity.subject, to_string(role), now_ms, actor.name}));
    return write_audit(sql, community, actor, "grant_role", role_target(identity),
                       audit_detail({{"role", to_string(role)}}), now_ms);
  });
}

Result<> Store::revoke_role(const ExternalIdentity& identity, Role role, const Actor& actor) {
  TRY(check_role_change(identity, role, actor));
  const Community& community = impl_->community;
  return write_as(community, actor, [&](sql::Transaction& sql) -> Result<> {
    const std::int64_t changed =
        TRY(sql.execute(community.sql("DELETE FROM @role_grants"
                                      " WHERE issuer = $1 AND subject = $2 AND role = $3"),
                        {identity.issuer, identity.subject, to_string(role)}));
    if (changed == 0) return {};
    return audit_now(sql, community, actor, "revoke_role", role_target(identity),
                     audit_detail({{"role", to_string(role)}}));
  });
}

Result<std::vector<Role>> Store::roles_of(const ExternalIdentity& identity) const {
  TRY(check_identity(identity));
  const Community& community = impl_->community;
  return read_as_of_now(community, [&](sql::Transaction& sql) -> Result<std::vector<Role>> {
    sql::Rows rows = TRY(
        sql.query(community.sql("SELECT role FROM @role_grants WHERE issuer = $1 AND subject = $2"),
                  {identity.issuer, identity.subject}));
    std::vector<Role> roles;
    while (TRY(rows.next())) {
      const auto name = TRY(rows.get<std::string>(0));
      roles.push_back(TRY(parse_role(name)));
    }
    std::ranges::sort(roles);
    return roles;
  });
}

// In the order of issuer, subject and role. A cursor holds their texts one after another, and where
// the first two end.
Result<Page<RoleGrant>> Store::role_grants(const PageOptions& page) const {
  TRY(check_page(page));
  const Community& community = impl_->community;
  const CursorSeal seal("role grants");
  const Place start = TRY(seal.open(page.cursor)).value_or(Place{});
  return read_as_of_now(community, [&](sql::Transaction& sql) {
    return walk_page<RoleGrant>(
        page.count, start, seal,
        [&](const Place& from, std::size_t limit) {
          const auto issuer_length =
              std::min(static_cast<std::size_t>(from.number), from.text.size());
          const auto subject_end = std::max(
              issuer_length, std::min(static_cast<std::size_t>(from.second), from.text.size()));
          return read_grants(sql, community,
                             {from.text.substr(0, issuer_length),
                              from.text.substr(issuer_length, subject_end - issuer_length)},
                             from.text.substr(subject_end), limit);
        },
        [](const RoleGrant& grant) {
          const ExternalIdentity& who = grant.identity;
          const std::size_t subject_end = who.issuer.size() + who.subject.size();
          return Place{.number = static_cast<std::int64_t>(who.issuer.size()),
                       .second = static_cast<std::int64_t>(subject_end),
                       .text = who.issuer + who.subject + std::string(to_string(grant.role))};
        });
  });
}

}  // namespace coffer::token
