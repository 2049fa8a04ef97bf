// What holds for every decoded block, whatever the bytes were.
#pragma once

#include <coffer/chain/decode.h>
#include "base/check.h"

namespace coffer::fuzz {

inline void check_within(ByteView outer, ByteView inner) {
  if (inner.empty()) return;
  CHECK(inner.data() >= outer.data() && inner.data() + inner.size() <= outer.data() + outer.size());
}

inline void check_views(const chain::Block& block) {
  for (const chain::Tx& tx : block.txs) {
    check_within(block.raw, tx.raw);
    check_within(block.raw, tx.witnesses);
    for (const auto inputs :
         {block.inputs_of(tx), block.collateral_of(tx), block.reference_inputs_of(tx)})
      for (const chain::Input& input : inputs) check_within(block.raw, {input.tx, 32});
    for (const chain::Output& output : block.outputs_of(tx)) {
      for (const ByteView view :
           {output.address, output.datum_hash, output.inline_datum, output.script_ref})
        check_within(block.raw, view);
      for (const chain::Asset& asset : block.assets_of(output)) {
        check_within(block.raw, {asset.policy, 28});
        check_within(block.raw, asset.name);
      }
    }
  }
}

inline void check_block(const chain::Network& network, ByteView raw) {
  static chain::Block block;
  // Without verification most mutations would end at the body hash.
  if (chain::decode_into(block, network, raw, {.hash = true, .verify = false})) check_views(block);
  (void)chain::decode_into(block, network, raw);
  if (chain::decode_tx_into(block, network, raw)) check_views(block);
}

}  // namespace coffer::fuzz
