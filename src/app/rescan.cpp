#include "app/rescan.h"

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

}  // namespace

Result<Rescanned> run_rescan(const RescanTools& tools, const wallet::WalletInfo& wallet) {
  Rescanned done;
  if (!wallet.rescan_next || !wallet.rescan_to) return done;
  const std::unique_ptr<feed::Source> source = TRY(tools.open_source());
  TRY(go_to(tools, *source, *wallet.rescan_next));
  std::uint64_t height = *wallet.rescan_next;
  while (height <= *wallet.rescan_to) {
    if (tools.stopping) return fail(Code::kCancelled, "the rescan goes on at the next start");
    feed::Step step = TRY(source->next(500));
    if (std::holds_alternative<feed::End>(step))
      return fail(Code::kUnavailable, "{} ended before block {}", source->describe(), height);
    auto* forward = std::get_if<feed::Forward>(&step);
    if (forward == nullptr) continue;
    chain::Block block = TRY(chain::decode(tools.network, std::move(forward->raw)));
    const auto header = TRY(tools.chain.at(Ordinal(height)));
    if (!header || header->hash != block.hash)
      return fail(Error{Code::kUnavailable, true, "the chain changed its branch meanwhile"});
    TRY(tools.chain.fill_in(block, Ordinal(height)));
    done.changed += TRY(tools.feed.rescan_block(wallet.id, block));
    ++done.blocks;
    ++height;
    if (done.blocks % kSaveEvery == 0) TRY(tools.store.save_rescan(wallet.id, height));
    if (tools.progress) tools.progress(height - 1, *wallet.rescan_to);
  }
  TRY(tools.store.save_rescan(wallet.id, height));
  return done;
}

}  // namespace coffer::app
