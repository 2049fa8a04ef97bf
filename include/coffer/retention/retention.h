// When a stored transaction may be deleted (X1): the one rule, for every store that deletes.
// Pure: facts in, a verdict out. Whoever deletes asks it inside the atomic unit that deletes, with
// facts read in that unit; doubt keeps. Heights are ordinals.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <span>
#include <string_view>

namespace coffer::retention {

// Why a transaction is kept. The order is that in which the conditions are asked.
enum class Reason : std::uint8_t {
  kDeletable,  // it is not kept
  kPreserved,  // until a height that somebody asked for
  kNotDue,     // its delete_at_height is not reached, or it has none
  kLocked,
  kUnmined,      // in no block of the longest chain
  kNotFinal,     // its own block can still be undone
  kFrozen,       // an output is
  kUnspent,      // an output is
  kChildAbsent,  // a spender is not stored and not marked final: doubt
  kChildConflicting,
  kChildUnmined,
  kChildNotFinal,  // a spender's highest block, on any branch, can still be undone
};
inline constexpr std::size_t kReasons = 12;
std::string_view to_string(Reason reason);  // "child_unmined"
std::ostream& operator<<(std::ostream& out, Reason reason);

// Where the store stands. final_height: no block at or below it can be undone; it never falls.
// Negative while the chain is shorter than the window.
struct ChainLine {
  std::uint64_t tip = 0;
  std::int64_t final_height = -1;
};

// What is known of a transaction that spends an output.
struct ChildFacts {
  bool present = false;
  bool conflicting = false;
  bool on_longest_chain = false;
  // Over all blocks that had it, on any branch, unless they are below final_height.
  std::optional<std::uint64_t> highest_height;
};

struct OutputFacts {
  bool unspendable = false;  // nobody can spend it (U4), or it was never created
  bool removed = false;      // by a rule of the ledger (U6)
  bool spent = false;
  bool final = false;  // spent by a child that was final (X6)
  bool frozen = false;
  const ChildFacts* child = nullptr;  // of a spent output; may be null if it is final
};

struct TxFacts {
  bool conflicting = false;
  bool preserved = false;
  bool locked = false;
  bool on_longest_chain = false;
  std::optional<std::uint64_t> highest_height;
  std::optional<std::uint64_t> delete_at_height;
};

struct Verdict {
  Reason reason = Reason::kDeletable;
  // The output that decided, for the reasons from kFrozen on.
  std::optional<std::uint32_t> output;
  // The earliest height of the tip at which blocks alone can change the verdict; nothing if it
  // takes a spend, a block that has the child, or a person.
  std::optional<std::uint64_t> until;
  bool is_deletable() const { return reason == Reason::kDeletable; }
};

// Blocks that must follow a block before it is final, and where that leaves the store.
struct Window {
  std::uint64_t blocks = 0;
  ChainLine line;
};

// Whether a child lets its parent go: present, on the longest chain, and no block that had it, on
// any branch, can be undone.
bool is_final(const ChildFacts& child, const ChainLine& line);

// Judges one transaction: its own facts first, then its outputs in any order and in as many steps
// as it takes. Of several reasons to keep, the first in the order of Reason is given. Cost:
// constant a call.
class Judge {
 public:
  Judge(const TxFacts& tx, const Window& window);
  // Whether outputs matter: a conflicting transaction goes whatever they are.
  bool needs_outputs() const { return needs_outputs_; }
  void add(std::uint32_t index, const OutputFacts& output);
  Verdict verdict() const;

 private:
  void keep(Reason reason, std::optional<std::uint32_t> output, std::optional<std::uint64_t> until);

  const Window window_;
  bool needs_outputs_ = false;
  bool only_time_ = true;  // all that keeps it passes with blocks alone
  std::uint64_t until_ = 0;
  Verdict verdict_;
};

// All of it at once.
Verdict judge(const TxFacts& tx, std::span<const OutputFacts> outputs, const Window& window);

// The height at which a kept transaction is looked at again (X7).
std::uint64_t next_look(const Verdict& verdict, const Window& window);

}  // namespace coffer::retention
