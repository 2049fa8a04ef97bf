#include <coffer/utxo/record.h>

#include "base/check.h"
#include "base/result.h"
#include "chain/script_ref.h"
#include "codec/cbor_reader.h"
#include "codec/cbor_writer.h"

namespace coffer::utxo {
namespace {

enum Key : std::uint64_t {
  kAddress = 0,
  kCoin = 1,
  kAssets = 2,
  kDatumHash = 3,
  kInlineDatum = 4,
  kScriptRef = 5,
  kScriptHash = 6,
  kCollateralReturn = 7,
  kSlot = 8,
  kNumber = 9,
  kBlockHash = 10,
  kEpoch = 11,
  kTime = 12,
  // 13 to 15 are owner credentials and stake address: a function of the address, so not written.
  kCoinbase = 16,
  kLeaf = 17,
};

std::unexpected<Error> corrupt(std::string_view what, const codec::CborReader& reader) {
  return fail(Code::kCorrupt, "a stored {} cannot be read: {} at byte {}", what,
              reader.ok() ? "more or other bytes than expected" : reader.fault().what,
              reader.offset());
}

void write_assets(codec::CborWriter& writer, std::span<const chain::Asset> assets) {
  writer.uint(kAssets).array(assets.size());
  for (const chain::Asset& asset : assets)
    writer.array(3).bytes({asset.policy, Hash224::kSize}).bytes(asset.name).uint(asset.quantity);
}

void read_assets(codec::CborReader& reader, std::vector<chain::Asset>& assets) {
  for (auto items = reader.begin_array(); reader.next(items);) {
    auto fields = reader.begin_fixed(3);
    const ByteView policy = reader.read_bytes(Hash224::kSize);
    const ByteView name = reader.read_bytes();
    assets.push_back({policy.data(), name, reader.read_uint()});
    reader.end_fixed(fields);
  }
}

}  // namespace

void encode_record(Bytes& out, const CreationBlock& creation, const chain::Output& output,
                   std::span<const chain::Asset> assets, bool collateral_return, bool coinbase,
                   std::optional<std::uint64_t> leaf) {
  const bool cardano = creation.family == chain::Family::kCardano;
  const bool has_script = !output.script_ref.empty();
  const std::uint64_t pairs = 5 + (assets.empty() ? 0 : 1) + (output.datum_hash.empty() ? 0 : 1) +
                              (output.inline_datum.empty() ? 0 : 1) + (has_script ? 2 : 0) +
                              (collateral_return ? 1 : 0) + (creation.block_hash.empty() ? 0 : 1) +
                              (cardano ? 1 : 0) + (coinbase ? 1 : 0) + (leaf ? 1 : 0);
  codec::CborWriter writer(out);
  writer.map(pairs);
  writer.uint(kAddress).bytes(output.address);
  writer.uint(kCoin).uint(output.amount.value);
  if (!assets.empty()) write_assets(writer, assets);
  if (!output.datum_hash.empty()) writer.uint(kDatumHash).bytes(output.datum_hash);
  if (!output.inline_datum.empty()) writer.uint(kInlineDatum).bytes(output.inline_datum);
  if (has_script) {
    writer.uint(kScriptRef).bytes(output.script_ref);
    const auto script_ref = chain::parse_script_ref(output.script_ref);
    CHECK(script_ref);  // the decoder accepts no other
    writer.uint(kScriptHash).bytes(script_ref->hash().view());
  }
  if (collateral_return) writer.uint(kCollateralReturn).boolean(true);
  writer.uint(kSlot).uint(creation.slot.value);
  writer.uint(kNumber).uint(creation.number.value);
  if (!creation.block_hash.empty()) writer.uint(kBlockHash).bytes(creation.block_hash);
  if (cardano) writer.uint(kEpoch).uint(creation.epoch);
  writer.uint(kTime).integer(creation.time_unix_s);
  if (coinbase) writer.uint(kCoinbase).boolean(true);
  if (leaf) writer.uint(kLeaf).uint(*leaf);
}

Result<UtxoRecord> decode_record(ByteView stored) {
  codec::CborReader reader(stored);
  UtxoRecord record;
  for (auto items = reader.begin_map(); reader.next(items);) {
    switch (reader.read_uint()) {
      case kAddress: record.address = reader.read_bytes(); break;
      case kCoin: record.amount = Amount(reader.read_uint()); break;
      case kAssets: read_assets(reader, record.assets); break;
      case kDatumHash: record.datum_hash = reader.read_bytes(Hash256::kSize); break;
      case kInlineDatum: record.inline_datum = reader.read_bytes(); break;
      case kScriptRef: record.script_ref = reader.read_bytes(); break;
      case kScriptHash: record.script_hash = reader.read_bytes(Hash224::kSize); break;
      case kCollateralReturn: record.collateral_return = reader.read_bool(); break;
      case kSlot: record.slot = Slot(reader.read_uint()); break;
      case kNumber: record.number = BlockNumber(reader.read_uint()); break;
      case kBlockHash: record.block_hash = reader.read_bytes(Hash256::kSize); break;
      case kEpoch: record.epoch = reader.read_uint(); break;
      case kTime: record.time_unix_s = reader.read_int(); break;
      case kCoinbase: record.coinbase = reader.read_bool(); break;
      case kLeaf: record.leaf = reader.read_uint(); break;
      default: reader.skip();
    }
  }
  if (!reader.ok() || !reader.at_end()) return corrupt("output", reader);
  return record;
}

Result<RecordHead> decode_head(ByteView stored) {
  codec::CborReader reader(stored);
  RecordHead head;
  for (auto items = reader.begin_map(); reader.next(items);) {
    switch (reader.read_uint()) {
      case kAddress: head.address = reader.read_bytes(); break;
      case kCoin: head.amount = Amount(reader.read_uint()); break;
      case kSlot: head.slot = Slot(reader.read_uint()); break;
      case kLeaf: head.leaf = reader.read_uint(); break;
      default: reader.skip();
    }
  }
  if (!reader.ok() || !reader.at_end()) return corrupt("output", reader);
  return head;
}

Result<Bytes> chain_facts(ByteView stored) {
  codec::CborReader reader(stored);
  std::size_t body = 0, leaf = 0;
  std::uint64_t pairs = 0;
  for (auto items = reader.begin_map(); reader.next(items);) {
    if (pairs++ == 0) body = reader.offset();
    const std::size_t at = reader.offset();
    if (reader.read_uint() == kLeaf) leaf = at;  // the last, since keys ascend
    reader.skip();
  }
  if (!reader.ok() || !reader.at_end()) return corrupt("output", reader);
  if (leaf == 0) return Bytes(stored.begin(), stored.end());
  Bytes facts;
  codec::CborWriter(facts).map(pairs - 1).raw(stored.subspan(body, leaf - body));
  return facts;
}

void encode_spent(Bytes& out, const Hash256& by, const CreationBlock& where, ByteView before) {
  const bool cardano = where.family == chain::Family::kCardano;
  codec::CborWriter writer(out);
  writer.map(cardano ? 7 : 6);
  writer.uint(0).bytes(by.view());
  writer.uint(1).uint(where.slot.value);
  writer.uint(2).uint(where.number.value);
  writer.uint(3).bytes(where.block_hash);
  writer.uint(4).integer(where.time_unix_s);
  if (cardano) writer.uint(5).uint(where.epoch);
  writer.uint(6).raw(before);
}

Result<SpentRecord> decode_spent(ByteView stored) {
  codec::CborReader reader(stored);
  SpentRecord record;
  const auto hash = [&] {
    const ByteView bytes = reader.read_bytes(Hash256::kSize);
    return reader.ok() ? Hash256::from(bytes.data()) : Hash256{};
  };
  for (auto items = reader.begin_map(); reader.next(items);) {
    switch (reader.read_uint()) {
      case 0: record.by = hash(); break;
      case 1: record.slot = Slot(reader.read_uint()); break;
      case 2: record.number = BlockNumber(reader.read_uint()); break;
      case 3: record.block_hash = hash(); break;
      case 4: record.time_unix_s = reader.read_int(); break;
      case 5: record.epoch = reader.read_uint(); break;
      case 6: record.before = reader.skip(); break;
      default: reader.skip();
    }
  }
  if (!reader.ok() || !reader.at_end() || record.before.empty())
    return corrupt("spent output", reader);
  return record;
}

}  // namespace coffer::utxo
