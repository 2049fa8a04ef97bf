// One running Coffer: database, chain state, consumers, bus, source, follower, HTTP. The only
// wiring.
#pragma once

#include <thread>

#include <coffer/follow/follower.h>
#include "api/metrics.h"
#include "api/service.h"
#include "api/status.h"
#include "chainstate/event_log.h"
#include "chainstate/totals.h"
#include "config/config.h"
#include "feed/devnet_chain.h"
#include "node/database_probe.h"
#include "node/module.h"

namespace coffer::node {

struct NodeOptions {
  bool read_only = false;  // only to look: no source, no server, beside a running one
  bool paced = false;      // a simulated chain takes its time, with today's block times
  std::optional<std::uint64_t> stop_height = {};  // end after the block of this height
  bool one_shot = false;  // end at the source's tip instead of waiting for more
  bool log_rollbacks = true;
  std::function<void(const chainstate::HeaderInfo&)> on_connected = nullptr;
};

// In the data directory while a process serves it: where the commands beside it reach it.
inline constexpr std::string_view kSocketFile = "coffer.sock";

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
  // Ends follow(), requests that take long, and soon every wait for an SQL database; thread-safe.
  void stop();

  chainstate::ChainState& chain() { return *chain_; }
  // A module that is open; null if there is none of this name.
  OpenModule* find(std::string_view module) const;

 private:
  Node(const config::Config& config, NodeOptions options, const Clock& clock);
  Result<> open_stores();
  // Chain and network as the database says, if it says.
  Result<> take_stored_network();
  Result<> open_modules(std::span<const chain::GenesisUtxo> genesis);
  Result<> open_source();
  std::unique_ptr<feed::Source> open_devnet() const;
  // Old blocks from one more source.
  Result<std::unique_ptr<bus::BlockReader>> open_blocks() const;
  void update_identity_file();
  std::vector<bus::ConsumerInfo> consumers() const;
  std::vector<api::NotReady> not_ready(const api::Status& status) const;
  std::optional<std::string> tip_too_old(const api::Status& status) const;

  config::Config config_;
  const NodeOptions options_;
  const Clock& clock_;
  const std::int64_t started_unix_ms_;
  const std::int64_t started_steady_ms_;
  chain::Network network_;
  feed::DevnetOptions devnet_;  // when the source is simulated
  bool identity_written_ = false;
  // Destroyed from the last to the first: users before what they use.
  sql::StopSignal stop_;
  api::Metrics metrics_;
  std::unique_ptr<kv::Database> db_;
  std::unique_ptr<chainstate::ChainState> chain_;
  std::unique_ptr<chainstate::Totals> totals_;
  std::unique_ptr<chainstate::EventLog> events_;
  struct Opened {
    const Module* module;
    std::unique_ptr<OpenModule> open;
  };
  std::vector<Opened> modules_;
  std::unique_ptr<bus::Bus> bus_;
  std::unique_ptr<feed::Source> source_;
  std::unique_ptr<follow::Follower> follower_;
  std::vector<std::unique_ptr<DatabaseProbe>> probes_;
  std::unique_ptr<api::Service> service_;
};

}  // namespace coffer::node
