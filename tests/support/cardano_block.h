// Cardano blocks put together by hand, in real wire bytes with right hashes, for tests of what a
// generator would never make. Keys and signatures are filler: Coffer does not check them.
#pragma once

#include "codec/cbor_writer.h"
#include "crypto/blake2b.h"

namespace coffer::test {

struct CardanoTx {
  Bytes body;
  Bytes witnesses = {0xa0};
  Bytes auxiliary = {};  // none if empty
  bool valid = true;
  Hash256 id() const { return crypto::blake2b_256(body); }
};

struct CardanoBlock {
  Hash256 hash{};
  Bytes raw;
};

struct CardanoBlockPlan {
  std::uint64_t number = 0;
  std::uint64_t slot = 0;
  Hash256 prev{};  // zeros: none
  std::vector<CardanoTx> txs = {};
  std::uint64_t era = 7;
};

inline CardanoBlock build(const CardanoBlockPlan& plan) {
  using codec::CborWriter;
  Bytes bodies, witnesses, auxiliary, invalid;
  CborWriter(bodies).array(plan.txs.size());
  CborWriter(witnesses).array(plan.txs.size());
  std::uint64_t with_auxiliary = 0, not_valid = 0;
  for (const CardanoTx& tx : plan.txs) {
    append(bodies, tx.body);
    append(witnesses, tx.witnesses);
    with_auxiliary += tx.auxiliary.empty() ? 0 : 1;
    not_valid += tx.valid ? 0 : 1;
  }
  CborWriter(auxiliary).map(with_auxiliary);
  CborWriter(invalid).array(not_valid);
  for (std::size_t i = 0; i < plan.txs.size(); ++i) {
    if (!plan.txs[i].auxiliary.empty()) CborWriter(auxiliary).uint(i).raw(plan.txs[i].auxiliary);
    if (!plan.txs[i].valid) CborWriter(invalid).uint(i);
  }
  const bool alonzo = plan.era >= 5, babbage = plan.era >= 6;
  crypto::Blake2b256 body_hash;
  for (const Bytes* part : {&bodies, &witnesses, &auxiliary})
    body_hash.update(crypto::blake2b_256(*part).view());
  if (alonzo) body_hash.update(crypto::blake2b_256(invalid).view());

  const Bytes key(32, 1), signature(64, 2);
  Bytes header;
  CborWriter writer(header);
  writer.array(2).array(babbage ? 10 : 15).uint(plan.number).uint(plan.slot);
  if (plan.prev.is_zero())
    writer.null();
  else
    writer.bytes(plan.prev.view());
  writer.bytes(key).bytes(key);
  for (int i = babbage ? 1 : 2; i > 0; --i) writer.array(2).bytes(signature).bytes(signature);
  writer.uint(bodies.size() + witnesses.size()).bytes(body_hash.finish().view());
  if (babbage)
    writer.array(4).bytes(key).uint(0).uint(0).bytes(signature).array(2).uint(9).uint(0);
  else
    writer.bytes(key).uint(0).uint(0).bytes(signature).uint(6).uint(0);
  writer.bytes(signature);

  CardanoBlock block;
  block.hash = crypto::blake2b_256(header);
  CborWriter whole(block.raw);
  whole.array(2).uint(plan.era).array(alonzo ? 5 : 4).raw(header).raw(bodies).raw(witnesses);
  whole.raw(auxiliary);
  if (alonzo) whole.raw(invalid);
  return block;
}

}  // namespace coffer::test
