// What a node says of itself.
#include "app/node.h"
#include "app/version.h"
#include "app/wallet_setup.h"
#include "follow/behind.h"
#include "utxo/json/output.h"
#include "wallet/glance.h"

namespace coffer::app {
namespace {

api::TipStatus tip_status(const chain::Network& network, const chainstate::HeaderInfo& info) {
  return {info.ordinal.value, info.number.value, info.slot.value,
          display(network.family, info.hash), info.time_unix_s};
}

// As they were left. Errors: kNotFound if there is no database yet.
Result<wallet::Glance> stored_wallets(const config::Config& config, const chain::Network& network) {
  sql::DatabaseOptions options = TRY(wallet_database(config));
  options.create_if_missing = false;
  const auto database = TRY(sql::Database::open(std::move(options)));
  return wallet::glance(*database, network);
}

}  // namespace

std::vector<std::string> Node::not_ready(const api::Status& s) const {
  std::vector<std::string> reasons;
  if (!s.tip) reasons.push_back("no block yet");
  if (!s.source_problem.empty())
    reasons.push_back("source: " + s.source_problem);
  else if (s.source_state == "connecting")
    reasons.push_back("connecting to the source");
  if (s.tip && s.source_tip_number && *s.source_tip_number < s.tip->number)
    reasons.push_back(
        fmt::format("the source is at block {}, below block {} here: it went back and has no other "
                    "branch yet",
                    *s.source_tip_number, s.tip->number));
  if (s.behind > config_.ready.max_behind)
    reasons.push_back(fmt::format("{} blocks behind the source", s.behind));
  for (const api::ConsumerStatus& consumer : s.consumers) {
    if (consumer.state == "halted" || consumer.state == "waiting")
      reasons.push_back(fmt::format("{} {}: {}; {}", consumer.name,
                                    consumer.state == "halted" ? "halted" : "waits",
                                    consumer.problem, consumer.repair));
    else if (consumer.behind > config_.ready.max_behind)
      reasons.push_back(fmt::format("{} is {} blocks behind", consumer.name, consumer.behind));
  }
  return reasons;
}

api::Status Node::status() const {
  api::Status s;
  s.version = kVersion;
  s.chain = config_.chain;
  s.network = config_.network;
  s.data_dir = config_.data_dir;
  s.started_unix_ms = started_unix_ms_;
  s.uptime_ms = clock_.steady_ms() - started_steady_ms_;
  s.rollback_window = chain_->window();
  s.source = source_ ? source_->describe() : config_.source;
  s.source_state = "stopped";
  std::vector<bus::ConsumerInfo> consumers = bus_->consumers();
  if (utxo_reader_)
    if (const auto stats = utxo_reader_->stats()) {
      bus::ConsumerInfo& reader = consumers.emplace_back();
      reader.name = "utxo";
      reader.position = stats->at;
    }
  add_wallet_status(s, consumers);
  const auto tip = chain_->tip();
  if (tip) s.tip = tip_status(network_, *tip);
  if (follower_) {
    const follow::FollowStatus follow = follower_->status();
    s.source_state = to_string(follow.state);
    s.source_problem = follow.problem;
    s.source_tip_number = follow.source_number;
    s.mempool_transactions = follow.mempool_transactions;
    s.totals.rollbacks = follow.rollbacks;
    std::optional<std::uint64_t> have;
    if (tip) have = tip->number.value;
    s.behind = follow::blocks_behind(follow.source_number, have);
  }
  const std::uint64_t height = chain_->position().block_count();
  for (const bus::ConsumerInfo& info : consumers) {
    api::ConsumerStatus c;
    c.name = info.name;
    c.behind = height > info.position.block_count() ? height - info.position.block_count() : 0;
    c.state = info.state == bus::ConsumerState::kHalted    ? "halted"
              : info.state == bus::ConsumerState::kWaiting ? "waiting"
              : c.behind > 0                               ? "behind"
                                                           : "following";
    c.problem = info.problem;
    c.repair = info.repair;
    if (!info.position.at_origin)
      if (auto header = chain_->header(info.position.point.hash); header && *header)
        c.tip = tip_status(network_, **header);
    s.consumers.push_back(std::move(c));
  }
  const chainstate::TotalsRecord totals = totals_->current();
  s.totals.blocks = totals.blocks;
  s.totals.transactions = totals.transactions;
  s.totals.invalid_transactions = totals.invalid_transactions;
  s.totals.inputs = totals.inputs;
  s.totals.outputs = totals.outputs;
  s.totals.bytes = totals.bytes;
  s.totals.digest = totals.digest.hex();
  add_utxo_status(s);
  s.disk_bytes = db_->disk_bytes();
  s.not_ready_because = not_ready(s);
  s.ready = s.not_ready_because.empty();
  return s;
}

void Node::add_wallet_status(api::Status& s, std::vector<bus::ConsumerInfo>& consumers) const {
  if (wallet_) {
    s.wallet.emplace().tip_height = wallet_->feed().position().tip_height();
    const auto counted = wallet_monitor_ ? wallet_monitor_->counted() : std::nullopt;
    if (counted) s.wallet->wallets = counted->wallets;
    return;
  }
  if (!options_.read_only || !has_wallet(config_)) return;
  const auto seen = stored_wallets(config_, network_);
  if (!seen && seen.error().code == Code::kNotFound) return;
  s.wallet.emplace();
  if (!seen) {
    s.wallet->problem = seen.error().message;
    return;
  }
  s.wallet->wallets = seen->wallets;
  s.wallet->tip_height = seen->position.tip_height();
  bus::ConsumerInfo& reader = consumers.emplace_back();
  reader.name = "wallet";
  reader.position = seen->position;
}

void Node::add_utxo_status(api::Status& s) const {
  const utxo::UtxoState* state = utxo_ ? &utxo_->state() : utxo_reader_.get();
  if (state == nullptr) return;
  const auto stats = state->stats();
  if (!stats) return;  // the consumer's own state tells why
  s.utxo = api::UtxoStatus{.store = std::string(utxo::to_string(stats->store)),
                           .unspent = stats->unspent,
                           .coin = api::decimal(stats->amount),
                           .unit = std::string(api::coin_unit(network_.family)),
                           .addresses = utxo_monitor_ ? utxo_monitor_->addresses() : std::nullopt,
                           .rollback_blocks = stats->rollback_blocks,
                           .missing_inputs = stats->missing_inputs};
}

}  // namespace coffer::app
