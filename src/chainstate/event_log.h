// A consumer that keeps the last events as numbered lines of JSON, for GET /api/v1/events.
//
// Column events: id → type and data. The next id is in chain_meta, in the same commit.
// Invariant: ids grow by one across restarts; the newest `keep` are there.
#pragma once

#include <atomic>

#include "chainstate/event_reader.h"
#include "chainstate/grouped_writer.h"

namespace coffer::chainstate {

class EventLog final : public bus::Consumer, public EventReader {
 public:
  static std::vector<kv::ColumnOptions> columns();
  // Errors: kCorrupt, kUnavailable.
  static Result<std::unique_ptr<EventLog>> open(kv::Database& db, chain::Family family,
                                                std::uint64_t keep);

  std::string_view name() const override { return "events"; }
  bus::Position position() const override { return writer_->position(); }
  Result<> on_block(const bus::BlockApplied& block) override;
  Result<> on_rollback(const bus::RolledBack& rollback) override;
  Result<> flush() override;
  std::string repair() const override;

  Range range() const override;
  Result<std::vector<LoggedEvent>> read(std::uint64_t after, std::size_t limit) const override;
  void on_append(std::function<void()> wake) override;

 private:
  EventLog(kv::Database& db, chain::Family family, std::uint64_t keep)
      : db_(db), family_(family), keep_(keep) {}
  void append_event(kv::Batch& batch, std::string_view type, std::string_view data);
  Result<std::uint64_t> stored_last_id() const;
  // After a commit, or a failed one: readers see what is stored, and are told of news.
  Result<> publish_committed(Result<> done);

  kv::Database& db_;
  const chain::Family family_;
  const std::uint64_t keep_;
  kv::Column column_, headers_, meta_;
  std::unique_ptr<GroupedWriter> writer_;
  std::uint64_t last_id_ = 0;               // given, maybe not committed yet; the writer's own
  std::atomic<std::uint64_t> readable_{0};  // committed
  std::mutex wake_mutex_;
  std::function<void()> wake_;
};

}  // namespace coffer::chainstate
