#include "txstore/json/reports.h"

#include "base/result.h"
#include "txstore/json/explain.h"

namespace coffer::txstore {
namespace {

std::uint64_t not_negative(std::int64_t count) {
  return count > 0 ? static_cast<std::uint64_t>(count) : 0;
}

template <typename Number>
std::vector<KeptCount> counted_reasons(const Number (&kept)[retention::kReasons]) {
  std::vector<KeptCount> counts;
  for (std::size_t i = 1; i < retention::kReasons; ++i)
    if (kept[i] > 0)
      counts.push_back({std::string(to_string(static_cast<retention::Reason>(i))),
                        static_cast<std::uint64_t>(kept[i])});
  return counts;
}

// An operation of a person on one item; what was refused becomes an error.
Result<MarkReport> mark_outcome(const Store& store, MarkReport report, const Hash256& id,
                                const ItemResult& result) {
  report.tx_hash = chain::display(store.network().family, id);
  report.outcome = to_string(result.outcome);
  if (result.ok()) return report;
  const std::string output = report.output_index
                                 ? fmt::format("{}#{}", report.tx_hash, *report.output_index)
                                 : report.tx_hash;
  switch (result.outcome) {
    case Outcome::kNotFound: return fail(absence_error(store, id));
    case Outcome::kOutputNotFound:
      return fail(Code::kNotFound, "there is no output {} that somebody could spend", output);
    case Outcome::kSpent:
      return fail(Code::kConflict, "{} is spent{}, so that it cannot be frozen", output,
                  result.other.is_zero()
                      ? std::string(" by a rule of the ledger")
                      : " by " + chain::display(store.network().family, result.other));
    case Outcome::kNotFrozen: return fail(Code::kConflict, "{} is not frozen", output);
    default:
      return fail(Code::kConflict, "{} of {} was refused: {}", report.operation, output,
                  to_string(result.outcome));
  }
}

Result<ItemResult> the_only(Result<std::vector<ItemResult>> results) {
  const std::vector<ItemResult> all = TRY(std::move(results));
  if (all.size() != 1) return fail(Code::kInternal, "one item has {} answers", all.size());
  return all.front();
}

}  // namespace

std::vector<KeptCount> kept_counts(const std::int64_t (&kept)[retention::kReasons]) {
  return counted_reasons(kept);
}

StatusReport status_report(std::string_view backend, std::uint64_t window, const Stats& stats) {
  const Counts& counts = stats.counts;
  StatusReport report;
  report.backend = backend;
  report.records = not_negative(counts.records);
  report.bytes = not_negative(counts.bytes);
  report.unmined = not_negative(counts.unmined);
  report.conflicting = not_negative(counts.conflicting);
  report.final_entries = not_negative(counts.final_entries);
  report.kept = kept_counts(counts.kept);
  report.oldest_overdue = stats.oldest_overdue;
  if (stats.tip.final_height >= 0)
    report.final_height = static_cast<std::uint64_t>(stats.tip.final_height);
  report.window = window;
  report.parent_missing = not_negative(counts.parent_missing);
  report.damaged = report.parent_missing > 0 && !stats.tip.first_block;
  if (stats.tip.first_block) report.first_block = stats.tip.first_block->tip_height();
  return report;
}

PruneReport prune_report(const CleanupReport& report, bool dry_run) {
  return {.dry_run = dry_run,
          .done = report.done,
          .looked_at = report.looked_at,
          .deleted = report.deleted,
          .deleted_conflicting = report.deleted_conflicting,
          .kept = report.kept,
          .expired = report.expired,
          .children_read = report.children_read,
          .marked_final = report.marked_final,
          .kept_by = counted_reasons(report.kept_by)};
}

Result<MarkReport> preserve_tx(Store& store, const Hash256& id, std::uint64_t until_height) {
  const ItemResult result = TRY(the_only(store.preserve(std::span(&id, 1), until_height)));
  return mark_outcome(store, {.operation = "preserve", .until_height = until_height}, id, result);
}

Result<MarkReport> freeze_output(Store& store, const chain::Outpoint& output) {
  const ItemResult result = TRY(the_only(store.freeze(std::span(&output, 1))));
  return mark_outcome(store, {.operation = "freeze", .output_index = output.index}, output.tx,
                      result);
}

Result<MarkReport> unfreeze_output(Store& store, const chain::Outpoint& output) {
  const ItemResult result = TRY(the_only(store.unfreeze(std::span(&output, 1))));
  return mark_outcome(store, {.operation = "unfreeze", .output_index = output.index}, output.tx,
                      result);
}

}  // namespace coffer::txstore
