// The state of a coin (001 §4.2, W13), computed from the facts of its row. The view coin_states has
// the same rule in SQL; tests/wallet/coin_states_test.cpp compares the two on random wallets.
#pragma once

#include <coffer/wallet/types.h>

namespace coffer::wallet {

struct CoinFacts {
  TxStatus created_by = TxStatus::kPending;  // the status of the transaction that created the coin
  std::optional<TxStatus> spent_by;          // that of its spender, if it has one
  std::optional<std::uint64_t> height;       // of the block of the creating transaction
  bool is_coinbase = false;
  std::int64_t mature_height = 0;  // coinbases at or below it may be spent (W7)
};

CoinState coin_state(const CoinFacts& facts);

}  // namespace coffer::wallet
