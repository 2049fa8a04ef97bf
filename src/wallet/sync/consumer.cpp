#include <coffer/wallet/consumer.h>

#include <coffer/base/log.h>
#include "base/result.h"
#include "bus/position_codec.h"
#include "sql/connection.h"
#include "wallet/store_impl.h"
#include "wallet/sync/consumer_impl.h"

namespace coffer::wallet {
namespace {

// Bitcoin's ordinals are heights.
std::int64_t tip_height(const bus::Position& position) {
  return static_cast<std::int64_t>(position.block_count()) - 1;
}

bool extends(const bus::Position& position, const bus::BlockApplied& next) {
  return next.ordinal.value == position.block_count() &&
         (position.at_origin || next.block->prev == position.point.hash);
}

// The bus lets us wait, and then the database says where we stand.
std::unexpected<Error> elsewhere(const bus::Position& stored) {
  return fail(Code::kUnavailable,
              "the wallets stand at height {} on another branch: does another process feed them?",
              tip_height(stored));
}

Result<> forget_mempool(sql::Transaction& sql) {
  TRY(lock_writers_exclusive(sql));
  (void)TRY(sql.execute(
      "UPDATE transactions SET in_mempool = $1 WHERE block_height IS NULL AND in_mempool",
      {false}));
  return {};
}

}  // namespace

Consumer::Consumer(Store& store, ConsumerOptions options, bus::Position position)
    : store_(store),
      commit_policy_(std::make_unique<bus::CommitPolicy>(
          bus::CommitBudget{.blocks = options.held_blocks, .bytes = options.held_bytes})),
      watch_(std::make_unique<WatchSet>()),
      position_(position) {}

Consumer::~Consumer() = default;

Result<std::unique_ptr<Consumer>> Consumer::open(Store& store, ConsumerOptions options) {
  auto position =
      store.database().run_transaction([&](sql::Transaction& sql) -> Result<bus::Position> {
        if (options.hears_mempool) TRY(forget_mempool(sql));
        return stored_position(sql);
      });
  if (!position) return fail(std::move(position).error());
  return std::unique_ptr<Consumer>(new Consumer(store, options, *position));
}

Result<bus::Position> Consumer::stored_position(sql::Reader& sql) {
  const auto bytes = TRY(sql.value<Bytes>("SELECT position FROM sync_state"));
  if (!bytes) return fail(Code::kCorrupt, "the wallets' position is missing");
  return bus::decode_position(*bytes);
}

Result<> Consumer::move(sql::Transaction& sql, const bus::Position& to) {
  Bytes encoded = bus::encode_position(to);
  (void)TRY(sql.execute("UPDATE sync_state SET position = $1, tip_height = $2",
                        {encoded, tip_height(to)}));
  watch_->move(std::move(encoded));
  return {};
}

bus::Position Consumer::position() const {
  std::lock_guard lock(mutex_);
  return position_;
}

Result<> Consumer::skip_to(const bus::Position& position) {
  std::lock_guard writing(writing_);
  auto moved = store_.database().run_transaction([&](sql::Transaction& sql) -> Result<bool> {
    TRY(lock_writers_exclusive(sql));
    if (TRY(sql.value<std::int64_t>("SELECT id FROM addresses LIMIT 1"))) return false;
    if (!TRY(stored_position(sql)).at_origin) return false;
    TRY(move(sql, position));
    return true;
  });
  if (!moved) return fail(std::move(moved).error());
  if (!*moved) return {};
  std::lock_guard lock(mutex_);
  position_ = position;
  return {};
}

Result<> Consumer::on_block(const bus::BlockApplied& block) {
  bus::HeldBlocks held{held_.size(), held_bytes_, !held_.empty() && held_.back().below_window};
  if (commit_policy_->must_commit_before(held, block)) TRY(flush());
  held_.push_back(block);
  held_bytes_ += block.block->raw.size();
  held = {held_.size(), held_bytes_, block.below_window};
  if (commit_policy_->must_commit_after(held, block))
    if (Result<> done = commit(); !done) {
      // The bus delivers this block again; those before it are still held.
      held_bytes_ -= held_.back().block->raw.size();
      held_.pop_back();
      return done;
    }
  std::lock_guard lock(mutex_);
  position_ = block.position();
  return {};
}

Result<> Consumer::probe() {
  // By a write: a full disk, and a server that stands by, can be read. What left the mempool
  // meanwhile was not heard of; what is in it is told anew.
  const auto stored = store_.database().run_transaction(
      [](sql::Transaction& sql) -> Result<bus::Position> {
        TRY(forget_mempool(sql));
        (void)TRY(sql.execute("UPDATE sync_state SET tip_height = tip_height"));
        return stored_position(sql);
      },
      {.max_attempts = 1});
  if (!stored) return fail(Error(stored.error()));
  if (!held_.empty() && extends(*stored, held_.front())) return flush();
  // Another process moved it: what is held is told again from there on.
  held_.clear();
  held_bytes_ = 0;
  std::lock_guard lock(mutex_);
  position_ = *stored;
  return {};
}

Result<std::optional<bus::Position>> Consumer::newest_block_below(
    std::uint64_t below_height) const {
  auto connection = TRY(store_.database().acquire());
  const auto row = TRY(connection.one<std::uint64_t, Hash256>(
      "SELECT block_height, header_hash FROM blocks WHERE block_height < $1"
      " ORDER BY block_height DESC LIMIT 1",
      {below_height}));
  if (!row) return std::nullopt;
  const auto& [height, hash] = *row;
  return bus::Position::after(Ordinal(height), {Slot(height), hash});  // U14: slots are heights
}

Result<> Consumer::flush() {
  if (held_.empty()) return {};
  return commit();
}

Result<> Consumer::commit() {
  std::lock_guard writing(writing_);
  std::uint64_t invalidated = 0;
  auto done = store_.database().run_transaction(
      [&](sql::Transaction& sql) {
        invalidated = 0;
        return commit_blocks(sql, invalidated);
      },
      kWrite);
  if (!done) return done;
  watch_->keep();
  store_.counters_->invalidations += invalidated;
  held_.clear();
  held_bytes_ = 0;
  return {};
}

Result<> Consumer::commit_blocks(sql::Transaction& sql, std::uint64_t& invalidated) {
  TRY(lock_writers_exclusive(sql));
  watch_->start();
  const bus::Position stored = TRY(stored_position(sql));
  // Whoever shares the database may have been faster (E3).
  std::span<const bus::BlockApplied> fresh = held_;
  while (!fresh.empty() && (fresh.front().position() == stored ||
                            fresh.front().position().block_count() < stored.block_count()))
    fresh = fresh.subspan(1);
  if (fresh.empty()) return {};
  if (!extends(stored, fresh.front())) return elsewhere(stored);
  TRY(watch_->refresh(sql));
  // Blocks that persons named before there was a chain to ask: it says itself what is in it (E1).
  if (stored.at_origin) invalidated += TRY(disconnect(sql, 0));
  for (const bus::BlockApplied& held : fresh) {
    const std::uint64_t changed = TRY(apply(sql, *held.block, std::nullopt, invalidated));
    TRY(keep_statistics(sql, changed));
  }
  return move(sql, fresh.back().position());
}

Result<> Consumer::keep_statistics(sql::Transaction& sql, std::uint64_t changed) {
  changed_ += changed;
  if (sql.dialect() == sql::Dialect::kSqlite || changed_ < analyze_at_) return {};
  analyze_at_ = 2 * changed_;
  return sql.script("ANALYZE transactions, tx_inputs, utxos, addresses, blocks");
}

Result<> Consumer::on_rollback(const bus::RolledBack& rollback) {
  TRY(flush());
  std::lock_guard writing(writing_);
  std::uint64_t invalidated = 0;
  auto undone = store_.database().run_transaction(
      [&](sql::Transaction& sql) -> Result<> {
        TRY(lock_writers_exclusive(sql));
        watch_->start();
        const bus::Position stored = TRY(stored_position(sql));
        if (stored == rollback.to) return {};  // whoever shares the database was faster (E3)
        if (stored != position() || stored.block_count() < rollback.to.block_count())
          return elsewhere(stored);
        TRY(watch_->refresh(sql));
        invalidated = TRY(disconnect(sql, tip_height(rollback.to) + 1));
        return move(sql, rollback.to);
      },
      kWrite);
  if (!undone) return undone;
  watch_->keep();
  store_.counters_->invalidations += invalidated;
  std::lock_guard lock(mutex_);
  position_ = rollback.to;
  return {};
}

Result<> Consumer::on_tx_seen(const bus::TxSeen& seen) {
  TRY(flush());
  std::lock_guard writing(writing_);
  const TxView view{*seen.tx, seen.tx->txs.front()};
  bool stale = false;
  {
    auto connection = TRY(store_.database().acquire());
    stale = TRY(watch_->is_stale(connection));
  }
  if (!stale && !watch_->may_touch(view)) return {};
  std::vector<Hit> hits;
  std::uint64_t invalidated = 0;
  auto done = store_.database().run_transaction(
      [&](sql::Transaction& sql) -> Result<> {
        TRY(lock_writers_exclusive(sql));
        watch_->start();
        TRY(watch_->refresh(sql));
        for (bool extended = true; extended;) {
          extended = false;
          hits = TRY(owners(sql, view, extended));
        }
        invalidated = 0;
        for (const Hit& hit : hits) invalidated += TRY(see(sql, view, hit));
        return {};
      },
      kWrite);
  if (!done) return done;
  watch_->keep();
  store_.counters_->invalidations += invalidated;
  watch(view, hits);
  return {};
}

Result<std::uint64_t> Consumer::see(sql::Transaction& sql, const TxView& view, const Hit& hit) {
  // What one wallet cannot take does not keep it from the others.
  const auto recorded = sql.attempt(
      [&] { return TxLifecycle(sql, hit.wallet).add_published(view, hit.owned, true); });
  if (recorded) return recorded->invalidated.size();
  const Code code = recorded.error().code;
  if (code != Code::kConflict && code != Code::kInvalidInput) return fail(Error(recorded.error()));
  log::info("a transaction of the mempool was passed over",
            {{"tx", to_display(view.tx.id)}, {"problem", recorded.error().message}});
  return 0;
}

Result<> Consumer::on_tx_dropped(const bus::TxDropped& dropped) {
  TRY(flush());
  {
    auto connection = TRY(store_.database().acquire());
    if (!TRY(connection.value<std::int64_t>(
            "SELECT id FROM transactions WHERE tx_hash = $1 AND in_mempool LIMIT 1", {dropped.id})))
      return {};
  }
  return store_.database().run_transaction(
      [&](sql::Transaction& sql) -> Result<> {
        TRY(lock_writers_exclusive(sql));
        (void)TRY(
            sql.execute("UPDATE transactions SET in_mempool = $2 WHERE tx_hash = $1 AND in_mempool",
                        {dropped.id, false}));
        return {};
      },
      kWrite);
}

}  // namespace coffer::wallet
