#include <coffer/utxo/store.h>

#include <mutex>

#include <coffer/base/log.h>
#include "base/result.h"
#include "utxo/state_impl.h"
#include "utxo/writer.h"

namespace coffer::utxo {
namespace {

Result<> check_stored_options(const StoredOptions& stored, const StoredOptions& asked) {
  const auto differs = [](std::string_view setting, auto has, auto wants) {
    return fail(
        Code::kConflict,
        "the UTXO state was made with {} = {}, the settings say {}; change them back or run "
        "'coffer utxo rebuild'",
        setting, has, wants);
  };
  if (stored.store != asked.store)
    return differs("utxo.store", to_string(stored.store), to_string(asked.store));
  if (stored.index_address != asked.index_address)
    return differs("utxo.index.address_hash", stored.index_address, asked.index_address);
  if (stored.index_credential != asked.index_credential)
    return differs("utxo.index.payment_credential", stored.index_credential,
                   asked.index_credential);
  if (stored.self_contained_delta != asked.self_contained_delta)
    return differs("utxo.delta.selfContained", stored.self_contained_delta,
                   asked.self_contained_delta);
  return {};
}

void add_counters(const Writer::Counters& c, Stats& stats) {
  stats.created = c.created;
  stats.spent = c.spent;
  stats.pruned = c.pruned;
  stats.reversed = c.reversed;
  stats.missing_inputs = c.missing;
  stats.unspendable = c.unspendable;
}

}  // namespace

struct Store::Impl {
  Impl(kv::Database& db, const chain::Network& network, const Options& options,
       const Columns& columns, const Tip& tip)
      : writer(db, network, options, columns, tip),
        state(std::make_unique<UtxoState::Impl>(
            db, network, columns, StoredOptions::of(options),
            [this](Stats& stats) { add_counters(writer.counters(), stats); })),
        position(tip.position) {}

  Writer writer;
  const UtxoState state;
  mutable std::mutex mutex;  // guards position
  bus::Position position;
};

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Store::~Store() = default;

bus::Position Store::position() const {
  std::lock_guard lock(impl_->mutex);
  return impl_->position;
}

Result<> Store::moved(Result<> done) {
  std::lock_guard lock(impl_->mutex);
  impl_->position = impl_->writer.tip().position;
  return done;
}

Result<> Store::on_block(const bus::BlockApplied& block) {
  return moved(impl_->writer.apply(block));
}

Result<> Store::on_rollback(const bus::RolledBack& rollback) {
  return rollback_to(rollback.to);
}

Result<> Store::rollback_to(const bus::Position& to) {
  return moved(impl_->writer.rollback(to));
}

Result<> Store::flush() {
  return moved(impl_->writer.flush());
}

const UtxoState& Store::state() const {
  return impl_->state;
}

Timings Store::timings() const {
  const Writer::Counters& c = impl_->writer.counters();
  const auto seconds = [](std::uint64_t us) { return static_cast<double>(us) / 1e6; };
  return {c.blocks,           c.rollbacks, c.prunes, seconds(c.apply_us), seconds(c.rollback_us),
          seconds(c.prune_us)};
}

std::vector<kv::ColumnOptions> columns(const Options& options) {
  constexpr std::uint64_t kLarge = 64u << 20, kSmall = 8u << 20;
  std::vector<kv::ColumnOptions> columns = {
      // Fetched by whole keys, which are hashes: a filter saves the reads of what is not there.
      {.name = "utxo_unspent", .point_lookups = true, .write_buffer_bytes = kLarge},
      {.name = "utxo_spent", .point_lookups = true, .write_buffer_bytes = kLarge},
      // Scanned by owner: the filter is over that prefix.
      {.name = "utxo_addr", .prefix_bytes = 28, .write_buffer_bytes = kLarge},
      {.name = "utxo_cred", .prefix_bytes = 28, .write_buffer_bytes = kLarge},
      // Written in order, read by number or in order: no filter needed. Hashes hardly compress.
      {.name = "utxo_block_delta",
       .bloom_bits = 0,
       .compression = kv::Compression::kLz4,
       .write_buffer_bytes = kLarge},
      {.name = "utxo_meta", .bloom_bits = 0, .write_buffer_bytes = kSmall},
  };
  if (options.store == StoreType::kMmr)
    columns.push_back({.name = "utxo_mmr_nodes",
                       .point_lookups = true,
                       .compression = kv::Compression::kNone,  // hashes
                       .write_buffer_bytes = kLarge});
  return columns;
}

Result<Columns> open_columns(const kv::Database& db, bool with_mmr) {
  Columns columns;
  columns.unspent = TRY(db.column("utxo_unspent"));
  columns.spent = TRY(db.column("utxo_spent"));
  columns.addr = TRY(db.column("utxo_addr"));
  columns.cred = TRY(db.column("utxo_cred"));
  columns.delta = TRY(db.column("utxo_block_delta"));
  columns.meta = TRY(db.column("utxo_meta"));
  if (with_mmr) columns.mmr = TRY(db.column("utxo_mmr_nodes"));
  return columns;
}

Result<std::unique_ptr<Store>> Store::open(kv::Database& db, const chain::Network& network,
                                           const Options& given,
                                           std::span<const chain::GenesisUtxo> genesis) {
  TRY(check(given));
  Options options = given;
  // There are no credentials on Bitcoin; the column stays empty either way.
  if (network.family == chain::Family::kBitcoin) options.index_credential = false;
  const kv::Column meta = TRY(db.column("utxo_meta"));
  const auto stored_options = TRY(read_stored_options(db, meta));
  if (stored_options) TRY(check_stored_options(*stored_options, StoredOptions::of(options)));
  const Columns columns = TRY(open_columns(db, options.store == StoreType::kMmr));
  const Tip tip = TRY(read_tip(db, meta));
  std::unique_ptr<Store> store(
      new Store(std::make_unique<Impl>(db, network, options, columns, tip)));
  if (!stored_options) {
    kv::Batch batch;
    batch.put(meta, as_bytes(kStoredOptionsKey), encode_stored_options(StoredOptions::of(options)));
    TRY(db.commit(batch));
  }
  // Also for a start that was cut short between the two commits.
  if (tip.position.at_origin && tip.unspent == 0 && !genesis.empty()) {
    TRY_IN("genesis", store->impl_->writer.add_genesis(genesis));
    log::info("utxo begins with the outputs of the genesis files", {{"outputs", genesis.size()}});
  }
  return store;
}

Result<std::unique_ptr<UtxoState>> open_state(kv::Database& db, const chain::Network& network) {
  const auto none = [] {
    return fail(Code::kNotFound,
                "there is no UTXO state here; is utxo.enabled on, and has a sync "
                "been run?");
  };
  const auto meta = db.column("utxo_meta");
  if (!meta) return none();
  const auto stored_options = TRY(read_stored_options(db, *meta));
  if (!stored_options) return none();
  const Columns columns = TRY(open_columns(db, stored_options->store == StoreType::kMmr));
  return std::make_unique<UtxoState>(
      std::make_unique<UtxoState::Impl>(db, network, columns, *stored_options));
}

Result<> erase(kv::Database& db) {
  kv::Batch batch;  // one for all, or a crash would leave a tip over an empty set
  std::vector<kv::Column> emptied;
  for (const char* name : kColumnNames)
    if (const auto column = db.column(name)) {
      batch.del_range(*column, {}, Bytes(96, 0xff));
      emptied.push_back(*column);
    }
  TRY(db.commit(batch, kv::Durability::kWalSync));
  for (const kv::Column column : emptied) TRY(db.compact(column));
  return {};
}

}  // namespace coffer::utxo
