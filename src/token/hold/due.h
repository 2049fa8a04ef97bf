// Holds whose time has passed. A hold counts until its row says that it ended (T10): whoever finds
// one in his way ends it, and Store::expire_holds() ends the rest.
#pragma once

#include <span>
#include <vector>

#include "token/community.h"

namespace coffer::token {

struct DueHold {
  Uuid id{}, wallet{}, to{};
};

// Open holds of these wallets whose time has passed, ended. Wallets that are locked elsewhere, and
// holds that somebody else is ending, are left for later. How many it ended.
Result<std::size_t> expire_holds_of(sql::Transaction& sql, const Community& community,
                                    std::span<const Uuid> wallets, std::int64_t now_ms);
// Of the whole community, the oldest first, at most `limit`.
Result<std::vector<DueHold>> find_due_holds(sql::Reader& sql, const Community& community,
                                            std::int64_t now_ms, std::size_t limit);
// These of them.
Result<std::size_t> expire_due(sql::Transaction& sql, const Community& community,
                               std::span<const DueHold> holds, std::int64_t now_ms);

}  // namespace coffer::token
