// A stored transaction in memory while it is being changed, and the unit of work that loads and
// saves it. The engine's logic is written once, over these; a backend only loads and saves.
#pragma once

#include <array>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include <coffer/txstore/types.h>

namespace coffer::txstore {

inline constexpr std::uint32_t kPageEntries = 16;
// A state record holds the outpoints of so many inputs; of more, only the body tells.
inline constexpr std::uint32_t kInlineInputs = 8;

using Entry = StoredOutput;

struct Page {
  std::vector<Entry> entries;  // empty until loaded; then kPageEntries, fewer in the last one
  bool dirty = false;
};

struct Record {
  StoredTx head;
  std::uint32_t input_count = 0;
  std::vector<chain::Outpoint>
      inputs;                      // loaded with the head up to kInlineInputs, see has_inputs()
  std::vector<Page> pages;         // as many as outputs need; page 0 is loaded with the head if
                                   // it is the only one
  std::optional<TxBody> new_body;  // to be written
  bool stored = false;             // the backend has it
  bool present = false;            // it is there now: stored and not erased, or created
  bool dirty = false;              // the head
  bool replaced = false;           // all pages are to be written anew
  bool changed = false;            // the workspace will save it
  bool mark_loaded = false;        // the workspace knows what people did to it
  // As the backend has them, for its indexes.
  std::optional<std::uint64_t> stored_due_at, stored_unmined_since;
  std::uint64_t body_bytes = 0;  // of raw, as stored

  bool has_inputs() const { return inputs.size() == input_count; }
  static std::uint32_t pages_of(std::uint32_t outputs) {
    return (outputs + kPageEntries - 1) / kPageEntries;
  }
  static std::uint32_t page_of(std::uint32_t output) { return output / kPageEntries; }
  Entry& entry(std::uint32_t output) {
    return pages[page_of(output)].entries[output % kPageEntries];
  }
};

struct PageRef {
  Record* record = nullptr;
  std::uint32_t page = 0;
};

// A pruned child that a stored parent's entry names: for the answer "pruned".
struct PrunedRef {
  Hash256 child{}, parent{};
  friend auto operator<=>(const PrunedRef&, const PrunedRef&) = default;
};

// What a person did, kept apart so that it survives a rebuild (E8).
struct Mark {
  std::optional<std::uint64_t> preserve_until;
  bool locked = false;
  std::vector<std::uint32_t> frozen;  // outputs
  struct Reassigned {
    std::uint32_t output = 0;
    Hash256 hash{};
    std::uint64_t spendable_at = 0;
  };
  std::vector<Reassigned> reassigned;
  bool empty() const { return !preserve_until && !locked && frozen.empty() && reassigned.empty(); }
};
using Marks = std::unordered_map<Hash256, Mark, HashOfHash>;

// A block in the window: what is needed to undo it. The engine writes and reads the bytes.
struct BlockUndo {
  bus::Position position;
  Bytes undo;
};

struct DueEntry {
  std::uint64_t height = 0;
  Hash256 id{};
  friend auto operator<=>(const DueEntry&, const DueEntry&) = default;
};

// Everything that one unit changes.
struct Changes {
  std::vector<Record*> records;  // dirty, created or erased; each once, in the order of ids
  std::vector<PrunedRef> pruned, unpruned;
  std::vector<std::pair<Hash256, Mark>> marks;  // an empty one is deleted
  std::vector<BlockUndo> blocks;                // to put
  std::vector<std::uint64_t> dropped_blocks;    // heights
  std::optional<Tip> tip;
  Counts counts;  // to add

  bool durable = false;  // what a person did: on disk before it is answered
};

}  // namespace coffer::txstore
