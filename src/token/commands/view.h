// The token ledger for people.
#pragma once

#include <string>

#include <coffer/token/store.h>

namespace coffer::token {

std::string tokens_text(std::int64_t amount);  // 1,234
std::string time_text(std::int64_t unix_ms);   // 2026-01-31 12:30:00 UTC
std::string row_text(std::string_view name, const std::string& value);

std::string render_users(const Page<User>& page);
std::string render_system_accounts(const std::vector<SystemAccount>& accounts);
std::string render_identities(const std::vector<IdentityLink>& links);
std::string render_wallet(const Wallet& wallet);
std::string render_wallets(const Page<Wallet>& page);
// `wallet`: from whose side; nothing for the whole community.
std::string render_history(const Page<Transaction>& page, const std::optional<Uuid>& wallet);
std::string render_transaction(const Transaction& transaction);
std::string render_statement(const Store::Statement& statement);
std::string render_holds(const Page<Hold>& page);
std::string render_hold(const Hold& hold);
std::string render_supply(const Supply& supply);
std::string render_statistics(const Statistics& statistics);
std::string render_check(const CheckReport& report);
std::string render_differences(const std::vector<WalletDifference>& differences);
std::string render_keys(const Page<ApiKey>& page);
std::string render_roles(const Page<RoleGrant>& page);
std::string render_audit(const Page<AuditEntry>& page);

}  // namespace coffer::token
