#include "node/block_json.h"

#include <coffer/chain/address.h>
#include <coffer/chain/decode.h>
#include "base/result.h"
#include "chain/script.h"
#include "chain/script_ref.h"
#include "codec/cbor_reader.h"
#include "crypto/blake2b.h"
#include "crypto/sha256.h"
#include "json/writer.h"

namespace coffer::node {
namespace {

using chain::Block;
using chain::Output;
using chain::Tx;
using codec::CborReader;

void write_optional_address(json::Writer& out, const chain::Network& network, ByteView raw) {
  const auto text = chain::address_text(network, raw);
  out.key("address_text");
  if (text)
    out.value(*text);
  else
    out.null();
}

// Amounts and quantities are strings: not every reader of JSON holds 64 bits of a number (U9).
void write_amount(json::Writer& out, std::uint64_t amount) {
  out.value(std::to_string(amount));
}
void write_amount(json::Writer& out, std::int64_t amount) {
  out.value(std::to_string(amount));
}

// ---- Cardano ----

constexpr std::string_view kEras[] = {"byron-ebb", "byron",  "shelley", "allegra",
                                      "mary",      "alonzo", "babbage", "conway"};

void write_inputs(json::Writer& out, std::string_view name, std::span<const chain::Input> inputs) {
  out.key(name).begin_array();
  for (const chain::Input& input : inputs)
    out.value(fmt::format("{}#{}", to_hex({input.tx, 32}), input.index));
  out.end_array();
}

template <typename Rows>
void write_assets(json::Writer& out, std::string_view name, const Rows& rows) {
  out.key(name).begin_array();
  for (const auto& row : rows) {
    out.begin_array();
    out.value(to_hex({row.policy, 28}));
    out.value(to_hex(row.name));
    write_amount(out, row.quantity);
    out.end_array();
  }
  out.end_array();
}

void write_script(json::Writer& out, const chain::ScriptRef& script_ref) {
  out.key("script_ref").begin_object();
  out.key("lang").value(std::uint64_t{script_ref.language});
  out.key("len").value(static_cast<std::uint64_t>(script_ref.script.size()));
  out.key("hash").value(script_ref.hash().hex());
  out.end_object();
}

void write_output(json::Writer& out, const chain::Network& network, const Block& block,
                  const Output& output) {
  out.begin_object();
  out.key("form").value(block.era <= 1 ? "byron" : output.map_form ? "map" : "array");
  out.key("address").value(to_hex(output.address));
  write_optional_address(out, network, output.address);
  write_amount(out.key("lovelace"), output.amount.value);
  if (!output.datum_hash.empty()) out.key("datum_hash").value(to_hex(output.datum_hash));
  if (!output.inline_datum.empty()) {
    out.key("inline_datum_hash").value(crypto::blake2b_256(output.inline_datum).hex());
    out.key("inline_datum_len").value(static_cast<std::uint64_t>(output.inline_datum.size()));
  }
  if (const auto script_ref = chain::parse_script_ref(output.script_ref))
    write_script(out, *script_ref);
  write_assets(out, "assets", block.assets_of(output));
  out.end_object();
}

// What the decoder passes over because no store needs it.
struct BodyExtras {
  std::vector<std::uint64_t> keys;
  std::vector<std::pair<std::string, std::uint64_t>> withdrawals;
  std::uint64_t certificates = 0;
};

Result<BodyExtras> read_extras(ByteView body) {
  BodyExtras extras;
  CborReader reader(body);
  for (auto items = reader.begin_map(); reader.next(items);) {
    const std::uint64_t key = reader.read_uint();
    extras.keys.push_back(key);
    if (key == 4) {
      reader.try_tag(258);
      for (auto list = reader.begin_array(); reader.next(list); reader.skip())
        ++extras.certificates;
    } else if (key == 5) {
      for (auto list = reader.begin_map(); reader.next(list);) {
        std::string account = to_hex(reader.read_bytes());
        extras.withdrawals.emplace_back(std::move(account), reader.read_uint());
      }
    } else {
      reader.skip();
    }
  }
  if (!reader.ok()) return fail(reader.fault().to_error("certificates or withdrawals"));
  std::sort(extras.keys.begin(), extras.keys.end());
  return extras;
}

void write_cardano_tx(json::Writer& out, const chain::Network& network, const Block& block,
                      const Tx& tx, const BodyExtras& extras) {
  out.begin_object();
  out.key("hash").value(tx.id.hex());
  out.key("body_len").value(static_cast<std::uint64_t>(tx.raw.size()));
  write_inputs(out, "inputs", block.inputs_of(tx));
  out.key("outputs").begin_array();
  for (const Output& output : block.outputs_of(tx)) write_output(out, network, block, output);
  out.end_array();
  out.key("fee");
  if (block.era > 1)
    write_amount(out, tx.fee.value);
  else
    out.null();
  write_inputs(out, "collateral_inputs", block.collateral_of(tx));
  out.key("collateral_return");
  if (tx.collateral_return != chain::kNone)
    write_output(out, network, block, block.outputs[tx.collateral_return]);
  else
    out.null();
  out.key("total_collateral");
  if (tx.has_total_collateral)
    write_amount(out, tx.total_collateral.value);
  else
    out.null();
  write_inputs(out, "reference_inputs", block.reference_inputs_of(tx));
  write_assets(out, "mint", block.minted_of(tx));
  out.key("withdrawals").begin_array();
  for (const auto& [account, lovelace] : extras.withdrawals) {
    out.begin_array();
    out.value(account);
    write_amount(out, lovelace);
    out.end_array();
  }
  out.end_array();
  out.key("n_certs").value(extras.certificates);
  if (block.era > 1) {
    out.key("body_keys").begin_array();
    for (const std::uint64_t key : extras.keys) out.value(key);
    out.end_array();
  }
  out.key("valid").value(tx.valid);
  out.end_object();
}

void write_byron_facts(json::Writer& out, const Block& block) {
  CborReader header(block.header);
  header.begin_fixed(5);
  out.key("protocol_magic").value(header.read_uint());
  out.key("epoch").value(block.epoch);
  if (block.era == 1) out.key("slot_in_epoch").value(block.slot.value - block.epoch * 21'600);
}

Result<std::string> cardano_json(const chain::Network& network, const Block& block, bool verified) {
  json::Writer out;
  out.begin_object();
  out.key("era_tag").value(static_cast<std::uint64_t>(block.era));
  out.key("era").value(kEras[block.era]);
  out.key("size").value(static_cast<std::uint64_t>(block.raw.size()));
  out.key("hash").value(block.hash.hex());
  out.key("block_number").value(block.number.value);
  out.key("slot").value(block.slot.value);
  out.key("prev");
  if (block.prev.is_zero())
    out.null();
  else
    out.value(block.prev.hex());
  if (block.era <= 1) write_byron_facts(out, block);
  out.key("invalid").begin_array();
  for (std::size_t i = 0; i < block.txs.size(); ++i)
    if (!block.txs[i].valid) out.value(static_cast<std::uint64_t>(i));
  out.end_array();
  out.key("txs").begin_array();
  for (const Tx& tx : block.txs) {
    BodyExtras extras;
    if (block.era > 1) extras = TRY_IN("transaction " + tx.id.hex(), read_extras(tx.raw));
    write_cardano_tx(out, network, block, tx, extras);
  }
  out.end_array();
  if (block.era > 1) out.key("body_hash_ok").value(verified);
  if (block.era == 1) out.key("tx_merkle_ok").value(verified);
  out.end_object();
  return out.take();
}

// ---- Bitcoin ----

// The target is stored as a byte of exponent and three of mantissa.
bool meets_its_target(const Block& block) {
  const std::uint32_t bits = load_le<std::uint32_t>(block.header.data() + 72);
  const std::uint32_t exponent = bits >> 24, mantissa = bits & 0x7fffff;
  if ((bits & 0x800000) != 0 || mantissa == 0 || exponent > 34) return false;
  Hash256 target{};  // little-endian, as the hash is
  for (std::uint32_t i = 0; i < 3; ++i) {
    const std::int64_t at = static_cast<std::int64_t>(exponent) - 3 + i;
    const auto byte = static_cast<std::uint8_t>(mantissa >> (8 * i));
    if (at >= 0 && at < 32)
      target[static_cast<std::size_t>(at)] = byte;
    else if (at >= 32 && byte != 0)
      return false;
  }
  return !std::lexicographical_compare(target.rbegin(), target.rend(), block.hash.rbegin(),
                                       block.hash.rend());
}

bool has_witnesses(const Block& block) {
  return std::any_of(block.txs.begin(), block.txs.end(), [](const Tx& tx) { return tx.segwit; });
}

void write_bitcoin_tx(json::Writer& out, const chain::Network& network, const Block& block,
                      const Tx& tx) {
  const auto to_display = [](const Hash256& hash) {
    return chain::display(chain::Family::kBitcoin, hash);
  };
  out.begin_object();
  out.key("txid").value(to_display(tx.id));
  out.key("wtxid").value(to_display(tx.segwit ? crypto::sha256d(tx.raw) : tx.id));
  out.key("in").begin_array();
  for (const chain::Input& input : block.inputs_of(tx))
    out.value(tx.coinbase ? "coinbase"
                          : fmt::format("{}:{}", to_display(Hash256::from(input.tx)), input.index));
  out.end_array();
  out.key("out").begin_array();
  for (const Output& output : block.outputs_of(tx)) {
    out.begin_array();
    write_amount(out, output.amount.value);
    out.value(to_hex(output.address));
    out.end_array();
  }
  out.end_array();
  out.key("out_types").begin_array();
  for (const Output& output : block.outputs_of(tx))
    out.value(chain::to_string(chain::output_type(output.address)));
  out.end_array();
  out.key("out_addresses").begin_array();
  for (const Output& output : block.outputs_of(tx)) {
    if (const auto text = chain::address_text(network, output.address))
      out.value(*text);
    else
      out.null();
  }
  out.end_array();
  out.end_object();
}

std::string bitcoin_json(const chain::Network& network, const Block& block, bool verified) {
  json::Writer out;
  out.begin_object();
  out.key("hash").value(chain::display(block.family, block.hash));
  out.key("prev").value(chain::display(block.family, block.prev));
  out.key("time").value(static_cast<std::uint64_t>(block.time_unix_s));
  out.key("size").value(static_cast<std::uint64_t>(block.raw.size()));
  out.key("pow_ok").value(meets_its_target(block));
  // Of a block that does not verify one commitment may still match.
  out.key("merkle_ok").value(verified || chain::verify_merkle_root(block).has_value());
  out.key("witness_commit_ok");
  if (has_witnesses(block))  // else nothing was compared, whatever the coinbase commits to
    out.value(verified || chain::verify_witness_commitment(block).has_value());
  else
    out.null();
  out.key("txs").begin_array();
  for (const Tx& tx : block.txs) write_bitcoin_tx(out, network, block, tx);
  out.end_array();
  out.end_object();
  return out.take();
}

}  // namespace

Result<std::string> block_json(const chain::Network& network, const Block& block, bool verified) {
  if (network.family == chain::Family::kCardano) return cardano_json(network, block, verified);
  return bitcoin_json(network, block, verified);
}

}  // namespace coffer::node
