#include "app/wallet_node.h"

#include <map>

#include "app/wallet_setup.h"
#include "base/log.h"
#include "base/stopwatch.h"

namespace coffer::app {
namespace {

constexpr std::chrono::seconds kEvery{30};  // look for expired leases and unfinished rescans

}  // namespace

Result<std::unique_ptr<WalletNode>> WalletNode::open(const config::Config& config,
                                                     const chain::Network& network,
                                                     const chainstate::ChainState& chain) {
  std::unique_ptr<WalletNode> node(new WalletNode(network, chain));
  sql::DatabaseOptions options = TRY(wallet_database(config));
  node->database_ = TRY(sql::Database::open(std::move(options)));
  wallet::StoreOptions rules = wallet_store_options(config, network);
  rules.block_at = [&chain](std::uint64_t height) { return block_at(chain, height); };
  node->store_ = TRY(wallet::Store::open(*node->database_, node->network_, std::move(rules)));
  node->feed_ = TRY(wallet::Consumer::open(*node->store_));
  return node;
}

WalletNode::~WalletNode() {
  stop();
}

void WalletNode::start(std::function<Result<std::unique_ptr<feed::Source>>()> open_source) {
  thread_ = std::thread([this, open = std::move(open_source)] { run(open); });
}

void WalletNode::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
    if (rescan_source_ != nullptr) rescan_source_->interrupt();
  }
  wake_.notify_all();
  if (thread_.joinable()) thread_.join();
}

Result<wallet::WalletInfo> WalletNode::request_rescan(std::string_view wallet,
                                                      std::optional<std::uint64_t> from_height) {
  const wallet::WalletInfo found = TRY(store_->find(wallet));
  wallet::WalletInfo asked =
      TRY(store_->request_rescan(found.id, from_height.value_or(found.birthday_height)));
  {
    std::lock_guard lock(mutex_);
    asked_ = true;
  }
  wake_.notify_all();
  return asked;
}

void WalletNode::clean_leases() {
  const auto cleaned = store_->clean_leases();
  if (!cleaned) {
    log::warn("expired leases could not be taken away", {{"problem", cleaned.error().message}});
  } else if (*cleaned > 0) {
    log::info("expired leases taken away", {{"leases", *cleaned}});
  }
}

void WalletNode::run(const std::function<Result<std::unique_ptr<feed::Source>>()>& open_source) {
  // A rescan may take hours.
  Stopwatch since_cleaned;
  const auto clean_if_due = [&](std::uint64_t, std::uint64_t) {
    if (since_cleaned.seconds() < std::chrono::duration<double>(kEvery).count()) return;
    since_cleaned = {};
    clean_leases();
  };
  const auto on_source = [this](feed::Source* source) {
    std::lock_guard lock(mutex_);
    rescan_source_ = source;
    if (stopping_ && source != nullptr) source->interrupt();
  };
  const RescanTools tools{network_,    chain_,    *store_,      *feed_,
                          open_source, stopping_, clean_if_due, on_source};
  std::map<std::uint64_t, std::string>
      told;  // of each wallet, the problem that the log has already
  while (!stopping_) {
    since_cleaned = {};
    clean_leases();
    const auto asked = store_->requested_rescans();
    if (!asked)
      log::warn("rescans could not be looked up, trying again later",
                {{"problem", asked.error().message}});
    for (const wallet::WalletInfo& wallet : asked.value_or(std::vector<wallet::WalletInfo>())) {
      if (stopping_) return;
      if (!told.contains(wallet.id.value))
        log::info("rescan", {{"wallet", wallet.name}, {"from", *wallet.rescan_next}});
      const auto done = run_rescan(tools, wallet);
      if (done) {
        told.erase(wallet.id.value);
        log::info(
            "rescan done",
            {{"wallet", wallet.name}, {"blocks", done->blocks}, {"transactions", done->changed}});
      } else if (done.error().code != Code::kCancelled &&
                 done.error().message != told[wallet.id.value]) {
        told[wallet.id.value] = done.error().message;
        log::warn("rescan failed, trying again now and then",
                  {{"wallet", wallet.name}, {"problem", done.error().message}});
      }
    }
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, kEvery, [&] { return stopping_ || asked_; });
    asked_ = false;
  }
}

}  // namespace coffer::app
