// What `coffer status` and GET /api/v1/status say of the transaction store.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <coffer/txstore/store.h>
#include "json/fields.h"

namespace coffer::txstore {

// Transactions that are kept although their time has come, by one reason.
struct KeptCount {
  static constexpr std::string_view kSchema = "TxKeptCount";
  std::string reason;
  std::uint64_t count = 0;
};

template <typename Visitor, json::FieldsOf<KeptCount> T>
void visit_fields(Visitor& v, T& kept) {
  v("reason", kept.reason);
  v("count", kept.count);
}

struct StatusReport {
  std::string backend;  // "rocksdb", "sqlite" or "postgres"
  std::uint64_t records = 0, bytes = 0, unmined = 0, conflicting = 0, final_entries = 0;
  std::vector<KeptCount> kept;                // reasons with a count above zero
  std::uint64_t oldest_overdue = 0;           // in blocks
  std::optional<std::uint64_t> final_height;  // nothing while the chain is shorter than the window
  std::uint64_t window = 0;
  std::uint64_t parent_missing = 0;
  bool damaged = false;                      // parents are missing in a store begun at Origin (X5)
  std::optional<std::uint64_t> first_block;  // height; nothing if it began at Origin
  std::string problem;                       // why it cannot be read; empty otherwise
};

template <typename Visitor, json::FieldsOf<StatusReport> T>
void visit_fields(Visitor& v, T& status) {
  v("backend", status.backend);
  v("records", status.records);
  v("bytes", status.bytes);
  v("unmined", status.unmined);
  v("conflicting", status.conflicting);
  v("final_entries", status.final_entries);
  v("kept", status.kept);
  v("oldest_overdue", status.oldest_overdue);
  v("final_height", status.final_height);
  v("window", status.window);
  v("parent_missing", status.parent_missing);
  v("damaged", status.damaged);
  v("first_block", status.first_block);
  v("problem", status.problem);
}

// Thread-safe.
StatusReport status_report(std::string_view backend, std::uint64_t window, const Stats& stats);

// For the gauges and the status: what counts as a reason to keep, all but kDeletable.
std::vector<KeptCount> kept_counts(const std::int64_t (&kept)[retention::kReasons]);

}  // namespace coffer::txstore
