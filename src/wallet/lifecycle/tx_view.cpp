#include "wallet/lifecycle/tx_view.h"
#include "chain/bitcoin_limits.h"

#include <coffer/chain/decode.h>
#include "base/result.h"

namespace coffer::wallet {
namespace {

constexpr std::size_t kMaxTxBytes = 4'000'000;  // the largest block

Result<> check_inputs(const TxView& view) {
  std::vector<chain::Outpoint> named;
  named.reserve(view.inputs().size());
  for (const chain::Input& input : view.inputs()) named.push_back(input.outpoint());
  std::sort(named.begin(), named.end());
  const auto twice = std::adjacent_find(named.begin(), named.end());
  if (twice == named.end()) return {};
  return fail(Code::kInvalidInput, "the transaction names {}#{} twice",
              chain::display(chain::Family::kBitcoin, twice->tx), twice->index);
}

Result<> check_amounts(const TxView& view) {
  std::uint64_t sum = 0;
  for (const chain::Output& output : view.outputs()) {
    sum += std::min(output.amount.value, kMaxMoney + 1);
    if (sum > kMaxMoney)
      return fail(Code::kInvalidInput, "the transaction pays more than all money there is");
  }
  return {};
}

}  // namespace

Result<std::unique_ptr<chain::Block>> decode_tx(const chain::Network& network, ByteView raw) {
  if (raw.size() > kMaxTxBytes)
    return fail(Code::kTooLarge, "a transaction has at most {} bytes, not {}", kMaxTxBytes,
                raw.size());
  auto block = std::make_unique<chain::Block>();
  Bytes owned(raw.begin(), raw.end());
  TRY_IN("not a transaction", chain::decode_tx_into(*block, network, owned));
  block->storage = std::move(owned);
  const TxView view{*block, block->txs.front()};
  if (block->inputs_of(view.tx).empty() || view.outputs().empty())
    return fail(Code::kInvalidInput, "the transaction has no inputs or no outputs");
  TRY(check_inputs(view));
  TRY(check_amounts(view));
  return block;
}

}  // namespace coffer::wallet
