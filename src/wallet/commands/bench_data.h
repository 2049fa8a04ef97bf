// The data of `coffer bench wallet`: wallets of a given size, put into the tables directly.
#pragma once

#include <coffer/wallet/store.h>

namespace coffer::wallet {

struct WalletLoad {
  std::uint64_t coins = 0;    // unspent, over all wallets
  std::uint64_t history = 1;  // spent ones for each of them
  std::uint64_t wallets = 1;
};

inline constexpr std::uint64_t kBenchBlocks = 1'000;
inline constexpr std::uint64_t kBenchCoinsPerTx = 10;
inline constexpr std::uint64_t kBenchAddresses = 50;  // of each wallet; their numbers go on

// A p2wpkh script of its own for each number.
Bytes bench_script(std::uint64_t number);
// The id of a funding transaction; its coins are 0 to kBenchCoinsPerTx - 1.
Hash256 bench_txid(std::uint64_t number);

// Fills an empty database: transactions that pay ten coins each over kBenchBlocks blocks, the
// spent ones first, and transactions that spend ten of them. The first wallet has id 1 on a new
// database. Errors: those of SQL.
Result<> load_wallets(wallet::Store& store, const WalletLoad& load);

}  // namespace coffer::wallet
