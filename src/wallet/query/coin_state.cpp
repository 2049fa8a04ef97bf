#include "wallet/query/coin_state.h"

namespace coffer::wallet {

CoinState coin_state(const CoinFacts& facts) {
  switch (facts.created_by) {
    case TxStatus::kFailed:
    case TxStatus::kReplaced: return CoinState::kDead;
    case TxStatus::kOrphaned: return CoinState::kOrphaned;
    case TxStatus::kPending:
    case TxStatus::kPublished: break;
  }
  if (facts.spent_by)
    return *facts.spent_by == TxStatus::kPending ? CoinState::kLocked : CoinState::kSpent;
  if (facts.created_by == TxStatus::kPending) return CoinState::kPending;
  if (!facts.height) return CoinState::kUnconfirmed;
  const bool is_young = static_cast<std::int64_t>(*facts.height) > facts.mature_height;
  return facts.is_coinbase && is_young ? CoinState::kImmature : CoinState::kConfirmed;
}

}  // namespace coffer::wallet
