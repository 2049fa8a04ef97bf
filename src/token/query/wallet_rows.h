// A wallet as it is, and its balance at a moment of the past.
#pragma once

#include "token/store_impl.h"

namespace coffer::token {

Result<std::optional<Wallet>> find_wallet_row(sql::Reader& sql, const Community& community,
                                              const Uuid& wallet);
// The balance by the last entry booked up to a moment; nothing if there is none. Cost: one look-up.
Result<std::optional<std::int64_t>> find_balance_at(sql::Reader& sql, const Community& community,
                                                    const Uuid& wallet, std::int64_t at_ms);

}  // namespace coffer::token
