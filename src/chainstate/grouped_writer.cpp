#include "chainstate/grouped_writer.h"

#include "base/result.h"
#include "bus/position_codec.h"

namespace coffer::chainstate {

Result<std::unique_ptr<GroupedWriter>> GroupedWriter::open(kv::Database& db, std::string_view key) {
  std::unique_ptr<GroupedWriter> writer(new GroupedWriter(db, key));
  writer->meta_ = TRY(db.column(kMetaColumn));
  if (auto stored = TRY(db.get(writer->meta_, as_bytes(key))))
    writer->position_ = TRY_IN(key, bus::decode_position(*stored));
  writer->committed_ = writer->position_;
  return writer;
}

bus::Position GroupedWriter::position() const {
  std::lock_guard lock(mutex_);
  return position_;
}

bus::Position GroupedWriter::committed() const {
  std::lock_guard lock(mutex_);
  return committed_;
}

Result<> GroupedWriter::commit(const bus::Position& to) {
  batch_.put(meta_, as_bytes(key_), bus::encode_position(to));
  Result<> result = db_.commit(batch_);
  batch_.clear();
  held_ = {};
  std::lock_guard lock(mutex_);
  if (result) committed_ = to;
  // Blocks held back went with the batch: doing the last call again would pass them over.
  else
    result.error().retryable = false;
  position_ = committed_;
  return result;
}

Result<> GroupedWriter::apply(const bus::BlockApplied& block,
                              const std::function<void(kv::Batch&)>& change) {
  if (policy_.must_commit_before(held_, block)) TRY(flush());
  change(batch_);
  held_ = {held_.blocks + 1, batch_.size_bytes(), policy_.is_below_window(block)};
  if (policy_.must_commit_after(held_, block)) return commit(block.position());
  std::lock_guard lock(mutex_);
  position_ = block.position();
  return {};
}

Result<> GroupedWriter::move_to(const bus::Position& to,
                                const std::function<void(kv::Batch&)>& change) {
  TRY(flush());
  change(batch_);
  return commit(to);
}

Result<> GroupedWriter::flush() {
  if (held_.blocks == 0) return {};
  return commit(position());
}

}  // namespace coffer::chainstate
