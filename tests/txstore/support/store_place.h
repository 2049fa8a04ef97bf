// Where a store is, on any of the three databases, so that several processes can open it, one after
// the other or at once; and a simulated chain as a list of steps that can be resumed anywhere.
#pragma once

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include <coffer/chain/decode.h>
#include <coffer/txstore/store.h>
#include "base/check.h"
#include "base/result.h"
#include "feed/devnet_chain.h"
#include "sql/test_postgres.h"
#include "txstore/rocksdb/backend.h"
#include "txstore/sql/backend.h"

namespace coffer::txstore::test {

enum class StoreKind : std::uint8_t { kRocksDb, kSqlite, kPostgres };

inline const char* to_string(StoreKind kind) {
  constexpr const char* kNames[] = {"RocksDb", "Sqlite", "Postgres"};
  return kNames[static_cast<std::size_t>(kind)];
}
inline void PrintTo(StoreKind kind, std::ostream* out) {
  *out << to_string(kind);
}

struct StorePlace {
  StoreKind kind = StoreKind::kRocksDb;
  std::string location;  // a directory, or the location of an SQL database
  Options options;
  chain::Network network = chain::find_network("bitcoin", "devnet").value();
  std::function<void(std::string_view)> on_statement = {};
  std::size_t cache_bytes = kStateCacheBytes;  // RocksDB

  // A place where nothing is yet. PostgreSQL must be installed if it is asked for.
  static StorePlace fresh(StoreKind kind, const std::filesystem::path& dir,
                          const Options& options) {
    static int number = 0;
    const std::string path = (dir / ("store" + std::to_string(++number))).string();
    if (kind == StoreKind::kRocksDb) return {kind, path, options};
    if (kind == StoreKind::kSqlite) return {kind, "sqlite:" + path, options};
    auto* server = sql::test::PostgresServer::shared();
    CHECK(server != nullptr);
    return {kind, server->location(server->fresh_database()), options};
  }
};

// An open store with its database.
class OpenedStore {
 public:
  static Result<std::unique_ptr<OpenedStore>> open(const StorePlace& place) {
    auto opened = std::unique_ptr<OpenedStore>(new OpenedStore);
    std::unique_ptr<Backend> backend;
    if (place.kind == StoreKind::kRocksDb) {
      kv::DatabaseOptions options;
      options.path = place.location;
      options.columns = columns();
      opened->kv_ = TRY(kv::Database::open(options));
      backend = TRY(open_rocksdb(*opened->kv_, place.network, false, place.cache_bytes));
    } else {
      sql::DatabaseOptions options;
      options.location = place.location;
      options.on_statement = place.on_statement;
      opened->sql_ = TRY(sql::Database::open(std::move(options)));
      backend = TRY(open_sql(*opened->sql_, place.network, sql::Schema::kMigrate));
    }
    opened->store_ = TRY(Store::open(std::move(backend), place.network, place.options, {}));
    return opened;
  }

  Store& operator*() { return *store_; }
  Store* operator->() { return store_.get(); }
  kv::Database& kv() { return *kv_; }
  // Of RocksDB.
  IoCounts io() { return static_cast<RocksBackend&>(store_->backend()).io_counts(); }

 private:
  OpenedStore() = default;
  std::unique_ptr<kv::Database> kv_;
  std::unique_ptr<sql::Database> sql_;
  std::unique_ptr<Store> store_;
};

// For tests of one process: opens it or ends the program.
inline std::unique_ptr<OpenedStore> open_store(const StorePlace& place) {
  auto opened = OpenedStore::open(place);
  if (!opened) ADD_FAILURE() << opened.error().message;
  CHECK(opened.has_value());
  return std::move(*opened);
}

template <typename T>
T get_value(Result<T> result) {
  if (!result) ADD_FAILURE() << result.error().message;
  CHECK(result.has_value());
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

inline Result<> verify_store(Store& store) {
  (void)TRY(store.verify([](std::string_view, std::uint64_t) {}));
  if (const std::int64_t missing = TRY(store.stats()).counts.parent_missing; missing != 0)
    return fail(Code::kCorrupt, "{} inputs had no parent", missing);
  return {};
}

// All lines of `coffer tx dump`.
inline Result<std::string> dump_store(Store& store) {
  std::string text;
  (void)TRY(store.for_each([&](const StoredTx& tx) -> Result<bool> {
    text += dump_line(store.network().family, tx) + "\n";
    return true;
  }));
  return text;
}

// Runs it in a process of its own, which opens what it needs: threads of a database do not survive
// a fork.
inline pid_t start_process(const std::function<Result<>()>& body) {
  const pid_t child = ::fork();
  CHECK(child >= 0);
  if (child != 0) return child;
  const Result<> done = body();
  if (!done) std::cerr << "in another process: " << done.error().message << std::endl;
  ::_exit(done ? 0 : 1);
}
inline int end_of_process(pid_t child) {
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return status;
}

// One thing that the source of a chain says.
struct ChainStep {
  std::shared_ptr<const chain::Block> block;  // with `ordinal`
  Ordinal ordinal;
  std::optional<bus::Position> rollback_to;
  std::optional<bus::TxSeen> seen;
  std::optional<Hash256> dropped;

  // Doing again what was done last, or may have been done, changes nothing.
  Result<> take(Consumer& consumer) const {
    if (seen) return consumer.on_tx_seen(*seen);
    if (dropped) return consumer.on_tx_dropped({*dropped});
    if (rollback_to) return consumer.on_rollback({*rollback_to});
    const bus::BlockApplied event{ordinal, block, false, 0};
    return consumer.position() == event.position() ? Result<>() : consumer.on_block(event);
  }
};

// So many blocks of a simulated Bitcoin chain, with its mempool, double spends and reorgs.
inline std::vector<ChainStep> devnet_steps(const feed::DevnetOptions& options, std::size_t blocks) {
  const chain::Network network = chain::find_network("bitcoin", "devnet").value();
  feed::DevnetChain chain(options);
  std::vector<ChainStep> steps;
  std::vector<bus::Position> positions;
  const auto tell = [&](const std::vector<feed::MempoolEvent>& events) {
    for (const feed::MempoolEvent& event : events) {
      ChainStep& step = steps.emplace_back();
      if (event.seen) {
        auto tx = std::make_shared<chain::Block>();
        tx->storage = event.seen->wire;
        CHECK(chain::decode_tx_into(*tx, network, tx->storage).has_value());
        step.seen = bus::TxSeen{tx};
      } else {
        step.dropped = event.dropped;
      }
    }
  };
  for (std::size_t i = 0; i < blocks; ++i) {
    const feed::Emission emission = chain.next();
    tell(emission.before);
    if (emission.rolled_back > 0) {
      positions.resize(positions.size() - emission.rolled_back);
      steps.emplace_back().rollback_to =
          positions.empty() ? bus::Position::origin() : positions.back();
    }
    auto block = std::make_shared<chain::Block>();
    block->storage = emission.block;
    CHECK(chain::decode_into(*block, network, block->storage).has_value());
    block->number = BlockNumber(positions.size());
    block->slot = Slot(positions.size());
    ChainStep& step = steps.emplace_back();
    step.block = block;
    step.ordinal = Ordinal(positions.size());
    positions.push_back(bus::Position::after(step.ordinal, block->point()));
    tell(emission.after);
  }
  return steps;
}

}  // namespace coffer::txstore::test
