#include <coffer/chainstate/identity.h>

#include "base/result.h"
#include "codec/cbor_reader.h"
#include "codec/cbor_writer.h"

namespace coffer::chainstate {
namespace {

const ByteView kKey = as_bytes("identity");

chain::CardanoParams read_params(codec::CborReader& reader) {
  chain::CardanoParams params;
  auto fields = reader.begin_fixed(3);
  params.magic = reader.read_uint();
  params.network_id = static_cast<std::uint8_t>(reader.read_uint());
  for (auto eras = reader.begin_array(); reader.next(eras);) {
    chain::EraSummary& era = params.eras.emplace_back();
    auto era_fields = reader.begin_fixed(5);
    era.first_slot = reader.read_uint();
    era.first_epoch = reader.read_uint();
    era.start_unix_s = reader.read_int();
    era.slot_ms = reader.read_uint();
    era.epoch_slots = reader.read_uint();
    reader.end_fixed(era_fields);
    if (era.epoch_slots == 0) reader.fail_here("an epoch without slots");
  }
  reader.end_fixed(fields);
  return params;
}

}  // namespace

Bytes encode_identity(const Identity& identity) {
  Bytes out;
  codec::CborWriter writer(out);
  writer.map(identity.params ? 5 : 4).uint(0).text(identity.chain).uint(1).text(identity.network);
  writer.uint(2).bytes(identity.genesis.view()).uint(3).uint(identity.format_version);
  if (!identity.params) return out;
  writer.uint(4).array(3).uint(identity.params->magic).uint(identity.params->network_id);
  writer.array(identity.params->eras.size());
  for (const chain::EraSummary& era : identity.params->eras)
    writer.array(5)
        .uint(era.first_slot)
        .uint(era.first_epoch)
        .integer(era.start_unix_s)
        .uint(era.slot_ms)
        .uint(era.epoch_slots);
  return out;
}

Result<Identity> decode_identity(ByteView data) {
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
      case 4: identity.params = read_params(reader); break;
      default: reader.skip();
    }
  }
  if (!reader.ok() || !reader.at_end())
    return fail(
        Code::kCorrupt,
        "the database's identity cannot be read; restore a backup or choose another --data");
  return identity;
}

Identity Identity::of(const chain::Network& network) {
  Identity identity{std::string(network.chain_name()), network.name, network.genesis};
  if (!chain::find_network(identity.chain, identity.network)) identity.params = network.cardano;
  return identity;
}

Result<chain::Network> Identity::to_network() const {
  if (!params) return chain::find_network(chain, network);
  return chain::private_network_of(network, genesis, *params);
}

Result<std::optional<Identity>> read_identity(const kv::Database& db, kv::Column meta) {
  auto stored = TRY(db.get(meta, kKey));
  if (!stored) return std::nullopt;
  return TRY(decode_identity(*stored));
}

void put_identity(kv::Batch& batch, kv::Column meta, const Identity& identity) {
  batch.put(meta, kKey, encode_identity(identity));
}

Result<> check_identity(const kv::Database& db, kv::Column meta, const Identity& identity) {
  auto stored = TRY(read_identity(db, meta));
  if (!stored) return {};
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
