// For the tests of the routes: a store behind a simulated chain, and a service over it.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <map>

#include <coffer/chain/decode.h>
#include "api/test_util.h"
#include "base/result.h"
#include "feed/devnet_chain.h"
#include "txstore/routes/txs.h"

namespace coffer::txstore {

namespace bj = boost::json;

inline constexpr std::uint64_t kTestWindow = 5;

// A store with a small window behind a simulated chain, and a service over it.
struct ServedStore {
  explicit ServedStore(const char* chain_name = "bitcoin")
      : network(chain::find_network(chain_name, "devnet").value()) {
    feed::DevnetOptions devnet;
    devnet.family = network.family;
    chain = std::make_unique<feed::DevnetChain>(devnet);
    db = kv::Database::open({.path = dir.path() / "db", .columns = columns()}).value();
    Options options;
    options.window = options.block_height_retention = kTestWindow;
    options.unmined_retention = 20;
    genesis = chain->genesis_utxos();
    store = Store::open(*db, network, options, genesis).value();
    consumer = Consumer::open(*store).value();
  }

  void see(const std::vector<feed::MempoolEvent>& events) {
    if (network.family == chain::Family::kCardano) return;  // chain-sync brings no mempool
    for (const feed::MempoolEvent& event : events) {
      if (!event.seen) {
        ASSERT_TRUE(consumer->on_tx_dropped({event.dropped}));
        continue;
      }
      auto tx = std::make_shared<chain::Block>();
      tx->storage = event.seen->wire;
      ASSERT_TRUE(chain::decode_tx_into(*tx, network, tx->storage));
      ASSERT_TRUE(consumer->on_tx_seen({tx}));
    }
  }
  void grow(std::size_t blocks) {
    for (std::size_t i = 0; i < blocks; ++i) {
      feed::Emission emission = chain->next();
      ASSERT_NO_FATAL_FAILURE(see(emission.before));
      if (emission.rolled_back > 0) {
        positions.resize(positions.size() - emission.rolled_back);
        const bus::Position to = positions.empty() ? bus::Position::origin() : positions.back();
        ASSERT_TRUE(consumer->on_rollback({to}));
      }
      auto block =
          std::make_shared<chain::Block>(chain::decode(network, std::move(emission.block)).value());
      if (network.family == chain::Family::kBitcoin) {
        block->number = BlockNumber(emission.height);
        block->slot = Slot(emission.height);
      }
      const bus::BlockApplied applied{.ordinal = Ordinal(positions.size()), .block = block};
      const auto done = consumer->on_block(applied);
      ASSERT_TRUE(done) << done.error().message;
      positions.push_back(applied.position());
      for (const chain::Tx& tx : block->txs) mined[tx.id] = positions.size() - 1;
      ASSERT_NO_FATAL_FAILURE(see(emission.after));
    }
    ASSERT_TRUE(consumer->flush());
  }
  void serve(bool enabled = true) {
    fixture.options.more_routes = [this, enabled](api::RouteTable& table) {
      const auto block_at = [this](std::uint64_t height) -> Result<std::optional<Hash256>> {
        if (height >= positions.size()) return std::nullopt;
        return positions[height].point.hash;
      };
      add_tx_routes(table, {enabled ? store.get() : nullptr, network, block_at});
    };
    fixture.start();
    openapi = bj::parse(bj::string_view(fixture.get("/openapi.json").content()));
  }
  http::Response send(http::Method method, const std::string& path, std::string body = "",
                      http::Fields headers = {}) const {
    http::ClientOptions client;
    client.headers = std::move(headers);
    client.body = std::move(body);
    auto response = http::request(method, fixture.service->url() + "/api/v1/txs" + path, client);
    if (!response) ADD_FAILURE() << response.error().message;
    return response ? std::move(*response) : http::Response{};
  }
  bj::value get(const std::string& path, int status = 200) const {
    const http::Response answer = send(http::Method::kGet, path);
    EXPECT_EQ(answer.status, status) << path << ": " << answer.content();
    return bj::parse(bj::string_view(answer.content()));
  }
  bj::value post(const std::string& path, const std::string& body, int status = 200) const {
    const http::Response answer =
        send(http::Method::kPost, path, body, api::bearer(fixture.token()));
    EXPECT_EQ(answer.status, status) << path << ": " << answer.content();
    return bj::parse(bj::string_view(answer.content()));
  }
  std::string detail(const bj::value& problem) const {
    return std::string(problem.at("detail").as_string());
  }
  bj::value schema(const std::string& name) const {
    return openapi.at("components").at("schemas").at(name);
  }
  std::string name(const Hash256& id) const { return chain::display(network.family, id); }

  // Every stored transaction for which the condition holds.
  template <typename Condition>
  std::vector<StoredTx> stored(Condition condition) const {
    std::vector<StoredTx> found;
    EXPECT_TRUE(store->for_each([&](const StoredTx& tx) -> Result<bool> {
      if (condition(tx)) found.push_back(tx);
      return true;
    }));
    return found;
  }
  // A mined transaction with an unspent output, and the first such.
  chain::Outpoint unspent_output() const {
    for (const StoredTx& tx : stored([](const StoredTx& t) { return t.unspent() > 0; })) {
      if (tx.state != State::kMined || tx.coinbase || tx.genesis) continue;
      const auto outputs = store->outputs(tx.id, 0, tx.outputs).value();
      for (std::uint32_t i = 0; i < outputs.size(); ++i)
        if (!outputs[i].spent && !outputs[i].unspendable) return {tx.id, i};
    }
    ADD_FAILURE() << "nothing is unspent";
    return {};
  }

  chain::Network network;
  TempDir dir;
  std::unique_ptr<feed::DevnetChain> chain;
  std::vector<chain::GenesisUtxo> genesis;
  std::unique_ptr<kv::Database> db;
  std::unique_ptr<Store> store;
  std::unique_ptr<Consumer> consumer;
  std::vector<bus::Position> positions;
  std::map<Hash256, std::uint64_t> mined;
  api::Fixture fixture;
  bj::value openapi;
};

}  // namespace coffer::txstore
