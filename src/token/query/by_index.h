// Reads whose cost must not grow with the tables.
#pragma once

#include "token/store_impl.h"

namespace coffer::token {

enum class IndexOrder : std::uint8_t {
  kComplete,  // an index has the statement's whole order
  kWithTies,  // an index has its first column; rows that are equal there are sorted
};

// As sql::Reader::query(), for a statement that has an index for its order. PostgreSQL may choose,
// and after some calls keep for all parameters, to sort all rows of a large wallet, or to walk the
// history of all in search of the few rows of a small one. So anything but walking along the right
// index is switched off until the next call in this transaction, in the same wait. Then one plan
// serves all parameters, and making it for each call, which probes the ends of indexes, is spared.
Result<sql::Rows> query_by_index(sql::Transaction& sql, const Community& community,
                                 std::string_view text, sql::Params params,
                                 IndexOrder order = IndexOrder::kComplete);

}  // namespace coffer::token
