// What can be said about a transfer without the database.
#pragma once

#include <coffer/token/types.h>
#include "base/result.h"

namespace coffer::token {

// Errors: kInvalidInput naming the field that is out of its range. Blanks around metadata go: they
// are no part of the object.
Result<> check_transfer(Transfer& transfer);
Result<> check_memo(const std::optional<std::string>& memo);
Result<> check_amount(std::int64_t amount);

}  // namespace coffer::token
