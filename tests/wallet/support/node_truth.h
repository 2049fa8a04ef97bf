// What a real node says of some scripts: every block of its chain and every transaction of its
// mempool is asked for, as the node itself reads them, and added up here.
#pragma once

#include <cmath>

#include "support/bitcoin_node.h"

namespace coffer::test {

class NodeTruth {
 public:
  struct Sums {
    // Of the chain alone, whatever the mempool spends: all but immature coinbases, and those.
    std::uint64_t confirmed = 0, immature = 0;
    std::uint64_t total = 0;  // with the mempool
    friend bool operator==(const Sums&, const Sums&) = default;
  };

  explicit NodeTruth(BitcoinNode& node) : node_(node) {}

  void watch(ByteView script) { scripts_.insert(to_hex(script)); }

  Sums ask() {
    coins_.clear();
    const std::uint64_t tip = node_.height();
    for (std::uint64_t height = 0; height <= tip; ++height)
      for (const auto& tx : block(node_.hash_at(height)).at("tx").as_array()) apply(tx, height);
    Sums sums;
    for (const auto& [outpoint, coin] : coins_) {
      const bool is_young = coin.coinbase && tip - coin.height < 100;
      (is_young ? sums.immature : sums.confirmed) += coin.value;
    }
    // In any order: what is spent there is gone, whoever comes first.
    std::vector<boost::json::value> loose;
    for (const std::string& id : node_.mempool()) {
      const boost::json::value tx = node_.call("getrawtransaction", {id, true});
      if (tx.as_object().contains("vin")) loose.push_back(tx);  // else it has just left
    }
    for (const auto& tx : loose) add_outputs(tx, tip + 1);
    for (const auto& tx : loose) take_inputs(tx);
    for (const auto& [outpoint, coin] : coins_) sums.total += coin.value;
    return sums;
  }

 private:
  struct Coin {
    std::uint64_t value = 0, height = 0;
    bool coinbase = false;
  };
  using Outpoint = std::pair<std::string, std::uint64_t>;

  const boost::json::value& block(const std::string& hash) {
    auto [at, is_new] = blocks_.try_emplace(hash);
    if (is_new) at->second = node_.call("getblock", {hash, true, true});
    return at->second;
  }
  void apply(const boost::json::value& tx, std::uint64_t height) {
    take_inputs(tx);
    add_outputs(tx, height);
  }
  void take_inputs(const boost::json::value& tx) {
    for (const auto& input : tx.at("vin").as_array())
      if (!input.as_object().contains("coinbase"))
        coins_.erase({std::string(input.at("txid").as_string()),
                      input.at("vout").to_number<std::uint64_t>()});
  }
  void add_outputs(const boost::json::value& tx, std::uint64_t height) {
    const bool coinbase = tx.at("vin").at(0).as_object().contains("coinbase");
    for (const auto& output : tx.at("vout").as_array()) {
      if (!scripts_.contains(std::string(output.at("scriptPubKey").at("hex").as_string())))
        continue;
      const double coins = output.at("value").to_number<double>();
      coins_[{std::string(tx.at("txid").as_string()), output.at("n").to_number<std::uint64_t>()}] =
          {static_cast<std::uint64_t>(std::llround(coins * 1e8)), height, coinbase};
    }
  }

  BitcoinNode& node_;
  std::set<std::string> scripts_;
  std::map<std::string, boost::json::value> blocks_;  // by hash: a block never changes
  std::map<Outpoint, Coin> coins_;
};

}  // namespace coffer::test
