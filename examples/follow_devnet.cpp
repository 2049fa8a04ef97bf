// Decodes a simulated Cardano chain and adds up what its transactions do. Everything a consumer of
// Coffer's blocks needs is here: a network, the decoder, and the tables of a Block.
#include <cstdio>

#include "chain/decode.h"
#include "feed/devnet_chain.h"

int main() {
  using namespace coffer;
  const auto network = chain::find_network("cardano", "devnet");
  if (!network) return 1;

  feed::DevnetChain devnet({.family = chain::Family::kCardano, .seed = 7});
  chain::Block block;  // reused: decoding into a warm block allocates nothing
  std::uint64_t spent = 0, created = 0, invalid = 0;
  for (int i = 0; i < 200; ++i) {
    const feed::Emission emission = devnet.next();
    if (auto decoded = chain::decode_into(block, *network, emission.block); !decoded) {
      std::fprintf(stderr, "%s\n", decoded.error().message.c_str());
      return 1;
    }
    for (const chain::Tx& tx : block.txs) {
      invalid += !tx.valid;
      spent += block.spent_by(tx).size();  // collateral, where the scripts failed
      block.for_each_created(tx, [&](std::uint32_t, const chain::Output&, bool) { ++created; });
    }
  }
  std::printf("%llu outputs created, %llu spent, %llu transactions failed their scripts\n",
              static_cast<unsigned long long>(created), static_cast<unsigned long long>(spent),
              static_cast<unsigned long long>(invalid));
}
