// Reports, keys, roles and the audit.
#include "json/writer.h"
#include "token/json/fields.h"
#include "token/json/output.h"

namespace coffer::token {
namespace {

void write_difference(json::Writer& out, const WalletDifference& difference) {
  out.begin_object();
  write_id(out, "wallet", difference.wallet);
  write_amount(out, "balance", difference.balance);
  write_amount(out, "history_balance", difference.history_balance);
  write_amount(out, "entries_balance", difference.entries_balance);
  out.end_object();
}

void write_key_fields(json::Writer& out, const ApiKey& key) {
  write_id(out, "id", key.id);
  out.field("name", key.name).key("scopes").begin_array();
  for (const std::string& scope : key.scopes) out.value(scope);
  out.end_array();
  out.field("created_by", key.created_by).field("created_unix_ms", key.created_at_ms);
  out.field("expires_unix_ms", key.expires_at_ms);
  write_optional(out, "revoked_unix_ms", key.revoked_at_ms);
  write_optional(out, "last_used_unix_ms", key.last_used_at_ms);
}

void write_key(json::Writer& out, const ApiKey& key) {
  out.begin_object();
  write_key_fields(out, key);
  out.end_object();
}

void write_grant(json::Writer& out, const RoleGrant& grant) {
  out.begin_object().field("issuer", grant.identity.issuer);
  out.field("subject", grant.identity.subject).field("role", to_string(grant.role));
  out.field("created_unix_ms", grant.created_at_ms).field("created_by", grant.created_by);
  out.end_object();
}

void write_audit_entry(json::Writer& out, const AuditEntry& entry) {
  out.begin_object();
  write_id(out, "id", entry.id);
  out.field("at_unix_ms", entry.at_ms).field("actor", entry.actor).field("action", entry.action);
  write_optional(out, "target", entry.target);
  write_optional(out, "reason", entry.reason);
  write_object(out, "detail", entry.detail);
  out.end_object();
}

}  // namespace

std::string supply_json(const Supply& supply) {
  json::Writer out;
  out.begin_object();
  write_amount(out, "issuance", supply.issuance);
  write_amount(out, "circulation", supply.circulation);
  write_amount(out, "pool", supply.pool);
  write_amount(out, "deleted_users", supply.deleted_users);
  write_amount(out, "ownerless", supply.ownerless);
  out.end_object();
  return out.take();
}

std::string statistics_json(const Statistics& statistics) {
  json::Writer out;
  out.begin_object();
  write_amount(out, "issuance", statistics.issuance);
  write_amount(out, "circulation", statistics.circulation);
  write_amount(out, "pool", statistics.pool);
  out.field("users", statistics.users).field("transactions", statistics.transactions);
  out.field("updated_unix_ms", statistics.updated_at_ms).end_object();
  return out.take();
}

std::string check_json(const CheckReport& report) {
  json::Writer out;
  out.begin_object().field("is_consistent", report.is_consistent);
  write_amount(out, "total_balance", report.total_balance);
  write_amount(out, "total_issuance", report.total_issuance);
  out.field("checked_unix_ms", report.checked_at_ms).key("differences").begin_array();
  for (const WalletDifference& difference : report.differences) write_difference(out, difference);
  out.end_array().key("orphans").begin_array();
  for (const Uuid& orphan : report.orphans) out.value(to_string(orphan));
  out.end_array().end_object();
  return out.take();
}

std::string rebuilt_json(const std::vector<WalletDifference>& differences, bool dry_run) {
  json::Writer out;
  out.begin_object().field("dry_run", dry_run).key("differences").begin_array();
  for (const WalletDifference& difference : differences) write_difference(out, difference);
  out.end_array().end_object();
  return out.take();
}

std::string api_key_json(const ApiKey& key) {
  json::Writer out;
  write_key(out, key);
  return out.take();
}

std::string made_api_key_json(const MadeApiKey& made) {
  json::Writer out;
  out.begin_object();
  write_key_fields(out, made.key);
  out.field("secret", made.secret).end_object();
  return out.take();
}

std::string api_keys_json(const Page<ApiKey>& page) {
  return page_json("keys", page, write_key);
}

std::string roles_json(const Page<RoleGrant>& page) {
  return page_json("roles", page, write_grant);
}

std::string role_json(const ExternalIdentity& identity, Role role, bool granted) {
  json::Writer out;
  out.begin_object().field("issuer", identity.issuer).field("subject", identity.subject);
  out.field("role", to_string(role)).field("granted", granted).end_object();
  return out.take();
}

std::string audit_json(const Page<AuditEntry>& page) {
  return page_json("entries", page, write_audit_entry);
}

std::string import_json(const ImportReport& report, bool dry_run) {
  json::Writer out;
  out.begin_object().field("dry_run", dry_run).field("users", report.users);
  out.field("identities", report.identities).field("transfers", report.transfers);
  write_amount(out, "tokens", report.tokens);
  out.key("problems").begin_array();
  for (const std::string& problem : report.problems) out.value(problem);
  out.end_array().end_object();
  return out.take();
}

}  // namespace coffer::token
