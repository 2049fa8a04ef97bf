#include "app/config_keys.h"

#include <charconv>

#include "sql/location.h"

namespace coffer::app {
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

bool is_database(std::string_view text) {
  return text.empty() || sql::describe_location(text).has_value();
}

#define SLOT(member) [](Config& config) -> Slot { return &config.member; }

const std::vector<Key>& table() {
  static const std::vector<Key> keys = {
      {.name = "data_dir",
       .slot = SLOT(data_dir),
       .help = "Where Coffer keeps its data.",
       .accepts = is_not_empty,
       .expects = "a directory",
       .short_flag = "--data"},
      {.name = "chain",
       .slot = SLOT(chain),
       .help = "The kind of chain.",
       .choices = {"bitcoin", "cardano"}},
      {.name = "network",
       .slot = SLOT(network),
       .help = "Its network, e.g. mainnet, testnet, signet, regtest, preprod, preview or devnet.",
       .accepts = is_not_empty,
       .expects = "the name of a network"},
      {.name = "source",
       .slot = SLOT(source),
       .help = "Where blocks come from: devnet simulates a chain.",
       .accepts = is_source,
       .expects = "devnet, file:PATH, blkdir:DIR, rpc:URL, immutable:DIR or n2c:SOCKET",
       .secret = true},
      {.name = "genesis",
       .slot = SLOT(genesis),
       .help =
           "Directory with byron-genesis.json and shelley-genesis.json of a Cardano network; the "
           "outputs in them begin its UTXO state.",
       .expects = "a directory"},

      {.name = "log.level",
       .slot = SLOT(log.level),
       .help = "The least important logs to write.",
       .choices = {"trace", "debug", "info", "warn", "error", "off"}},
      {.name = "log.format",
       .slot = SLOT(log.format),
       .help = "Logs as text or as JSON lines.",
       .choices = {"text", "json"}},

      {.name = "http.listen",
       .slot = SLOT(http.listen),
       .help = "Address and port of the HTTP interface and the page; port 0 takes any free one.",
       .accepts = is_host_and_port,
       .expects = "ADDRESS:PORT such as 127.0.0.1:7117",
       .short_flag = "--listen"},
      {.name = "http.allowed_hosts",
       .slot = SLOT(http.allowed_hosts),
       .help = "Names besides loopback's that a request may have in its Host header."},
      {.name = "http.tls.cert",
       .slot = SLOT(http.tls.cert),
       .help = "PEM file of the certificate and its chain; read again on SIGHUP."},
      {.name = "http.tls.key",
       .slot = SLOT(http.tls.key),
       .help = "PEM file of the certificate's private key."},
      {.name = "http.behind_proxy",
       .slot = SLOT(http.behind_proxy),
       .help = "A proxy before Coffer ends TLS, so it may listen beyond loopback without its own."},
      {.name = "http.workers",
       .slot = SLOT(http.workers),
       .help = "Threads that answer requests.",
       .min = 1,
       .max = 256},
      {.name = "http.max_connections",
       .slot = SLOT(http.max_connections),
       .help = "Connections open at a time.",
       .min = 1,
       .max = 1'000'000},
      {.name = "http.max_header_bytes",
       .slot = SLOT(http.max_header_bytes),
       .help = "Size of a request's headers.",
       .min = 1'024,
       .max = 1'048'576},
      {.name = "http.max_body_bytes",
       .slot = SLOT(http.max_body_bytes),
       .help = "Size of a request's body.",
       .min = 1'024,
       .max = 1'073'741'824},
      {.name = "http.request_timeout_ms",
       .slot = SLOT(http.request_timeout_ms),
       .help = "From the first to the last byte of a request.",
       .min = 100,
       .max = 3'600'000},
      {.name = "http.idle_timeout_ms",
       .slot = SLOT(http.idle_timeout_ms),
       .help = "Between two requests on a connection.",
       .min = 100,
       .max = 3'600'000},
      {.name = "http.write_timeout_ms",
       .slot = SLOT(http.write_timeout_ms),
       .help = "For a client to take an answer.",
       .min = 100,
       .max = 3'600'000},

      {.name = "ready.max_behind",
       .slot = SLOT(ready.max_behind),
       .help = "Blocks behind the source at which /health/ready still says ready.",
       .max = 1'000'000},
      {.name = "chainstate.rollback_window",
       .slot = SLOT(chainstate.rollback_window),
       .help = "Blocks that can be undone; without it, what the network needs.",
       .min = 1,
       .max = 1'000'000},
      {.name = "events.keep",
       .slot = SLOT(events.keep),
       .help = "Events kept for clients of /api/v1/events that come back.",
       .min = 1,
       .max = 10'000'000},
      {.name = "rocksdb.block_cache_mb",
       .slot = SLOT(rocksdb.block_cache_mb),
       .help = "Memory for data read from disk.",
       .min = 1,
       .max = 1'048'576},

      {.name = "utxo.enabled",
       .slot = SLOT(utxo.enabled),
       .help = "Keep the UTXO state: what is unspent, by output, address and credential."},
      {.name = "utxo.store",
       .slot = SLOT(utxo.store),
       .help = "classic, or mmr with roots and proofs; what it is stays until 'coffer utxo "
               "rebuild'.",
       .choices = {"classic", "mmr"}},
      {.name = "utxo.pruneDepth",
       .slot = SLOT(utxo.prune_depth),
       .help = "Blocks for which a spent output is remembered, at least.",
       .min = 1,
       .max = 1'000'000},
      {.name = "utxo.rollbackWindow",
       .slot = SLOT(utxo.rollback_window),
       .help = "Blocks that the UTXO state can undo; at least utxo.pruneDepth.",
       .min = 1,
       .max = 1'000'000},
      {.name = "utxo.pruneBatchSize",
       .slot = SLOT(utxo.prune_batch_size),
       .help = "Old records that are cleared away with each block, about.",
       .min = 1,
       .max = 1'000'000},
      {.name = "utxo.index.address_hash",
       .slot = SLOT(utxo.index.address_hash),
       .help = "Index by address; without it or a strategy, true. Stays until 'coffer utxo "
               "rebuild'."},
      {.name = "utxo.index.payment_credential",
       .slot = SLOT(utxo.index.payment_credential),
       .help = "Index by payment credential (Cardano); without it or a strategy, true. Stays "
               "until 'coffer utxo rebuild'."},
      {.name = "utxo.indexingStrategy",
       .slot = SLOT(utxo.indexing_strategy),
       .help = "Sets both indexes at once; must not contradict them.",
       .choices = {"address_hash", "payment_credential", "both"}},
      {.name = "utxo.delta.selfContained",
       .slot = SLOT(utxo.self_contained_delta),
       .help = "What undoes a block holds whole outputs, so that spent ones can go after "
               "utxo.pruneDepth; takes more room."},
      {.name = "utxo.rollback.beyondWindow",
       .slot = SLOT(utxo.beyond_window),
       .help = "A rollback beyond the window: refuse it whole, or undo what can be undone.",
       .choices = {"refuse", "partial"}},
      {.name = "utxo.cacheMb",
       .slot = SLOT(utxo.cache_mb),
       .help = "Memory for outputs that wait for a commit while catching up.",
       .min = 16,
       .max = 1'048'576},

      {.name = "wallet.enabled",
       .slot = SLOT(wallet.enabled),
       .help = "Keep wallets: coins, history and leases of imported keys and addresses (Bitcoin)."},
      {.name = "wallet.database",
       .slot = SLOT(wallet.database),
       .help = "Where wallets are kept; without it, wallet.db in the data directory.",
       .accepts = is_database,
       .expects = "sqlite:PATH, postgres://USER@HOST/NAME or \"host=… dbname=…\"",
       .secret = true},
      {.name = "wallet.maxConnections",
       .slot = SLOT(wallet.max_connections),
       .help = "Connections to the wallets' database, at most; with SQLite one more for writing.",
       .min = 1,
       .max = 256},
      {.name = "wallet.gapLimit",
       .slot = SLOT(wallet.gap_limit),
       .help = "Addresses watched beyond the last one that was used or given out.",
       .min = 1,
       .max = 100'000},

      {.name = "devnet.seed",
       .slot = SLOT(devnet.seed),
       .help = "The simulated chain is the same for the same seed."},
      {.name = "devnet.block_interval_ms",
       .slot = SLOT(devnet.block_interval_ms),
       .help = "Between two simulated blocks; 0 makes them as fast as they are taken.",
       .max = 86'400'000},
      {.name = "devnet.txs_per_block",
       .slot = SLOT(devnet.txs_per_block),
       .help = "Transactions in a simulated block, about.",
       .max = 10'000},
      {.name = "devnet.reorg_every",
       .slot = SLOT(devnet.reorg_every),
       .help = "Blocks between simulated reorgs, on average; 0 for none.",
       .max = 1'000'000},
      {.name = "devnet.max_reorg_depth",
       .slot = SLOT(devnet.max_reorg_depth),
       .help = "Blocks that a simulated reorg undoes at most.",
       .min = 1,
       .max = 100'000},
  };
  return keys;
}

#undef SLOT

}  // namespace

std::span<const Key> config_keys() {
  return table();
}

const Key* find_key(std::string_view name) {
  for (const Key& key : table())
    if (key.name == name) return &key;
  return nullptr;
}

}  // namespace coffer::app
