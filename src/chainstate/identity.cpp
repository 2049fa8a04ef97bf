#include "chainstate/identity.h"

#include "codec/cbor_reader.h"
#include "codec/cbor_writer.h"

namespace coffer::chainstate {
namespace {

const ByteView kKey = as_bytes("identity");

Bytes encode(const Identity& identity) {
  Bytes out;
  codec::CborWriter writer(out);
  writer.map(4).uint(0).text(identity.chain).uint(1).text(identity.network);
  writer.uint(2).bytes(identity.genesis.view()).uint(3).uint(identity.format_version);
  return out;
}

Result<Identity> decode(ByteView data) {
  codec::CborReader reader(data);
  Identity identity;
  for (auto items = reader.begin_map(); reader.next(items);) {
    switch (reader.read_uint()) {
      case 0: identity.chain = as_text(reader.read_text()); break;
      case 1: identity.network = as_text(reader.read_text()); break;
      case 2: {
        ByteView genesis = reader.read_bytes(32);
        if (reader.ok()) identity.genesis = Hash256::from(genesis.data());
        break;
      }
      case 3: identity.format_version = reader.read_uint(); break;
      default: reader.skip();
    }
  }
  if (!reader.ok() || !reader.at_end())
    return fail(
        Code::kCorrupt,
        "the database's identity cannot be read; restore a backup or choose another --data");
  return identity;
}

}  // namespace

Result<std::optional<Identity>> read_identity(const kv::Database& db, kv::Column meta) {
  auto stored = TRY(db.get(meta, kKey));
  if (!stored) return std::nullopt;
  return TRY(decode(*stored));
}

Result<> claim(kv::Database& db, kv::Column meta, const Identity& identity) {
  auto stored = TRY(read_identity(db, meta));
  if (!stored) {
    kv::Batch batch;
    batch.put(meta, kKey, encode(identity));
    return db.commit(batch, kv::Durability::kWalSync);
  }
  if (stored->format_version > identity.format_version)
    return fail(Code::kConflict,
                "the database has format {}, this program knows {}; use a newer coffer",
                stored->format_version, identity.format_version);
  if (*stored == identity) return {};
  const bool same_name = stored->chain == identity.chain && stored->network == identity.network;
  return fail(Code::kConflict,
              "the database belongs to {} {}{}, not to {} {}{}; choose another --data",
              stored->chain, stored->network, same_name ? " with another genesis or seed" : "",
              identity.chain, identity.network, same_name ? " as given" : "");
}

}  // namespace coffer::chainstate
