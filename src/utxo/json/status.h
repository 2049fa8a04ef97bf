// What `coffer status` and GET /api/v1/status say of the UTXO state.
#pragma once

#include <optional>
#include <string>

#include "json/fields.h"

namespace coffer::utxo {

struct StatusReport {
  std::string store;  // "classic" or "mmr"
  std::uint64_t unspent = 0;
  std::string coin;                        // their value in the smallest unit: more than 64 bits
  std::string unit;                        // of it: "satoshi" or "lovelace"
  std::optional<std::uint64_t> addresses;  // with unspent outputs, when last counted
  std::uint64_t rollback_blocks = 0;       // that can be undone now
  std::uint64_t missing_inputs = 0;        // since the process started
};

template <typename Visitor, json::FieldsOf<StatusReport> T>
void visit_fields(Visitor& v, T& status) {
  v("store", status.store);
  v("unspent", status.unspent);
  v("coin", status.coin);
  v("unit", status.unit);
  v("addresses", status.addresses);
  v("rollback_blocks", status.rollback_blocks);
  v("missing_inputs", status.missing_inputs);
}

}  // namespace coffer::utxo
