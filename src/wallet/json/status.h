// What `coffer status` and GET /api/v1/status say of the wallets.
#pragma once

#include <optional>
#include <string>

#include "json/fields.h"

namespace coffer::wallet {

struct StatusReport {
  std::optional<std::uint64_t> wallets;     // nothing until they are counted
  std::optional<std::uint64_t> tip_height;  // nothing at Origin
  std::string problem;                      // why they cannot be read; empty otherwise
};

template <typename Visitor, json::FieldsOf<StatusReport> T>
void visit_fields(Visitor& v, T& status) {
  v("wallets", status.wallets);
  v("tip_height", status.tip_height);
  v("problem", status.problem);
}

}  // namespace coffer::wallet
