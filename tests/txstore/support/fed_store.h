// A store in a directory of its own that is fed real blocks, and what these blocks alone say must
// be in it: which transactions, with which bytes, fees and amounts.
#pragma once

#include <unordered_map>

#include "base/file.h"
#include "base/temp_dir.h"
#include "feed/block_file.h"
#include "support/unpack.h"
#include "txstore/sql/backend.h"
#include "txstore/support/chain_feeder.h"
#include "txstore/support/stores.h"

namespace coffer::txstore::test {

// The name of a test with these parameters.
inline std::string family_and_engine(
    const testing::TestParamInfo<std::tuple<chain::Family, Engine>>& each) {
  return testing::PrintToString(std::get<chain::Family>(each.param)) +
         testing::PrintToString(std::get<Engine>(each.param));
}

inline Options with_window(std::uint64_t window) {
  Options options;
  options.window = options.block_height_retention = window;
  return options;
}

// The blocks of a file, packed or not.
inline std::vector<Bytes> blocks_in(const chain::Network& network,
                                    const std::filesystem::path& file) {
  if (file.extension() == ".bz2")
    return feed::split_blocks(network, as_bytes(coffer::test::unpack("bzcat", file))).value();
  return feed::split_blocks(network, read_file(file, 100u << 20).value()).value();
}

// The lines of `coffer tx dump`.
inline std::vector<std::string> dump_of(const Store& store) {
  std::vector<std::string> lines;
  const auto done = store.for_each([&](const StoredTx& tx) -> Result<bool> {
    lines.push_back(dump_line(store.network().family, tx));
    return true;
  });
  EXPECT_TRUE(done.has_value());
  return lines;
}

// The same without some of the fields, counted from 0: what depends on the way there.
inline std::vector<std::string> dump_without(const Store& store, const std::set<int>& fields) {
  std::vector<std::string> lines;
  for (const std::string& line : dump_of(store)) {
    std::string kept;
    int field = 0;
    for (const char c : line) {
      field += c == '|' ? 1 : 0;
      if (!fields.contains(field)) kept.push_back(c);
    }
    lines.push_back(std::move(kept));
  }
  return lines;
}

inline void expect_sound(const Store& store) {
  const auto verified = store.verify([](std::string_view, std::uint64_t) {});
  ASSERT_TRUE(verified) << verified.error().message;
  EXPECT_EQ(store.stats()->counts.parent_missing, 0);
}

class FedStore {
 public:
  // `first`: the height of the first block that it will be given.
  FedStore(const chain::Network& network, const Options& options,
           std::vector<chain::GenesisUtxo> genesis = {}, std::uint64_t first = 0,
           Engine engine = Engine::kRocksDb)
      : network_(network), options_(options), genesis_(std::move(genesis)), next_(first) {
    if (engine == Engine::kRocksDb) {
      kv::DatabaseOptions db;
      db.path = dir_.path() / "db";
      db.columns = columns();
      db_ = std::move(*kv::Database::open(db));
    } else {
      sql::DatabaseOptions db;
      db.location = "sqlite:" + (dir_.path() / "txstore.db").string();
      sql_ = sql::Database::open(std::move(db)).value();
      EXPECT_TRUE(sql::prepare_schema(*sql_, migrations(network), sql::Schema::kMigrate));
    }
    expected_.add_genesis(genesis_);
    for (const chain::GenesisUtxo& utxo : genesis_) amounts_[utxo.outpoint] = utxo.amount;
    reopen(options);
  }

  void reopen(const Options& options) {
    consumer_.reset();
    store_.reset();
    options_ = options;
    auto opened = db_ ? Store::open(*db_, network_, options_, genesis_)
                      : Store::open(*sql_, network_, options_, genesis_);
    CHECK(opened.has_value());
    store_ = std::move(*opened);
    consumer_ = std::move(*Consumer::open(*store_));
  }

  // The next block. `behind`: how many more the source has.
  void apply(Bytes raw, std::uint64_t behind = 0) {
    auto decoded = chain::decode(network_, std::move(raw), {.hash = true, .verify = false});
    ASSERT_TRUE(decoded) << next_ << ": " << decoded.error().message;
    const auto block = std::make_shared<chain::Block>(std::move(*decoded));
    if (network_.family == chain::Family::kBitcoin) {
      block->number = BlockNumber(next_);
      block->slot = Slot(next_);
    }
    const bus::BlockApplied event{Ordinal(next_), block, false, behind};
    const auto done = consumer_->on_block(event);
    ASSERT_TRUE(done) << next_ << ": " << done.error().message;
    expected_.apply(*block, next_);
    for (const chain::Tx& tx : block->txs)
      block->for_each_created(tx, [&](std::uint32_t index, const chain::Output& output, bool) {
        amounts_[{tx.id, index}] = output.amount;
      });
    ++next_;
  }
  void apply_all(std::vector<Bytes> raws) {
    for (std::size_t i = 0; i < raws.size(); ++i)
      ASSERT_NO_FATAL_FAILURE(apply(std::move(raws[i]), raws.size() - 1 - i));
    ASSERT_NO_FATAL_FAILURE(flush());
  }
  void see(Bytes raw) {
    auto tx = std::make_shared<chain::Block>();
    const auto decoded = chain::decode_tx_into(*tx, network_, raw);
    ASSERT_TRUE(decoded) << decoded.error().message;
    tx->storage = std::move(raw);
    const auto done = consumer_->on_tx_seen({tx});
    ASSERT_TRUE(done) << done.error().message;
  }
  void drop(const Hash256& id) {
    const auto done = consumer_->on_tx_dropped({id});
    ASSERT_TRUE(done) << done.error().message;
  }
  void flush() {
    const auto done = consumer_->flush();
    ASSERT_TRUE(done) << done.error().message;
  }

  // How the stored set differs from what the blocks say; empty if it does not.
  std::string wrong_ids() const {
    return difference(mined_ids(*store_), expected_.ids(next_ - 1, options_.window));
  }
  void expect_exact() {
    EXPECT_EQ(wrong_ids(), "") << "at height " << next_ - 1;
    ASSERT_NO_FATAL_FAILURE(expect_sound(*store_));
  }
  // Every stored transaction reads as itself, and its fee and amounts are the chain's.
  void expect_bodies() {
    std::size_t read = 0;
    for (const Hash256& id : mined_ids(*store_)) {
      const auto tx = store_->get(std::vector{id});
      ASSERT_TRUE(tx && tx->front());
      if (tx->front()->genesis) continue;
      ASSERT_NO_FATAL_FAILURE(expect_body(*tx->front())) << id.hex();
      ++read;
    }
    EXPECT_GT(read, 0u);
  }

  Store& store() { return *store_; }
  Consumer& consumer() { return *consumer_; }
  const Options& options() const { return options_; }
  std::optional<Amount> amount_of(const chain::Outpoint& outpoint) const {
    const auto found = amounts_.find(outpoint);
    return found == amounts_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  void expect_body(const StoredTx& stored) {
    const auto body = store_->body(stored.id);
    ASSERT_TRUE(body) << body.error().message;
    chain::Block read;
    const auto decoded = chain::decode_tx_into(read, network_, body->raw);
    ASSERT_TRUE(decoded) << decoded.error().message;
    const chain::Tx& tx = read.txs.front();
    ASSERT_EQ(tx.id, stored.id);
    ASSERT_EQ(tx.valid, stored.valid);
    const auto inputs = read.spent_by(tx);
    ASSERT_EQ(body->inputs.size(), inputs.size());
    bool all_known = !inputs.empty();
    std::uint64_t paid = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      ASSERT_EQ(body->inputs[i].outpoint, inputs[i].outpoint());
      const auto amount = amount_of(inputs[i].outpoint());
      ASSERT_EQ(body->inputs[i].amount, amount) << "input " << i;
      all_known = all_known && amount;
      if (amount) paid += amount->value;
    }
    read.for_each_created(
        tx, [&](std::uint32_t, const chain::Output& output, bool) { paid -= output.amount.value; });
    const bool byron = network_.family == chain::Family::kCardano && body->raw[0] == 0x82;
    std::optional<Amount> fee;
    if (all_known) fee = Amount(paid);
    if (network_.family == chain::Family::kCardano && !byron && tx.valid) fee = tx.fee;
    if (!tx.valid && tx.has_total_collateral) fee = tx.total_collateral;
    ASSERT_EQ(body->fee, fee);
  }

  TempDir dir_;
  const chain::Network network_;
  Options options_;
  const std::vector<chain::GenesisUtxo> genesis_;
  std::uint64_t next_ = 0;
  // Destroyed from the last to the first: users before what they use.
  std::unique_ptr<kv::Database> db_;
  std::unique_ptr<sql::Database> sql_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Consumer> consumer_;
  ExpectedSet expected_;
  std::unordered_map<chain::Outpoint, Amount, chain::OutpointHash> amounts_;
};

}  // namespace coffer::txstore::test
