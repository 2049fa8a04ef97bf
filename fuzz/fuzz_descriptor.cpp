// Any text as a descriptor and as an export of Bitcoin Core: what parses is written as a text that
// parses to the same scripts.
#include "base/check.h"
#include "wallet/import/core_export.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace coffer;
  static const chain::Network networks[] = {chain::find_network("bitcoin", "mainnet").value(),
                                            chain::find_network("bitcoin", "regtest").value()};
  const std::string_view text = as_text({data, size});
  for (const chain::Network& network : networks) {
    (void)wallet::parse_core_export(network, text);
    const auto all = wallet::parse_descriptors(network, text);
    if (!all) continue;
    CHECK(!all->empty());
    for (const wallet::Descriptor& one : *all) {
      const auto again = wallet::parse_descriptor(network, one.text());
      const auto canonical = wallet::parse_descriptor(network, one.canonical());
      CHECK(again && canonical);
      CHECK(again->text() == one.text());
      CHECK(canonical->canonical() == one.canonical() && canonical->text() == one.canonical());
      const auto scripts = one.derive(7), same = canonical->derive(7);
      CHECK(scripts.has_value() == same.has_value());
      if (scripts) CHECK(!scripts->empty() && *scripts == *same);
    }
  }
  return 0;
}
