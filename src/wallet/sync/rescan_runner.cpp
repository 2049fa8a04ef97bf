#include "wallet/sync/rescan_runner.h"
#include "base/result.h"

namespace coffer::wallet {
namespace {

constexpr std::uint64_t kSaveEvery = 500;  // blocks

// Declared after the reader, so that nobody is told of one that is gone.
class ReaderInUse {
 public:
  ReaderInUse(const RescanTools& tools, bus::BlockReader* reader) : tools_(tools) {
    if (tools_.on_reader) tools_.on_reader(reader);
  }
  ~ReaderInUse() {
    if (tools_.on_reader) tools_.on_reader(nullptr);
  }
  ReaderInUse(const ReaderInUse&) = delete;
  ReaderInUse& operator=(const ReaderInUse&) = delete;

 private:
  const RescanTools& tools_;
};

}  // namespace

Result<Rescanned> run_rescan(const RescanTools& tools, const WalletInfo& asked) {
  Rescanned done;
  if (!asked.rescan_next) return done;
  const std::unique_ptr<bus::BlockReader> reader = TRY(tools.open_blocks());
  const ReaderInUse in_use(tools, reader.get());
  std::optional<WalletInfo> left = asked;
  while (left) {
    const std::uint64_t from = *left->rescan_next;
    const std::uint64_t to = std::min(left->rescan_to.value_or(from), from + kSaveEvery - 1);
    for (std::uint64_t height = from; height <= to; ++height) {
      if (tools.stopping) return fail(Code::kCancelled, "the rescan goes on at the next start");
      const chain::Block block = TRY(reader->read(height));
      const auto on_chain = [&](const bus::Position& wallets) -> Result<bool> {
        const auto here = TRY(tools.block_at(height));
        const auto there = TRY(tools.block_at(wallets.ordinal.value));
        return here == block.hash && there == wallets.point.hash;
      };
      done.changed += TRY(tools.consumer.rescan_block(asked.id, block, on_chain));
      ++done.blocks;
      if (tools.progress) tools.progress(height, left->rescan_to.value_or(to));
    }
    left = TRY(tools.store.save_rescan(*left, to + 1));
  }
  return done;
}

}  // namespace coffer::wallet
