#include "wallet/commands/view.h"

#include <ctime>

#include <coffer/chain/address.h>
#include "base/result.h"
#include "cli/table.h"
#include "wallet/json/output.h"

namespace coffer::wallet {
namespace {

constexpr std::uint64_t kSatoshiPerBtc = 100'000'000;

std::string line(std::string_view name, const std::string& value) {
  return fmt::format("{:<15}{}\n", name, value);
}

std::string owner(const chain::Network& network, ByteView script) {
  return chain::address_text(network, script).value_or(to_hex(script));
}

template <typename T>
std::string finished(const cli::Table& table, const wallet::Page<T>& page, const char* none) {
  std::string out = page.items.empty() ? fmt::format("{}\n", none) : table.render();
  if (!page.cursor.empty()) out += fmt::format("more with --cursor {}\n", page.cursor);
  return out;
}

std::string height_text(const std::optional<std::uint64_t>& height) {
  return height ? cli::with_thousands(*height) : "";
}

// What it did to the wallet: + or -, without the fee apart.
std::string net_text(const wallet::HistoryEntry& entry) {
  if (entry.pruned) return "";
  if (entry.received >= entry.sent) return "+" + btc_text(entry.received - entry.sent);
  return "-" + btc_text(entry.sent - entry.received);
}

// An output's own label, or else that of its address.
const std::string& either(const std::string& own, const std::string& of_address) {
  return own.empty() ? of_address : own;
}

std::string hashes(const std::vector<Hash256>& all) {
  std::string out;
  for (const Hash256& hash : all) out += (out.empty() ? "" : " ") + to_display(hash);
  return out;
}

}  // namespace

std::string btc_text(std::uint64_t satoshi) {
  return fmt::format("{}.{:08}", satoshi / kSatoshiPerBtc, satoshi % kSatoshiPerBtc);
}

std::string time_text(std::int64_t unix_ms) {
  const std::time_t seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts{};
  char text[64];
  if (gmtime_r(&seconds, &parts) == nullptr ||
      std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0)
    return fmt::format("{} ms", unix_ms);
  return text;
}

std::string render_wallets(const wallet::Page<wallet::WalletInfo>& page) {
  cli::Table table({{"wallet"},
                    {"birthday", cli::Align::kRight},
                    {"gap limit", cli::Align::kRight},
                    {"made"},
                    {"rescan"}});
  for (const wallet::WalletInfo& one : page.items)
    table.add_row({one.name, cli::with_thousands(one.birthday_height),
                   cli::with_thousands(one.gap_limit), time_text(one.created_at_ms),
                   one.rescan_next ? fmt::format("{} to {}", cli::with_thousands(*one.rescan_next),
                                                 cli::with_thousands(one.rescan_to.value_or(0)))
                                   : ""});
  return finished(table, page, "no wallets; make one with 'coffer wallet create NAME'");
}

std::string render_accounts(const std::vector<wallet::AccountInfo>& accounts) {
  if (accounts.empty()) return "no accounts; an import makes one\n";
  cli::Table table({{"account"}});
  for (const wallet::AccountInfo& one : accounts) table.add_row({one.name});
  return table.render();
}

std::string render_descriptors(const std::vector<wallet::DescriptorInfo>& descriptors) {
  if (descriptors.empty())
    return "no descriptors; add one with 'coffer wallet import descriptor WALLET TEXT'\n";
  cli::Table table({{"account"},
                    {"for"},
                    {"given out", cli::Align::kRight},
                    {"watched", cli::Align::kRight},
                    {"descriptor"}});
  for (const wallet::DescriptorInfo& one : descriptors)
    table.add_row({one.account, one.internal ? "change" : "receiving",
                   cli::with_thousands(one.next_index), cli::with_thousands(one.derived_to),
                   one.text});
  return table.render();
}

std::string render_addresses(const wallet::Page<wallet::AddressInfo>& page) {
  cli::Table table({{"address"},
                    {"type"},
                    {"account"},
                    {"for"},
                    {"index", cli::Align::kRight},
                    {"state"},
                    {"label"}});
  for (const wallet::AddressInfo& one : page.items)
    table.add_row({one.text.empty() ? to_hex(one.script) : one.text, one.type, one.account,
                   !one.branch        ? ""
                   : *one.branch == 1 ? "change"
                                      : "receiving",
                   one.index ? cli::with_thousands(*one.index) : "",
                   one.used        ? "used"
                   : one.given_out ? "given out"
                                   : "",
                   one.label});
  return finished(table, page, "no addresses");
}

std::string render_wallet_balance(const wallet::Balance& balance) {
  std::string out = line("spendable", btc_text(balance.spendable) + " BTC");
  out += line("  confirmed", btc_text(balance.confirmed));
  out += line("  unconfirmed", btc_text(balance.unconfirmed));
  out += line("  immature", btc_text(balance.immature));
  out += line("  locked", btc_text(balance.locked));
  out += line("total", btc_text(balance.total) + " BTC");
  out += line("leased", btc_text(balance.leased));
  out += line("coins", cli::with_thousands(balance.coins));
  return out +
         line("block", balance.tip_height < 0
                           ? "none yet"
                           : cli::with_thousands(static_cast<std::uint64_t>(balance.tip_height)));
}

std::string render_coins(const chain::Network& network, const wallet::Page<wallet::Coin>& page) {
  cli::Table table({{"output"},
                    {"BTC", cli::Align::kRight},
                    {"state"},
                    {"confirmations", cli::Align::kRight},
                    {"account"},
                    {"address"},
                    {"leased until"},
                    {"label"}});
  for (const wallet::Coin& coin : page.items)
    table.add_row({to_display(coin.outpoint), btc_text(coin.amount.value),
                   std::string(wallet::to_string(coin.state)),
                   cli::with_thousands(coin.confirmations), coin.account,
                   owner(network, coin.script),
                   coin.lease ? time_text(coin.lease->expires_at_ms) : "",
                   either(coin.label, coin.address_label)});
  return finished(table, page, "no coins");
}

std::string render_coin(const chain::Network& network, const wallet::Coin& coin) {
  std::string out = line("output", to_display(coin.outpoint));
  out += line("amount", btc_text(coin.amount.value) + " BTC");
  out += line("state", std::string(wallet::to_string(coin.state)));
  if (coin.height)
    out += line("block", fmt::format("{}, {} confirmations", cli::with_thousands(*coin.height),
                                     cli::with_thousands(coin.confirmations)));
  if (coin.coinbase) out += line("kind", "coinbase");
  out += line("account", cli::printable(coin.account));
  out += line("address", owner(network, coin.script));
  if (!coin.label.empty()) out += line("label", cli::printable(coin.label));
  if (!coin.address_label.empty())
    out += line("of the address", cli::printable(coin.address_label));
  if (coin.spent_by) out += line("spent by", to_display(*coin.spent_by));
  if (coin.lease)
    out += line("leased", fmt::format("until {} by {}", time_text(coin.lease->expires_at_ms),
                                      coin.lease->lock_id.hex()));
  return out;
}

std::string render_history(const wallet::Page<wallet::HistoryEntry>& page) {
  cli::Table table({{"transaction"},
                    {"BTC", cli::Align::kRight},
                    {"status"},
                    {"block", cli::Align::kRight},
                    {"time"},
                    {"label"}});
  for (const wallet::HistoryEntry& entry : page.items)
    table.add_row({to_display(entry.tx), net_text(entry),
                   entry.height ? "confirmed" : std::string(wallet::to_string(entry.status)),
                   height_text(entry.height),
                   time_text(entry.block_time_s ? *entry.block_time_s * 1000 : entry.received_ms),
                   entry.label});
  return finished(table, page, "no transactions");
}

std::string render_wallet_tx(const chain::Network& network, const wallet::TxDetail& detail) {
  const wallet::HistoryEntry& entry = detail.entry;
  std::string out = line("transaction", to_display(entry.tx));
  std::string status(wallet::to_string(entry.status));
  if (!entry.reason.empty()) status += fmt::format(" ({})", cli::printable(entry.reason));
  out += line("status", status);
  if (entry.height)
    out += line("block", fmt::format("{}, {} confirmations", cli::with_thousands(*entry.height),
                                     cli::with_thousands(entry.confirmations)));
  if (entry.block_time_s) out += line("block time", time_text(*entry.block_time_s * 1000));
  out += line("received", time_text(entry.received_ms));
  if (entry.coinbase) out += line("kind", "coinbase");
  if (!entry.label.empty()) out += line("label", cli::printable(entry.label));
  if (!entry.replaces.empty()) out += line("replaces", hashes(entry.replaces));
  if (!entry.replaced_by.empty()) out += line("replaced by", hashes(entry.replaced_by));
  if (entry.pruned) return out + line("pruned", "amounts and bytes are gone");
  out += line("amount", net_text(entry) + " BTC");
  if (entry.fee) out += line("fee", btc_text(*entry.fee) + " BTC");
  for (const wallet::TxInputInfo& input : detail.inputs)
    out += line("input", fmt::format("{}  {}", to_display(input.prev),
                                     input.amount ? btc_text(input.amount->value) : "not ours"));
  for (const wallet::TxOutputInfo& output : detail.outputs) {
    const std::string& label = either(output.label, output.address_label);
    out += line(
        "output",
        fmt::format(
            "{}  {} BTC to {}{}{}", output.index, btc_text(output.amount.value),
            owner(network, output.script),
            output.mine
                ? fmt::format("  ({})", output.state ? wallet::to_string(*output.state) : "ours")
                : "",
            label.empty() ? "" : "  " + cli::printable(label)));
  }
  return out;
}

std::string render_recorded(const wallet::Recorded& recorded) {
  std::string out = line("transaction", to_display(recorded.tx));
  out += line("status", std::string(wallet::to_string(recorded.status)));
  if (recorded.height) out += line("block", cli::with_thousands(*recorded.height));
  if (!recorded.changed) out += line("changed", "nothing: all of it was known");
  for (const Hash256& tx : recorded.invalidated) out += line("now invalid", to_display(tx));
  return out;
}

std::string render_leases(const wallet::Page<wallet::LeasedCoin>& page) {
  cli::Table table({{"output"}, {"BTC", cli::Align::kRight}, {"state"}, {"until"}, {"lock id"}});
  for (const wallet::LeasedCoin& coin : page.items)
    table.add_row({to_display(coin.outpoint), btc_text(coin.amount.value),
                   std::string(wallet::to_string(coin.state)), time_text(coin.lease.expires_at_ms),
                   coin.lease.lock_id.hex()});
  return finished(table, page, "no leases");
}

std::string render_pruned(const wallet::Pruned& pruned, bool dry_run) {
  std::string out = line(dry_run ? "would go" : "gone",
                         fmt::format("{}, {}", cli::counted(pruned.transactions, "transaction"),
                                     cli::counted(pruned.coins, "coin")));
  out += line("stubs stay", cli::with_thousands(pruned.stubs));
  out += line("invalid", cli::with_thousands(pruned.invalid));
  if (pruned.more) out += "there is more: run it again\n";
  return out;
}

std::string render_labels(const wallet::Page<wallet::LabelInfo>& page) {
  cli::Table table({{"kind"}, {"of"}, {"label"}});
  for (const wallet::LabelInfo& one : page.items) table.add_row({one.kind, one.ref, one.label});
  return finished(table, page, "no labels");
}

std::string render_pruned_totals(const wallet::PrunedTotals& totals) {
  if (!totals.lowest_height) return "nothing was pruned\n";
  std::string out =
      line("pruned", fmt::format("{}, {}", cli::counted(totals.transactions, "transaction"),
                                 cli::counted(totals.coins, "coin")));
  out += line("received", btc_text(totals.received) + " BTC");
  out += line("spent", btc_text(totals.spent) + " BTC");
  return out + line("blocks", fmt::format("{} to {}", cli::with_thousands(*totals.lowest_height),
                                          cli::with_thousands(*totals.highest_height)));
}

std::string render_wallet_stats(const wallet::StoreStats& stats) {
  std::string out = line("wallets", cli::with_thousands(stats.wallets));
  out += line("addresses", cli::with_thousands(stats.addresses));
  out += line("transactions", cli::with_thousands(stats.transactions));
  out += line("coins", fmt::format("{}, {} unspent", cli::with_thousands(stats.coins),
                                   cli::with_thousands(stats.unspent)));
  out += line("leases", fmt::format("{}, {} active", cli::with_thousands(stats.leases),
                                    cli::with_thousands(stats.active_leases)));
  out += line("replacements", cli::with_thousands(stats.replacements));
  out += line("pruned", cli::with_thousands(stats.pruned));
  return out + line("database", cli::human_bytes(stats.bytes));
}

}  // namespace coffer::wallet
