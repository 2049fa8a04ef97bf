// Old blocks from a source of its own, beside the follower.
#pragma once

#include <memory>
#include <optional>

#include <coffer/chain/network.h>
#include <coffer/chainstate/chain_state.h>
#include <coffer/feed/source.h>
#include "bus/block_reader.h"

namespace coffer::follow {

class SourceBlockReader final : public bus::BlockReader {
 public:
  // Network and chain outlive it.
  SourceBlockReader(std::unique_ptr<feed::Source> source, const chain::Network& network,
                    const chainstate::ChainState& chain)
      : source_(std::move(source)), network_(network), chain_(chain) {}

  Result<chain::Block> read(std::uint64_t height) override;
  void interrupt() override { source_->interrupt(); }

 private:
  Result<> go_to(std::uint64_t height);

  const std::unique_ptr<feed::Source> source_;
  const chain::Network& network_;
  const chainstate::ChainState& chain_;
  std::optional<std::uint64_t> stands_at_;  // the height that the source gives next
};

}  // namespace coffer::follow
