// The status of the dummy engine.
#pragma once

#include "json/fields.h"

namespace coffer::dummy {

struct StatusReport {
  std::uint64_t visits = 0;
};

template <typename Visitor, json::FieldsOf<StatusReport> T>
void visit_fields(Visitor& v, T& status) {
  v("visits", status.visits);
}

}  // namespace coffer::dummy
