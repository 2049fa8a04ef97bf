// A row of the table of holds.
#pragma once

#include "token/community.h"

namespace coffer::token {

// The columns of every SELECT of holds; the table has the alias h.
#define COFFER_HOLD_COLUMNS                                                                 \
  "h.id, h.wallet_id, h.to_wallet_id, h.amount, h.captured, h.state, h.created_by, h.memo," \
  " h.created_at, h.expires_at, h.ended_at, h.capture_transaction_id"

Result<Hold> read_hold(const sql::Rows& rows, const Community& community);
Result<std::optional<Hold>> find_hold_row(sql::Reader& sql, const Community& community,
                                          const Uuid& id);

}  // namespace coffer::token
