// A store that follows the chain. It keeps its own position in the same commit as its data, so that
// it can be off, behind, rebuilt or killed without the others knowing.
#pragma once

#include <optional>
#include <string_view>

#include <coffer/bus/event.h>

namespace coffer::bus {

// All calls but name(), position() and newest_block_below() come from one thread, in order; the bus
// filters replays, so each block extends the consumer's position. An error that is retryable is
// tried again a few times. Then one that can wait waits if something around it failed
// (kUnavailable, kTimeout), and any other halts alone.
class Consumer {
 public:
  virtual ~Consumer() = default;

  virtual std::string_view name() const = 0;
  // Where its data stand. Thread-safe.
  virtual Position position() const = 0;

  // May hold back its commit, as CommitPolicy says, until flush().
  virtual Result<> on_block(const BlockApplied& block) = 0;
  // All or nothing. Errors: kBeyondWindow when it cannot undo that much (U2).
  virtual Result<> on_rollback(const RolledBack& rollback) = 0;
  virtual Result<> on_tx_seen(const TxSeen&) { return {}; }
  virtual Result<> on_tx_dropped(const TxDropped&) { return {}; }
  // Commits what is held back. Called when nothing more is queued (a little later while the source
  // is known to have more), before a rollback, and at the end.
  virtual Result<> flush() { return {}; }

  // Whether it can go on once what it stands on is there again: a database server, room on a disk.
  virtual bool can_wait() const { return false; }
  // Asked now and then while it waits: could it go on?
  virtual Result<> probe() { return flush(); }

  // After the newest block below this height that its data depend on, if there is one: for a
  // consumer with a store of its own, which may be ahead of the headers or on a branch that they
  // forgot. Thread-safe. Errors: kNotFound if it keeps no such list.
  virtual Result<std::optional<Position>> newest_block_below(std::uint64_t below_height) const {
    return fail(make_error(Code::kNotFound,
                           "no list of blocks below " + std::to_string(below_height) + " is kept"));
  }

  // What a person does when this consumer has halted.
  virtual std::string repair() const = 0;
};

}  // namespace coffer::bus
