// The state of a wallet as text, of the store and of the model: equal texts, equal states.
#pragma once

#include "wallet/support/engines.h"
#include "wallet/support/model.h"

namespace coffer::wallet::test {

// How the lists are asked for, so that paging and order are used as well.
struct DumpOptions {
  std::size_t page = 100;
  CoinOrder order = CoinOrder::kOldest;
  std::optional<Bytes> script = {};  // also the balance of this one
  bool mempool = true;               // whether the node has a transaction
  bool leases = true;                // also the list of them
};

std::string dump(const ModelWallet& wallet, const DumpOptions& options);
// What the tables of all wallets hold, in one statement and without ids: the same on every engine.
std::string dump_tables(sql::Database& database);
// Failures to read are failures of the test.
std::string dump(Store& store, WalletId wallet, const DumpOptions& options);

}  // namespace coffer::wallet::test
