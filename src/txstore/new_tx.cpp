// Transactions of both chains as the store takes them.
#include "chain/script.h"
#include "codec/cbor_writer.h"
#include "txstore/operations.h"

namespace coffer::txstore {
namespace {

constexpr std::uint8_t kByronEra = 1, kAlonzoEra = 5;

// The whole transaction as its era writes it: Byron a pair, Alonzo and later with validity.
Bytes cardano_raw(const chain::Block& block, const chain::Tx& tx) {
  const bool byron = block.era <= kByronEra, alonzo = block.era >= kAlonzoEra;
  Bytes raw;
  raw.reserve(tx.raw.size() + tx.witnesses.size() + tx.auxiliary.size() + 4);
  raw.push_back(byron ? 0x82 : alonzo ? 0x84 : 0x83);
  append(raw, tx.raw);
  append(raw, tx.witnesses);
  if (byron) return raw;
  if (alonzo) raw.push_back(tx.valid ? 0xf5 : 0xf4);
  if (tx.auxiliary.empty())
    raw.push_back(0xf6);
  else
    append(raw, tx.auxiliary);
  return raw;
}

std::optional<Amount> stated_fee(const chain::Block& block, const chain::Tx& tx) {
  if (block.family == chain::Family::kBitcoin || block.era <= kByronEra) return std::nullopt;
  if (tx.valid) return tx.fee;
  if (tx.has_total_collateral) return tx.total_collateral;
  return std::nullopt;
}

}  // namespace

NewTx new_tx(const chain::Block& block, const chain::Tx& tx, std::optional<BlockRef> mined_in) {
  const bool bitcoin = block.family == chain::Family::kBitcoin;
  NewTx made;
  made.id = tx.id;
  made.coinbase = tx.coinbase;
  made.valid = tx.valid;
  made.mined_in = mined_in;
  made.fee = stated_fee(block, tx);
  if (bitcoin)
    made.raw.assign(tx.raw.begin(), tx.raw.end());
  else
    made.raw = cardano_raw(block, tx);
  const auto inputs = block.spent_by(tx);
  made.inputs.reserve(inputs.size());
  for (const chain::Input& input : inputs) made.inputs.push_back(input.outpoint());
  // What an invalid transaction would have created was not: nobody can spend it.
  if (!tx.valid && tx.collateral_return != chain::kNone)
    made.outputs.resize(tx.outputs.count, NewOutput{{}, Amount(0), false});
  else
    made.outputs.reserve(tx.outputs.count);
  block.for_each_created(tx, [&](std::uint32_t index, const chain::Output& output, bool) {
    NewOutput& created = made.outputs.emplace_back();
    created.amount = output.amount;
    created.hash = output_hash({tx.id, index}, output.address, output.amount);
    // The genesis block's coinbase is not in the set of outputs (U4).
    created.spendable = !bitcoin || (!chain::is_unspendable(output.address) &&
                                     (!mined_in || mined_in->height != 0));
  });
  return made;
}

}  // namespace coffer::txstore
