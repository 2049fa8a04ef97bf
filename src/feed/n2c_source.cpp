#include "feed/n2c_source.h"

#include <coffer/base/log.h>
#include "base/result.h"

namespace coffer::feed {

using namespace n2c;

N2cSource::N2cSource(N2cSourceOptions options, const Clock& clock)
    : options_(std::move(options)), clock_(clock), connection_(clock) {}
N2cSource::~N2cSource() = default;

std::string N2cSource::describe() const {
  return "Cardano node at " + options_.socket.string();
}

void N2cSource::note(const Tip& tip) {
  const auto before = tip_number();
  set_tip(tip.point.is_origin() ? std::nullopt : std::optional(tip.number),
          before ? std::min(*before, tip.number) : 0);
}

// A slot has one block at most.
void N2cSource::limit_confirmed_tip(const HeaderPlace& block, const Tip& tip) {
  const std::uint64_t slots =
      tip.point.slot > block.slot ? tip.point.slot.value - block.slot.value : 0;
  const std::uint64_t confirmed = confirmed_tip().value_or(0);
  if (slots < confirmed - std::min(confirmed, block.number))
    set_tip(tip_number(), block.number + slots);
}

Result<Bytes> N2cSource::answer_to(std::uint16_t protocol, ByteView question) {
  TRY(connection_.send(protocol, question, 1, options_.answer_timeout_ms));
  std::optional<Bytes> answer = TRY(connection_.receive(protocol, options_.answer_timeout_ms));
  if (!answer) return fail(Code::kUnavailable, "the node does not answer");
  return std::move(*answer);
}

Result<chain::Point> N2cSource::connect_at(std::span<const chain::Point> points) {
  TRY(connection_.open(options_.socket));
  const Bytes shaken = TRY(answer_to(kHandshake, propose_versions(options_.network_magic)));
  const std::uint16_t version = TRY(read_handshake_answer(shaken));
  log::debug("met a node", {{"socket", options_.socket.string()},
                            {"version", std::uint64_t{version} & ~std::uint64_t{kVersionBit}}});
  // Every chain has the Origin, so there is always something to be found.
  std::vector<chain::Point> asked(points.begin(), points.end());
  if (asked.empty() || !asked.back().is_origin()) asked.push_back(chain::Point::origin());
  const Bytes message = TRY(answer_to(kChainSync, find_intersect(asked)));
  const Answer answer = TRY(read_answer(message));
  if (const auto* found = std::get_if<IntersectFound>(&answer)) {
    note(found->tip);
    return found->at;
  }
  if (const auto* not_found = std::get_if<IntersectNotFound>(&answer)) {
    note(not_found->tip);
    return chain::Point::origin();
  }
  return fail(Code::kInvalidInput, "the node does not answer where the chains meet");
}

Result<chain::Point> N2cSource::intersect(std::span<const chain::Point> points) {
  owed_ = 0;
  awaiting_ = false;
  far_from_tip_ = false;
  Result<chain::Point> met = connect_at(points);
  if (met) return met;
  connection_.close();
  return fail(std::move(met).error().in(describe()));
}

Result<> N2cSource::ask() {
  const int wanted = far_from_tip_ ? std::max(1, options_.pipeline) : 1;
  if (owed_ > wanted / 2) return {};  // in bunches: a system call for each block would cost more
  if (owed_ == 0) answered_ms_ = clock_.steady_ms();
  TRY(connection_.send(kChainSync, request_next(), wanted - owed_, options_.answer_timeout_ms));
  owed_ = wanted;
  return {};
}

Result<std::optional<SourceEvent>> N2cSource::take(ByteView message) {
  const Answer answer = TRY(read_answer(message));
  answered_ms_ = clock_.steady_ms();
  if (std::holds_alternative<AwaitReply>(answer)) {
    awaiting_ = true;
    far_from_tip_ = false;
    return std::nullopt;
  }
  awaiting_ = false;
  --owed_;
  if (const auto* forward = std::get_if<RollForward>(&answer)) {
    note(forward->tip);
    const auto place = peek_place(forward->block);
    if (place) limit_confirmed_tip(*place, forward->tip);
    // Blocks of Byron do not tell; where they are the newest, asking ahead does no harm.
    far_from_tip_ = !place || place->number + static_cast<std::uint64_t>(options_.pipeline) <
                                  forward->tip.number;
    return SourceEvent(NextBlock{Bytes(forward->block.begin(), forward->block.end())});
  }
  if (const auto* backward = std::get_if<RollBackward>(&answer)) {
    note(backward->tip);
    return SourceEvent(RolledBack{backward->to});
  }
  return fail(Code::kInvalidInput, "the node answers what was not asked");
}

Result<SourceEvent> N2cSource::next(int timeout_ms) {
  const std::int64_t deadline_ms = clock_.steady_ms() + timeout_ms;
  const auto attempt = [&]() -> Result<SourceEvent> {
    TRY(ask());
    for (;;) {
      const std::int64_t left_ms = std::max<std::int64_t>(0, deadline_ms - clock_.steady_ms());
      const auto message = TRY(connection_.receive(kChainSync, static_cast<int>(left_ms)));
      if (message) {
        if (auto step = TRY(take(*message))) return std::move(*step);
      } else if (!awaiting_ && clock_.steady_ms() - answered_ms_ > options_.answer_timeout_ms) {
        return fail(Code::kUnavailable, "the node does not answer");
      } else {
        return SourceEvent(Idle{});
      }
    }
  };
  Result<SourceEvent> step = attempt();
  if (step) return step;
  connection_.close();
  return fail(std::move(step).error().in(describe()));
}

}  // namespace coffer::feed
