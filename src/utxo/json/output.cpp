#include "utxo/json/output.h"

#include <coffer/chain/address.h>
#include "json/writer.h"

namespace coffer::utxo {
namespace {

using chain::Family;
using chain::Network;

void text_or_null(json::Writer& out, std::string_view key, const std::optional<std::string>& text) {
  out.key(key);
  if (text)
    out.value(*text);
  else
    out.null();
}

void number_or_null(json::Writer& out, std::string_view key,
                    const std::optional<std::uint64_t>& number) {
  out.key(key);
  if (number)
    out.value(*number);
  else
    out.null();
}

void hex_or_null(json::Writer& out, std::string_view key, ByteView bytes) {
  text_or_null(out, key, bytes.empty() ? std::nullopt : std::optional(to_hex(bytes)));
}

// A block's or transaction's hash as its chain prints it; null for zeros or nothing.
void hash_or_null(json::Writer& out, std::string_view key, Family family, ByteView hash) {
  std::optional<std::string> text;
  if (hash.size() == Hash256::kSize)
    if (const Hash256 value = Hash256::from(hash.data()); !value.is_zero())
      text = chain::display(family, value);
  text_or_null(out, key, text);
}

void write_outpoint(json::Writer& out, Family family, const chain::Outpoint& outpoint) {
  out.field("tx_hash", chain::display(family, outpoint.tx));
  out.field("output_index", outpoint.index);
}

void write_amount(json::Writer& out, std::optional<ByteView> policy, ByteView name,
                  std::string_view coin, const std::string& quantity) {
  out.begin_object();
  if (policy) {
    out.field("unit", to_hex(*policy) + to_hex(name));
    out.field("policy_id", to_hex(*policy)).field("asset_name", to_hex(name));
  } else {
    out.field("unit", coin).key("policy_id").null().key("asset_name").null();
  }
  out.field("quantity", quantity).end_object();
}

void write_owner(json::Writer& out, const Network& network, ByteView address) {
  out.field("owner_addr", owner_text(network, address));
  chain::Credentials owner;
  if (network.family == Family::kCardano) owner = chain::credentials_of(address);
  std::optional<std::string> stake;
  if (owner.stake)
    stake = chain::address_text(network, chain::stake_address(network, *owner.stake));
  text_or_null(out, "owner_stake_addr", stake);
  hex_or_null(out, "owner_payment_credential",
              owner.payment ? owner.payment->hash.view() : ByteView{});
  hex_or_null(out, "owner_stake_credential", owner.stake ? owner.stake->hash.view() : ByteView{});
}

void write_value(json::Writer& out, Family family, const utxo::UtxoRecord& record) {
  const std::string coin = std::to_string(record.amount.value);
  out.field(amount_field(family), coin).key("amounts").begin_array();
  write_amount(out, std::nullopt, {}, coin_unit(family), coin);
  for (const chain::Asset& asset : record.assets)
    write_amount(out, ByteView(asset.policy, Hash224::kSize), asset.name, {},
                 std::to_string(asset.quantity));
  out.end_array();
}

void write_spent(json::Writer& out, Family family, const utxo::SpentInfo* spent) {
  out.field("spent", spent != nullptr);
  hash_or_null(out, "spent_tx_hash", family, spent ? spent->by.view() : ByteView{});
  const auto number = [&](auto value) {
    return spent ? std::optional<std::uint64_t>(value()) : std::nullopt;
  };
  number_or_null(out, "spent_at_slot", number([&] { return spent->slot.value; }));
  number_or_null(out, "spent_at_block", number([&] { return spent->number.value; }));
  hash_or_null(out, "spent_at_block_hash", family, spent ? spent->block_hash.view() : ByteView{});
  out.key("spent_block_time");
  if (spent)
    out.value(spent->time_unix_s);
  else
    out.null();
  number_or_null(out, "spent_epoch", spent ? spent->epoch : std::nullopt);
}

void write_cursor(json::Writer& out, const std::string& cursor) {
  text_or_null(out, "next_cursor", cursor.empty() ? std::nullopt : std::optional(cursor));
}

template <typename Rows, typename Of>
void write_outpoints(json::Writer& out, std::string_view key, Family family, const Rows& rows,
                     Of outpoint_of) {
  out.key(key).begin_array();
  for (const auto& row : rows) {
    out.begin_object();
    write_outpoint(out, family, outpoint_of(row));
    out.end_object();
  }
  out.end_array();
}

void write_mmr(json::Writer& out, const std::optional<utxo::MmrDelta>& mmr) {
  out.key("mmr");
  if (!mmr) {
    out.null();
    return;
  }
  out.begin_object().field("first_leaf", mmr->first_leaf).field("leaves_added", mmr->leaves);
  out.key("leaves_spent").begin_array();
  for (const std::uint64_t leaf : mmr->spent) out.value(leaf);
  out.end_array().key("peaks").begin_array();
  for (const Hash256& peak : mmr->peaks) out.value(peak.hex());
  out.end_array().field("root", mmr->root.hex()).end_object();
}

}  // namespace

void write_state_at(json::Writer& out, Family family, const bus::Position& position,
                    BlockNumber number) {
  number_or_null(out, "block",
                 position.at_origin ? std::nullopt : std::optional<std::uint64_t>(number.value));
  hash_or_null(out, "block_hash", family,
               position.at_origin ? ByteView{} : position.point.hash.view());
}

std::string_view coin_unit(Family family) {
  return family == Family::kBitcoin ? "satoshi" : "lovelace";
}

std::string_view amount_field(Family family) {
  return family == Family::kBitcoin ? "satoshi_amount" : "lovelace_amount";
}

std::string decimal(U128 value) {
  std::string digits;
  do {
    digits += static_cast<char>('0' + static_cast<int>(value % 10));
    value /= 10;
  } while (value != 0);
  std::reverse(digits.begin(), digits.end());
  return digits;
}

std::string owner_text(const Network& network, ByteView address) {
  if (auto text = chain::address_text(network, address)) return std::move(*text);
  return to_hex(address);
}

void write_utxo(json::Writer& out, const Network& network, const utxo::Utxo& utxo,
                const utxo::SpentInfo* spent, bool with_spent) {
  const utxo::UtxoRecord& record = utxo.record;
  const Family family = network.family;
  out.begin_object();
  write_outpoint(out, family, utxo.outpoint);
  write_owner(out, network, record.address);
  write_value(out, family, record);
  hex_or_null(out, "data_hash", record.datum_hash);
  hex_or_null(out, "inline_datum", record.inline_datum);
  hex_or_null(out, "script_ref", record.script_ref);
  hex_or_null(out, "reference_script_hash", record.script_hash);
  out.field("is_collateral_return", record.collateral_return);
  if (family == Family::kBitcoin)
    out.field("script_pub_key", to_hex(record.address)).field("coinbase", record.coinbase);
  out.field("slot", record.slot.value).field("block", record.number.value);
  out.field("block_number", record.number.value);
  hash_or_null(out, "block_hash", family, record.block_hash);
  number_or_null(out, "epoch", record.epoch);
  out.field("block_time", record.time_unix_s);
  if (with_spent) write_spent(out, family, spent);
  out.end_object();
}

std::string utxo_json(const Network& network, const utxo::UtxoLookup& found) {
  json::Writer out;
  write_utxo(out, network, found.utxo, found.spent ? &*found.spent : nullptr, true);
  return out.take();
}

std::string page_json(const Network& network, const utxo::Page& page) {
  json::Writer out;
  out.begin_object().key("utxos").begin_array();
  for (const utxo::Utxo& utxo : page.utxos) write_utxo(out, network, utxo);
  out.end_array();
  write_cursor(out, page.cursor);
  write_state_at(out, network.family, page.at, page.number);
  out.end_object();
  return out.take();
}

std::string balance_json(const Network& network, ByteView address, const utxo::Balance& balance) {
  json::Writer out;
  const std::string coin = decimal(balance.amount);
  out.begin_object().field("address", owner_text(network, address));
  out.field(amount_field(network.family), coin).key("amounts").begin_array();
  write_amount(out, std::nullopt, {}, coin_unit(network.family), coin);
  for (const auto& [asset, quantity] : balance.assets)
    write_amount(out, asset.first.view(), asset.second, {}, decimal(quantity));
  out.end_array().field("utxo_count", balance.utxos);
  write_cursor(out, balance.cursor);
  write_state_at(out, network.family, balance.at, balance.number);
  out.end_object();
  return out.take();
}

std::string delta_json(const Network& network, const utxo::BlockDelta& delta) {
  const Family family = network.family;
  const auto of_entry = [](const auto& entry) { return entry.outpoint; };
  json::Writer out;
  out.begin_object().field("block", delta.number.value).field("block_number", delta.number.value);
  out.field("slot", delta.slot.value).field("block_hash", chain::display(family, delta.hash));
  write_outpoints(out, "created", family, delta.created, of_entry);
  write_outpoints(out, "spent", family, delta.spent, of_entry);
  write_outpoints(out, "created_and_spent", family, delta.transient,
                  [](const chain::Outpoint& outpoint) { return outpoint; });
  write_outpoints(out, "replaced", family, delta.replaced, of_entry);
  out.key("flags").begin_object();
  out.field("contains_invalid_tx", !delta.tx_flags.empty()).end_object();
  out.key("tx_flags").begin_array();
  for (const utxo::TxFlag& flag : delta.tx_flags) {
    out.begin_object().field("tx_hash", chain::display(family, flag.tx));
    out.field("is_invalid", flag.invalid);
    out.field("had_collateral_return", flag.had_collateral_return).end_object();
  }
  out.end_array();
  write_mmr(out, delta.mmr);
  out.end_object();
  return out.take();
}

std::string root_json(const Network& network, const utxo::Root& root) {
  json::Writer out;
  out.begin_object().field("root", root.root.hex()).field("leaves", root.leaves);
  out.field("block", root.number.value).field("block_number", root.number.value);
  hash_or_null(out, "block_hash", network.family, root.block_hash.view());
  out.end_object();
  return out.take();
}

}  // namespace coffer::utxo
