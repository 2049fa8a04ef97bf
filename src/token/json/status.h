// What `coffer status` and GET /api/v1/status say of the token ledger.
#pragma once

#include <optional>
#include <string>

#include "json/fields.h"

namespace coffer::token {

struct StatusReport {
  std::uint64_t communities = 0;          // that are served
  std::optional<std::uint64_t> wallets;   // of all of them; nothing until they are counted
  std::optional<std::uint64_t> unlogged;  // changes that are not in the log yet
  std::string problem;                    // empty unless something is wrong
};

template <typename Visitor, json::FieldsOf<StatusReport> T>
void visit_fields(Visitor& v, T& status) {
  v("communities", status.communities);
  v("wallets", status.wallets);
  v("unlogged", status.unlogged);
  v("problem", status.problem);
}

}  // namespace coffer::token
