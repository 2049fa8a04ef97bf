// The settings of a run: from coffer.toml, then COFFER_… variables, then flags; the later wins.
// Invariant: a Config that load_config returned holds only values within the bounds of the table in
// keys.cpp and those that engines declare.
#pragma once

#include <any>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <typeindex>
#include <vector>

#include "base/result.h"

namespace coffer::config {

// Members carry the defaults; what they mean is said in the table of keys.
struct LogConfig {
  std::string level = "info";
  std::string format = "text";
};

struct TlsConfig {
  std::string cert;
  std::string key;
};

struct HttpConfig {
  std::string listen = "127.0.0.1:7117";
  std::vector<std::string> allowed_hosts;
  TlsConfig tls;
  bool behind_proxy = false;
  std::uint64_t workers = 4;
  std::uint64_t database_workers = 4;
  std::uint64_t max_connections = 5120;
  std::uint64_t max_connections_per_address = 512;
  std::uint64_t max_header_bytes = 16u << 10;
  std::uint64_t max_body_bytes = 1u << 20;
  std::uint64_t max_total_body_bytes = 256u << 20;
  std::uint64_t request_timeout_ms = 10'000;
  std::uint64_t idle_timeout_ms = 60'000;
  std::uint64_t write_timeout_ms = 30'000;
};

struct AuditConfig {
  std::uint64_t max_mb = 64;
  std::uint64_t files = 8;
};

struct ReadyConfig {
  std::uint64_t max_behind = 2;
  std::optional<std::uint64_t> max_tip_age;  // seconds; nothing: as the network's pace says; 0: off
};

struct ChainstateConfig {
  std::optional<std::uint64_t> rollback_window;  // nothing: the network's own
};

struct DevnetConfig {
  std::uint64_t seed = 1;
  std::uint64_t block_interval_ms = 1'000;
  std::uint64_t txs_per_block = 20;
  std::uint64_t reorg_every = 20;
  std::uint64_t max_reorg_depth = 3;
};

struct EventsConfig {
  std::uint64_t keep = 10'000;
};

struct SqlConfig {
  std::uint64_t statement_timeout_ms = 30'000;
};

struct RocksdbConfig {
  std::uint64_t block_cache_mb = 64;
};

// Where a value was set.
struct ConfigOrigin {
  std::string kind;   // "file", "variable", "flag" or, of a network that was found, "store"
  std::string place;  // "/etc/coffer.toml:3", "COFFER_DATA_DIR", "--data-dir"
};

struct Config {
  std::string data_dir = "coffer-data";
  std::string chain = "bitcoin";
  std::string network = "devnet";
  std::string source = "devnet";  // may hold a password: never into logs as it is
  std::string genesis;            // directory with a Cardano network's genesis files
  LogConfig log;
  HttpConfig http;
  AuditConfig audit;
  ReadyConfig ready;
  ChainstateConfig chainstate;
  DevnetConfig devnet;
  EventsConfig events;
  RocksdbConfig rocksdb;
  SqlConfig sql;

  std::string file;  // the file that was read; empty if there was none
  // Keys that somebody set, and where: the others hold defaults, which nobody need have meant.
  std::map<std::string, ConfigOrigin, std::less<>> given;

  bool is_given(std::string_view key) const { return given.contains(key); }

  // The settings of an engine, a struct whose members carry the defaults. Thread-safe while nobody
  // edits.
  template <typename Settings>
  const Settings& of() const {
    static const Settings defaults;
    const auto found = engines_.find(typeid(Settings));
    return found == engines_.end() ? defaults : std::any_cast<const Settings&>(found->second);
  }
  template <typename Settings>
  Settings& edit() {
    return std::any_cast<Settings&>(
        engines_.try_emplace(typeid(Settings), Settings{}).first->second);
  }

 private:
  std::map<std::type_index, std::any> engines_;
};

// A flag as the command line had it: the name of its key, and its value as text.
struct FlagValue {
  std::string key;
  std::string text;
};

struct ConfigSources {
  std::string file;  // of --config, and then it must exist; empty: coffer.toml in the data
                     // directory, if any
  std::vector<std::string> environment;  // "NAME=value"
  std::vector<FlagValue> flags;
};

// "NAME=value" of everything in this process's environment. Not while another thread changes it.
std::vector<std::string> process_environment();

// Thread-safe; reads one file at most. Errors: kUsage in one line that names key, place, value and
// what is expected; kNotFound, kUnavailable or kTooLarge for the file. Values of secret keys are
// never shown.
Result<Config> load_config(const ConfigSources& sources);

}  // namespace coffer::config
