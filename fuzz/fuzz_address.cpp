// Any text as an address: what parses has a text form that parses to the same bytes. Any bytes as
// an address: a text form, where there is one, leads back to them.
#include <coffer/chain/address.h>
#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace coffer;
  static const chain::Network networks[] = {chain::find_network("bitcoin", "mainnet").value(),
                                            chain::find_network("cardano", "mainnet").value(),
                                            chain::find_network("cardano", "preprod").value()};
  const ByteView raw(data, size);
  for (const chain::Network& network : networks) {
    if (auto parsed = chain::parse_address(network, as_text(raw))) {
      const auto text = chain::address_text(network, *parsed);
      CHECK(text.has_value());
      CHECK(chain::parse_address(network, *text).value() == *parsed);
    }
    if (const auto text = chain::address_text(network, raw))
      if (auto parsed = chain::parse_address(network, *text)) CHECK(equal(*parsed, raw));
  }
  (void)chain::credentials_of(raw);
  return 0;
}
