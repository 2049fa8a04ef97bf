#include "utxo/commands/view.h"

#include <fmt/format.h>

#include "base/result.h"
#include "cli/table.h"

namespace coffer::utxo {
namespace {

std::string field_line(std::string_view name, const std::string& value) {
  return fmt::format("{:<12}{}\n", name, value);
}

std::string asset_text(ByteView policy, ByteView name, const std::string& quantity) {
  return fmt::format("{} {}{}{}", quantity, to_hex(policy), name.empty() ? "" : ".", to_hex(name));
}

std::string block_text(chain::Family family, const bus::Position& at, BlockNumber number) {
  if (at.at_origin) return "none yet";
  return fmt::format("{} {}", cli::with_thousands(number.value),
                     chain::display(family, at.point.hash));
}

// Bitcoin's blocks have heights only; Cardano's stand in slots.
std::string place_text(chain::Family family, BlockNumber number, Slot slot) {
  std::string block = fmt::format("in block {}", cli::with_thousands(number.value));
  if (family == chain::Family::kBitcoin) return block;
  return fmt::format("{}, slot {}", block, cli::with_thousands(slot.value));
}

}  // namespace

std::string render_utxo(const chain::Network& network, const utxo::UtxoLookup& found) {
  const chain::Family family = network.family;
  const utxo::UtxoRecord& record = found.utxo.record;
  std::string out = field_line("output", chain::display(family, found.utxo.outpoint));
  out += field_line("owner", owner_text(network, record.address));
  out += field_line("value", fmt::format("{} {}", record.amount.value, coin_unit(family)));
  for (const chain::Asset& asset : record.assets)
    out += field_line(
        "", asset_text({asset.policy, Hash224::kSize}, asset.name, std::to_string(asset.quantity)));
  if (!record.datum_hash.empty()) out += field_line("datum hash", to_hex(record.datum_hash));
  if (!record.inline_datum.empty()) out += field_line("datum", to_hex(record.inline_datum));
  if (!record.script_hash.empty()) out += field_line("script", to_hex(record.script_hash));
  if (record.collateral_return) out += field_line("kind", "collateral return");
  if (record.coinbase) out += field_line("kind", "coinbase");
  out += field_line("made", record.block_hash.empty()
                                ? "by the genesis files"
                                : place_text(family, record.number, record.slot));
  if (!found.spent) return out + field_line("state", "unspent");
  const utxo::SpentInfo& spent = *found.spent;
  out += field_line("state", "spent " + place_text(family, spent.number, spent.slot));
  return out + field_line("spent by", spent.by.is_zero() ? "a rule of the ledger"
                                                         : chain::display(family, spent.by));
}

std::string render_page(const chain::Network& network, const utxo::Page& page) {
  cli::Table table({{"output"},
                    {std::string(coin_unit(network.family)), cli::Align::kRight},
                    {"assets", cli::Align::kRight},
                    {"block", cli::Align::kRight}});
  for (const utxo::Utxo& utxo : page.utxos)
    table.add_row({chain::display(network.family, utxo.outpoint),
                   cli::with_thousands(utxo.record.amount.value),
                   utxo.record.assets.empty() ? "" : std::to_string(utxo.record.assets.size()),
                   cli::with_thousands(utxo.record.number.value)});
  std::string out = page.utxos.empty() ? "no unspent outputs\n" : table.render();
  if (!page.cursor.empty()) out += fmt::format("more with --cursor {}\n", page.cursor);
  return out;
}

std::string render_balance(const chain::Network& network, ByteView address,
                           const utxo::Balance& balance) {
  std::string out = field_line("address", owner_text(network, address));
  out += field_line("balance",
                    fmt::format("{} {}", decimal(balance.amount), coin_unit(network.family)));
  for (const auto& [asset, quantity] : balance.assets)
    out += field_line("", asset_text(asset.first.view(), asset.second, decimal(quantity)));
  out += field_line("outputs", cli::with_thousands(balance.utxos));
  return out + field_line("block", block_text(network.family, balance.at, balance.number));
}

std::string render_utxo_stats(const chain::Network& network, const utxo::Stats& stats) {
  std::string out = field_line("block", block_text(network.family, stats.at, stats.number));
  out += field_line("store", std::string(utxo::to_string(stats.store)));
  out += field_line("unspent", cli::with_thousands(stats.unspent));
  out +=
      field_line("value", fmt::format("{} {}", decimal(stats.amount), coin_unit(network.family)));
  if (stats.store == utxo::StoreType::kMmr)
    out += field_line("leaves", cli::with_thousands(stats.leaves));
  return out + field_line("can undo",
                          fmt::format("{} blocks", cli::with_thousands(stats.rollback_blocks)));
}

}  // namespace coffer::utxo
