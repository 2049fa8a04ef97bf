#include "oracle.h"

#include "codec/cbor_reader.h"
#include "crypto/blake2b.h"

namespace coffer::oracle {
namespace {

namespace json = boost::json;
using chain::Block;
using chain::Input;
using chain::Output;
using chain::Tx;

// Collects the first difference only.
struct Difference {
  std::string first;
  void expect(const std::string& where, const std::string& want, const std::string& got) {
    if (first.empty() && want != got) first = where + ": expected " + want + ", got " + got;
  }
  void expect(const std::string& where, std::uint64_t want, std::uint64_t got) {
    expect(where, std::to_string(want), std::to_string(got));
  }
};

std::uint64_t number(const json::value& value) {
  return value.to_number<std::uint64_t>();
}
std::string text(const json::value& value) {
  return std::string(value.as_string());
}

void compare_inputs(Difference& diff, const std::string& where, std::span<const Input> got,
                    const json::array& want) {
  diff.expect(where + " count", want.size(), got.size());
  for (std::size_t i = 0; i < got.size() && diff.first.empty(); ++i)
    diff.expect(where + "[" + std::to_string(i) + "]", text(want[i]),
                to_hex({got[i].tx, 32}) + "#" + std::to_string(got[i].index));
}

// The script's hash: Blake2b-224 over the language's byte and the script.
void compare_script(Difference& diff, const std::string& where, ByteView got,
                    const json::value* want) {
  const bool wanted = want != nullptr && want->is_object();
  diff.expect(where, wanted, !got.empty());
  if (!wanted || got.empty()) return;
  codec::CborReader reader(got);
  auto pair = reader.begin_fixed(2);
  const std::uint64_t language = reader.read_uint();
  const ByteView script = language == 0 ? reader.skip() : reader.read_bytes();
  reader.end_fixed(pair);
  diff.expect(where + " is well-formed", true, reader.ok());
  Bytes hashed = {static_cast<std::uint8_t>(language)};
  append(hashed, script);
  diff.expect(where + ".lang", number(want->at("lang")), language);
  diff.expect(where + ".hash", text(want->at("hash")), crypto::blake2b_224(hashed).hex());
}

void compare_output(Difference& diff, const std::string& where, const Block& block,
                    const Output& got, const json::object& want) {
  if (const auto* form = want.if_contains("form"))
    diff.expect(where + ".form", text(*form),
                block.era <= 1 ? "byron"
                : got.map_form ? "map"
                               : "array");
  diff.expect(where + ".address", text(want.at("address")), to_hex(got.address));
  diff.expect(where + ".lovelace", number(want.at("lovelace")), got.coin.value);
  auto optional_hex = [&](const char* name, ByteView value) {
    const auto* field = want.if_contains(name);
    diff.expect(where + "." + name, field && field->is_string() ? text(*field) : "", to_hex(value));
  };
  optional_hex("datum_hash", got.datum_hash);
  Hash256 datum_hash = crypto::blake2b_256(got.inline_datum);
  optional_hex("inline_datum_hash", got.inline_datum.empty() ? ByteView{} : datum_hash.view());
  compare_script(diff, where + ".script_ref", got.script_ref, want.if_contains("script_ref"));
  const auto* assets = want.if_contains("assets");
  auto mine = block.assets_of(got);
  diff.expect(where + ".assets count", assets ? assets->as_array().size() : 0, mine.size());
  for (std::size_t i = 0; i < mine.size() && diff.first.empty(); ++i) {
    const auto& row = assets->as_array()[i].as_array();
    diff.expect(where + ".assets[" + std::to_string(i) + "]",
                text(row[0]) + "." + text(row[1]) + "=" + std::to_string(number(row[2])),
                to_hex({mine[i].policy, 28}) + "." + to_hex(mine[i].name) + "=" +
                    std::to_string(mine[i].quantity));
  }
}

void compare_cardano_tx(Difference& diff, const std::string& where, const Block& block,
                        const Tx& tx, const json::object& want) {
  diff.expect(where + ".hash", text(want.at("hash")), tx.id.hex());
  if (const auto* valid = want.if_contains("valid"))
    diff.expect(where + ".valid", valid->as_bool(), tx.valid);
  compare_inputs(diff, where + ".inputs", block.inputs_of(tx), want.at("inputs").as_array());
  auto outputs = block.outputs_of(tx);
  const auto& wanted = want.at("outputs").as_array();
  diff.expect(where + ".outputs count", wanted.size(), outputs.size());
  for (std::size_t i = 0; i < outputs.size() && diff.first.empty(); ++i)
    compare_output(diff, where + ".outputs[" + std::to_string(i) + "]", block, outputs[i],
                   wanted[i].as_object());
  if (const auto* list = want.if_contains("collateral_inputs"))
    compare_inputs(diff, where + ".collateral", block.collateral_of(tx), list->as_array());
  if (const auto* list = want.if_contains("reference_inputs"))
    compare_inputs(diff, where + ".reference", block.reference_inputs_of(tx), list->as_array());
  if (const auto* fee = want.if_contains("fee"); fee && fee->is_number())
    diff.expect(where + ".fee", number(*fee), tx.fee.value);
  const auto* given_back = want.if_contains("collateral_return");
  const bool has_return = given_back && given_back->is_object();
  diff.expect(where + ".collateral_return", has_return, tx.collateral_return != chain::kNone);
  if (has_return && diff.first.empty())
    compare_output(diff, where + ".collateral_return", block, block.outputs[tx.collateral_return],
                   given_back->as_object());
  if (const auto* total = want.if_contains("total_collateral"); total && total->is_number())
    diff.expect(where + ".total_collateral", number(*total), tx.total_collateral.value);
  if (const auto* mint = want.if_contains("mint")) {
    auto mine = block.minted_of(tx);
    diff.expect(where + ".mint count", mint->as_array().size(), mine.size());
    for (std::size_t i = 0; i < mine.size() && diff.first.empty(); ++i) {
      const auto& row = mint->as_array()[i].as_array();
      diff.expect(where + ".mint",
                  text(row[0]) + "." + text(row[1]) + "=" +
                      std::to_string(row[2].to_number<std::int64_t>()),
                  to_hex({mine[i].policy, 28}) + "." + to_hex(mine[i].name) + "=" +
                      std::to_string(mine[i].quantity));
    }
  }
}

}  // namespace

std::string compare_cardano(const Block& block, const json::object& expected) {
  Difference diff;
  diff.expect("era_tag", number(expected.at("era_tag")), block.era);
  diff.expect("hash", text(expected.at("hash")), block.hash.hex());
  if (const auto* n = expected.if_contains("block_number"); n && n->is_number())
    diff.expect("block_number", number(*n), block.number.value);
  if (const auto* n = expected.if_contains("slot"); n && n->is_number())
    diff.expect("slot", number(*n), block.slot.value);
  if (const auto* prev = expected.if_contains("prev"); prev && prev->is_string())
    diff.expect("prev", text(*prev), block.prev.hex());
  const auto* txs = expected.if_contains("txs");
  diff.expect("tx count", txs ? txs->as_array().size() : 0, block.txs.size());
  for (std::size_t i = 0; i < block.txs.size() && diff.first.empty(); ++i)
    compare_cardano_tx(diff, "txs[" + std::to_string(i) + "]", block, block.txs[i],
                       txs->as_array()[i].as_object());
  return diff.first;
}

std::string compare_bitcoin(const Block& block, const json::object& expected) {
  Difference diff;
  auto shown = [](const Hash256& hash) { return reversed(hash).hex(); };
  diff.expect("hash", text(expected.at("hash")), shown(block.hash));
  diff.expect("prev", text(expected.at("prev")), shown(block.prev));
  diff.expect("time", number(expected.at("time")), static_cast<std::uint64_t>(block.time_unix_s));
  diff.expect("size", number(expected.at("size")), block.raw.size());
  const auto& txs = expected.at("txs").as_array();
  diff.expect("tx count", txs.size(), block.txs.size());
  for (std::size_t i = 0; i < block.txs.size() && diff.first.empty(); ++i) {
    const Tx& tx = block.txs[i];
    const auto& want = txs[i].as_object();
    const std::string where = "txs[" + std::to_string(i) + "]";
    diff.expect(where + ".txid", text(want.at("txid")), shown(tx.id));
    const auto& ins = want.at("in").as_array();
    auto inputs = block.inputs_of(tx);
    diff.expect(where + ".in count", ins.size(), inputs.size());
    for (std::size_t k = 0; k < inputs.size() && diff.first.empty(); ++k)
      diff.expect(where + ".in", text(ins[k]),
                  tx.coinbase
                      ? "coinbase"
                      : shown(Hash256::from(inputs[k].tx)) + ":" + std::to_string(inputs[k].index));
    const auto& outs = want.at("out").as_array();
    auto outputs = block.outputs_of(tx);
    diff.expect(where + ".out count", outs.size(), outputs.size());
    for (std::size_t k = 0; k < outputs.size() && diff.first.empty(); ++k)
      diff.expect(where + ".out",
                  std::to_string(number(outs[k].as_array()[0])) + " " + text(outs[k].as_array()[1]),
                  std::to_string(outputs[k].coin.value) + " " + to_hex(outputs[k].address));
  }
  return diff.first;
}

}  // namespace coffer::oracle
