// The transaction store of a data directory for a command: to look, also beside a running daemon,
// or to change it while none runs.
#pragma once

#include <coffer/chainstate/chain_state.h>
#include <coffer/txstore/store.h>
#include "config/config.h"
#include "txstore/json/output.h"

namespace coffer::txstore {

enum class OpenFor : std::uint8_t { kReading, kWriting };

// Destroyed from the last to the first: users before what they use.
struct OpenStore {
  std::unique_ptr<kv::Database> db;
  std::unique_ptr<sql::Database> sql;
  chain::Network network;
  std::unique_ptr<chainstate::ChainState> chain;  // RocksDB
  BlockAt block_at;
  std::unique_ptr<Store> store;
  std::string backend;  // "rocksdb", "sqlite" or "postgres"

  // Makes nothing. txstore.enabled is about what a node does and need not be set here.
  // Errors: kNotFound and kUnavailable with the next step; kConflict; kCorrupt.
  static Result<OpenStore> open(const config::Config& config, OpenFor what = OpenFor::kReading);
};

// The settings with the store switched on, for those who work on what is there.
config::Config switched_on(const config::Config& config);
// "no transaction store in DIR; …"
Error no_store(const config::Config& config);

}  // namespace coffer::txstore
