// A story in which things are pruned, and what must add up all the while.
#pragma once

#include "base/result.h"
#include "wallet/support/wallet_test.h"

namespace coffer::wallet::test {

class PruneTest : public WalletTest {
 protected:
  Pruned prune(const PruneOptions& options = {}) {
    const auto done = store().prune(alice_, options);
    ok(done);
    return done.value_or(Pruned{});
  }
  std::int64_t summary(std::string_view column) {
    return number(fmt::format("SELECT coalesce((SELECT {} FROM pruned_summary), 0)", column));
  }
  // Received minus spent, of what is kept and what is pruned.
  std::int64_t totals() {
    return number(
               "SELECT CAST(coalesce(sum(u.amount), 0) AS BIGINT) FROM utxos u JOIN transactions t"
               " ON t.wallet_id = u.wallet_id AND t.id = u.tx_id WHERE t.status = 'published'") -
           number(
               "SELECT CAST(coalesce(sum(i.amount), 0) AS BIGINT) FROM tx_inputs i"
               " JOIN transactions t ON t.wallet_id = i.wallet_id AND t.id = i.tx_id"
               " WHERE t.status = 'published'") +
           summary("received") - summary("spent");
  }
};

}  // namespace coffer::wallet::test
