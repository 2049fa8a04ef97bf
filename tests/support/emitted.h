// What a simulated chain sends, stale branches and all, and what of it stays.
#pragma once

#include "feed/devnet_chain.h"

namespace coffer::test {

struct Emitted {
  std::vector<Bytes> all, best;
  std::uint64_t reorgs = 0;
};

inline Emitted emit_until(feed::DevnetChain& devnet, auto done) {
  Emitted out;
  while (!done(out)) {
    feed::Emission emission = devnet.next();
    out.reorgs += emission.rolled_back > 0;
    out.best.resize(out.best.size() - emission.rolled_back);
    out.best.push_back(emission.block);
    out.all.push_back(std::move(emission.block));
  }
  return out;
}

}  // namespace coffer::test
