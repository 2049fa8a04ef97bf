// Who a user is at an identity provider. An operator links and unlinks; nobody links himself.
#include "token/account/accounts.h"

namespace coffer::token {
namespace {

std::string identity_detail(const ExternalIdentity& identity) {
  return audit_detail({{"issuer", identity.issuer}, {"subject", identity.subject}});
}

}  // namespace

Result<std::optional<Uuid>> find_linked_user(sql::Reader& sql, const Community& community,
                                             const ExternalIdentity& identity) {
  sql::Rows rows = TRY(sql.query(community.sql("SELECT user_id FROM @external_identities"
                                               " WHERE issuer = $1 AND subject = $2"),
                                 {identity.issuer, identity.subject}));
  if (!TRY(rows.next())) return std::nullopt;
  return TRY(community.read_id(rows, 0));
}

Result<> Store::link_identity(const Uuid& user, const ExternalIdentity& identity,
                              const Actor& actor) {
  TRY(check_identity(identity));
  TRY(check_actor(actor));
  const Community& community = impl_->community;
  return write_as(community, actor, [&](sql::Transaction& sql) -> Result<> {
    (void)TRY(get_user_row(sql, community, user));
    if (const auto linked = TRY(find_linked_user(sql, community, identity))) {
      if (*linked == user) return {};
      return std::unexpected(
          refusal("identity_taken", fmt::format("subject '{}' of this issuer belongs to user {}; "
                                                "unlink it there first",
                                                identity.subject, to_string(*linked))));
    }
    const std::int64_t now_ms = TRY(database_now(sql, community));
    TRY(insert_identity(sql, community, user, identity, actor, now_ms));
    return write_audit(sql, community, actor, "link_identity", to_string(user),
                       identity_detail(identity), now_ms);
  });
}

Result<> insert_identity(sql::Transaction& sql, const Community& community, const Uuid& user,
                         const ExternalIdentity& identity, const Actor& actor,
                         std::int64_t now_ms) {
  (void)TRY(
      sql.execute(community.sql("INSERT INTO @external_identities"
                                " (issuer, subject, user_id, created_at, created_by)"
                                " VALUES ($1, $2, $3::uuid, $4, $5)"),
                  {identity.issuer, identity.subject, community.id(user), now_ms, actor.name}));
  return {};
}

Result<> Store::unlink_identity(const ExternalIdentity& identity, const Actor& actor) {
  TRY(check_identity(identity));
  TRY(check_actor(actor));
  const Community& community = impl_->community;
  return write_as(community, actor, [&](sql::Transaction& sql) -> Result<> {
    const auto linked = TRY(find_linked_user(sql, community, identity));
    if (!linked) return {};
    (void)TRY(sql.execute(community.sql("DELETE FROM @external_identities"
                                        " WHERE issuer = $1 AND subject = $2"),
                          {identity.issuer, identity.subject}));
    return audit_now(sql, community, actor, "unlink_identity", to_string(*linked),
                     identity_detail(identity));
  });
}

Result<std::optional<User>> Store::find_user_by_identity(const ExternalIdentity& identity) const {
  TRY(check_identity(identity));
  const Community& community = impl_->community;
  return read_as_of_now(community, [&](sql::Transaction& sql) -> Result<std::optional<User>> {
    const auto linked = TRY(find_linked_user(sql, community, identity));
    if (!linked) return std::nullopt;
    return find_user_row(sql, community, *linked);
  });
}

Result<std::vector<IdentityLink>> Store::identities(const Uuid& user) const {
  const Community& community = impl_->community;
  return read_as_of_now(community, [&](sql::Transaction& sql) -> Result<std::vector<IdentityLink>> {
    (void)TRY(get_user_row(sql, community, user));
    sql::Rows rows =
        TRY(sql.query(community.sql("SELECT issuer, subject, created_at, created_by"
                                    " FROM @external_identities WHERE user_id = $1::uuid"
                                    " ORDER BY issuer, subject LIMIT $2"),
                      {community.id(user), kMaxPage}));
    std::vector<IdentityLink> links;
    while (TRY(rows.next()))
      links.push_back({{TRY(rows.get<std::string>(0)), TRY(rows.get<std::string>(1))},
                       user,
                       TRY(rows.get<std::int64_t>(2)),
                       TRY(rows.get<std::string>(3))});
    return links;
  });
}

}  // namespace coffer::token
