// Where blocks come from. A source walks its own best chain; what it says is followed, not judged.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include <coffer/base/clock.h>
#include <coffer/chain/block.h>
#include <coffer/chain/network.h>

namespace coffer::feed {

// The next block of the source's chain. Its predecessor tells whether the source changed branches.
struct NextBlock {
  Bytes raw;
};
// The source went back to this point; the next block follows it.
struct RolledBack {
  chain::Point to;
};
// A transaction came into the source's mempool, or left it unmined.
struct MempoolAdded {
  Bytes raw;
};
struct MempoolRemoved {
  Hash256 id;
};
// Nothing new within the time given; the source stands at its tip.
struct Idle {};
// There will be nothing more.
struct End {};

using SourceEvent = std::variant<NextBlock, RolledBack, MempoolAdded, MempoolRemoved, Idle, End>;

// One thread uses a source; interrupt() and tip_number() may be called from others.
class Source {
 public:
  virtual ~Source() = default;

  // What to show a person; never a credential.
  virtual std::string describe() const = 0;

  // Goes on after the first of these points (newest first) that is on the source's chain, and says
  // which; Origin when none is. Errors: kUnavailable (retryable), kInvalidInput, kCorrupt.
  virtual Result<chain::Point> intersect(std::span<const chain::Point> points) = 0;

  // Waits up to timeout_ms for something new. Errors: as intersect; kCancelled after interrupt().
  virtual Result<SourceEvent> next(int timeout_ms) = 0;

  // How it gets its blocks and news, for the log, e.g. "JSON-RPC, ZMQ sequence"; as of the last
  // intersect().
  virtual std::string transport() const { return {}; }

  // Whether asking again gives the same answer: files that nobody writes.
  virtual bool is_static() const { return false; }

  // The number of the newest block of the source, once known.
  virtual std::optional<std::uint64_t> tip_number() const = 0;

  // As far as a remote source's claim was checked: what depends on blocks being far below the tip
  // must not believe a claim that the source itself contradicts (E14). A Bitcoin node has to give
  // that block at that height. A Cardano node cannot be asked; the lowest of its last two claims
  // counts, and no more blocks than there are slots up to its tip.
  virtual std::optional<std::uint64_t> confirmed_tip() const { return tip_number(); }

  // The height below which it no longer has blocks, if it deletes old ones. Thread-safe.
  virtual std::optional<std::uint64_t> pruned_below() const { return std::nullopt; }

  // Ends a wait in next(), now and from now on.
  virtual void interrupt() = 0;
};

struct OpenSourceOptions {
  bool follow = true;  // wait for more at the end, where the source can
};

// From the text of a source, as the setting `source` has it: file:PATH, blkdir:DIR, rpc:URL,
// immutable:DIR or n2c:SOCKET of that network; devnet, a simulated chain of network devnet, as fast
// as it is read and without an end. Opens nothing yet; the clock outlives the source. Errors:
// kUsage without repeating the text, which may hold a password.
Result<std::unique_ptr<Source>> open_source(std::string_view text, const chain::Network& network,
                                            const Clock& clock, OpenSourceOptions options = {});

}  // namespace coffer::feed
