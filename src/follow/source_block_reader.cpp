#include "follow/source_block_reader.h"

#include <coffer/chain/decode.h>
#include "base/result.h"

namespace coffer::follow {
namespace {

// A source that says it is further, and gives nothing, is waited for a minute.
constexpr int kWaitMs = 500;
constexpr int kMostIdle = 120;
constexpr int kMostEvents = 10'000;  // that are no block

}  // namespace

Result<> SourceBlockReader::go_to(std::uint64_t height) {
  std::vector<chain::Point> before;
  if (height > 0) {
    const auto header = TRY(chain_.at(Ordinal(height - 1)));
    if (!header) return fail(Code::kNotFound, "block {} is not on the chain", height - 1);
    before.push_back({header->slot, header->hash});
  }
  const chain::Point met = TRY(source_->intersect(before));
  if (before.empty() ? met.is_origin() : met.hash == before.front().hash) return {};
  return fail(
      Error{Code::kUnavailable, true,
            fmt::format("{} does not have block {} any more", source_->describe(), height)});
}

Result<chain::Block> SourceBlockReader::read(std::uint64_t height) {
  if (stands_at_ != height) TRY(go_to(height));
  stands_at_.reset();
  int idle = 0;
  for (int events = 0; events < kMostEvents && idle < kMostIdle; ++events) {
    feed::SourceEvent step = TRY(source_->next(kWaitMs));
    if (std::holds_alternative<feed::End>(step))
      return fail(Code::kUnavailable, "{} ended before block {}", source_->describe(), height);
    const std::uint64_t tip = source_->tip_number().value_or(0);
    if (std::holds_alternative<feed::Idle>(step) && tip < height)
      return fail(Error{Code::kUnavailable, true,
                        fmt::format("{} is at block {} and does not have block {} now",
                                    source_->describe(), tip, height)});
    if (std::holds_alternative<feed::Idle>(step)) ++idle;
    auto* forward = std::get_if<feed::NextBlock>(&step);
    if (forward == nullptr) continue;
    chain::Block block = TRY(chain::decode(network_, std::move(forward->raw)));
    TRY(chain_.fill_in(block, Ordinal(height)));
    stands_at_ = height + 1;
    return block;
  }
  return fail(Error{Code::kUnavailable, true,
                    fmt::format("{} is at block {}, but does not give block {}",
                                source_->describe(), source_->tip_number().value_or(0), height)});
}

}  // namespace coffer::follow
