// What the rooms of the store share.
#pragma once

#include <memory>

#include <coffer/token/store.h>
#include "base/result.h"
#include "sql/connection.h"
#include "token/community.h"
#include "token/reasons.h"

namespace coffer::token {

class GroupCommit;  // transfer/group_commit.h

struct Store::Impl {
  Impl(sql::Database& database, StoreOptions given);
  ~Impl();

  StoreOptions options;
  Community community;
  std::unique_ptr<GroupCommit> groups;  // last: its threads use the rest
};

inline constexpr sql::TransactionOptions kRead = {.access = sql::Access::kRead};
// Doing any of these twice is the same as once (E3).
inline constexpr sql::TransactionOptions kWrite = {.idempotent = true};

// Errors: kInvalidInput for a name, memo, reason or actor that breaks 002's rules, naming it.
Result<> check_actor(const Actor& actor);
Result<> check_reason(const Actor& actor);  // that there is one
Result<> check_username(std::string_view name);
Result<> check_account_name(std::string_view name);
// Errors: kInvalidInput for a count of 0 or above kMaxPage.
Result<> check_page(const PageOptions& page);
// Errors: kInvalidInput, naming `what`, for no UTF-8 text or another number of characters.
Result<> check_text(std::string_view what, std::string_view text, std::size_t least,
                    std::size_t most);
// A number of characters, not bytes; nothing for what is no UTF-8.
std::optional<std::size_t> count_characters(std::string_view text);

}  // namespace coffer::token
