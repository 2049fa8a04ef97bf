#include "config/keys.h"
#include "base/result.h"

#include <charconv>

namespace coffer::config {
namespace {

bool is_not_empty(std::string_view text) {
  return !text.empty();
}

// HOST:PORT or [IPV6]:PORT.
bool is_host_and_port(std::string_view text) {
  const auto colon = text.rfind(':');
  if (colon == std::string_view::npos || colon == 0) return false;
  const std::string_view host = text.substr(0, colon);
  if (host.find(':') != std::string_view::npos && !(host.front() == '[' && host.back() == ']'))
    return false;
  const std::string_view port = text.substr(colon + 1);
  std::uint16_t number = 0;
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), number);
  return error == std::errc() && end == port.data() + port.size();
}

bool is_source(std::string_view text) {
  if (text == "devnet") return true;
  for (const std::string_view kind : {"file:", "blkdir:", "rpc:", "immutable:", "n2c:"})
    if (text.starts_with(kind) && text.size() > kind.size()) return true;
  return false;
}

#define SLOT(member) [](Config& config) -> Slot { return &config.member; }

std::vector<Key> core_keys() {
  return {
      {.name = "data_dir",
       .slot = SLOT(data_dir),
       .help = "Directory where Coffer keeps its data.",
       .accepts = is_not_empty,
       .expects = "a directory",
       .short_flag = "--data"},
      {.name = "chain",
       .slot = SLOT(chain),
       .help = "Kind of chain to follow.",
       .choices = {"bitcoin", "cardano"}},
      {.name = "network",
       .slot = SLOT(network),
       .help = "Network of the chain, e.g. mainnet, testnet, signet, regtest, preprod, preview or "
               "devnet.",
       .accepts = is_not_empty,
       .expects = "the name of a network"},
      {.name = "source",
       .slot = SLOT(source),
       .help = "Where blocks come from; devnet is a simulated chain.",
       .accepts = is_source,
       .expects = "devnet, file:PATH, blkdir:DIR, rpc:URL, immutable:DIR or n2c:SOCKET",
       .secret = true},
      {.name = "genesis",
       .slot = SLOT(genesis),
       .help = "Directory with byron-genesis.json and shelley-genesis.json of a Cardano network. "
               "The UTXO "
               "state starts with the outputs in them.",
       .expects = "a directory"},

      {.name = "log.level",
       .slot = SLOT(log.level),
       .help = "Lowest level of log messages to write.",
       .choices = {"trace", "debug", "info", "warn", "error", "off"}},
      {.name = "log.format",
       .slot = SLOT(log.format),
       .help = "Write log messages as text or as JSON lines.",
       .choices = {"text", "json"}},

      {.name = "http.listen",
       .slot = SLOT(http.listen),
       .help = "Address and port of the HTTP interface and the status page; port 0 takes any free "
               "port.",
       .accepts = is_host_and_port,
       .expects = "ADDRESS:PORT such as 127.0.0.1:7117",
       .short_flag = "--listen"},
      {.name = "http.allowed_hosts",
       .slot = SLOT(http.allowed_hosts),
       .help = "Names that requests may have in their Host header, besides those of loopback."},
      {.name = "http.tls.cert",
       .slot = SLOT(http.tls.cert),
       .help = "PEM file of the TLS certificate and its chain; read again on SIGHUP."},
      {.name = "http.tls.key",
       .slot = SLOT(http.tls.key),
       .help = "PEM file of the TLS certificate's private key; read again on SIGHUP."},
      {.name = "http.behind_proxy",
       .slot = SLOT(http.behind_proxy),
       .help =
           "Allow plain HTTP beyond loopback because a reverse proxy terminates TLS. Every request "
           "then needs a token, also on loopback, and the proxy names its client last in "
           "X-Forwarded-For."},
      {.name = "http.workers",
       .slot = SLOT(http.workers),
       .help = "Number of threads that handle requests.",
       .min = 1,
       .max = 256},
      {.name = "http.database_workers",
       .slot = SLOT(http.database_workers),
       .help = "Number of threads that handle requests to each SQL database; whoever waits for one "
               "database holds up nobody else.",
       .min = 1,
       .max = 256},
      {.name = "http.max_connections",
       .slot = SLOT(http.max_connections),
       .help = "Most connections open at the same time.",
       .min = 1,
       .max = 1'000'000},
      {.name = "http.max_connections_per_address",
       .slot = SLOT(http.max_connections_per_address),
       .help = "Most connections from one IPv4 address or one /64 of IPv6; then the one that is "
               "idle longest is closed. Not for loopback and behind a proxy.",
       .min = 1,
       .max = 1'000'000},
      {.name = "http.max_header_bytes",
       .slot = SLOT(http.max_header_bytes),
       .help = "Largest size of the headers of a request, in bytes.",
       .min = 1'024,
       .max = 1'048'576},
      {.name = "http.max_body_bytes",
       .slot = SLOT(http.max_body_bytes),
       .help = "Largest size of the body of a request, in bytes.",
       .min = 1'024,
       .max = 1'073'741'824},
      {.name = "http.max_total_body_bytes",
       .slot = SLOT(http.max_total_body_bytes),
       .help = "Memory for the bodies of all requests at the same time, in bytes; above it 503.",
       .min = 1'048'576,
       .max = 1'099'511'627'776},
      {.name = "http.request_timeout_ms",
       .slot = SLOT(http.request_timeout_ms),
       .help = "Time for a client to send a whole request, in milliseconds.",
       .min = 100,
       .max = 3'600'000},
      {.name = "http.idle_timeout_ms",
       .slot = SLOT(http.idle_timeout_ms),
       .help =
           "Close a connection that is idle between two requests for this long, in milliseconds.",
       .min = 100,
       .max = 3'600'000},
      {.name = "http.write_timeout_ms",
       .slot = SLOT(http.write_timeout_ms),
       .help = "Time for a client to receive a whole response, in milliseconds.",
       .min = 100,
       .max = 3'600'000},

      {.name = "audit.max_mb",
       .slot = SLOT(audit.max_mb),
       .help = "Size at which audit.log becomes audit.log.1, in MiB.",
       .min = 1,
       .max = 1'048'576},
      {.name = "audit.files",
       .slot = SLOT(audit.files),
       .help = "Number of files that the audit log keeps; the oldest is deleted.",
       .min = 2,
       .max = 1'000},

      {.name = "ready.max_behind",
       .slot = SLOT(ready.max_behind),
       .help = "/health/ready answers ready up to this many blocks behind the source.",
       .max = 1'000'000},
      {.name = "ready.max_tip_age",
       .slot = SLOT(ready.max_tip_age),
       .help =
           "/health/ready answers ready while the newest block is at most this old, in seconds; "
           "0 is off; default: by the pace of the network.",
       .max = 31'536'000},
      {.name = "chainstate.rollback_window",
       .slot = SLOT(chainstate.rollback_window),
       .help = "Number of blocks that can be rolled back; default: as many as the network needs.",
       .min = 1,
       .max = 1'000'000},
      {.name = "events.keep",
       .slot = SLOT(events.keep),
       .help = "Number of events kept for clients of /api/v1/events that reconnect.",
       .min = 1,
       .max = 10'000'000},
      {.name = "rocksdb.block_cache_mb",
       .slot = SLOT(rocksdb.block_cache_mb),
       .help = "Memory for RocksDB's cache of data read from disk, in MiB.",
       .min = 1,
       .max = 1'048'576},
      {.name = "sql.statement_timeout_ms",
       .slot = SLOT(sql.statement_timeout_ms),
       .help = "Longest time for one statement to an SQL database, in milliseconds; a server that "
               "does not answer is given up up to five seconds later.",
       .min = 1'000,
       .max = 3'600'000},

      {.name = "devnet.seed",
       .slot = SLOT(devnet.seed),
       .help = "Seed of the simulated chain; the same seed gives the same chain."},
      {.name = "devnet.block_interval_ms",
       .slot = SLOT(devnet.block_interval_ms),
       .help =
           "Time between two simulated blocks, in milliseconds; 0 makes them as fast as possible.",
       .max = 86'400'000},
      {.name = "devnet.txs_per_block",
       .slot = SLOT(devnet.txs_per_block),
       .help = "Average number of transactions in a simulated block.",
       .max = 10'000},
      {.name = "devnet.reorg_every",
       .slot = SLOT(devnet.reorg_every),
       .help = "Average number of blocks between simulated reorgs; 0 for none.",
       .max = 1'000'000},
      {.name = "devnet.max_reorg_depth",
       .slot = SLOT(devnet.max_reorg_depth),
       .help = "Most blocks that a simulated reorg disconnects.",
       .min = 1,
       .max = 100'000},
  };
}

#undef SLOT

}  // namespace

namespace {

struct Declared {
  std::vector<Key> keys = core_keys();
  std::vector<Check> checks;
};
Declared& declared() {
  static Declared all;
  return all;
}

}  // namespace

void declare(std::span<const Key> keys, Check check) {
  for (const Key& key : keys) {
    if (find_key(key.name) != nullptr) return;  // declared before
    declared().keys.push_back(key);
  }
  if (check != nullptr) declared().checks.push_back(check);
}

std::span<const Key> config_keys() {
  return declared().keys;
}

Result<> check_together(const Config& config) {
  for (const Check check : declared().checks) TRY(check(config));
  return {};
}

const Key* find_key(std::string_view name) {
  for (const Key& key : declared().keys)
    if (key.name == name) return &key;
  return nullptr;
}

}  // namespace coffer::config
