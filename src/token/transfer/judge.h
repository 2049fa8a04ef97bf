// The mover's rules in memory (T1): which transfers of a list are applied, one after another, given
// where their wallets stand. The same checks in the same order as update_wallet_balances() and
// check_transaction_balance of the schema; judge_test.cpp compares them.
#pragma once

#include <unordered_map>

#include <coffer/token/types.h>
#include "base/result.h"

namespace coffer::token {

// A row of wallet_states: all that decides what a wallet may send and receive.
struct WalletState {
  Uuid id{};
  std::int64_t balance = 0;
  bool is_frozen = false, is_deleted = false, is_system = false;
  std::int64_t held = 0, open_holds = 0;
  std::optional<std::int64_t> per_transfer = {}, per_day = {};
  std::int64_t spent_today = 0;
};

class Judge {
 public:
  Judge(std::int64_t now_ms, std::int64_t issuance) : now_ms_(now_ms), issuance_(issuance) {}

  void add(const WalletState& state) { wallets_.insert_or_assign(state.id, state); }
  WalletState* find(const Uuid& wallet);
  std::int64_t now_ms() const { return now_ms_; }

  // Moves the tokens, and says what the sender has then. A wallet that was not added does not
  // exist. Errors: the reasons of TK001 to TK014, with nothing moved.
  Result<std::int64_t> apply(const Transfer& transfer);

 private:
  Result<std::int64_t> issue(const Transfer& transfer, WalletState& wallet);

  std::int64_t now_ms_, issuance_;
  std::unordered_map<Uuid, WalletState, HashOfHash> wallets_;
};

// The refusals of a wallet as a sender and as a recipient, without regard to amounts (TK002 to
// TK004, TK006 to TK008). `wallet` is null if there is none.
Result<> check_sender(const Uuid& id, const WalletState* wallet);
Result<> check_recipient(const Uuid& id, const WalletState* wallet);
// TK009 and TK010.
Result<> check_funds(const WalletState& sender, std::int64_t amount);

}  // namespace coffer::token
