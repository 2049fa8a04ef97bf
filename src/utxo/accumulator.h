// The accumulator of the mmr store over its column, with what is not committed yet in memory.
//
// utxo_mmr_nodes: 0x00‖position → node of the leaf MMR, 0x01‖position → node of the bitmap's MMR
// (hash, then 0x01 if all leaves below are gone for good), 0x02‖index → 128 bytes of the bitmap.
#pragma once

#include <coffer/kv/database.h>
#include <coffer/utxo/delta.h>
#include "mmr/live_set.h"
#include "mmr/overlay.h"

namespace coffer::utxo {

// Not thread-safe. With a snapshot it is a view of that moment, to rewind and prove with.
class Accumulator {
 public:
  Accumulator(const kv::Database& db, kv::Column column, std::uint64_t leaves,
              const kv::Snapshot* snapshot = nullptr);

  mmr::LiveSet& set() { return *set_; }
  // What one output is in the accumulator: outpoint key and chain facts.
  static Hash256 leaf_data(ByteView outpoint_key, ByteView facts);

  // Undoes a block.
  Result<> undo(const MmrDelta& delta);
  // A block has left the window.
  Result<> prune(const MmrDelta& delta);

  using Changes = std::vector<std::pair<Bytes, std::optional<Bytes>>>;
  // Flushes the chunks, and gives what changed since the last time, in order of keys.
  Result<Changes> take_changes();
  // Memory that what was not taken holds.
  std::size_t bytes() const;
  // Forgets what was not taken, after a commit that failed.
  void reset(std::uint64_t leaves);

 private:
  class Nodes final : public mmr::NodeStore {
   public:
    Nodes(const kv::Database& db, kv::Column column, std::uint8_t tag, const kv::Snapshot* snapshot)
        : db_(db), column_(column), tag_(tag), snapshot_(snapshot) {}
    Result<mmr::Node> get(std::uint64_t position) override;
    void put(std::uint64_t, const mmr::Node&) override;
    void drop(std::uint64_t) override;

   private:
    const kv::Database& db_;
    kv::Column column_;
    std::uint8_t tag_;
    const kv::Snapshot* snapshot_;
  };
  class Chunks final : public mmr::ChunkStore {
   public:
    Chunks(const kv::Database& db, kv::Column column, const kv::Snapshot* snapshot)
        : db_(db), column_(column), snapshot_(snapshot) {}
    Result<mmr::Chunk> get(std::uint64_t index) override;
    void put(std::uint64_t, const mmr::Chunk&) override;
    void drop(std::uint64_t) override;

   private:
    const kv::Database& db_;
    kv::Column column_;
    const kv::Snapshot* snapshot_;
  };

  Nodes leaf_nodes_on_disk_, bitmap_nodes_on_disk_;
  Chunks chunks_on_disk_;
  mmr::NodeOverlay leaf_nodes_, bitmap_nodes_;
  mmr::ChunkOverlay chunks_;
  std::optional<mmr::LiveSet> set_;
};

}  // namespace coffer::utxo
