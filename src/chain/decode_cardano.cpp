// Cardano blocks from the epoch-boundary block to Conway. Hashes are taken over original bytes.
#include <coffer/chain/decode.h>
#include "base/result.h"
#include "chain/cardano_parts.h"
#include "chain/script_ref.h"
#include "crypto/blake2b.h"

namespace coffer::chain::detail {
namespace {

using codec::CborReader;
using codec::CborType;

constexpr std::uint64_t kSetTag = 258;
constexpr std::uint8_t kAlonzoEra = 5, kBabbageEra = 6, kConwayEra = 7;

Range read_inputs(CborReader& reader, Block& block) {
  reader.try_tag(kSetTag);
  const std::uint32_t begin = rows(block.inputs);
  for (auto items = reader.begin_array(); reader.next(items);) {
    Input input = read_input(reader);
    if (reader.ok()) block.inputs.push_back(input);
  }
  return {begin, rows(block.inputs) - begin};
}

// {policy: {name: quantity}}; fn(policy, name) reads the quantity. A policy may be empty and a
// quantity zero before Conway; neither is an asset (U15).
template <typename Fn>
void read_multi_asset(CborReader& reader, Fn fn) {
  for (auto policies = reader.begin_map(); reader.next(policies);) {
    const std::uint8_t* policy = reader.read_bytes(28).data();
    for (auto names = reader.begin_map(); reader.next(names);) {
      const std::size_t at = reader.offset();
      ByteView name = reader.read_bytes();
      if (name.size() > 32) reader.fail_at("an asset name beyond 32 bytes", at);
      fn(policy, name);
    }
  }
}

void read_value(CborReader& reader, Block& block, Output& output) {
  if (reader.type() != CborType::kArray) {
    output.amount = Amount(reader.read_uint());
    return;
  }
  auto pair = reader.begin_fixed(2);
  output.amount = Amount(reader.read_uint());
  output.assets.begin = rows(block.assets);
  read_multi_asset(reader, [&](const std::uint8_t* policy, ByteView name) {
    const std::uint64_t quantity = reader.read_uint();
    if (reader.ok() && quantity != 0) block.assets.push_back({policy, name, quantity});
  });
  output.assets.count = rows(block.assets) - output.assets.begin;
  reader.end_fixed(pair);
}

void read_datum_option(CborReader& reader, Output& output) {
  auto pair = reader.begin_fixed(2);
  const std::size_t at = reader.offset();
  const std::uint64_t kind = reader.read_uint();
  if (kind == 0)
    output.datum_hash = reader.read_bytes(32);
  else if (kind == 1)
    output.inline_datum = read_encoded_cbor(reader);
  else
    reader.fail_at("an unknown kind of datum", at);
  reader.end_fixed(pair);
}

ByteView read_script_ref(CborReader& reader) {
  const std::size_t at = reader.offset();
  const ByteView script_ref = read_encoded_cbor(reader);
  if (reader.ok() && !parse_script_ref(script_ref))
    reader.fail_at("a reference script that is not [language, script]", at);
  return script_ref;
}

Output read_output(CborReader& reader, Block& block) {
  Output output;
  if (reader.type() == CborType::kArray) {
    auto items = reader.begin_array();
    if (reader.next(items)) output.address = reader.read_bytes();
    if (reader.next(items))
      read_value(reader, block, output);
    else
      reader.fail_here("an output without a value");
    if (reader.next(items)) {
      if (!reader.try_null()) output.datum_hash = reader.read_bytes(32);
      if (reader.next(items)) reader.fail_here("an output with more fields than known");
    }
    return output;
  }
  output.map_form = true;
  const std::size_t start = reader.offset();
  bool has_address = false, has_value = false;
  for (auto items = reader.begin_map(); reader.next(items);) {
    const std::size_t at = reader.offset();
    switch (reader.read_uint()) {
      case 0:
        output.address = reader.read_bytes();
        has_address = true;
        break;
      case 1:
        read_value(reader, block, output);
        has_value = true;
        break;
      case 2: read_datum_option(reader, output); break;
      case 3: output.script_ref = read_script_ref(reader); break;
      default: reader.fail_at("an output with more fields than known", at);
    }
  }
  if (!has_address || !has_value) reader.fail_at("an output without address or value", start);
  return output;
}

void read_outputs(CborReader& reader, Block& block, Tx& tx) {
  tx.outputs.begin = rows(block.outputs);
  for (auto items = reader.begin_array(); reader.next(items);) {
    Output output = read_output(reader, block);
    if (reader.ok()) block.outputs.push_back(output);
  }
  tx.outputs.count = rows(block.outputs) - tx.outputs.begin;
}

void read_mint(CborReader& reader, Block& block, Tx& tx) {
  tx.minted.begin = rows(block.minted);
  read_multi_asset(reader, [&](const std::uint8_t* policy, ByteView name) {
    const std::int64_t quantity = reader.read_int();
    if (reader.ok() && quantity != 0) block.minted.push_back({policy, name, quantity});
  });
  tx.minted.count = rows(block.minted) - tx.minted.begin;
}

void read_tx_body(CborReader& reader, Block& block) {
  Tx tx;
  Output collateral_return;
  bool returns_collateral = false;
  const std::size_t start = reader.offset();
  for (auto items = reader.begin_map(); reader.next(items);) {
    switch (reader.read_uint()) {
      case 0: tx.inputs = read_inputs(reader, block); break;
      case 1: read_outputs(reader, block, tx); break;
      case 2: tx.fee = Amount(reader.read_uint()); break;
      case 9: read_mint(reader, block, tx); break;
      case 13: tx.collateral = read_inputs(reader, block); break;
      case 16:
        collateral_return = read_output(reader, block);
        returns_collateral = true;
        break;
      case 17:
        tx.total_collateral = Amount(reader.read_uint());
        tx.has_total_collateral = true;
        break;
      case 18: tx.reference_inputs = read_inputs(reader, block); break;
      default: reader.skip();
    }
  }
  if (!reader.ok()) return;
  if (returns_collateral) {
    tx.collateral_return = rows(block.outputs);
    block.outputs.push_back(collateral_return);
  }
  tx.raw = reader.since(start);
  block.txs.push_back(tx);
}

// Returns the body hash that the header states.
ByteView read_header(CborReader& reader, Block& block) {
  const std::size_t start = reader.offset();
  auto parts = reader.begin_fixed(2);
  auto fields = reader.begin_array();
  block.number = BlockNumber(reader.next(fields) ? reader.read_uint() : 0);
  block.slot = Slot(reader.next(fields) ? reader.read_uint() : 0);
  if (reader.next(fields)) read_prev(reader, block);
  // issuer, vrf key, then two vrf results before Babbage and one since, body size
  for (int i = block.era >= kBabbageEra ? 4 : 5; i > 0; --i)
    if (reader.next(fields)) reader.skip();
  ByteView body_hash;
  if (reader.next(fields))
    body_hash = reader.read_bytes(32);
  else
    reader.fail_here("a header without a body hash");
  while (reader.next(fields)) reader.skip();
  reader.skip();  // signature
  reader.end_fixed(parts);
  block.header = reader.ok() ? reader.since(start) : ByteView{};
  return body_hash;
}

struct Segments {
  ByteView body_hash;
  ByteView parts[4];
  int count = 0;
};

template <typename Fn>
ByteView read_segment(CborReader& reader, Fn item) {
  const std::size_t start = reader.offset();
  for (auto items = reader.begin_array(); reader.next(items);) item();
  return reader.ok() ? reader.since(start) : ByteView{};
}

// {index of the transaction: auxiliary data}
ByteView read_auxiliary_data(CborReader& reader, Block& block) {
  const std::size_t start = reader.offset();
  for (auto items = reader.begin_map(); reader.next(items);) {
    const std::uint64_t index = reader.read_uint();
    const ByteView data = reader.skip();
    if (reader.ok() && index < block.txs.size()) block.txs[index].auxiliary = data;
  }
  return reader.ok() ? reader.since(start) : ByteView{};
}

void read_shelley_block(CborReader& reader, Block& block, Segments& segments) {
  auto parts = reader.begin_fixed(block.era >= kAlonzoEra ? 5 : 4);
  segments.body_hash = read_header(reader, block);
  segments.parts[0] = read_segment(reader, [&] { read_tx_body(reader, block); });
  std::size_t at = 0;
  segments.parts[1] = read_segment(reader, [&] {
    const std::size_t start = reader.offset();
    ByteView witnesses = reader.skip();
    if (at < block.txs.size())
      block.txs[at++].witnesses = witnesses;
    else
      reader.fail_at("more witness sets than transactions", start);
  });
  if (at < block.txs.size()) reader.fail_here("fewer witness sets than transactions");
  segments.parts[2] = read_auxiliary_data(reader, block);
  segments.count = 3;
  if (block.era >= kAlonzoEra) {
    segments.count = 4;
    segments.parts[3] = read_segment(reader, [&] {
      const std::size_t start = reader.offset();
      const std::uint64_t index = reader.read_uint();
      if (!reader.ok()) return;
      if (index < block.txs.size())
        block.txs[index].valid = false;
      else
        reader.fail_at("an invalid transaction that is not in the block", start);
    });
  }
  reader.end_fixed(parts);
}

Result<> verify_body_hash(const Segments& segments) {
  crypto::Blake2b256 hasher;
  for (int i = 0; i < segments.count; ++i)
    hasher.update(crypto::blake2b_256(segments.parts[i]).view());
  if (!equal(hasher.finish().view(), segments.body_hash))
    return fail(Code::kInvalidInput, "block: body hash does not match its transactions");
  return {};
}

void hash_txs(Block& block) {
  for (Tx& tx : block.txs) tx.id = crypto::blake2b_256(tx.raw);
}

}  // namespace

Result<> decode_cardano(Block& block, ByteView raw, DecodeOptions options) {
  CborReader reader(raw);
  auto pair = reader.begin_fixed(2);
  const std::uint64_t era = reader.read_uint();
  if (era > kConwayEra) reader.fail_here("an era beyond Conway; a newer Coffer may know it");
  block.era = static_cast<std::uint8_t>(era);
  Segments segments;
  ByteView body_proof;
  if (era <= kByronEra)
    body_proof = read_byron_block(reader, block);
  else
    read_shelley_block(reader, block, segments);
  reader.end_fixed(pair);
  if (reader.ok() && !reader.at_end()) reader.fail_here("bytes after the block");
  if (!reader.ok()) return fail(reader.fault().to_error("block"));
  if (!options.hash) return {};
  hash_txs(block);
  crypto::Blake2b256 hasher;
  if (era <= kByronEra) {
    const std::uint8_t prefix[] = {0x82, block.era};  // Byron hashes [kind, header]
    hasher.update(prefix);
  }
  block.hash = hasher.update(block.header).finish();
  if (!options.verify) return {};
  return era <= kByronEra ? verify_byron_body(block, body_proof) : verify_body_hash(segments);
}

Result<> decode_cardano_tx(Block& block, ByteView raw, DecodeOptions options) {
  CborReader reader(raw);
  auto parts = reader.begin_array();
  if (reader.next(parts)) {
    if (reader.type() == CborType::kArray)
      read_byron_tx(reader, block);  // [transaction, witnesses]
    else
      read_tx_body(reader, block);
  }
  ByteView auxiliary;
  ByteView witnesses = reader.next(parts) ? reader.skip() : ByteView{};
  bool valid = true;
  for (int i = 0; reader.next(parts); ++i) {
    if (reader.try_null()) continue;
    if (i == 0 && reader.type() == CborType::kSimple)
      valid = reader.read_bool();
    else
      auxiliary = reader.skip();
  }
  if (reader.ok() && !reader.at_end()) reader.fail_here("bytes after the transaction");
  if (reader.ok() && block.txs.empty()) reader.fail_here("an empty transaction");
  if (!reader.ok()) return fail(reader.fault().to_error("transaction"));
  block.txs.front().witnesses = witnesses;
  block.txs.front().auxiliary = auxiliary;
  block.txs.front().valid = valid;
  if (options.hash) hash_txs(block);
  return {};
}

}  // namespace coffer::chain::detail
