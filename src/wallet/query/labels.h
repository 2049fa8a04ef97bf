// What people call transactions, addresses and outputs, looked up a page at a time.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <coffer/chain/network.h>
#include <coffer/wallet/types.h>
#include "sql/connection.h"

namespace coffer::wallet {

// What a label of each kind is kept under (Store::set_label).
std::string label_ref(const Hash256& tx);
std::string label_ref(const chain::Network& network, ByteView script);
std::string label_ref(const chain::Outpoint& output);

// Where a label goes; one that is not there leaves it empty.
struct LabelPlace {
  std::string ref;
  std::string* label = nullptr;
};
// Many in one statement. The places are made only if the wallet has labels of this kind: to spell
// the names of a page costs more than to read it. Errors: those of sql::Reader.
Result<> read_labels(sql::Reader& sql, WalletId wallet, std::string_view kind,
                     const std::function<std::vector<LabelPlace>()>& make_places);

// The labels of a page.
Result<> add_labels(sql::Reader& sql, WalletId wallet, std::span<HistoryEntry> entries);
Result<> add_labels(sql::Reader& sql, const chain::Network& network, WalletId wallet,
                    std::span<Coin> coins);
Result<> add_labels(sql::Reader& sql, const chain::Network& network, WalletId wallet,
                    std::span<AddressInfo> addresses);
Result<> add_labels(sql::Reader& sql, const chain::Network& network, WalletId wallet,
                    TxDetail& detail);

// In the one form in which it is kept: a txid, an address, or TXID:INDEX.
struct LabelTarget {
  std::string kind, ref;
};
// An output is written TXID#INDEX or TXID:INDEX. Thread-safe. Errors: kInvalidInput.
Result<LabelTarget> parse_label_target(const chain::Network& network, std::string_view kind,
                                       std::string_view ref);

}  // namespace coffer::wallet
