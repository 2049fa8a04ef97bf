// JSON from outside, where a field that is there twice is a mistake and not a choice.
#pragma once

#include <boost/json/fwd.hpp>

#include "base/result.h"

namespace coffer::wallet {

// Thread-safe. Errors: kInvalidInput: no JSON, nested deeper, or an object that has a name twice.
Result<boost::json::value> parse_strict_json(std::string_view text, std::size_t max_depth = 32);

}  // namespace coffer::wallet
