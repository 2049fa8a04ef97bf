#include "txstore/json/output.h"

#include <coffer/chain/address.h>
#include "base/result.h"
#include "crypto/sha256.h"
#include "json/writer.h"
#include "txstore/json/explain.h"
#include "txstore/json/status.h"

namespace coffer::txstore {
namespace {

using chain::Family;
using chain::Network;

void put_text(json::Writer& out, std::string_view key, const std::optional<std::string>& text) {
  out.key(key);
  if (text)
    out.value(*text);
  else
    out.null();
}

template <typename Number>
void put_number(json::Writer& out, std::string_view key, const std::optional<Number>& number) {
  out.key(key);
  if (number)
    out.value(*number);
  else
    out.null();
}

void put_amount(json::Writer& out, std::string_view key, const std::optional<Amount>& amount) {
  put_text(out, key, amount ? std::optional(std::to_string(amount->value)) : std::nullopt);
}

// Null for zeros.
void put_hash(json::Writer& out, std::string_view key, Family family,
              const std::optional<Hash256>& hash) {
  const bool known = hash && !hash->is_zero();
  put_text(out, key, known ? std::optional(chain::display(family, *hash)) : std::nullopt);
}

void put_hex(json::Writer& out, std::string_view key, ByteView bytes) {
  put_text(out, key, bytes.empty() ? std::nullopt : std::optional(to_hex(bytes)));
}

void write_blocks(json::Writer& out, Family family, const StoredTx& tx) {
  out.key("blocks").begin_array();
  for (const MinedIn& in : tx.blocks) {
    out.begin_object().field("height", in.block.height);
    out.field("block_id", block_id_text(family, in.block.id));
    out.field("on_longest_chain", in.on_longest_chain).end_object();
  }
  out.end_array();
}

// The fields of a transaction's state; the object stays open.
void write_state(json::Writer& out, Family family, const StoredTx& tx) {
  out.field("tx_hash", chain::display(family, tx.id)).field("state", to_string(tx.state));
  out.field("coinbase", tx.coinbase).field("valid", tx.valid).field("locked", tx.locked);
  out.field("genesis", tx.genesis);
  write_blocks(out, family, tx);
  out.field("output_count", tx.outputs).field("spendable_outputs", tx.spendable);
  out.field("spent_outputs", tx.spent).field("unspent_outputs", tx.unspent());
  put_number(out, "unmined_since", tx.unmined_since);
  put_number(out, "absent_since", tx.absent_since);
  put_number(out, "delete_at_height", tx.delete_at_height);
  put_number(out, "preserve_until", tx.preserve_until);
  put_number(out, "due_at", tx.due_at);
  const bool was_kept = tx.kept != retention::Reason::kDeletable;
  put_text(out, "kept", was_kept ? std::optional(std::string(to_string(tx.kept))) : std::nullopt);
}

void write_outpoint(json::Writer& out, Family family, const chain::Outpoint& outpoint) {
  out.field("tx_hash", chain::display(family, outpoint.tx));
  out.field("output_index", outpoint.index);
}

void write_outpoints(json::Writer& out, std::string_view key, Family family,
                     std::span<const chain::Input> inputs) {
  out.key(key).begin_array();
  for (const chain::Input& input : inputs) {
    out.begin_object();
    write_outpoint(out, family, input.outpoint());
    out.end_object();
  }
  out.end_array();
}

template <typename Rows>
void write_tx_assets(json::Writer& out, std::string_view key, const Rows& rows) {
  out.key(key).begin_array();
  for (const auto& row : rows) {
    const std::string policy = to_hex({row.policy, Hash224::kSize}), name = to_hex(row.name);
    out.begin_object().field("unit", policy + name).field("policy_id", policy);
    out.field("asset_name", name).field("quantity", std::to_string(row.quantity)).end_object();
  }
  out.end_array();
}

// What the transaction's own bytes say besides inputs and outputs.
void write_bitcoin_fields(json::Writer& out, const chain::Tx& tx) {
  const std::size_t base = 8 + tx.core.size();  // version, core and lock time
  const std::size_t weight = 3 * base + tx.raw.size();
  out.field("wtxid", chain::display(Family::kBitcoin, crypto::sha256d(tx.raw)));
  out.field("version", load_le<std::uint32_t>(tx.raw.data()));
  out.field("lock_time", load_le<std::uint32_t>(tx.raw.data() + tx.raw.size() - 4));
  out.field("segwit", tx.segwit).field("weight", weight).field("vsize", (weight + 3) / 4);
}

void write_cardano_fields(json::Writer& out, const chain::Block& block, const chain::Tx& tx) {
  write_outpoints(out, "reference_inputs", Family::kCardano, block.reference_inputs_of(tx));
  write_outpoints(out, "collateral_inputs", Family::kCardano, block.collateral_of(tx));
  put_amount(out, "total_collateral",
             tx.has_total_collateral ? std::optional(tx.total_collateral) : std::nullopt);
  out.field("collateral_return", tx.collateral_return != chain::kNone);
  write_tx_assets(out, "minted", block.minted_of(tx));
}

void write_decoded(json::Writer& out, Family family, const std::optional<chain::Block>& block) {
  out.key("decoded");
  if (!block) {
    out.null();
    return;
  }
  out.begin_object();
  if (family == Family::kBitcoin)
    write_bitcoin_fields(out, block->txs.front());
  else
    write_cardano_fields(out, *block, block->txs.front());
  out.end_object();
}

void write_owner(json::Writer& out, const Network& network, const TxDetail& detail,
                 const chain::Output* output) {
  const bool bitcoin = network.family == Family::kBitcoin;
  std::optional<std::string> address;
  if (output != nullptr) {
    address = chain::address_text(network, output->address);
    if (!address) address = to_hex(output->address);
  }
  put_text(out, "owner_addr", address);
  if (bitcoin) {
    // An empty script is one.
    put_text(out, "script_pub_key",
             output != nullptr ? std::optional(to_hex(output->address)) : std::nullopt);
    return;
  }
  write_tx_assets(
      out, "assets",
      output != nullptr ? detail.decoded->assets_of(*output) : std::span<const chain::Asset>());
  put_hex(out, "data_hash", output != nullptr ? output->datum_hash : ByteView{});
  put_hex(out, "inline_datum", output != nullptr ? output->inline_datum : ByteView{});
  put_hex(out, "script_ref", output != nullptr ? output->script_ref : ByteView{});
}

void write_outputs(json::Writer& out, const Network& network, const TxDetail& detail) {
  out.key("outputs").begin_array();
  std::uint32_t index = detail.outputs_from;
  for (const StoredOutput& output : detail.outputs) {
    out.begin_object().field("index", index);
    out.field("amount", std::to_string(output.amount.value));
    write_owner(out, network, detail, detail.decoded_output(index++));
    out.field("spendable", !output.unspendable).field("spent", output.spent);
    put_hash(out, "spent_by", network.family,
             output.spent ? std::optional(output.spender) : std::nullopt);
    const bool by_child = output.spent && !output.spender.is_zero();
    put_number(out, "spent_by_input",
               by_child ? std::optional(output.spender_input) : std::nullopt);
    out.field("removed_by_ledger", output.removed).field("spender_final", output.final);
    out.field("frozen", output.frozen);
    put_number(out, "spendable_at", output.spendable_at);
    out.end_object();
  }
  out.end_array();
}

void write_tip(json::Writer& out, Family family, const Tip& tip) {
  put_number(out, "tip_height", tip.position.tip_height());
  put_hash(out, "tip_hash", family,
           tip.position.at_origin ? std::nullopt : std::optional(tip.position.point.hash));
}

std::optional<std::uint64_t> final_height(const Tip& tip) {
  if (tip.final_height < 0) return std::nullopt;
  return static_cast<std::uint64_t>(tip.final_height);
}

}  // namespace

std::string_view coin_unit(Family family) {
  return family == Family::kBitcoin ? "satoshi" : "lovelace";
}

std::string block_id_text(Family family, std::uint64_t id) {
  // Bitcoin prints hashes back to front: the first bytes are the last digits.
  std::uint8_t bytes[8];
  for (std::size_t i = 0; i < 8; ++i) {
    const std::size_t at = family == Family::kBitcoin ? 7 - i : i;
    bytes[at] = static_cast<std::uint8_t>(id >> (56 - 8 * i));
  }
  return to_hex({bytes, 8});
}

std::string tx_json(const Network& network, const TxDetail& detail) {
  const Family family = network.family;
  json::Writer out;
  out.begin_object();
  write_state(out, family, detail.tx);
  put_number(out, "height", detail.height());
  put_hash(out, "block_hash", family, detail.block_hash);
  out.field("confirmations", detail.confirmations()).field("size", detail.body.raw.size());
  out.field("unit", coin_unit(family));
  put_amount(out, "fee", detail.body.fee);
  write_decoded(out, family, detail.decoded);
  out.key("inputs").begin_array();
  for (const StoredInput& input : detail.body.inputs) {
    out.begin_object();
    write_outpoint(out, family, input.outpoint);
    put_amount(out, "amount", input.amount);
    out.end_object();
  }
  out.end_array();
  write_outputs(out, network, detail);
  put_number(out, "next_outputs_from", detail.next_output());
  write_tip(out, family, detail.tip);
  out.end_object();
  return out.take();
}

std::string raw_json(const Network& network, const Hash256& id, ByteView raw) {
  json::Writer out;
  out.begin_object().field("tx_hash", chain::display(network.family, id));
  out.field("hex", to_hex(raw)).end_object();
  return out.take();
}

std::string retention_json(const Store& store, const Explanation& found) {
  const Family family = store.network().family;
  const Tip tip = store.tip();
  const bool deletable = found.verdict.is_deletable();
  json::Writer out;
  out.begin_object().field("tx_hash", chain::display(family, found.tx.id));
  out.field("state", to_string(found.tx.state)).field("deletable", deletable);
  out.field("reason", to_string(keep_reason(found)));
  out.field("text", keep_text(family, found, tip));
  put_number(out, "output_index", found.verdict.output);
  put_hash(out, "child", family, found.child);
  put_text(
      out, "child_state",
      found.child_state ? std::optional(std::string(to_string(*found.child_state))) : std::nullopt);
  put_number(out, "child_height", found.child_height);
  put_number(out, "earliest_height", earliest_height(found, tip, store.options()));
  put_number(out, "delete_at_height", found.tx.delete_at_height);
  put_number(out, "preserve_until", found.tx.preserve_until);
  put_number(out, "due_at", found.tx.due_at);
  out.field("unspent_outputs", found.tx.unspent()).field("spent_outputs", found.tx.spent);
  write_tip(out, family, tip);
  put_number(out, "final_height", final_height(tip));
  out.field("window", store.options().window).end_object();
  return out.take();
}

std::string absence_json(const Store& store, const Hash256& id, Absence absence) {
  const Family family = store.network().family;
  json::Writer out;
  out.begin_object().field("tx_hash", chain::display(family, id)).field("stored", false);
  out.field("absence", to_string(absence));
  out.field("detail", absence_text(family, id, absence, store.tip())).end_object();
  return out.take();
}

void write_stored_tx(json::Writer& out, Family family, const StoredTx& tx) {
  out.begin_object();
  write_state(out, family, tx);
  out.end_object();
}

std::string list_json(Family family, const Store::ListPage& page) {
  json::Writer out;
  out.begin_object().key("transactions").begin_array();
  for (const StoredTx& tx : page.txs) write_stored_tx(out, family, tx);
  out.end_array();
  put_text(out, "next_cursor", page.cursor.empty() ? std::nullopt : std::optional(page.cursor));
  out.end_object();
  return out.take();
}

std::string stats_json(std::string_view backend, const Store& store, const Stats& stats) {
  const Counts& counts = stats.counts;
  const StatusReport report = status_report(backend, store.options().window, stats);
  json::Writer out;
  out.begin_object().field("backend", backend);
  out.field("records", report.records).field("bytes", report.bytes);
  out.field("unmined", report.unmined).field("conflicting", report.conflicting);
  out.field("final_entries", report.final_entries).field("deleted", counts.deleted);
  out.field("overrides", counts.overrides).field("parent_missing", report.parent_missing);
  out.field("damaged", report.damaged).key("kept").begin_object();
  for (std::size_t i = 1; i < retention::kReasons; ++i)
    out.field(to_string(static_cast<retention::Reason>(i)), counts.kept[i]);
  out.end_object().field("oldest_overdue", stats.oldest_overdue);
  put_number(out, "final_height", final_height(stats.tip));
  out.field("window", store.options().window);
  out.field("block_height_retention", store.options().block_height_retention);
  out.field("unmined_retention", store.options().unmined_retention);
  put_number(out, "first_block", report.first_block);
  write_tip(out, store.network().family, stats.tip);
  out.end_object();
  return out.take();
}

}  // namespace coffer::txstore
