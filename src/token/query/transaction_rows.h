// Transactions as people read them: the row, and what stands about it in other tables.
#pragma once

#include <span>

#include "token/store_impl.h"

namespace coffer::token {

// Columns: id, from_wallet_id, to_wallet_id, amount, transaction_type, created_at.
Result<Transaction> read_transaction(const Community& community, const sql::Rows& rows);

// Adds names of owners, memo, metadata, actor, reversals and the place in the log. Cost: some
// look-ups by key for each, on PostgreSQL in one statement.
Result<> describe_transactions(sql::Transaction& sql, const Community& community,
                               std::span<Transaction> transactions);

}  // namespace coffer::token
