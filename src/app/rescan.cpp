#include "app/rescan.h"

#include "app/wallet_setup.h"
#include "chain/decode.h"

namespace coffer::app {
namespace {

constexpr std::uint64_t kSaveEvery = 500;  // blocks

Result<> go_to(const RescanTools& tools, feed::Source& source, std::uint64_t height) {
  std::vector<chain::Point> before;
  if (height > 0) {
    const auto header = TRY(tools.chain.at(Ordinal(height - 1)));
    if (!header) return fail(Code::kNotFound, "block {} is not on the chain", height - 1);
    before.push_back({header->slot, header->hash});
  }
  const chain::Point met = TRY(source.intersect(before));
  if (before.empty() ? met.is_origin() : met.hash == before.front().hash) return {};
  return fail(Error{Code::kUnavailable, true,
                    fmt::format("{} does not have block {} any more", source.describe(), height)});
}

// Declared after the source, so that nobody is told of one that is gone.
class SourceInUse {
 public:
  SourceInUse(const RescanTools& tools, feed::Source* source) : tools_(tools) {
    if (tools_.on_source) tools_.on_source(source);
  }
  ~SourceInUse() {
    if (tools_.on_source) tools_.on_source(nullptr);
  }
  SourceInUse(const SourceInUse&) = delete;
  SourceInUse& operator=(const SourceInUse&) = delete;

 private:
  const RescanTools& tools_;
};

}  // namespace

Result<Rescanned> run_rescan(const RescanTools& tools, const wallet::WalletInfo& asked) {
  Rescanned done;
  if (!asked.rescan_next) return done;
  const std::unique_ptr<feed::Source> source = TRY(tools.open_source());
  const SourceInUse in_use(tools, source.get());
  std::optional<wallet::WalletInfo> left = asked;
  std::optional<std::uint64_t> stands_at;  // the height that the source gives next
  while (left) {
    const std::uint64_t from = *left->rescan_next;
    if (stands_at != from) TRY(go_to(tools, *source, from));
    std::uint64_t height = from;
    const std::uint64_t to = std::min(left->rescan_to.value_or(from), from + kSaveEvery - 1);
    while (height <= to) {
      if (tools.stopping) return fail(Code::kCancelled, "the rescan goes on at the next start");
      feed::SourceEvent step = TRY(source->next(500));
      if (std::holds_alternative<feed::End>(step))
        return fail(Code::kUnavailable, "{} ended before block {}", source->describe(), height);
      if (std::holds_alternative<feed::Idle>(step) && source->tip_number().value_or(0) < height)
        return fail(
            Error{Code::kUnavailable, true,
                  fmt::format("{} is at block {} and does not have block {} now",
                              source->describe(), source->tip_number().value_or(0), height)});
      auto* forward = std::get_if<feed::NextBlock>(&step);
      if (forward == nullptr) continue;
      chain::Block block = TRY(chain::decode(tools.network, std::move(forward->raw)));
      TRY(tools.chain.fill_in(block, Ordinal(height)));
      const auto on_chain = [&](const bus::Position& wallets) -> Result<bool> {
        const auto here = TRY(block_at(tools.chain, height));
        const auto there = TRY(block_at(tools.chain, wallets.ordinal.value));
        return here == block.hash && there == wallets.point.hash;
      };
      done.changed += TRY(tools.feed.rescan_block(asked.id, block, on_chain));
      ++done.blocks;
      ++height;
      if (tools.progress) tools.progress(height - 1, left->rescan_to.value_or(to));
    }
    stands_at = height;
    left = TRY(tools.store.save_rescan(*left, height));
  }
  return done;
}

}  // namespace coffer::app
