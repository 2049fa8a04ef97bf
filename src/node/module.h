// An engine as the program sees it. Each engine describes itself in src/ENGINE/module.cpp by one
//   const node::Module& ENGINE_module();
// CMake finds those files and makes the list of all modules (module_list.cpp in the build
// directory); nothing else in the program names an engine.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <coffer/bus/consumer.h>
#include <coffer/chain/genesis.h>
#include <coffer/chain/network.h>
#include <coffer/chainstate/chain_state.h>
#include <coffer/kv/database.h>
#include "api/metrics.h"
#include "api/routes.h"
#include "api/status.h"
#include "bus/block_reader.h"
#include "cli/command.h"
#include "config/keys.h"
#include "json/value.h"
#include "sql/distribute.h"
#include "sql/migrations.h"
#include "sql/stop_signal.h"

namespace coffer::node {

// What a module gets from the node. What it refers to outlives the module that was opened with it.
struct OpenContext {
  const config::Config& config;
  const chain::Network& network;
  kv::Database& db;
  const chainstate::ChainState& chain;
  std::span<const chain::GenesisUtxo> genesis;  // the outputs that the chain begins with
  bool read_only = false;  // only to look, beside a process that writes: no consumer
  bool one_shot = false;   // an import that ends at the tip, with a progress line on the terminal
  bool log_rollbacks = true;
  // Old blocks once more, from a source of their own, beside the follower.
  std::function<Result<std::unique_ptr<bus::BlockReader>>()> open_blocks = nullptr;
  // The process stops: for the sql::DatabaseOptions of its databases, and for requests that take
  // long.
  const sql::StopSignal* stop = nullptr;
};

// A module that is open, or that the settings switched off: then it has no consumer and no status,
// and its routes answer 503 or 404 with the reason. Destroyed after the bus and the server have
// stopped.
class OpenModule {
 public:
  virtual ~OpenModule() = default;

  // For the bus; null if blocks do not feed it. The same at every call.
  virtual bus::Consumer* consumer() { return nullptr; }
  // How far it is, if it was opened read_only.
  virtual std::optional<bus::Position> stored_position() const { return std::nullopt; }
  // A JSON object by Module::status_schema; nothing when it is off. Thread-safe, quick.
  virtual std::optional<std::string> status() const { return std::nullopt; }
  // Why the process is not ready as far as this module goes; its consumer is judged by the node,
  // which also fills in the name. Thread-safe, quick.
  virtual std::vector<api::NotReady> not_ready() const { return {}; }
  // Its SQL databases that are open now, which the node asks now and then whether they answer. They
  // stay open until it is destroyed. Thread-safe, quick.
  virtual std::vector<const sql::Database*> databases() const { return {}; }
  virtual void add_routes(api::RouteTable& table) { (void)table; }
  // Serving begins: metrics, and threads for what is to be done now and then.
  virtual void start(api::Metrics& metrics) { (void)metrics; }
  // Ends what start() began; idempotent.
  virtual void stop() {}
};

// A line of `coffer status`.
struct StatusLine {
  std::string label;
  std::string text;
};

// The SQL database of a module, for `coffer db` and for whoever opens it.
struct SqlStore {
  std::string_view content;  // what it holds, in the plural: "wallets"
  std::string_view setting;  // the key of its location; empty there: a file in the data directory
  // Opens nothing. Errors: kUnavailable or kNotFound if these settings have no such database,
  // saying why.
  Result<sql::DatabaseOptions> (*database)(const config::Config& config);
  // The schema, and the network as the owner of the data (E5).
  sql::MigrateOptions (*migrations)(const chain::Network& network);
  // The same, but a database of another network that holds nothing of it may be taken over.
  sql::MigrateOptions (*reusing_migrations)(const chain::Network& network);
  const sql::Distribution* distribution = nullptr;  // over a Citus cluster, if it can be
  // On PostgreSQL: the schema that has it all, and is distributed as a whole; without this it has
  // the tables of the connection's.
  std::string (*schema)(const config::Config& config) = nullptr;
};

enum class Columns : std::uint8_t {
  kConfigured,  // those that the settings ask for
  kPossible,    // all that there may be, for who only looks
};

struct Module {
  std::string_view name;  // of its consumer, of its member in the status, of its settings
  std::span<const config::Key> settings = {};
  config::Check check_settings = nullptr;
  // RocksDB. Errors: kUsage if the settings contradict each other.
  Result<std::vector<kv::ColumnOptions>> (*columns)(const config::Config&, Columns) = nullptr;
  // Empties its columns, as far as they are there; the next start fills them again.
  Result<> (*erase)(kv::Database& db) = nullptr;
  std::optional<SqlStore> sql = std::nullopt;
  // What `coffer demo` sets that is off otherwise; leaves alone what somebody gave.
  void (*demo_settings)(config::Config& config) = nullptr;
  std::string (*status_schema)() = nullptr;
  // The same for people, from what OpenModule::status() said.
  std::vector<StatusLine> (*status_lines)(const json::Value& status) = nullptr;
  std::vector<cli::Command> (*commands)() = nullptr;
  Result<std::unique_ptr<OpenModule>> (*open)(const OpenContext& context);
};

// All modules of this program, by name. Empty before set_modules(). Thread-safe after it.
std::span<const Module* const> modules();
// Once, before anything else; also declares their settings. Not thread-safe.
void set_modules(std::span<const Module* const> all);
const Module* find_module(std::string_view name);

}  // namespace coffer::node
