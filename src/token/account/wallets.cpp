// What people set on wallets: frozen or not, and limits. Whoever changes what a transfer asks of a
// wallet locks its row first (T5).
#include "token/account/accounts.h"

namespace coffer::token {
namespace {

Result<bool> change_frozen(sql::Transaction& sql, const Community& community, const Uuid& wallet,
                           bool frozen) {
  if (community.is_sqlite())
    return TRY(sql.execute("UPDATE wallets SET is_frozen = $2 WHERE id = $1 AND is_frozen <> $2",
                           {community.id(wallet), frozen})) > 0;
  // The application's role has no UPDATE on wallets (T3).
  return TRY(sql.value<bool>(community.sql("SELECT @set_wallet_frozen($1::uuid, $2::boolean)"),
                             {community.id(wallet), frozen}))
      .value_or(false);
}

Result<bool> set_frozen(const Community& community, const Uuid& wallet, bool frozen,
                        const Actor& actor) {
  TRY(check_reason(actor));
  return write_as(community, actor, [&](sql::Transaction& sql) -> Result<bool> {
    TRY(expect_wallet(sql, community, wallet));
    const bool changed = TRY(change_frozen(sql, community, wallet, frozen));
    if (changed)
      TRY(audit_now(sql, community, actor, frozen ? "freeze_wallet" : "unfreeze_wallet",
                    to_string(wallet), {}));
    return changed;
  });
}

Result<WalletLimits> read_limits(sql::Reader& sql, const Community& community, const Uuid& wallet) {
  using Limit = std::optional<std::int64_t>;
  const auto row = TRY(sql.one<Limit, Limit>(
      community.sql("SELECT per_transfer, per_day FROM @wallet_limits WHERE wallet_id = $1::uuid"),
      {community.id(wallet)}));
  if (!row) return WalletLimits{};
  return WalletLimits{std::get<0>(*row), std::get<1>(*row)};
}

Result<> check_limit(std::string_view what, std::optional<std::int64_t> limit) {
  if (limit && *limit < 0)
    return fail(Code::kInvalidInput, "{}: {}; expected 0 or more", what, *limit);
  return {};
}

std::string limits_detail(const WalletLimits& limits) {
  const auto member = [](json::Writer& out, std::string_view name,
                         std::optional<std::int64_t> limit) {
    out.key(name);
    if (limit)
      out.value(std::to_string(*limit));
    else
      out.null();
  };
  json::Writer out;
  out.begin_object();
  member(out, "per_transfer", limits.per_transfer);
  member(out, "per_day", limits.per_day);
  out.end_object();
  return out.take();
}

}  // namespace

Result<> lock_wallet(sql::Transaction& sql, const Community& community, const Uuid& wallet) {
  if (!community.is_sqlite())
    TRY(sql.query(community.sql("SELECT id FROM @lock_wallets(ARRAY[$1::uuid])"),
                  {community.id(wallet)}));
  return expect_wallet(sql, community, wallet);
}

Result<bool> Store::freeze(const Uuid& wallet, const Actor& actor) {
  return set_frozen(impl_->community, wallet, true, actor);
}

Result<bool> Store::unfreeze(const Uuid& wallet, const Actor& actor) {
  return set_frozen(impl_->community, wallet, false, actor);
}

// A row of limits stays when they go: it knows what was spent today, if they come back.
Result<WalletLimits> Store::set_limits(const Uuid& wallet, const WalletLimits& limits,
                                       const Actor& actor) {
  TRY(check_actor(actor));
  TRY(check_limit("per_transfer", limits.per_transfer));
  TRY(check_limit("per_day", limits.per_day));
  const Community& community = impl_->community;
  return write_as(community, actor, [&](sql::Transaction& sql) -> Result<WalletLimits> {
    TRY(lock_wallet(sql, community, wallet));
    const WalletLimits before = TRY(read_limits(sql, community, wallet));
    if (before.per_transfer == limits.per_transfer && before.per_day == limits.per_day)
      return limits;
    const std::int64_t changed =
        TRY(sql.execute(community.sql("UPDATE @wallet_limits SET per_transfer = $2, per_day = $3"
                                      " WHERE wallet_id = $1::uuid"),
                        {community.id(wallet), limits.per_transfer, limits.per_day}));
    if (changed == 0)
      (void)TRY(
          sql.execute(community.sql("INSERT INTO @wallet_limits (wallet_id, per_transfer, per_day)"
                                    " VALUES ($1::uuid, $2, $3)"),
                      {community.id(wallet), limits.per_transfer, limits.per_day}));
    TRY(audit_now(sql, community, actor, "set_limits", to_string(wallet), limits_detail(limits)));
    return limits;
  });
}

}  // namespace coffer::token
