// The token ledger in JSON: one form for HTTP and command line.
// Invariant: a field's type never depends on its value (U9): amounts are strings, what is absent is
// null, ids are UUIDs in lower case. Times end in _unix_ms.
#pragma once

#include <string>

#include <coffer/token/store.h>
#include "api/routes.h"

namespace coffer::token {

// All are thread-safe, and linear in what they write.

std::string communities_json(const std::vector<std::string>& names);
std::string seeded_json(std::string_view community, const Seeded& seeded);
std::string user_json(const User& user);
std::string users_json(const Page<User>& page);
std::string system_account_json(const SystemAccount& account);
std::string system_accounts_json(const std::vector<SystemAccount>& accounts);
std::string identities_json(const std::vector<IdentityLink>& links);
std::string wallet_json(const Wallet& wallet);
std::string wallets_json(const Page<Wallet>& page);
std::string balance_json(const Uuid& wallet, std::int64_t balance,
                         std::optional<std::int64_t> at_ms);
std::string limits_json(const Uuid& wallet, const WalletLimits& limits);
std::string frozen_json(const Uuid& wallet, bool is_frozen, bool changed);
std::string applied_json(const Applied& applied);
// A result for each: the applied transfer, or the error of the refused one.
std::string batch_json(std::span<const Transfer> transfers,
                       std::span<const Result<Applied>> results);
std::string transaction_json(const Transaction& transaction);
std::string history_json(const Page<Transaction>& page);
std::string statement_json(const Uuid& wallet, const Store::Statement& statement);
std::string hold_json(const Hold& hold);
std::string holds_json(const Page<Hold>& page);
std::string supply_json(const Supply& supply);
std::string statistics_json(const Statistics& statistics);
std::string check_json(const CheckReport& report);
std::string rebuilt_json(const std::vector<WalletDifference>& differences, bool dry_run);
std::string api_key_json(const ApiKey& key);
std::string made_api_key_json(const MadeApiKey& made);
std::string api_keys_json(const Page<ApiKey>& page);
std::string roles_json(const Page<RoleGrant>& page);
std::string role_json(const ExternalIdentity& identity, Role role, bool granted);
std::string audit_json(const Page<AuditEntry>& page);
std::string import_json(const ImportReport& report, bool dry_run);
std::string identity_json(const ExternalIdentity& identity, const std::optional<Uuid>& user);
std::string erased_json(const Uuid& transaction);

// As a spreadsheet reads it: a line of names, then a line for each.
std::string statement_csv(const Store::Statement& statement, bool with_header);

// The JSON Schemas of these and of the bodies of requests, for /openapi.json.
void add_token_schemas(api::RouteTable& table);

}  // namespace coffer::token
