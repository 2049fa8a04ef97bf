// From the text of the setting `source` to a source.
#pragma once

#include <memory>

#include "base/clock.h"
#include "chain/network.h"
#include "config/config.h"
#include "feed/source.h"

namespace coffer::node {

struct SourceRequest {
  const config::Config& config;
  const chain::Network& network;
  bool follow = true;  // wait for more at the end, where the source can
};

// Every kind but devnet, which the node sets up by itself. Opens nothing yet.
// Errors: kUsage without repeating the text, which may hold a password.
Result<std::unique_ptr<feed::Source>> make_source(const SourceRequest& request, const Clock& clock);

}  // namespace coffer::node
