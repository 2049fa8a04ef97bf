// Reads what is told of one transaction.
#include <coffer/chain/decode.h>
#include "base/result.h"
#include "txstore/json/explain.h"
#include "txstore/json/output.h"

namespace coffer::txstore {
namespace {

// The hash of its block, if the chain still has at that height what the transaction remembers.
Result<std::optional<Hash256>> hash_of_block(const BlockAt& block_at, const StoredTx& tx) {
  const auto mined = tx.mined_in();
  if (!mined || !block_at) return std::nullopt;
  const auto hash = TRY(block_at(mined->height));
  if (!hash || load_be64(hash->data()) != mined->id) return std::nullopt;
  return hash;
}

}  // namespace

std::optional<std::uint64_t> TxDetail::height() const {
  if (tx.genesis) return 0;
  const auto mined = tx.mined_in();
  return mined ? std::optional(mined->height) : std::nullopt;
}

std::uint64_t TxDetail::confirmations() const {
  const auto at = height();
  if (!at || tip.position.at_origin || tip.height() < *at) return 0;
  return tip.height() - *at + 1;
}

std::optional<std::uint64_t> TxDetail::next_output() const {
  const std::uint64_t next = std::uint64_t{outputs_from} + outputs.size();
  return outputs.empty() || next >= tx.outputs ? std::nullopt : std::optional(next);
}

const chain::Output* TxDetail::decoded_output(std::uint32_t index) const {
  if (!decoded) return nullptr;
  const chain::Tx& row = decoded->txs.front();
  if (index < row.outputs.count) return &decoded->outputs[row.outputs.begin + index];
  if (index == row.outputs.count && row.collateral_return != chain::kNone)
    return &decoded->outputs[row.collateral_return];
  return nullptr;
}

Result<TxDetail> read_detail(const Store& store, const BlockAt& block_at, const Hash256& id,
                             const OutputRange& range) {
  const auto found = TRY(store.get(std::span(&id, 1)));
  if (found.empty() || !found.front()) return fail(absence_error(store, id));
  TxDetail detail;
  detail.tx = *found.front();
  detail.tip = store.tip();
  if (auto body = store.body(id))
    detail.body = std::move(*body);
  else if (body.error().code != Code::kNotFound)
    return fail(std::move(body).error());
  detail.outputs_from = range.first;
  if (range.first < detail.tx.outputs)
    detail.outputs = TRY(store.outputs(id, range.first, range.count));
  detail.block_hash = TRY(hash_of_block(block_at, detail.tx));
  if (!detail.body.raw.empty()) {
    chain::Block block;
    const auto decoded = chain::decode_tx_into(block, store.network(), detail.body.raw,
                                               {.hash = false, .verify = false});
    if (decoded && block.txs.size() == 1) detail.decoded = std::move(block);
  }
  return detail;
}

}  // namespace coffer::txstore
