// Byron blocks and epoch-boundary blocks, and the readers that later eras share with them.
#include <bit>

#include "base/result.h"
#include "chain/cardano_parts.h"
#include "crypto/blake2b.h"

namespace coffer::chain::detail {

using codec::CborReader;

namespace {

constexpr std::uint64_t kEncodedCborTag = 24;
constexpr std::uint64_t kByronEpochSlots = 21'600;
constexpr std::uint64_t kMaxIndex = 0xffff;

}  // namespace

Input read_input(CborReader& reader) {
  auto pair = reader.begin_fixed(2);
  const std::uint8_t* tx = reader.read_bytes(32).data();
  const std::size_t at = reader.offset();
  const std::uint64_t index = reader.read_uint();
  if (index > kMaxIndex) reader.fail_at("an output index beyond 16 bits", at);
  reader.end_fixed(pair);
  return {tx, static_cast<std::uint32_t>(index)};
}

ByteView read_encoded_cbor(CborReader& reader) {
  if (!reader.try_tag(kEncodedCborTag)) reader.fail_here("expected encoded CBOR (tag 24)");
  return reader.read_bytes();
}

void read_prev(CborReader& reader, Block& block) {
  if (reader.try_null()) return;
  ByteView hash = reader.read_bytes(32);
  if (reader.ok()) block.prev = Hash256::from(hash.data());
}

void read_byron_tx(CborReader& reader, Block& block) {
  Tx tx;
  const std::size_t start = reader.offset();
  auto parts = reader.begin_fixed(3);
  tx.inputs.begin = rows(block.inputs);
  for (auto items = reader.begin_array(); reader.next(items);) {
    auto pair = reader.begin_fixed(2);
    if (reader.read_uint() != 0) reader.fail_here("an unknown kind of input");
    const std::size_t at = reader.offset();
    ByteView encoded = read_encoded_cbor(reader);
    CborReader inner(encoded);
    Input input = read_input(inner);
    if (!inner.ok()) reader.fail_at(inner.fault().what, at);
    if (reader.ok()) block.inputs.push_back(input);
    reader.end_fixed(pair);
  }
  tx.inputs.count = rows(block.inputs) - tx.inputs.begin;
  tx.outputs.begin = rows(block.outputs);
  for (auto items = reader.begin_array(); reader.next(items);) {
    Output output;
    auto pair = reader.begin_fixed(2);
    output.address = reader.skip();  // [tag 24 bytes, crc]
    output.amount = Amount(reader.read_uint());
    reader.end_fixed(pair);
    if (reader.ok()) block.outputs.push_back(output);
  }
  tx.outputs.count = rows(block.outputs) - tx.outputs.begin;
  reader.skip();  // attributes
  reader.end_fixed(parts);
  if (!reader.ok()) return;
  tx.raw = reader.since(start);
  block.txs.push_back(tx);
}

// header, body, extra. The boundary block's body names stake holders only.
ByteView read_byron_block(CborReader& reader, Block& block) {
  auto parts = reader.begin_fixed(3);
  const std::size_t header = reader.offset();
  auto fields = reader.begin_fixed(5);
  reader.read_uint();  // protocol magic
  read_prev(reader, block);
  const ByteView body_proof = reader.skip();
  block.epoch_boundary = block.era == kBoundaryEra;
  std::uint64_t slot_in_epoch = 0;
  if (block.epoch_boundary) {
    auto consensus = reader.begin_fixed(2);
    block.epoch = reader.read_uint();
    auto difficulty = reader.begin_fixed(1);
    block.number = BlockNumber(reader.read_uint());
    reader.end_fixed(difficulty);
    reader.end_fixed(consensus);
  } else {
    auto consensus = reader.begin_fixed(4);
    auto slot_id = reader.begin_fixed(2);
    block.epoch = reader.read_uint();
    slot_in_epoch = reader.read_uint();
    reader.end_fixed(slot_id);
    reader.skip();  // issuer
    auto difficulty = reader.begin_fixed(1);
    block.number = BlockNumber(reader.read_uint());
    reader.end_fixed(difficulty);
    reader.skip();  // signature
    reader.end_fixed(consensus);
  }
  if (block.epoch > 0xffffffff || slot_in_epoch >= kByronEpochSlots)
    reader.fail_at("a slot beyond its epoch", header);
  block.slot = Slot(block.epoch * kByronEpochSlots + slot_in_epoch);
  reader.skip();  // extra data
  reader.end_fixed(fields);
  block.header = reader.ok() ? reader.since(header) : ByteView{};
  if (block.epoch_boundary) {
    reader.skip();
  } else {
    auto body = reader.begin_fixed(4);
    for (auto txs = reader.begin_array(); reader.next(txs);) {
      auto pair = reader.begin_fixed(2);
      read_byron_tx(reader, block);
      ByteView witnesses = reader.skip();
      reader.end_fixed(pair);
      if (reader.ok()) block.txs.back().witnesses = witnesses;
    }
    for (int i = 0; i < 3; ++i) reader.skip();  // ssc, delegation, update
    reader.end_fixed(body);
  }
  reader.skip();
  reader.end_fixed(parts);
  return body_proof;
}

namespace {

// A leaf is H(0 ‖ bytes), a node H(1 ‖ left ‖ right); the left half is the largest power of two
// below the count. The depth is the logarithm of the count.
Hash256 merkle_root(std::span<const Tx> txs) {
  if (txs.empty()) return crypto::blake2b_256({});
  crypto::Blake2b256 hasher;
  if (txs.size() == 1) {
    const std::uint8_t leaf = 0;
    return hasher.update({&leaf, 1}).update(txs[0].raw).finish();
  }
  const std::size_t half = std::bit_floor(txs.size() - 1);
  const Hash256 left = merkle_root(txs.first(half)), right = merkle_root(txs.subspan(half));
  const std::uint8_t node = 1;
  return hasher.update({&node, 1}).update(left.view()).update(right.view()).finish();
}

}  // namespace

// [[count, merkle root, hash of all witnesses], …]; the other parts are not about transactions.
Result<> verify_byron_body(const Block& block, ByteView body_proof) {
  if (block.epoch_boundary) return {};
  CborReader reader(body_proof);
  auto parts = reader.begin_fixed(4);
  auto proof = reader.begin_fixed(3);
  const std::uint64_t count = reader.read_uint();
  const ByteView root = reader.read_bytes(32), witnesses = reader.read_bytes(32);
  reader.end_fixed(proof);
  for (int i = 0; i < 3; ++i) reader.skip();
  reader.end_fixed(parts);
  if (!reader.ok()) return fail(reader.fault().to_error("body proof"));
  crypto::Blake2b256 hasher;  // over the list as Byron writes it, of indefinite length
  const std::uint8_t begin = 0x9f, end = 0xff;
  hasher.update({&begin, 1});
  for (const Tx& tx : block.txs) hasher.update(tx.witnesses);
  hasher.update({&end, 1});
  if (count != block.txs.size() || !equal(merkle_root(block.txs).view(), root) ||
      !equal(hasher.finish().view(), witnesses))
    return fail(Code::kInvalidInput, "block: body proof does not match its transactions");
  return {};
}

}  // namespace coffer::chain::detail
