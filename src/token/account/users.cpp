// Users: made with a wallet, renamed, deleted softly and reactivated. The schema's triggers lock
// the wallet before its owner changes (T5), and record the event for the log.
#include "token/account/accounts.h"
#include "token/query/by_index.h"
#include "token/query/page.h"

namespace coffer::token {
namespace {

constexpr std::string_view kUsers = "users";

std::string created_detail(std::string_view name, const Uuid& wallet) {
  return audit_detail({{"username", name}, {"wallet", to_string(wallet)}});
}

Error other_content(const User& user) {
  return refusal("id_taken",
                 fmt::format("user {} exists with the name '{}'; use another id for a new user",
                             to_string(user.id), user.name));
}

// Whether the user was created with this name and renamed since. The audit has its creation, at the
// user's own time.
Result<bool> was_created_as(sql::Reader& sql, const Community& community, const User& user,
                            std::string_view name) {
  const std::string detail = created_detail(name, user.wallet);
  const auto found = TRY(sql.value<std::int64_t>(
      community.sql("SELECT count(*) FROM @audit WHERE at = $1 AND action = 'create_user'"
                    " AND target = $2 AND detail = $3"),
      {user.created_at_ms, to_string(user.id), detail}));
  return found.value_or(0) > 0;
}

// Deletes or reactivates. The same again changes nothing.
Result<User> set_deleted(const Community& community, const Uuid& id, bool deleted,
                         const Actor& actor) {
  TRY(check_actor(actor));
  return write_as(community, actor, [&](sql::Transaction& sql) -> Result<User> {
    const std::int64_t now_ms = TRY(database_now(sql, community));
    // The wallet's clock and the user's may differ (T6).
    const std::int64_t changed =
        deleted ? TRY(sql.execute(
                      community.sql("UPDATE @users SET deleted_at = CASE WHEN created_at > $2"
                                    " THEN created_at ELSE $2 END"
                                    " WHERE id = $1::uuid AND deleted_at IS NULL"),
                      {community.id(id), now_ms}))
                : TRY(sql.execute(community.sql("UPDATE @users SET deleted_at = NULL"
                                                " WHERE id = $1::uuid AND deleted_at IS NOT NULL"),
                                  {community.id(id)}));
    User user = TRY(get_user_row(sql, community, id));
    if (changed > 0)
      TRY(write_audit(sql, community, actor, deleted ? "delete_user" : "reactivate_user",
                      to_string(id), {}, now_ms));
    return user;
  });
}

Result<std::vector<User>> read_users(sql::Transaction& sql, const Community& community,
                                     std::string_view text, sql::Params params) {
  sql::Rows rows = TRY(query_by_index(sql, community, text, params));
  std::vector<User> users;
  while (TRY(rows.next())) users.push_back(TRY(read_user(community, rows)));
  return users;
}

}  // namespace

Result<User> Store::create_user(const Uuid& user, std::string_view name, const Actor& actor) {
  TRY(check_id("user", user));
  TRY(check_username(name));
  TRY(check_actor(actor));
  const Community& community = impl_->community;
  const Uuid wallet = random_uuid();
  return write_as(community, actor, [&](sql::Transaction& sql) -> Result<User> {
    if (auto found = TRY(find_user_row(sql, community, user))) {
      if (found->name == name || TRY(was_created_as(sql, community, *found, name)))
        return *std::move(found);
      return std::unexpected(other_content(*found));
    }
    const std::int64_t now_ms = TRY(database_now(sql, community));
    User made = TRY(insert_user(sql, community, user, wallet, name, now_ms));
    TRY(write_audit(sql, community, actor, "create_user", to_string(user),
                    created_detail(name, wallet), now_ms));
    return made;
  });
}

Result<User> Store::rename_user(const Uuid& user, std::string_view name, const Actor& actor) {
  TRY(check_username(name));
  TRY(check_actor(actor));
  const Community& community = impl_->community;
  return write_as(community, actor, [&](sql::Transaction& sql) -> Result<User> {
    User before = TRY(get_user_row(sql, community, user));
    if (before.name == name) return before;
    const std::int64_t now_ms = TRY(database_now(sql, community));
    (void)TRY(sql.execute(community.sql("UPDATE @users SET username = $2 WHERE id = $1::uuid"),
                          {community.id(user), name}));
    TRY(write_audit(sql, community, actor, "rename_user", to_string(user),
                    audit_detail({{"from", before.name}, {"to", name}}), now_ms));
    return get_user_row(sql, community, user);
  });
}

Result<User> Store::delete_user(const Uuid& user, const Actor& actor) {
  return set_deleted(impl_->community, user, true, actor);
}

Result<User> Store::reactivate_user(const Uuid& user, const Actor& actor) {
  return set_deleted(impl_->community, user, false, actor);
}

Result<std::optional<User>> Store::find_user(const Uuid& user) const {
  const Community& community = impl_->community;
  return read_as_of_now(community,
                        [&](sql::Transaction& sql) { return find_user_row(sql, community, user); });
}

// In the order of names, then ids. Deleted ones are left out after they were read, so that their
// number is bounded as well.
Result<Page<User>> Store::users(const UserQuery& query) const {
  TRY(check_page(query.page));
  if (query.name) TRY(check_username(*query.name));
  const Community& community = impl_->community;
  CursorSeal seal(kUsers);
  seal.add(query.name.value_or("")).add(query.with_deleted ? 1 : 0);
  const Place first{.text = query.name.value_or("")};
  const Place start = TRY(seal.open(query.page.cursor)).value_or(first);
  const std::string last = query.name.value_or("~");  // after every name
  return read_as_of_now(community, [&](sql::Transaction& sql) {
    return walk_page<User>(
        query.page.count, start, seal,
        [&](const Place& from, std::size_t limit) -> Result<std::vector<User>> {
          static constexpr char kSqlite[] =
              "SELECT id, wallet_id, username, created_at, updated_at, deleted_at FROM users"
              " WHERE (username, id) >= ($1, $2) AND username <= $3"
              " ORDER BY username, id LIMIT $4";
          static constexpr char kPostgres[] =
              "SELECT id, wallet_id, username, created_at, updated_at, deleted_at FROM @users"
              " WHERE (username COLLATE \"C\", id) >= ($1, $2::uuid)"
              " AND username COLLATE \"C\" <= $3"
              " ORDER BY username COLLATE \"C\", id LIMIT $4";
          return read_users(sql, community,
                            community.sql(community.is_sqlite() ? kSqlite : kPostgres),
                            {from.text, community.id(from.id), last, limit});
        },
        [&](const User& user) { return query.with_deleted || !user.deleted_at_ms; },
        [](const User& user) { return Place{.id = user.id, .text = user.name}; });
  });
}

}  // namespace coffer::token
