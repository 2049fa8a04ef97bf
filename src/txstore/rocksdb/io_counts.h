// How much a backend read and wrote: for metrics, benchmarks and tests of cost.
#pragma once

#include <atomic>
#include <cstdint>

namespace coffer::txstore {

struct IoCounts {
  std::uint64_t reads = 0;          // keys looked up
  std::uint64_t seeks = 0;          // positions that iterators were set to
  std::uint64_t puts = 0;           // keys written
  std::uint64_t deletes = 0;        // keys deleted
  std::uint64_t bytes_read = 0;     // of values found and of keys and values walked over
  std::uint64_t bytes_written = 0;  // of keys and values, those of deletions included
  std::uint64_t calls = 0;          // that looked up one key or many
};

// Thread-safe. Added to once a call, not once a key.
class IoCounters {
 public:
  void add(const IoCounts& more) {
    constexpr auto kOrder = std::memory_order_relaxed;
    reads_.fetch_add(more.reads, kOrder);
    seeks_.fetch_add(more.seeks, kOrder);
    puts_.fetch_add(more.puts, kOrder);
    deletes_.fetch_add(more.deletes, kOrder);
    bytes_read_.fetch_add(more.bytes_read, kOrder);
    bytes_written_.fetch_add(more.bytes_written, kOrder);
    calls_.fetch_add(more.calls, kOrder);
  }
  IoCounts total() const {
    return {reads_, seeks_, puts_, deletes_, bytes_read_, bytes_written_, calls_};
  }

 private:
  std::atomic<std::uint64_t> reads_{0}, seeks_{0}, puts_{0}, deletes_{0}, bytes_read_{0},
      bytes_written_{0}, calls_{0};
};

}  // namespace coffer::txstore
