// What the operations of people and of cleanup answer, for HTTP and command line. The command line
// reads them back when a daemon did the work.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "txstore/json/status.h"

namespace coffer::txstore {

struct PruneReport {
  bool dry_run = false;
  bool done = true;  // false: more is due; ask again
  std::uint64_t looked_at = 0, deleted = 0, deleted_conflicting = 0, kept = 0, expired = 0;
  std::uint64_t children_read = 0, marked_final = 0;
  std::vector<KeptCount> kept_by;
};

template <typename Visitor, json::FieldsOf<PruneReport> T>
void visit_fields(Visitor& v, T& report) {
  v("dry_run", report.dry_run);
  v("done", report.done);
  v("looked_at", report.looked_at);
  v("deleted", report.deleted);
  v("deleted_conflicting", report.deleted_conflicting);
  v("kept", report.kept);
  v("expired", report.expired);
  v("children_read", report.children_read);
  v("marked_final", report.marked_final);
  v("kept_by", report.kept_by);
}

PruneReport prune_report(const CleanupReport& report, bool dry_run);

// What somebody did to a transaction or to one of its outputs.
struct MarkReport {
  std::string operation;  // "preserve", "freeze" or "unfreeze"
  std::string tx_hash = {};
  std::optional<std::uint32_t> output_index = {};
  std::optional<std::uint64_t> until_height = {};
  std::string outcome = {};  // "done", or "unchanged" if it was so already
};

template <typename Visitor, json::FieldsOf<MarkReport> T>
void visit_fields(Visitor& v, T& report) {
  v("operation", report.operation);
  v("tx_hash", report.tx_hash);
  v("output_index", report.output_index);
  v("until_height", report.until_height);
  v("outcome", report.outcome);
}

// The operations, with their outcomes as errors. Thread-safe. Errors: kNotFound with the words of
// absence_text(); kConflict if the state of the output forbids it; those of the store.
Result<MarkReport> preserve_tx(Store& store, const Hash256& id, std::uint64_t until_height);
Result<MarkReport> freeze_output(Store& store, const chain::Outpoint& output);
Result<MarkReport> unfreeze_output(Store& store, const chain::Outpoint& output);

}  // namespace coffer::txstore
