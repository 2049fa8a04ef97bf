#include "chainstate/event_log.h"
#include "base/result.h"

namespace coffer::chainstate {
namespace {

const ByteView kLastIdKey = as_bytes("events.last_id");

std::array<std::uint8_t, 8> id_key(std::uint64_t id) {
  return ordinal_key(Ordinal(id));
}

}  // namespace

std::vector<kv::ColumnOptions> EventLog::columns() {
  return {{.name = "events", .write_buffer_bytes = 8u << 20}};
}

Result<std::unique_ptr<EventLog>> EventLog::open(kv::Database& db, chain::Family family,
                                                 std::uint64_t keep) {
  std::unique_ptr<EventLog> log(new EventLog(db, family, keep));
  log->column_ = TRY(db.column("events"));
  log->headers_ = TRY(db.column("chain_headers"));
  log->meta_ = TRY(db.column(kMetaColumn));
  log->writer_ = TRY(GroupedWriter::open(db, "events.position"));
  log->last_id_ = TRY(log->stored_last_id());
  log->readable_ = log->last_id_;
  return log;
}

Result<std::uint64_t> EventLog::stored_last_id() const {
  auto stored = TRY(db_.get(meta_, kLastIdKey));
  if (!stored) return 0;
  if (stored->size() != 8)
    return fail(Code::kCorrupt, "the last event id has {} bytes", stored->size());
  return load_be64(stored->data());
}

void EventLog::append_event(kv::Batch& batch, std::string_view type, std::string_view data) {
  ++last_id_;
  Bytes value = {static_cast<std::uint8_t>(type.size())};
  append(value, as_bytes(type));
  append(value, as_bytes(data));
  batch.put(column_, id_key(last_id_), value);
  batch.put(meta_, kLastIdKey, id_key(last_id_));
  if (last_id_ > keep_) batch.del(column_, id_key(last_id_ - keep_));
}

Result<> EventLog::publish_committed(Result<> done) {
  if (!done) last_id_ = TRY(stored_last_id());
  if (writer_->committed() == writer_->position()) {
    readable_ = last_id_;
    std::lock_guard lock(wake_mutex_);
    if (wake_) wake_();
  }
  return done;
}

Result<> EventLog::on_block(const bus::BlockApplied& applied) {
  const chain::Block& block = *applied.block;
  return publish_committed(writer_->apply(applied, [&](kv::Batch& batch) {
    append_event(
        batch, "block",
        fmt::format(R"({{"ordinal":{},"number":{},"slot":{},"hash":"{}","prev":"{}","time":{},)"
                    R"("transactions":{},"bytes":{}}})",
                    applied.ordinal.value, block.number.value, block.slot.value,
                    display(block.family, block.hash), display(block.family, block.prev),
                    block.time_unix_s, block.txs.size(), block.raw.size()));
  }));
}

Result<> EventLog::on_rollback(const bus::RolledBack& rollback) {
  TRY(flush());
  const bus::Position& to = rollback.to;
  const std::uint64_t depth = position().block_count() - to.block_count();
  std::string target = "null";
  if (!to.at_origin) {
    const auto stored = TRY(db_.get(headers_, to.point.hash.view()));
    if (!stored)
      return fail(Code::kCorrupt, "the header at ordinal {} is missing", to.ordinal.value);
    const HeaderInfo header = TRY(decode_header(to.point.hash, *stored));
    target = fmt::format(R"({{"ordinal":{},"number":{},"slot":{},"hash":"{}"}})", to.ordinal.value,
                         header.number.value, header.slot.value, display(family_, header.hash));
  }
  return publish_committed(writer_->move_to(to, [&](kv::Batch& batch) {
    append_event(batch, "rollback", fmt::format(R"({{"depth":{},"to":{}}})", depth, target));
  }));
}

Result<> EventLog::flush() {
  return publish_committed(writer_->flush());
}

std::string EventLog::repair() const {
  return "run 'coffer rebuild events', then start again";
}

EventReader::Range EventLog::range() const {
  const std::uint64_t last = readable_;
  return {last > keep_ ? last - keep_ + 1 : 1, last};
}

Result<std::vector<LoggedEvent>> EventLog::read(std::uint64_t after, std::size_t limit) const {
  std::vector<LoggedEvent> events;
  kv::Iterator it = db_.iterate(column_);
  for (it.seek(id_key(after + 1)); it.valid() && events.size() < limit; it.next()) {
    const ByteView value = it.value();
    if (it.key().size() != 8 || value.empty() || value.size() < 1u + value[0])
      return fail(Code::kCorrupt, "an entry of the event log cannot be read");
    events.push_back({load_be64(it.key().data()), std::string(as_text(value.subspan(1, value[0]))),
                      std::string(as_text(value.subspan(1 + value[0])))});
  }
  TRY(it.status());
  return events;
}

void EventLog::on_append(std::function<void()> wake) {
  std::lock_guard lock(wake_mutex_);
  wake_ = std::move(wake);
}

}  // namespace coffer::chainstate
