// What people and programs give to ask or change a wallet: hashes, lock ids, filters.
// The command line and HTTP read them here alike. Each error says what is wrong with which value,
// in one line.
#pragma once

#include <coffer/wallet/store.h>
#include "chain/bitcoin_limits.h"
#include "http/message.h"
#include "wallet/query/labels.h"

namespace coffer::wallet {

// All are thread-safe. Errors: kInvalidInput.

inline constexpr std::uint64_t kMaxHeight = 0x7fffffff;

// 64 hex digits, as Bitcoin prints a transaction or block. `what` is for the error.
Result<Hash256> parse_hash(std::string_view what, std::string_view text);
// 64 hex digits: 32 bytes that the holder chose.
Result<wallet::LockId> parse_lock_id(std::string_view text);
Result<wallet::CoinOrder> parse_order(std::string_view text);
Result<std::uint64_t> parse_satoshi(std::string_view text);
// What is to be paid: not nothing.
Result<std::uint64_t> parse_payment(std::string_view text);
// Hex in either case, with blanks and line ends around it.
Result<Bytes> parse_raw_tx(std::string_view text);
// 1 to 10,000 bytes in hex.
Result<Bytes> parse_script(std::string_view text);

using wallet::LabelTarget;
using wallet::parse_label_target;

// count (1 to 1,000), cursor.
Result<wallet::PageOptions> parse_wallet_page(const http::Fields& query);

// account or address.
Result<wallet::Scope> parse_scope(const chain::Network& network, const http::Fields& query);

Result<wallet::CoinQuery> parse_coin_query(const chain::Network& network,
                                           const http::Fields& query);

Result<wallet::HistoryQuery> parse_history_query(const http::Fields& query);

}  // namespace coffer::wallet
