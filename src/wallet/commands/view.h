// Wallets for people: tables and lines, amounts in BTC. The same facts as JSON are in
// wallet/json/output.h.
#pragma once

#include <string>

#include <coffer/wallet/store.h>

namespace coffer::wallet {

// All are thread-safe; every line ends with a newline.
std::string render_wallets(const wallet::Page<wallet::WalletInfo>& page);
std::string render_labels(const wallet::Page<wallet::LabelInfo>& page);
std::string render_pruned_totals(const wallet::PrunedTotals& totals);
std::string render_accounts(const std::vector<wallet::AccountInfo>& accounts);
std::string render_descriptors(const std::vector<wallet::DescriptorInfo>& descriptors);
std::string render_addresses(const wallet::Page<wallet::AddressInfo>& page);
std::string render_wallet_balance(const wallet::Balance& balance);
std::string render_coins(const chain::Network& network, const wallet::Page<wallet::Coin>& page);
std::string render_coin(const chain::Network& network, const wallet::Coin& coin);
std::string render_history(const wallet::Page<wallet::HistoryEntry>& page);
std::string render_wallet_tx(const chain::Network& network, const wallet::TxDetail& detail);
std::string render_recorded(const wallet::Recorded& recorded);
std::string render_leases(const wallet::Page<wallet::LeasedCoin>& page);
std::string render_pruned(const wallet::Pruned& pruned, bool dry_run);
std::string render_wallet_stats(const wallet::StoreStats& stats);

std::string btc_text(std::uint64_t satoshi);  // 1.00000000
std::string time_text(std::int64_t unix_ms);  // 2026-11-16 12:50:23 UTC

}  // namespace coffer::wallet
