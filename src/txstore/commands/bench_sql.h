// The part of `coffer bench txstore` that measures SQL databases.
#pragma once

#include <functional>
#include <string>

#include <coffer/txstore/store.h>

namespace coffer::txstore {

// Two empty databases: one for the store, one to play the same statements back.
struct SqlBenchPlaces {
  std::string store, playback;
};
struct SqlBench {
  double seconds = 0, playback_seconds = 0;
  std::uint64_t units = 0;
};
using FeedStore = std::function<Result<>(Store& store)>;
Result<SqlBench> bench_sql(const chain::Network& network, const SqlBenchPlaces& places,
                           const FeedStore& feed);

}  // namespace coffer::txstore
