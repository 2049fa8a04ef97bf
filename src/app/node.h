// One running Coffer: database, chain state, consumers, bus, source, follower, HTTP. The only
// wiring.
#pragma once

#include <thread>

#include "api/metrics.h"
#include "api/service.h"
#include "api/status.h"
#include "app/utxo_monitor.h"
#include "app/wallet_monitor.h"
#include "app/wallet_node.h"
#include "chainstate/event_log.h"
#include "chainstate/totals.h"
#include "config/config.h"
#include "feed/devnet_chain.h"
#include "follow/follower.h"

namespace coffer::app {

struct NodeOptions {
  bool read_only = false;  // only to look: no source, no server, beside a running one
  bool paced = false;      // a simulated chain takes its time, with today's block times
  std::optional<std::uint64_t> stop_height = {};  // end after the block of this height
  bool one_shot = false;  // end at the source's tip instead of waiting for more
  bool log_rollbacks = true;
  std::function<void(const chainstate::HeaderInfo&)> on_connected = nullptr;
};

// What a process that serves leaves in the data directory, for `coffer status`.
inline constexpr std::string_view kRunFile = "coffer.run";

class Node {
 public:
  // Opens everything; nothing moves yet. Errors: those of the parts, each one line with the next
  // step.
  static Result<std::unique_ptr<Node>> open(const config::Config& config, NodeOptions options,
                                            const Clock& clock);
  ~Node();

  // Follows the source on this thread until it ends or stop(). Errors: those of the follower; a
  // consumer that halted.
  Result<> follow();
  // Serves HTTP. Before follow(), so that the page is there while syncing.
  Result<> serve();
  std::string url() const { return service_ ? service_->url() : ""; }
  Result<> reload();

  // Thread-safe.
  api::Status status() const;
  // Whether follow() failed because of our own store, which only a new start can mend.
  bool store_failed() const { return follower_ && follower_->store_failed(); }
  // Ends follow(); thread-safe.
  void stop();

  chainstate::ChainState& chain() { return *chain_; }

  // Does the wallet's rescan on this thread; without serve() and follow(). Errors: kUnavailable
  // without wallets; those of run_rescan().
  Result<Rescanned> rescan(std::string_view wallet, std::optional<std::uint64_t> from_height,
                           const std::function<void(std::uint64_t, std::uint64_t)>& progress);

 private:
  Node(const config::Config& config, NodeOptions options, const Clock& clock);
  Result<> open_stores();
  // Chain and network as the database says, if it says.
  Result<> take_stored_network();
  Result<> open_utxo(std::span<const chain::GenesisUtxo> genesis);
  Result<> open_wallet();
  // What it says of the wallets; without a running feed, from their database as it is.
  void add_wallet_status(api::Status& status, std::vector<bus::ConsumerInfo>& consumers) const;
  Result<> open_source();
  std::unique_ptr<feed::Source> open_devnet() const;
  // One more source, for who looks at old blocks.
  Result<std::unique_ptr<feed::Source>> open_another_source() const;
  void log_utxo(std::string_view event) const;
  void add_utxo_status(api::Status& status) const;
  std::vector<std::string> not_ready(const api::Status& status) const;

  config::Config config_;
  const NodeOptions options_;
  const Clock& clock_;
  const std::int64_t started_unix_ms_;
  const std::int64_t started_steady_ms_;
  chain::Network network_;
  feed::DevnetOptions devnet_;  // when the source is simulated
  // Destroyed from the last to the first: users before what they use.
  api::Metrics metrics_;
  std::unique_ptr<kv::Database> db_;
  std::unique_ptr<chainstate::ChainState> chain_;
  std::unique_ptr<chainstate::Totals> totals_;
  std::unique_ptr<chainstate::EventLog> events_;
  // One of the two, or neither when it is off: the consumer, or its reading side for who only
  // looks.
  std::unique_ptr<utxo::Store> utxo_;
  std::unique_ptr<utxo::UtxoState> utxo_reader_;
  std::unique_ptr<WalletNode> wallet_;
  std::unique_ptr<bus::Bus> bus_;
  std::unique_ptr<feed::Source> source_;
  std::unique_ptr<follow::Follower> follower_;
  std::unique_ptr<UtxoMonitor> utxo_monitor_;
  std::unique_ptr<WalletMonitor> wallet_monitor_;
  std::unique_ptr<api::Service> service_;
};

}  // namespace coffer::app
