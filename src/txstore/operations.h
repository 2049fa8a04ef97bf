// What can be done to stored transactions, on the workspace of one unit. Each function loads what
// it needs; `height` is that of the block being applied, or of the tip.
#pragma once

#include "txstore/workspace.h"

namespace coffer::txstore {

// ---- spending (spending.cpp) ----

// The height of the block that a spend by this record is in, or would be in.
std::uint64_t spending_height(const Workspace& work, const Record& spender);
// Whether this input can be taken; kUnchanged if the spender holds it already. Loaded: the parent.
ItemResult check_input(Workspace& work, const Record& spender, std::uint32_t input,
                       const std::optional<Hash256>& output_hash);
// Takes all inputs or none. Loaded: the parents. kSkip: a parent that is not stored is older than
// the store (X5), and the other inputs are taken all the same.
enum class MissingParents : std::uint8_t { kRefuse, kSkip };
SpendResult take_inputs(Workspace& work, Record& spender,
                        std::span<const std::optional<Hash256>> output_hashes, std::uint64_t height,
                        MissingParents missing = MissingParents::kRefuse);
// Gives back what it holds. Loaded: the parents.
SpendResult release_inputs(Workspace& work, Record& spender, std::uint64_t height);

// ---- creating (creating.cpp) ----

// Whether an unmined transaction may be stored. Loaded: itself and its parents.
ItemResult check_new(Workspace& work, const NewTx& tx);
// Loaded: itself with its mark, and its parents. Also puts on it what people did to it before a
// rebuild.
Record& create_record(Workspace& work, NewTx tx, std::uint64_t height);
// Stated, or what the inputs have more than the outputs; nothing if one of them is not known.
std::optional<Amount> fee_of(const NewTx& tx, std::span<const StoredInput> inputs);
// Fresh outputs in place of those that it has.
void reset_outputs(Workspace& work, Record& record, const NewTx& tx);

// ---- mining (mining.cpp) ----

ItemResult set_mined(Workspace& work, Record& record, const BlockRef& block, bool longest_chain,
                     std::uint64_t height);
// Mining unlocks, also what was locked before the store was built anew. Loaded: the record.
Result<> forget_lock(Workspace& work, const Hash256& id);
// A coinbase that no block of the longest chain has any more becomes conflicting.
Result<ItemResult> unset_mined(Workspace& work, Record& record, const BlockRef& block,
                               std::uint64_t height);

// ---- conflicts (conflicts.cpp) ----

// These and all that descends from them: their spends are given back, their stamps set. One load
// for each generation. How many were marked.
Result<std::uint64_t> mark_conflicting(Workspace& work, std::vector<Record*> roots,
                                       std::uint64_t height);
// Back to unmined, with its inputs. Loaded: itself.
Result<ItemResult> unmark_conflicting(Workspace& work, Record& record, std::uint64_t height);

// ---- deleting (cleanup.cpp) ----

// Judges these, deletes what may go, and puts off the rest. `budget`: how many children are read;
// of a record with more, the next step reads the others. Loaded: the records.
Result<> clean(Workspace& work, std::span<Record* const> records, std::uint64_t budget,
               CleanupReport& report);
// Deletes this one if the rule allows; changes nothing otherwise. Loaded: the record.
Result<ItemResult> remove(Workspace& work, Record& record);
// What is due at the tip, up to the budget: what the database says, and what is in memory after
// many blocks in one unit, so that what came and may go in them is never written.
Result<> clean_due(Workspace& work, std::size_t records, std::uint64_t budget,
                   CleanupReport& report);

// ---- blocks (new_tx.cpp, blocks.cpp) ----

// A transaction of a block as the store takes it; without `mined_in` one of the mempool.
NewTx new_tx(const chain::Block& block, const chain::Tx& tx, std::optional<BlockRef> mined_in);

struct BlockToApply {
  const chain::Block& block;
  bus::Position position;
  bool keep_undo = true;  // false: far below the tip, nobody can undo it
  // Unmined transactions that refer to an output that the block spends, without spending it.
  std::vector<Hash256> referrers = {};
  // Outputs that a rule of the ledger takes away with this block, if they are unspent (U6).
  std::span<const chain::Outpoint> removed = {};
};
// What is worth counting.
struct BlockEffects {
  std::uint64_t overrides = 0, parent_missing = 0, conflicted = 0, removed = 0;
};
// What people did, before a rebuild, to those of the transactions that are not stored. Loaded:
// they.
Result<> load_new_marks(Workspace& work, std::span<const chain::Block* const> blocks);
Result<BlockEffects> apply_block(Workspace& work, const BlockToApply& block);

struct UndoneBlock {
  std::vector<Hash256> ids;  // its transactions
  bool restored_removed = false;
};
// Undoes the block at the tip and moves the tip to the one before it. Errors: kCorrupt without its
// undo data.
Result<UndoneBlock> undo_block(Workspace& work, const bus::Position& before);

}  // namespace coffer::txstore
