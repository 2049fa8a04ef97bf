#include "utxo/meta.h"

#include "base/result.h"
#include "bus/position_codec.h"
#include "codec/cbor_reader.h"
#include "codec/cbor_writer.h"

namespace coffer::utxo {
namespace {

std::unexpected<Error> corrupt(std::string_view what) {
  return fail(Code::kCorrupt, "utxo_meta: {} cannot be read; run 'coffer utxo rebuild'", what);
}

}  // namespace

Bytes encode_stored_options(const StoredOptions& stored_options) {
  Bytes out;
  codec::CborWriter(out)
      .map(5)
      .uint(0)
      .uint(stored_options.schema_version)
      .uint(1)
      .uint(static_cast<std::uint64_t>(stored_options.store))
      .uint(2)
      .boolean(stored_options.index_address)
      .uint(3)
      .boolean(stored_options.index_credential)
      .uint(4)
      .boolean(stored_options.self_contained_delta);
  return out;
}

Result<std::optional<StoredOptions>> read_stored_options(const kv::Database& db, kv::Column meta) {
  const auto stored = TRY(db.get(meta, as_bytes(kStoredOptionsKey)));
  if (!stored) return std::nullopt;
  codec::CborReader reader(*stored);
  StoredOptions stored_options;
  for (auto items = reader.begin_map(); reader.next(items);) {
    switch (reader.read_uint()) {
      case 0: stored_options.schema_version = reader.read_uint(); break;
      case 1:
        stored_options.store = reader.read_uint() == 1 ? StoreType::kMmr : StoreType::kClassic;
        break;
      case 2: stored_options.index_address = reader.read_bool(); break;
      case 3: stored_options.index_credential = reader.read_bool(); break;
      case 4: stored_options.self_contained_delta = reader.read_bool(); break;
      default: reader.skip();
    }
  }
  if (!reader.ok() || !reader.at_end()) return corrupt("the shape");
  if (stored_options.schema_version > kSchemaVersion)
    return fail(Code::kConflict,
                "the UTXO state has format {}, this program knows up to {}; use a newer program or "
                "run 'coffer utxo rebuild'",
                stored_options.schema_version, kSchemaVersion);
  return stored_options;
}

Bytes encode_tip(const Tip& tip) {
  Bytes out;
  codec::CborWriter writer(out);
  writer.map(tip.recreated_outpoints.empty() ? 10 : 11)
      .uint(0)
      .bytes(bus::encode_position(tip.position));
  const std::uint64_t numbers[] = {tip.number.value,
                                   tip.unspent,
                                   static_cast<std::uint64_t>(tip.amount >> 64),
                                   static_cast<std::uint64_t>(tip.amount),
                                   tip.era,
                                   tip.leaves,
                                   tip.undo_floor,
                                   tip.delta_floor};
  std::uint64_t key = 1;
  for (const std::uint64_t number : numbers) writer.uint(key++).uint(number);
  writer.uint(key++).array(2).uint(tip.prune_block).uint(tip.prune_entry);
  if (!tip.recreated_outpoints.empty()) {
    writer.uint(key).array(tip.recreated_outpoints.size());
    for (const chain::Outpoint& outpoint : tip.recreated_outpoints)
      writer.array(2).bytes(outpoint.tx.view()).uint(outpoint.index);
  }
  return out;
}

Result<Tip> read_tip(const kv::Database& db, kv::Column meta, const kv::Snapshot* snapshot) {
  const auto stored = TRY(db.get(meta, as_bytes(kTipKey), snapshot));
  if (!stored) return Tip{};
  codec::CborReader reader(*stored);
  Tip tip;
  ByteView position;
  for (auto items = reader.begin_map(); reader.next(items);) {
    switch (reader.read_uint()) {
      case 0: position = reader.read_bytes(); break;
      case 1: tip.number = BlockNumber(reader.read_uint()); break;
      case 2: tip.unspent = reader.read_uint(); break;
      case 3: tip.amount |= static_cast<U128>(reader.read_uint()) << 64; break;
      case 4: tip.amount |= reader.read_uint(); break;
      case 5: tip.era = static_cast<std::uint8_t>(reader.read_uint()); break;
      case 6: tip.leaves = reader.read_uint(); break;
      case 7: tip.undo_floor = reader.read_uint(); break;
      case 8: tip.delta_floor = reader.read_uint(); break;
      case 9: {
        auto cursor = reader.begin_fixed(2);
        tip.prune_block = reader.read_uint();
        tip.prune_entry = reader.read_uint();
        reader.end_fixed(cursor);
        break;
      }
      case 10:
        for (auto outpoints = reader.begin_array(); reader.next(outpoints);) {
          auto fields = reader.begin_fixed(2);
          const ByteView tx = reader.read_bytes(Hash256::kSize);
          const auto index = static_cast<std::uint32_t>(reader.read_uint());
          reader.end_fixed(fields);
          if (reader.ok()) tip.recreated_outpoints.push_back({Hash256::from(tx.data()), index});
        }
        break;
      default: reader.skip();
    }
  }
  if (!reader.ok() || !reader.at_end()) return corrupt("the tip");
  tip.position = TRY_IN("utxo_meta", bus::decode_position(position));
  return tip;
}

}  // namespace coffer::utxo
