// Reads whose cost must not grow with the tables.
#pragma once

#include "token/store_impl.h"

namespace coffer::token {

// As sql::Reader::query(), for a statement that has an index for its order. PostgreSQL keeps one
// plan for all parameters once it believes that this is no worse; for a table of many small wallets
// that plan reads and sorts all rows of a wallet, and a large one takes minutes. So anything but
// walking along indexes is switched off until the end of the transaction, in the same wait.
Result<sql::Rows> query_by_index(sql::Transaction& sql, const Community& community,
                                 std::string_view text, sql::Params params);

}  // namespace coffer::token
