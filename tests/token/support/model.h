// A community ledger as plain data: every rule decided by brute force over all that ever happened,
// with none of the code under test. Invariant: after the same operations a Store answers and holds
// the same.
#pragma once

#include <map>
#include <string>
#include <vector>

#include <coffer/token/store.h>

namespace coffer::token::test {

// What an operation answered: a reason of refusal, "invalid_input", or empty if it was done.
struct Answer {
  std::string refused = {};
  bool is_repeat = false;
  std::int64_t balance = 0;  // of a transfer's sender

  friend bool operator==(const Answer&, const Answer&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Answer& answer);
};

class Model {
 public:
  enum class Owner : std::uint8_t { kUser, kSystem };
  struct Holder {  // a wallet and who owns it
    Owner owner = Owner::kUser;
    Uuid owner_id{};
    bool is_frozen = false, is_deleted = false;
    WalletLimits limits = {};
  };
  struct Moved {
    Transfer transfer;
    std::int64_t at_ms = 0, balance = 0;  // balance: of the sender, after it
    bool is_reversal = false, had_daily_limit = false;
  };
  struct HoldRow {
    NewHold hold;
    std::int64_t expires_at_ms = 0;
    HoldState state = HoldState::kOpen;
    Uuid transaction{};
    std::int64_t captured = 0;
  };

  std::int64_t now_ms = 0;

  void add_wallet(const Uuid& wallet, const Holder& holder) { wallets_[wallet] = holder; }

  Answer transfer(const Transfer& transfer);
  // As if somebody typed the INSERT: a hold counts until its row has ended, an id is taken.
  Answer raw_transfer(const Transfer& transfer);
  std::vector<Answer> batch(const std::vector<Transfer>& transfers, BatchMode mode);
  Answer reverse(const Uuid& transaction, const Uuid& reversal);
  Answer open_hold(const NewHold& hold);
  Answer capture_hold(const Uuid& hold, const Uuid& transaction,
                      std::optional<std::int64_t> amount);
  Answer release_hold(const Uuid& hold);
  void expire_holds();
  Answer set_deleted(const Uuid& user, bool deleted);
  Answer set_frozen(const Uuid& wallet, bool frozen);
  Answer set_limits(const Uuid& wallet, const WalletLimits& limits);

  const std::map<Uuid, Holder>& wallets() const { return wallets_; }
  const std::vector<Moved>& history() const { return history_; }
  const std::map<Uuid, HoldRow>& holds() const { return holds_; }
  std::int64_t balance(const Uuid& wallet) const;
  std::int64_t balance_at(const Uuid& wallet, std::int64_t at_ms) const;
  std::int64_t held(const Uuid& wallet) const;  // by rows that are open
  std::int64_t issued() const;
  Supply supply() const;

 private:
  const Moved* find(const Uuid& id) const;
  std::int64_t spent_today(const Uuid& wallet) const;
  std::string judge(const Transfer& transfer) const;
  Answer move(const Transfer& transfer, bool is_reversal = false);
  void expire_due(const Uuid& wallet);

  std::map<Uuid, Holder> wallets_;
  std::vector<Moved> history_;
  std::map<Uuid, HoldRow> holds_;
  std::map<Uuid, Uuid> reversals_;  // original to reversal
};

}  // namespace coffer::token::test
