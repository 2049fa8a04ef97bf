// The settings of a run: from coffer.toml, then COFFER_… variables, then flags; the later wins.
// Invariant: a Config that load_config returned holds only values within the bounds of the table in
// config_keys.cpp, which declares every key once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace coffer::app {

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
  std::uint64_t max_connections = 1024;
  std::uint64_t max_header_bytes = 16u << 10;
  std::uint64_t max_body_bytes = 1u << 20;
  std::uint64_t request_timeout_ms = 10'000;
  std::uint64_t idle_timeout_ms = 60'000;
  std::uint64_t write_timeout_ms = 30'000;
};

struct ReadyConfig {
  std::uint64_t max_behind = 2;
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

struct RocksdbConfig {
  std::uint64_t block_cache_mb = 64;
};

struct UtxoIndexConfig {
  std::optional<bool> address_hash;  // nothing: as the strategy says, or else true
  std::optional<bool> payment_credential;
};

struct UtxoConfig {
  bool enabled = true;
  std::string store = "classic";
  std::uint64_t prune_depth = 2'160;
  std::uint64_t rollback_window = 4'320;
  std::uint64_t prune_batch_size = 500;
  UtxoIndexConfig index;
  std::string indexing_strategy;  // empty: the two flags decide
  bool self_contained_delta = false;
  std::string beyond_window = "refuse";
  std::uint64_t cache_mb = 384;
};

struct WalletConfig {
  bool enabled = true;
  std::string database;  // empty: wallet.db in the data directory; may hold a password
  std::uint64_t max_connections = 8;
  std::uint64_t gap_limit = 20;
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
  ReadyConfig ready;
  ChainstateConfig chainstate;
  DevnetConfig devnet;
  EventsConfig events;
  RocksdbConfig rocksdb;
  UtxoConfig utxo;
  WalletConfig wallet;

  std::string file;  // the file that was read; empty if there was none
  // Keys that somebody set, and where: the others hold defaults, which nobody need have meant.
  std::map<std::string, ConfigOrigin, std::less<>> given;

  bool is_given(std::string_view key) const { return given.contains(key); }
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

}  // namespace coffer::app
