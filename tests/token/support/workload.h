// One random sequence of operations on a community: the same on a Store and on the Model, with all
// balances compared after each step. A failure names the seed and the step.
#pragma once

#include <memory>
#include <set>

#include "base/random.h"
#include "sql/test_engines.h"
#include "token/support/model.h"

namespace coffer::token::test {

// How often each answer was met, by the name of the reason.
using Coverage = std::map<std::string, std::uint64_t>;

// A database for many sequences, each in a community of its own: a file on SQLite, a schema on
// PostgreSQL.
class Workload {
 public:
  // `location` as of sql::DatabaseOptions; on SQLite a directory.
  Workload(std::uint64_t seed, std::string location, Coverage& met);
  ~Workload();

  // Stops at the first difference.
  void run(int steps);

 private:
  void begin();
  void open_store();
  void set_clock(std::int64_t now_ms);

  void step();
  void transfer();
  void raw_transfer();
  void raw_damage();
  void batch();
  void reverse();
  void hold();
  void end_hold();
  void accounts();
  void limits();
  void move_clock();
  void crash();
  void together();

  void compare(const char* what, const Answer& got, const Answer& expected);
  void compare_state();
  void compare_history();

  Uuid new_id();
  Uuid some_wallet();
  Uuid some_user();
  std::int64_t some_amount(const Uuid& wallet);
  Transfer some_transfer();

  const std::uint64_t seed_;
  const std::string location_;
  Coverage& met_;
  Rng rng_;
  ManualClock clock_;
  Model model_;
  std::vector<Uuid> users_, wallets_;  // wallets_: of system accounts first
  std::string community_;
  std::unique_ptr<sql::Database> database_;
  std::unique_ptr<Store> store_;
  int step_ = 0;
  bool holds_are_due_ = false;  // the clock has moved and nothing has expired what is due
};

}  // namespace coffer::token::test
