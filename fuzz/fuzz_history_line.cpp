// Any text as a line of a history file: what is taken is within the bounds that the store expects.
#include "base/check.h"
#include "wallet/import/history_line.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace coffer;
  static const chain::Network network = chain::find_network("bitcoin", "regtest").value();
  const auto line = wallet::parse_history_line(network, as_text({data, size}));
  if (!line) {
    const Code code = line.error().code;
    CHECK(code == Code::kInvalidInput || code == Code::kConflict);
    return 0;
  }
  if (const auto* tx = std::get_if<wallet::HistoryTx>(&*line)) {
    CHECK(2 * tx->raw.size() < size);
    CHECK(!tx->options.block || tx->options.block->height <= 0x7fffffff);
  }
  if (const auto* script = std::get_if<wallet::HistoryScript>(&*line))
    CHECK(2 * script->script.size() < size);
  return 0;
}
