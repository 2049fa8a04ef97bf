// For tests of the whole flow: one database with a chain state and all consumers.
#pragma once

#include <coffer/chainstate/chain_state.h>
#include <coffer/utxo/store.h>
#include "chainstate/event_log.h"
#include "chainstate/totals.h"
#include "feed/devnet_chain.h"

namespace coffer::test {

struct Stores {
  Stores(const std::filesystem::path& path, const chain::Network& network, std::uint64_t window) {
    auto columns = chainstate::ChainState::columns();
    utxo::Options options;
    options.rollback_window = options.prune_depth = window;
    for (const auto& more :
         {chainstate::Totals::columns(), chainstate::EventLog::columns(), utxo::columns(options)})
      columns.insert(columns.end(), more.begin(), more.end());
    db = kv::Database::open({.path = path, .columns = columns}).value();
    chain = chainstate::ChainState::open(*db, network, chainstate::Identity::of(network), window)
                .value();
    totals = chainstate::Totals::open(*db, window).value();
    events = chainstate::EventLog::open(*db, network.family, 100).value();
    const feed::DevnetChain devnet({.family = network.family});
    utxo = utxo::Store::open(*db, network, options, devnet.genesis_utxos()).value();
  }
  std::unique_ptr<kv::Database> db;
  std::unique_ptr<chainstate::ChainState> chain;
  std::unique_ptr<chainstate::Totals> totals;
  std::unique_ptr<chainstate::EventLog> events;
  std::unique_ptr<utxo::Store> utxo;
};

}  // namespace coffer::test
