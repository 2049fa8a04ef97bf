#include "chainstate/totals.h"

#include "base/result.h"
#include "crypto/sha256.h"

namespace coffer::chainstate {
namespace {

constexpr std::size_t kRecordBytes = 6 * 8 + 32;

Bytes encode(const TotalsRecord& r) {
  Bytes out;
  out.reserve(kRecordBytes);
  for (std::uint64_t n :
       {r.blocks, r.transactions, r.invalid_transactions, r.inputs, r.outputs, r.bytes})
    append_be64(out, n);
  append(out, r.digest.view());
  return out;
}

Result<TotalsRecord> decode_totals(ByteView data) {
  if (data.size() != kRecordBytes)
    return fail(Code::kCorrupt, "a totals record has {} bytes", data.size());
  TotalsRecord r;
  std::uint64_t* fields[] = {&r.blocks, &r.transactions, &r.invalid_transactions,
                             &r.inputs, &r.outputs,      &r.bytes};
  for (std::size_t i = 0; i < std::size(fields); ++i) *fields[i] = load_be64(data.data() + 8 * i);
  r.digest = Hash256::from(data.data() + 48);
  return r;
}

TotalsRecord add(TotalsRecord r, const chain::Block& block) {
  crypto::Sha256 hasher;
  hasher.update(r.digest.view()).update(block.hash.view());
  for (const chain::Tx& tx : block.txs) {
    const std::uint8_t valid = tx.valid ? 1 : 0;
    hasher.update(tx.id.view()).update({&valid, 1});
    r.invalid_transactions += tx.valid ? 0 : 1;
    r.inputs += block.spent_by(tx).size();
    block.for_each_created(tx, [&](std::uint32_t, const chain::Output&, bool) { ++r.outputs; });
  }
  r.blocks += 1;
  r.transactions += block.txs.size();
  r.bytes += block.raw.size();
  r.digest = hasher.finish();
  return r;
}

}  // namespace

std::vector<kv::ColumnOptions> Totals::columns() {
  return {{.name = "totals", .write_buffer_bytes = 8u << 20}};
}

Result<std::unique_ptr<Totals>> Totals::open(kv::Database& db, std::uint64_t window) {
  std::unique_ptr<Totals> totals(new Totals(db, window));
  totals->column_ = TRY(db.column("totals"));
  totals->writer_ = TRY(GroupedWriter::open(db, "totals.position"));
  totals->current_ = TRY_IN("totals", totals->record_at(totals->position()));
  return totals;
}

Result<TotalsRecord> Totals::record_at(const bus::Position& position) const {
  if (position.at_origin) return TotalsRecord{};
  auto stored = TRY(db_.get(column_, ordinal_key(position.ordinal)));
  if (!stored)
    return fail(Code::kBeyondWindow, "the record at ordinal {} is no longer kept; {} blocks are",
                position.ordinal.value, window_);
  return decode_totals(*stored);
}

TotalsRecord Totals::current() const {
  std::lock_guard lock(mutex_);
  return current_;
}

void Totals::set_current(const TotalsRecord& record) {
  std::lock_guard lock(mutex_);
  current_ = record;
}

Result<> Totals::on_block(const bus::BlockApplied& block) {
  const TotalsRecord record = add(current(), *block.block);
  Result<> done = writer_->apply(block, [&](kv::Batch& batch) {
    batch.put(column_, ordinal_key(block.ordinal), encode(record));
    if (block.ordinal.value > window_)
      batch.del(column_, ordinal_key(block.ordinal.minus(window_ + 1)));
  });
  // A failed commit takes held-back blocks with it: go back to what is stored.
  set_current(done ? record : TRY(record_at(position())));
  return done;
}

Result<> Totals::flush() {
  Result<> done = writer_->flush();
  if (!done) set_current(TRY(record_at(position())));
  return done;
}

Result<> Totals::on_rollback(const bus::RolledBack& rollback) {
  TRY(flush());
  const bus::Position from = position();
  const TotalsRecord record = TRY(record_at(rollback.to));
  TRY(writer_->move_to(rollback.to, [&](kv::Batch& batch) {
    batch.del_range(column_, ordinal_key(Ordinal(rollback.to.block_count())),
                    ordinal_key(Ordinal(from.block_count())));
  }));
  set_current(record);
  return {};
}

std::string Totals::repair() const {
  return "run 'coffer rebuild totals', then start again";
}

}  // namespace coffer::chainstate
