// Wallets in JSON: one form for HTTP and command line.
// Invariant: a field's type never depends on its value (U9): amounts are strings of satoshi, what
// is absent is null, hashes are as Bitcoin prints them. Times end in _unix_ms, block_time is in
// seconds.
#pragma once

#include <string>
#include "wallet/display.h"

#include <coffer/wallet/store.h>
#include "api/routes.h"

namespace coffer::json {
class Writer;
}

namespace coffer::wallet {

// All are thread-safe, and linear in what they write.

std::string wallet_json(const wallet::WalletInfo& info);
std::string wallets_json(const wallet::Page<wallet::WalletInfo>& page);
std::string labels_json(const wallet::Page<wallet::LabelInfo>& page);
std::string pruned_totals_json(const wallet::PrunedTotals& totals);
std::string accounts_json(const std::vector<wallet::AccountInfo>& accounts);
std::string descriptors_json(const std::vector<wallet::DescriptorInfo>& descriptors);
std::string wallet_address_json(const wallet::AddressInfo& address);
std::string wallet_addresses_json(const wallet::Page<wallet::AddressInfo>& page);
std::string imported_json(const wallet::Imported& imported);
// `scope` is what was asked for; its script is shown as an address where it has one.
std::string wallet_balance_json(const chain::Network& network, const wallet::Scope& scope,
                                const wallet::Balance& balance);
std::string coin_json(const chain::Network& network, const wallet::Coin& coin);
std::string coins_json(const chain::Network& network, const wallet::Page<wallet::Coin>& page);
std::string history_json(const wallet::Page<wallet::HistoryEntry>& page);
std::string wallet_tx_json(const chain::Network& network, const wallet::TxDetail& detail);
std::string recorded_json(const wallet::Recorded& recorded);
// `coins` of `lock_id` are leased until then.
std::string leased_json(std::size_t coins, const wallet::LockId& lock_id,
                        std::int64_t expires_at_ms);
std::string selected_json(const chain::Network& network, const wallet::LockId& lock_id,
                          const wallet::SelectedCoins& selected);
std::string released_json(std::uint64_t coins, const wallet::LockId& lock_id);
std::string leases_json(const wallet::Page<wallet::LeasedCoin>& page);
// `more`: there may be others that have expired.
std::string cleaned_leases_json(std::uint64_t leases, bool more);
std::string pruned_json(const wallet::Pruned& pruned, bool dry_run);
std::string label_json(std::string_view kind, std::string_view ref, std::string_view label);
std::string wallet_verified_json(const wallet::WalletVerified& verified);
std::string wallet_stats_json(const wallet::StoreStats& stats);

// The JSON Schemas of these and of the bodies of requests, for /openapi.json.
void add_wallet_schemas(api::RouteTable& table);

}  // namespace coffer::wallet
