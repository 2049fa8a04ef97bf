// Cardano transactions with deeply nested parts, wherever a transaction can hold any CBOR.
#pragma once

#include "support/cardano_block.h"

namespace coffer::test {

// Preview block 4,661,680 needs about 510 levels, preprod block 5,183,974 has 5,383 (E12).
inline constexpr std::size_t kDepths[] = {30, 64, 500, 5'383, 16'000};

struct DeepCase {
  const char* where = "";
  CardanoTx tx;
  Bytes inline_datum = {}, script_ref = {};
  Hash224 script_hash{};
};

// Plutus data: a list in a list, every other one as a constructor and of indefinite length.
inline Bytes deep_data(std::size_t depth) {
  Bytes out;
  for (std::size_t i = 0; i < depth; ++i) {
    if (i % 2 == 0)
      codec::CborWriter(out).array(1);
    else
      codec::CborWriter(out).tag(121).begin_indefinite_array();
  }
  out.push_back(0x00);
  for (std::size_t i = depth; i-- > 0;)
    if (i % 2 != 0) out.push_back(0xff);
  return out;
}

// A native script: all of [all of [… a signature]]; two levels of CBOR each.
inline Bytes deep_script(std::size_t depth) {
  Bytes out;
  for (std::size_t i = 0; i + 1 < depth; i += 2) codec::CborWriter(out).array(2).uint(1).array(1);
  codec::CborWriter(out).array(2).uint(0).bytes(Bytes(28, 5));
  return out;
}

// One output, which may hold an inline datum and a reference script.
inline CardanoTx deep_tx(ByteView inline_datum, ByteView script_ref) {
  CardanoTx tx;
  codec::CborWriter w(tx.body);
  w.map(3).uint(0).array(1).array(2).bytes(Bytes(32, 9)).uint(0).uint(1).array(1);
  w.map(2 + (inline_datum.empty() ? 0 : 1) + (script_ref.empty() ? 0 : 1));
  w.uint(0).bytes(Bytes(29, 0x61)).uint(1).uint(3'000'000);
  if (!inline_datum.empty()) w.uint(2).array(2).uint(1).tag(24).bytes(inline_datum);
  if (!script_ref.empty()) w.uint(3).tag(24).bytes(script_ref);
  w.uint(2).uint(170'000);
  return tx;
}

// A transaction for each place, with its part nested `depth` levels.
inline std::vector<DeepCase> deep_cases(std::size_t depth) {
  using codec::CborWriter;
  std::vector<DeepCase> cases;
  const auto plain = [&](const char* where) -> CardanoTx& {
    cases.push_back({where, deep_tx({}, {})});
    // Another fee for each, so that no two have the same id.
    CardanoTx& tx = cases.back().tx;
    tx.body.resize(tx.body.size() - 5);
    CborWriter(tx.body).uint(170'000 + cases.size());
    return tx;
  };
  CborWriter(plain("witness datum").witnesses = {}).map(1).uint(4).array(1).raw(deep_data(depth));
  CborWriter redeemer(plain("redeemer").witnesses = {});
  redeemer.map(1).uint(5).array(1).array(4).uint(0).uint(0).raw(deep_data(depth));
  redeemer.array(2).uint(1).uint(1);
  CborWriter(plain("native script in the witnesses").witnesses = {})
      .map(1)
      .uint(1)
      .array(1)
      .raw(deep_script(depth));
  CborWriter(plain("metadata").auxiliary)
      .tag(259)
      .map(1)
      .uint(0)
      .map(1)
      .uint(1)
      .raw(deep_data(depth));
  CborWriter(plain("native script in the auxiliary data").auxiliary)
      .tag(259)
      .map(1)
      .uint(1)
      .array(1)
      .raw(deep_script(depth));
  const Bytes datum = deep_data(depth);
  cases.push_back({"inline datum", deep_tx(datum, {}), datum});
  const Bytes script = deep_script(depth);
  Bytes script_ref, hashed = {0x00};
  CborWriter(script_ref).array(2).uint(0).raw(script);
  append(hashed, script);
  cases.push_back(
      {"script reference", deep_tx({}, script_ref), {}, script_ref, crypto::blake2b_224(hashed)});
  return cases;
}

}  // namespace coffer::test
