// What `coffer bench token` measures on: a community with many wallets, and beside it 002's tables
// with 002's own triggers, or with none.
#pragma once

#include <functional>

#include <coffer/token/store.h>
#include "base/random.h"
#include "base/result.h"

namespace coffer::token {

// 002's plain trigger path: its four tables, foreign keys, indexes and row triggers as they stand
// in the specification, in a schema of its own. With triggers = false a bare INSERT remains.
class PlainLedger {
 public:
  // Makes the schema; one of that name goes first.
  static Result<PlainLedger> make(sql::Database& database, std::string schema, bool triggers,
                                  std::size_t wallets);
  Result<> drop();

  // One durable transaction with one INSERT, as pgbench would do it: in one wait for the server.
  Result<> insert(sql::Connection& connection, const Transfer& transfer) const;
  // One statement with all of them.
  Result<> insert_all(sql::Connection& connection, std::span<const Transfer> transfers) const;

  const std::vector<Uuid>& wallets() const { return wallets_; }

 private:
  PlainLedger(sql::Database& database, std::string schema);
  sql::Database* database_;
  std::string schema_, insert_one_, insert_all_;
  std::vector<Uuid> wallets_;  // the first is rich enough for everything
};

// A community whose wallets have tokens, the first of them a system wallet.
struct BenchCommunity {
  std::unique_ptr<Store> store;
  std::vector<Uuid> wallets;
};
Result<BenchCommunity> make_bench_community(sql::Database& database, const std::string& name,
                                            std::size_t wallets);
Result<> drop_schema(sql::Database& database, const std::string& name);

enum class BenchLoad : std::uint8_t {
  kUniform,  // between any two wallets
  kHot,      // from the first wallet to any other
};
Transfer bench_transfer(Rng& rng, std::span<const Uuid> wallets, BenchLoad load);

// Calls `one` in a loop on so many threads for so long; how often a second it succeeded. The
// threads have numbers from 0. Errors: the first that is not retryable.
Result<double> rate_of(std::size_t threads, double seconds,
                       const std::function<Result<>(std::size_t thread, Rng& rng)>& one);

}  // namespace coffer::token
