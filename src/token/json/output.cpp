#include "token/json/output.h"

#include "json/writer.h"
#include "token/json/fields.h"

namespace coffer::token {
namespace {

void write_user(json::Writer& out, const User& user) {
  out.begin_object();
  write_id(out, "id", user.id);
  write_id(out, "wallet", user.wallet);
  out.field("name", user.name).field("created_unix_ms", user.created_at_ms);
  out.field("updated_unix_ms", user.updated_at_ms);
  write_optional(out, "deleted_unix_ms", user.deleted_at_ms);
  out.end_object();
}

void write_account(json::Writer& out, const SystemAccount& account) {
  out.begin_object();
  write_id(out, "id", account.id);
  write_id(out, "wallet", account.wallet);
  out.field("name", account.name).field("created_unix_ms", account.created_at_ms);
  out.field("updated_unix_ms", account.updated_at_ms).end_object();
}

void write_link(json::Writer& out, const IdentityLink& link) {
  out.begin_object().field("issuer", link.identity.issuer).field("subject", link.identity.subject);
  write_id(out, "user", link.user);
  out.field("created_unix_ms", link.created_at_ms).field("created_by", link.created_by);
  out.end_object();
}

void write_limits(json::Writer& out, const WalletLimits& limits) {
  write_amount(out, "limit_per_transfer", limits.per_transfer);
  write_amount(out, "limit_per_day", limits.per_day);
}

void write_wallet(json::Writer& out, const Wallet& wallet) {
  out.begin_object();
  write_id(out, "id", wallet.id);
  write_amount(out, "balance", wallet.balance);
  write_amount(out, "held", wallet.held);
  write_amount(out, "available", wallet.available());
  out.field("open_holds", wallet.open_holds).field("is_frozen", wallet.is_frozen);
  write_limits(out, wallet.limits);
  write_amount(out, "spent_today", wallet.spent_today);
  out.field("created_unix_ms", wallet.created_at_ms);
  out.field("updated_unix_ms", wallet.updated_at_ms);
  write_optional(out, "owner_type",
                 wallet.owner_type ? std::optional(to_string(*wallet.owner_type)) : std::nullopt);
  write_id(out, "owner", wallet.owner);
  write_text_or_null(out, "owner_name", wallet.owner_name);
  write_optional(out, "owner_deleted_unix_ms", wallet.owner_deleted_at_ms);
  out.end_object();
}

}  // namespace

std::string communities_json(const std::vector<std::string>& names) {
  json::Writer out;
  out.begin_object().key("communities").begin_array();
  for (const std::string& name : names) out.begin_object().field("name", name).end_object();
  out.end_array().end_object();
  return out.take();
}

std::string seeded_json(std::string_view community, const Seeded& seeded) {
  json::Writer out;
  out.begin_object().field("community", community).field("is_new", seeded.is_new);
  out.key("system_account");
  write_account(out, seeded.account);
  out.end_object();
  return out.take();
}

std::string user_json(const User& user) {
  json::Writer out;
  write_user(out, user);
  return out.take();
}

std::string users_json(const Page<User>& page) {
  return page_json("users", page, write_user);
}

std::string system_account_json(const SystemAccount& account) {
  json::Writer out;
  write_account(out, account);
  return out.take();
}

std::string system_accounts_json(const std::vector<SystemAccount>& accounts) {
  return list_json("system_accounts", accounts, write_account);
}

std::string identities_json(const std::vector<IdentityLink>& links) {
  return list_json("identities", links, write_link);
}

std::string wallet_json(const Wallet& wallet) {
  json::Writer out;
  write_wallet(out, wallet);
  return out.take();
}

std::string wallets_json(const Page<Wallet>& page) {
  return page_json("wallets", page, write_wallet);
}

std::string balance_json(const Uuid& wallet, std::int64_t balance,
                         std::optional<std::int64_t> at_ms) {
  json::Writer out;
  out.begin_object();
  write_id(out, "wallet", wallet);
  write_amount(out, "balance", balance);
  write_optional(out, "at_unix_ms", at_ms);
  out.end_object();
  return out.take();
}

std::string limits_json(const Uuid& wallet, const WalletLimits& limits) {
  json::Writer out;
  out.begin_object();
  write_id(out, "wallet", wallet);
  write_limits(out, limits);
  out.end_object();
  return out.take();
}

std::string frozen_json(const Uuid& wallet, bool is_frozen, bool changed) {
  json::Writer out;
  out.begin_object();
  write_id(out, "wallet", wallet);
  out.field("is_frozen", is_frozen).field("changed", changed).end_object();
  return out.take();
}

std::string identity_json(const ExternalIdentity& identity, const std::optional<Uuid>& user) {
  json::Writer out;
  out.begin_object().field("issuer", identity.issuer).field("subject", identity.subject);
  write_id(out, "user", user);
  out.end_object();
  return out.take();
}

}  // namespace coffer::token
