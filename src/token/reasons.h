// The reasons of refusals: the codes of the schema's triggers (TK001 …) and the stable words that
// programs see for them. docs/token.md has the table for people.
#pragma once

#include <span>
#include <string_view>

#include <coffer/base/error.h>

namespace coffer::token {

struct Reason {
  std::string_view state;  // of the schema, "TK009"; empty for what only the store refuses
  std::string_view name;   // "insufficient_balance"
  Code code;
};

std::span<const Reason> reasons();
// By state; null for one that is unknown.
const Reason* find_reason(std::string_view state);
// An error with that reason. The name must be one of the table.
Error refusal(std::string_view reason_name, std::string message);

}  // namespace coffer::token
