// A wallet's history from another program, as lines of JSON (docs/formats/wallet_history.md).
// Every line may come again and changes nothing then, so an import can be stopped and repeated.
#pragma once

#include <filesystem>
#include <functional>

#include <coffer/wallet/store.h>

namespace coffer::wallet {

inline constexpr std::size_t kMaxHistoryLine = 9'000'000;  // a transaction of 4 MB in hex, and more

struct HistoryImported {
  std::uint64_t lines = 0;    // of the file
  std::uint64_t resumed = 0;  // of them done by an earlier run
  std::uint64_t transactions = 0, unchanged = 0, descriptors = 0, addresses = 0, labels = 0,
                leases = 0;
  std::uint64_t passed_over = 0;  // leases of coins that are spent or held by now
};

struct HistoryImportOptions {
  // After every so many lines; false stops, and the next run goes on.
  std::function<bool(std::uint64_t lines)> progress = {};
};

// Reads the file into a wallet. Errors: kInvalidInput and others naming the line; all before it but
// at most a few hundred is kept. kCancelled, kTooLarge, kUnavailable.
Result<HistoryImported> import_history(Store& store, WalletId wallet,
                                       const std::filesystem::path& file,
                                       const HistoryImportOptions& options = {});

// The same into a new database that is thrown away, for a wallet that watches what this one does:
// tells what would be, and whether every line would be taken. The wallet's transactions, leases and
// labels are not there.
Result<HistoryImported> try_history(const Store& store, WalletId wallet,
                                    const std::filesystem::path& file,
                                    const HistoryImportOptions& options = {});

}  // namespace coffer::wallet
