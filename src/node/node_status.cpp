// What a node says of itself.
#include <coffer/version.h>
#include "base/result.h"
#include "cli/table.h"
#include "follow/behind.h"
#include "node/network_setup.h"
#include "node/node.h"

namespace coffer::node {
namespace {

api::TipStatus tip_status(const chain::Network& network, const chainstate::HeaderInfo& info) {
  return {info.ordinal.value, info.number.value, info.slot.value,
          display(network.family, info.hash), info.time_unix_s};
}

}  // namespace

std::optional<std::string> Node::tip_too_old(const api::Status& s) const {
  if (!s.tip || !source_) return std::nullopt;
  const auto natural =
      source_->is_static() ? std::nullopt : natural_max_tip_age_s(network_, config_.source);
  const std::uint64_t most_s = config_.ready.max_tip_age.value_or(natural.value_or(0));
  const std::int64_t age_ms = clock_.unix_ms() - s.tip->time_unix_s * 1'000;
  if (most_s == 0 || age_ms <= static_cast<std::int64_t>(most_s) * 1'000) return std::nullopt;
  return fmt::format(
      "the newest block is {} old, more than ready.max_tip_age ({}); check that the source itself "
      "is at the chain's tip",
      cli::human_duration_ms(static_cast<std::uint64_t>(age_ms)),
      cli::human_duration_ms(most_s * 1'000));
}

std::vector<api::NotReady> Node::not_ready(const api::Status& s) const {
  std::vector<api::NotReady> reasons;
  const auto add = [&](std::string reason) { reasons.push_back({.reason = std::move(reason)}); };
  if (!s.tip) reasons.push_back({.reason = "no block yet", .answers = false});
  if (!s.source_problem.empty())
    add("source: " + s.source_problem);
  else if (s.source_state == "connecting")
    add("connecting to the source");
  if (s.tip && s.source_tip_number && *s.source_tip_number < s.tip->number)
    add(
        fmt::format("the source is at block {}, below block {} here: it went back and has no other "
                    "branch yet",
                    *s.source_tip_number, s.tip->number));
  if (s.behind > config_.ready.max_behind)
    add(fmt::format("{} blocks behind the source", s.behind));
  else if (auto too_old = tip_too_old(s))
    add(std::move(*too_old));
  for (const api::ConsumerStatus& consumer : s.consumers) {
    const bool halted = consumer.state == "halted";
    // One that halted answers from the block it has; one that waits does so for its database.
    if (halted || consumer.state == "waiting")
      reasons.push_back({consumer.name,
                         fmt::format("{} {}: {}; {}", consumer.name, halted ? "halted" : "waits",
                                     consumer.problem, consumer.repair),
                         halted});
    else if (consumer.behind > config_.ready.max_behind)
      reasons.push_back(
          {consumer.name, fmt::format("{} is {} blocks behind", consumer.name, consumer.behind)});
  }
  for (const auto& probe : probes_)
    for (std::string& problem : probe->problems())
      reasons.push_back({std::string(probe->module()), std::move(problem), false});
  for (const Opened& opened : modules_)
    for (api::NotReady& reason : opened.open->not_ready()) {
      reason.consumer = opened.module->name;
      reasons.push_back(std::move(reason));
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
  for (const bus::ConsumerInfo& info : consumers()) {
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
  for (const Opened& opened : modules_)
    if (opened.module->status_schema != nullptr)
      s.modules.push_back({std::string(opened.module->name), opened.open->status()});
  s.disk_bytes = db_->disk_bytes();
  s.not_ready = not_ready(s);
  for (const api::NotReady& one : s.not_ready) s.not_ready_because.push_back(one.reason);
  s.ready = s.not_ready_because.empty();
  return s;
}

// For who only looks, those of modules are not on the bus.
std::vector<bus::ConsumerInfo> Node::consumers() const {
  std::vector<bus::ConsumerInfo> all = bus_->consumers();
  for (const Opened& opened : modules_)
    if (const auto position = opened.open->stored_position()) {
      bus::ConsumerInfo& reader = all.emplace_back();
      reader.name = opened.module->name;
      reader.position = *position;
    }
  return all;
}

}  // namespace coffer::node
