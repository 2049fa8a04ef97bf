// Any bytes as a cardano block and as a transaction: an error or a block whose views lie within the
// bytes.
#include "fuzz_block.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto network = coffer::chain::find_network("cardano", "devnet").value();
  coffer::fuzz::check_block(network, {data, size});
  return 0;
}
