// The JSON Schemas of what output.cpp, transfers.cpp and reports.cpp write, which
// tests/token/api_schema_test.cpp compares, and of what the verbs read.
#include "json/schema.h"

#include <set>

#include "base/result.h"
#include "token/json/output.h"
#include "token/json/verbs.h"

namespace coffer::token {
namespace {

using namespace json::schema;

const std::string kId = R"({"type":"string","format":"uuid"})";
const std::string kIdOrNull = R"({"type":["string","null"],"format":"uuid"})";
const std::string kDelta = R"({"type":"string","pattern":"^-?[0-9]+$"})";
const std::string kObjectOrNull = R"({"type":["object","null"]})";
const std::string kOwnerType =
    R"({"type":["string","null"],"enum":["user","system_account",null]})";
const std::string kHoldState =
    R"({"type":"string","enum":["open","captured","released","expired"]})";
const std::string kRole = R"({"type":"string","enum":["member","operator","issuer","auditor"]})";

std::string page_of(std::string_view key, std::string_view schema) {
  return answer({{key, list_of(refer(schema))}, {"next_cursor", kTextOrNull}});
}

void add_accounts(api::RouteTable& table) {
  table.add_schema("TokenCommunities",
                   answer({{"communities", list_of(answer({{"name", kText}}))}}));
  table.add_schema("TokenUser", answer({{"id", kId},
                                        {"wallet", kId},
                                        {"name", kText},
                                        {"created_unix_ms", kWhole},
                                        {"updated_unix_ms", kWhole},
                                        {"deleted_unix_ms", kWholeOrNull}}));
  table.add_schema("TokenUserPage", page_of("users", "TokenUser"));
  table.add_schema("TokenSystemAccount", answer({{"id", kId},
                                                 {"wallet", kId},
                                                 {"name", kText},
                                                 {"created_unix_ms", kWhole},
                                                 {"updated_unix_ms", kWhole}}));
  table.add_schema("TokenSystemAccounts",
                   answer({{"system_accounts", list_of(refer("TokenSystemAccount"))}}));
  table.add_schema("TokenIdentity", answer({{"issuer", kText},
                                            {"subject", kText},
                                            {"user", kId},
                                            {"created_unix_ms", kWhole},
                                            {"created_by", kText}}));
  table.add_schema("TokenIdentities", answer({{"identities", list_of(refer("TokenIdentity"))}}));
  table.add_schema("TokenIdentityLinked",
                   answer({{"issuer", kText}, {"subject", kText}, {"user", kIdOrNull}}));
  table.add_schema("TokenWallet", answer({{"id", kId},
                                          {"balance", kAmount},
                                          {"held", kAmount},
                                          {"available", kDelta},
                                          {"open_holds", kWhole},
                                          {"is_frozen", kFlag},
                                          {"limit_per_transfer", kAmountOrNull},
                                          {"limit_per_day", kAmountOrNull},
                                          {"spent_today", kAmount},
                                          {"created_unix_ms", kWhole},
                                          {"updated_unix_ms", kWhole},
                                          {"owner_type", kOwnerType},
                                          {"owner", kIdOrNull},
                                          {"owner_name", kTextOrNull},
                                          {"owner_deleted_unix_ms", kWholeOrNull}}));
  table.add_schema("TokenWalletPage", page_of("wallets", "TokenWallet"));
  table.add_schema("TokenBalance",
                   answer({{"wallet", kId}, {"balance", kAmount}, {"at_unix_ms", kWholeOrNull}}));
  table.add_schema("TokenLimits", answer({{"wallet", kId},
                                          {"limit_per_transfer", kAmountOrNull},
                                          {"limit_per_day", kAmountOrNull}}));
  table.add_schema("TokenFrozen",
                   answer({{"wallet", kId}, {"is_frozen", kFlag}, {"changed", kFlag}}));
}

void add_transfers(api::RouteTable& table) {
  table.add_schema("TokenApplied", answer({{"id", kId},
                                           {"created_unix_ms", kWhole},
                                           {"balance", kAmount},
                                           {"is_repeat", kFlag},
                                           {"logged", kFlag}}));
  const std::string applied_or_null =
      fmt::format(R"({{"oneOf":[{},{{"type":"null"}}]}})", refer("TokenApplied"));
  table.add_schema("TokenBatchResult", answer({{"id", kId},
                                               {"transfer", applied_or_null},
                                               {"code", kTextOrNull},
                                               {"reason", kTextOrNull},
                                               {"detail", kTextOrNull}}));
  table.add_schema("TokenBatch", answer({{"applied", kWhole},
                                         {"refused", kWhole},
                                         {"results", list_of(refer("TokenBatchResult"))}}));
  table.add_schema("TokenTransaction", answer({{"id", kId},
                                               {"from", kId},
                                               {"to", kId},
                                               {"from_name", kTextOrNull},
                                               {"to_name", kTextOrNull},
                                               {"amount", kAmount},
                                               {"type", kWhole},
                                               {"is_issuance", kFlag},
                                               {"created_unix_ms", kWhole},
                                               {"memo", kTextOrNull},
                                               {"metadata", kObjectOrNull},
                                               {"details_erased_unix_ms", kWholeOrNull},
                                               {"actor", kTextOrNull},
                                               {"reverses", kIdOrNull},
                                               {"reversed_by", kIdOrNull},
                                               {"log_position", kWholeOrNull}}));
  table.add_schema("TokenHistory", page_of("transactions", "TokenTransaction"));
  table.add_schema("TokenErased", answer({{"transaction", kId}, {"erased", kFlag}}));
  table.add_schema("TokenStatementLine", answer({{"booked_unix_ms", kWhole},
                                                 {"version", kWhole},
                                                 {"transaction", kId},
                                                 {"counterparty", kId},
                                                 {"counterparty_name", kTextOrNull},
                                                 {"delta", kDelta},
                                                 {"balance", kAmount},
                                                 {"type", kWhole},
                                                 {"memo", kTextOrNull}}));
  table.add_schema("TokenStatement", answer({{"wallet", kId},
                                             {"opening_balance", kAmount},
                                             {"lines", list_of(refer("TokenStatementLine"))},
                                             {"next_cursor", kTextOrNull}}));
  table.add_schema("TokenHold", answer({{"id", kId},
                                        {"wallet", kId},
                                        {"to", kId},
                                        {"amount", kAmount},
                                        {"captured", kAmount},
                                        {"state", kHoldState},
                                        {"created_by", kText},
                                        {"memo", kTextOrNull},
                                        {"created_unix_ms", kWhole},
                                        {"expires_unix_ms", kWhole},
                                        {"ended_unix_ms", kWholeOrNull},
                                        {"capture_transaction", kIdOrNull}}));
  table.add_schema("TokenHoldPage", page_of("holds", "TokenHold"));
}

void add_reports(api::RouteTable& table) {
  table.add_schema("TokenSupply", answer({{"issuance", kAmount},
                                          {"circulation", kAmount},
                                          {"pool", kAmount},
                                          {"deleted_users", kAmount},
                                          {"ownerless", kAmount}}));
  table.add_schema("TokenStatistics", answer({{"issuance", kAmount},
                                              {"circulation", kAmount},
                                              {"pool", kAmount},
                                              {"users", kWhole},
                                              {"transactions", kWhole},
                                              {"updated_unix_ms", kWhole}}));
  table.add_schema("TokenDifference", answer({{"wallet", kId},
                                              {"balance", kDelta},
                                              {"history_balance", kDelta},
                                              {"entries_balance", kDelta}}));
  table.add_schema("TokenCheck", answer({{"is_consistent", kFlag},
                                         {"total_balance", kAmount},
                                         {"total_issuance", kAmount},
                                         {"checked_unix_ms", kWhole},
                                         {"differences", list_of(refer("TokenDifference"))},
                                         {"orphans", list_of(kId)}}));
}

void add_log(api::RouteTable& table) {
  table.add_schema(
      "TokenCheckpoint",
      answer({{"at", kWhole}, {"root", kHash}, {"signature", kHex}, {"size", kWhole}}));
  table.add_schema("TokenCheckpointPage", page_of("checkpoints", "TokenCheckpoint"));
  const std::string checkpoint_or_null =
      fmt::format(R"({{"oneOf":[{},{{"type":"null"}}]}})", refer("TokenCheckpoint"));
  table.add_schema("TokenLog", answer({{"size", kWhole},
                                       {"root", kHash},
                                       {"unlogged", kWhole},
                                       {"delay_ms", kWhole},
                                       {"public_key", kHashOrNull},
                                       {"checkpoint", checkpoint_or_null}}));
  // docs/formats/token_log.md has the fields of both forms.
  table.add_schema("TokenProof",
                   object_of({{"format", kText}, {"community", kText}, {"public_key", kHash}},
                             {"format", "community", "public_key"}, false));
}

void add_access(api::RouteTable& table) {
  Properties key = {{"id", kId},
                    {"name", kText},
                    {"scopes", list_of(kText)},
                    {"created_by", kText},
                    {"created_unix_ms", kWhole},
                    {"expires_unix_ms", kWhole},
                    {"revoked_unix_ms", kWholeOrNull},
                    {"last_used_unix_ms", kWholeOrNull}};
  table.add_schema("TokenApiKey", answer(key));
  table.add_schema("TokenApiKeyPage", page_of("keys", "TokenApiKey"));
  key.emplace_back("secret", kText);
  table.add_schema("TokenMadeApiKey", answer(key));
  table.add_schema("TokenRoleGrant", answer({{"issuer", kText},
                                             {"subject", kText},
                                             {"role", kRole},
                                             {"created_unix_ms", kWhole},
                                             {"created_by", kText}}));
  table.add_schema("TokenRolePage", page_of("roles", "TokenRoleGrant"));
  table.add_schema(
      "TokenRole",
      answer({{"issuer", kText}, {"subject", kText}, {"role", kRole}, {"granted", kFlag}}));
  table.add_schema("TokenAuditEntry", answer({{"id", kId},
                                              {"at_unix_ms", kWhole},
                                              {"actor", kText},
                                              {"action", kText},
                                              {"target", kTextOrNull},
                                              {"reason", kTextOrNull},
                                              {"detail", kObjectOrNull}}));
  table.add_schema("TokenAuditPage", page_of("entries", "TokenAuditEntry"));
}

}  // namespace

void add_token_schemas(api::RouteTable& table) {
  add_accounts(table);
  add_transfers(table);
  add_reports(table);
  add_log(table);
  add_access(table);
  std::set<std::string> added;  // verbs may share one
  for_each_verb([&](const auto& verb) {
    if (added.insert(verb.schema).second) table.add_schema(verb.schema, node::body_schema(verb));
  });
  table.add_schema("TokenNewBatch", batch_schema());
}

}  // namespace coffer::token
