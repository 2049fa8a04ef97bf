// Any bytes as a relayed transaction of either family: an error, or views within the bytes.
#include "fuzz_block.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace coffer;
  static const chain::Network networks[] = {chain::find_network("bitcoin", "devnet").value(),
                                            chain::find_network("cardano", "devnet").value()};
  static chain::Block block;
  for (const chain::Network& network : networks)
    if (chain::decode_tx_into(block, network, {data, size})) fuzz::check_views(block);
  return 0;
}
