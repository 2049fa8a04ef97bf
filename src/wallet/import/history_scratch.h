// A database that is thrown away, with what a wallet watches: for trying a history.
#pragma once

#include <filesystem>

#include <coffer/wallet/store.h>
#include "sql/connection.h"

namespace coffer::wallet {

class ScratchWallet {
 public:
  // Copies the accounts, descriptors and addresses of a wallet, as one snapshot. Cost: its
  // addresses. Errors: those of sql::Reader; kUnavailable if there is no place for it.
  static Result<std::unique_ptr<ScratchWallet>> copy(const Store& store, WalletId wallet);
  ~ScratchWallet();

  Store& store() { return *store_; }
  WalletId wallet() const { return wallet_; }

 private:
  ScratchWallet() = default;
  Result<> open(const Store& from, const WalletInfo& original);
  Result<> copy_rows(const Store& from, WalletId wallet);

  std::filesystem::path dir_;
  std::unique_ptr<sql::Database> database_;
  std::unique_ptr<Store> store_;
  WalletId wallet_;
};

}  // namespace coffer::wallet
