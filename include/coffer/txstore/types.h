// What the transaction store keeps of a transaction, and what its operations take and answer.
// Heights are ordinals (E9).
#pragma once

#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include <coffer/base/bytes.h>
#include <coffer/base/strong.h>
#include <coffer/bus/event.h>
#include <coffer/chain/block.h>
#include <coffer/chain/network.h>
#include <coffer/retention/retention.h>

namespace coffer::txstore {

inline constexpr std::uint64_t kCoinbaseMaturity = 100;
inline constexpr std::uint64_t kReassignDelay = 1'000;  // blocks until a reassigned output is free
inline constexpr std::uint64_t kLeastWindow = 288;

// The window of X1: the largest of 288, the chain's own bound and what the chain state can undo.
std::uint64_t window_of(const chain::Network& network, std::uint64_t rollback_window);

struct Options {
  std::uint64_t window = kLeastWindow;
  std::uint64_t block_height_retention = 288;
  // An unmined transaction that is absent from the mempool for so many blocks becomes conflicting.
  std::uint64_t unmined_retention = 2'016;
  std::uint64_t cleanup_budget = 20'000;  // records and children that one step of a pass reads

  // Blocks from the change that made a transaction deletable until it is looked at (X3).
  std::uint64_t delay() const { return std::max(block_height_retention, window); }
};

enum class State : std::uint8_t { kUnmined, kMined, kConflicting };
std::string_view to_string(State state);  // "unmined", "mined", "conflicting"

// A block as transactions remember it.
struct BlockRef {
  std::uint64_t height = 0;
  std::uint64_t id = 0;  // the first eight bytes of its hash, big-endian
  static BlockRef of(const bus::Position& position);
  friend bool operator==(const BlockRef&, const BlockRef&) = default;
};

struct MinedIn {
  BlockRef block;
  bool on_longest_chain = true;  // false: undone, and remembered while another fork may have it
  friend bool operator==(const MinedIn&, const MinedIn&) = default;
};

// What an operation did to one item. The errors of a spend come first, in their order of
// precedence.
enum class Outcome : std::uint8_t {
  kDone,
  kUnchanged,  // it was so already
  kNotFound,
  kConflicting,
  kLocked,
  kImmatureCoinbase,
  kOutputNotFound,
  kHashMismatch,
  kFrozen,
  kDeletedChild,   // the spender was final and is deleted: it cannot spend again
  kSpent,          // by another
  kUnknownParent,  // a parent is not stored, and the store has all that still matter
  kMined,          // a block has it: only another block can change that
  kNotFrozen,
  kKept,  // the rule of safe deletion keeps it
};
inline constexpr std::size_t kOutcomes = 15;
std::string_view to_string(Outcome outcome);  // "deleted_child"
std::ostream& operator<<(std::ostream& out, Outcome outcome);

struct ItemResult {
  Outcome outcome = Outcome::kDone;
  Hash256 other{};  // kSpent: who spent it; kUnknownParent: the parent; else zeros
  bool ok() const { return outcome == Outcome::kDone || outcome == Outcome::kUnchanged; }
  friend bool operator==(const ItemResult&, const ItemResult&) = default;
};

struct NewOutput {
  Hash256 hash{};  // by output_hash()
  Amount amount;
  bool spendable = true;
};

// What identifies an output beside its outpoint: SHA-256 over id, index (little-endian, 4 bytes),
// script or address, and amount (little-endian, 8 bytes).
Hash256 output_hash(const chain::Outpoint& outpoint, ByteView address, Amount amount);

struct NewTx {
  Hash256 id{};
  Bytes raw;                            // empty: known from a genesis file only
  std::vector<chain::Outpoint> inputs;  // that it spends; none of a coinbase
  std::vector<NewOutput> outputs;
  // In the order of `inputs`. Taken from the parents where they are stored, if it is empty.
  std::vector<std::optional<Amount>> input_amounts;
  std::optional<Amount> fee;
  bool coinbase = false;
  bool valid = true;  // Cardano: phase 2
  bool locked = false;
  std::optional<BlockRef> mined_in;
};

struct SpendRequest {
  Hash256 spender{};  // stored; what it spends are the inputs that it was created with
  // In the order of its inputs; empty: not compared.
  std::vector<std::optional<Hash256>> output_hashes;
};
struct SpendResult {
  Outcome outcome =
      Outcome::kDone;  // the first that is not kDone or kUnchanged, of itself or below
  std::vector<ItemResult> inputs;
};

struct Reassignment {
  chain::Outpoint outpoint;
  Hash256 old_hash{}, new_hash{};
};

// An output of a stored transaction.
struct StoredOutput {
  Hash256 hash{};
  Amount amount;
  bool unspendable = false, removed = false, spent = false, final = false, frozen = false;
  std::optional<std::uint64_t> spendable_at;  // after a reassignment
  Hash256 spender{};  // of a spent one; zeros where a ledger rule removed it
  std::uint32_t spender_input = 0;
};

struct StoredInput {
  chain::Outpoint outpoint;
  std::optional<Amount> amount;  // nothing if the parent was not stored when it came
};

struct StoredTx {
  Hash256 id{};
  State state = State::kUnmined;
  bool coinbase = false, valid = true, locked = false, genesis = false;
  std::vector<MinedIn> blocks;
  std::uint32_t outputs = 0, spendable = 0, spent = 0;  // counts
  std::optional<std::uint64_t> unmined_since, absent_since, delete_at_height, due_at,
      preserve_until;
  // Why it was kept when it was last looked at; kDeletable if it never was.
  retention::Reason kept = retention::Reason::kDeletable;

  bool on_longest_chain() const;
  std::optional<std::uint64_t> highest_height() const;  // over all branches
  // On the longest chain.
  std::optional<BlockRef> mined_in() const;
  std::uint32_t unspent() const { return spendable - spent; }
};

struct TxBody {
  Bytes raw;
  std::optional<Amount> fee;
  std::vector<StoredInput> inputs;
};

// Why a transaction is not stored.
enum class Absence : std::uint8_t { kPruned, kBeforeStart, kUnknown };
std::string_view to_string(Absence absence);  // "pruned", "before_start", "unknown"

struct Explanation {
  StoredTx tx;
  retention::Verdict verdict;
  // The spender of the output that decided, and what is known of it.
  std::optional<Hash256> child;
  std::optional<State> child_state;  // nothing if it is not stored
  std::optional<std::uint64_t> child_height;
};

struct CleanupReport {
  std::uint64_t looked_at = 0, deleted = 0, deleted_conflicting = 0, kept = 0, expired = 0;
  std::uint64_t children_read = 0, marked_final = 0;
  std::uint64_t kept_by[retention::kReasons] = {};
  bool done = true;  // nothing more is due at this tip

  // The next step of the same pass.
  void add(const CleanupReport& step);
};

// Durable counts, in the store itself.
struct Counts {
  std::int64_t records = 0, bytes = 0, unmined = 0, conflicting = 0, final_entries = 0;
  std::int64_t parent_missing = 0, overrides = 0, deleted = 0;
  std::int64_t kept[retention::kReasons] = {};  // overdue and kept, by the last verdict
  friend bool operator==(const Counts&, const Counts&) = default;
};

// Where the store stands.
struct Tip {
  bus::Position position;
  std::int64_t final_height = -1;
  // The first block that it took, or the one after which it began, unless that was Origin (X5).
  std::optional<bus::Position> first_block;

  std::uint64_t height() const { return position.at_origin ? 0 : position.ordinal.value; }
};

struct Stats {
  Tip tip;
  Counts counts;
  std::uint64_t oldest_overdue = 0;  // blocks since the due height of the oldest that is kept
};

}  // namespace coffer::txstore
