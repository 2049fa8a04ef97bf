#include "token/account/import_rows.h"

#include "sql/postgres_array.h"
#include "token/account/accounts.h"

namespace coffer::token {
namespace {

using sql::PostgresArray;
using Element = PostgresArray::Element;
using Members = std::span<const NewMember>;
using KnownIdentities = std::map<std::pair<std::string, std::string>, Uuid>;

// On PostgreSQL so many rows go into one statement.
constexpr std::size_t kRowsOfAStatement = 1'000;

PostgresArray ids_of(Members members, Uuid NewMember::* id) {
  PostgresArray ids(Element::kUuid);
  for (const NewMember& member : members) ids.add(member.*id);
  return ids;
}

std::vector<NewMember> with_identity(Members members) {
  std::vector<NewMember> some;
  std::ranges::copy_if(members, std::back_inserter(some),
                       [](const NewMember& member) { return member.row->identity.has_value(); });
  return some;
}

std::vector<NewMember> with_balance(Members members) {
  std::vector<NewMember> some;
  std::ranges::copy_if(members, std::back_inserter(some),
                       [](const NewMember& member) { return member.row->balance > 0; });
  return some;
}

Result<> insert_on_postgres(sql::Transaction& sql, const Community& community, Members members,
                            const Actor& actor, std::int64_t now_ms) {
  const PostgresArray users = ids_of(members, &NewMember::user),
                      wallets = ids_of(members, &NewMember::wallet);
  PostgresArray names(Element::kText), linked(Element::kUuid), issuers(Element::kText),
      subjects(Element::kText);
  for (const NewMember& member : members) {
    names.add(member.row->username);
    if (!member.row->identity) continue;
    linked.add(member.user);
    issuers.add(member.row->identity->issuer);
    subjects.add(member.row->identity->subject);
  }
  (void)TRY(sql.execute(community.sql("INSERT INTO @wallets (id, created_at, updated_at)"
                                      " SELECT k.id, $2::bigint, $2::bigint FROM unnest($1::uuid[])"
                                      " AS k (id)"),
                        {wallets.view(), now_ms}));
  (void)TRY(sql.execute(
      community.sql("INSERT INTO @users (id, wallet_id, username, created_at, updated_at)"
                    " SELECT k.id, k.wallet, k.name, $4::bigint, $4::bigint"
                    " FROM unnest($1::uuid[], $2::uuid[], $3::text[]) AS k (id, wallet, name)"),
      {users.view(), wallets.view(), names.view(), now_ms}));
  (void)TRY(sql.execute(
      community.sql("INSERT INTO @external_identities (issuer, subject, user_id, created_at,"
                    " created_by) SELECT k.issuer, k.subject, k.id, $4::bigint, $5::text"
                    " FROM unnest($1::uuid[], $2::text[], $3::text[]) AS k (id, issuer, subject)"),
      {linked.view(), issuers.view(), subjects.view(), now_ms, actor.name}));
  return {};
}

Result<> pay_on_postgres(sql::Transaction& sql, const Community& community, Members members,
                         const Uuid& payer, const Actor& actor, std::int64_t now_ms) {
  const PostgresArray transfers = ids_of(members, &NewMember::transfer),
                      wallets = ids_of(members, &NewMember::wallet);
  PostgresArray amounts(Element::kInt8);
  for (const NewMember& member : members) amounts.add(member.row->balance);
  (void)TRY(sql.execute(
      community.sql("INSERT INTO @transactions (id, from_wallet_id, to_wallet_id, amount,"
                    " transaction_type, created_at) SELECT k.id, $4::uuid, k.wallet, k.amount, 1,"
                    " $5::bigint FROM unnest($1::uuid[], $2::uuid[], $3::bigint[])"
                    " WITH ORDINALITY AS k (id, wallet, amount, n) ORDER BY k.n"),
      {transfers.view(), wallets.view(), amounts.view(), payer, now_ms}));
  (void)TRY(sql.execute(community.sql("INSERT INTO @transaction_details (transaction_id, actor)"
                                      " SELECT k.id, $2::text FROM unnest($1::uuid[]) AS k (id)"),
                        {transfers.view(), actor.name}));
  return {};
}

// Runs one statement for each member, with the parameters that `params` makes of it.
template <typename Add>
Result<> insert_each(sql::Transaction& sql, std::string_view text, Members members, Add add) {
  sql::Batch batch = TRY(sql.batch(text));
  for (const NewMember& member : members) TRY(add(batch, member));
  (void)TRY(batch.finish());
  return {};
}

Result<> insert_on_sqlite(sql::Transaction& sql, const Community& community, Members members,
                          const Uuid& payer, const Actor& actor, std::int64_t now_ms) {
  const auto id = [&](const Uuid& value) { return community.id(value); };
  TRY(insert_each(sql, "INSERT INTO wallets (id, created_at, updated_at) VALUES ($1, $2, $2)",
                  members, [&](sql::Batch& batch, const NewMember& each) {
                    return batch.add({id(each.wallet), now_ms});
                  }));
  TRY(insert_each(sql,
                  "INSERT INTO users (id, wallet_id, username, created_at, updated_at)"
                  " VALUES ($1, $2, $3, $4, $4)",
                  members, [&](sql::Batch& batch, const NewMember& each) {
                    return batch.add({id(each.user), id(each.wallet), each.row->username, now_ms});
                  }));
  TRY(insert_each(
      sql,
      "INSERT INTO external_identities (issuer, subject, user_id, created_at, created_by)"
      " VALUES ($1, $2, $3, $4, $5)",
      with_identity(members), [&](sql::Batch& batch, const NewMember& each) {
        const ExternalIdentity& identity = *each.row->identity;
        return batch.add({identity.issuer, identity.subject, id(each.user), now_ms, actor.name});
      }));
  const std::vector<NewMember> paid = with_balance(members);
  TRY(insert_each(sql,
                  "INSERT INTO transactions (id, from_wallet_id, to_wallet_id, amount,"
                  " transaction_type, created_at) VALUES ($1, $2, $3, $4, 1, $5)",
                  paid, [&](sql::Batch& batch, const NewMember& each) {
                    return batch.add(
                        {id(each.transfer), id(payer), id(each.wallet), each.row->balance, now_ms});
                  }));
  return insert_each(sql, "INSERT INTO transaction_details (transaction_id, actor) VALUES ($1, $2)",
                     paid, [&](sql::Batch& batch, const NewMember& each) {
                       return batch.add({id(each.transfer), actor.name});
                     });
}

// Calls `body` with portions of the members.
template <typename Body>
Result<> in_portions(Members members, Body body) {
  for (std::size_t at = 0; at < members.size(); at += kRowsOfAStatement)
    TRY(body(members.subspan(at, std::min(kRowsOfAStatement, members.size() - at))));
  return {};
}

}  // namespace

Result<std::set<Uuid>> find_known_users(sql::Reader& sql, const Community& community,
                                        Members members) {
  std::set<Uuid> known;
  if (community.is_sqlite()) {
    for (const NewMember& member : members)
      if (member.row->user && TRY(find_user_row(sql, community, member.user)))
        known.insert(member.user);
    return known;
  }
  const PostgresArray ids = ids_of(members, &NewMember::user);
  sql::Rows rows = TRY(sql.query(community.sql("SELECT u.id FROM unnest($1::uuid[]) AS k (id)"
                                               " JOIN @users u ON u.id = k.id"),
                                 {ids.view()}));
  while (TRY(rows.next())) known.insert(TRY(community.read_id(rows, 0)));
  return known;
}

Result<KnownIdentities> find_known_identities(sql::Reader& sql, const Community& community,
                                              Members members) {
  KnownIdentities known;
  const std::vector<NewMember> some = with_identity(members);
  if (community.is_sqlite()) {
    for (const NewMember& member : some)
      if (const auto user = TRY(find_linked_user(sql, community, *member.row->identity)))
        known[{member.row->identity->issuer, member.row->identity->subject}] = *user;
    return known;
  }
  PostgresArray issuers(Element::kText), subjects(Element::kText);
  for (const NewMember& member : some) {
    issuers.add(member.row->identity->issuer);
    subjects.add(member.row->identity->subject);
  }
  sql::Rows rows = TRY(sql.query(
      community.sql("SELECT x.issuer, x.subject, x.user_id FROM unnest($1::text[], $2::text[])"
                    " AS k (issuer, subject) JOIN @external_identities x"
                    " ON x.issuer = k.issuer AND x.subject = k.subject"),
      {issuers.view(), subjects.view()}));
  while (TRY(rows.next())) {
    auto issuer = TRY(rows.get<std::string>(0));
    auto subject = TRY(rows.get<std::string>(1));
    known[{std::move(issuer), std::move(subject)}] = TRY(community.read_id(rows, 2));
  }
  return known;
}

Result<> insert_members(sql::Transaction& sql, const Community& community, Members members,
                        const Uuid& payer, const Actor& actor, std::int64_t now_ms) {
  if (community.is_sqlite()) return insert_on_sqlite(sql, community, members, payer, actor, now_ms);
  TRY(in_portions(members, [&](Members some) {
    return insert_on_postgres(sql, community, some, actor, now_ms);
  }));
  const std::vector<NewMember> paid = with_balance(members);
  return in_portions(Members(paid), [&](Members some) {
    return pay_on_postgres(sql, community, some, payer, actor, now_ms);
  });
}

}  // namespace coffer::token
