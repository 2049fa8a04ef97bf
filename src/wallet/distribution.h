// How the wallet's tables are spread over a Citus cluster: everything of one wallet on one node.
#pragma once

#include "sql/distribute.h"

namespace coffer::wallet {

// Small, and needed on every node.
inline constexpr std::string_view kReferenceTables[] = {"wallets", "blocks", "sync_state"};

// Each after those that it refers to.
inline constexpr sql::TenantTable kTenantTables[] = {
    {"accounts", "wallet_id"},       {"descriptors", "wallet_id"},
    {"addresses", "wallet_id"},      {"transactions", "wallet_id"},
    {"tx_raw", "wallet_id"},         {"tx_inputs", "wallet_id"},
    {"utxos", "wallet_id"},          {"tx_replacements", "wallet_id"},
    {"utxo_leases", "wallet_id"},    {"pruned_transactions", "wallet_id"},
    {"pruned_summary", "wallet_id"}, {"balance_summary", "wallet_id"},
    {"labels", "wallet_id"},
};

// The triggers touch rows of their own wallet only, so that they are safe on a node by itself.
inline constexpr std::string_view kDistributionSettings[] = {"citus.enable_unsafe_triggers"};

inline constexpr sql::Distribution kDistribution = {
    .reference = kReferenceTables, .tenant = kTenantTables, .settings = kDistributionSettings};

}  // namespace coffer::wallet
