// From the text of a source, as the setting `source` has it, to the source.
#pragma once

#include <memory>
#include <string_view>

#include <coffer/base/clock.h>
#include <coffer/chain/network.h>
#include <coffer/feed/source.h>

namespace coffer::feed {

struct OpenSourceOptions {
  bool follow = true;  // wait for more at the end, where the source can
};

// file:PATH, blkdir:DIR, rpc:URL, immutable:DIR or n2c:SOCKET of that network; devnet, a simulated
// chain of network devnet, as fast as it is read and without an end. Opens nothing yet; the clock
// outlives the source. Errors: kUsage without repeating the text, which may hold a password.
Result<std::unique_ptr<Source>> open_source(std::string_view text, const chain::Network& network,
                                            const Clock& clock, OpenSourceOptions options = {});

}  // namespace coffer::feed
