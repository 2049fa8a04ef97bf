// The nodes of the log's MMR in the database: leaves in log_leaves.leaf_hash, all others in
// log_nodes.
#pragma once

#include <span>
#include <unordered_map>

#include "mmr/store.h"
#include "token/community.h"

namespace coffer::token {

// What was loaded and what was put, in memory. A node that is asked for must have been loaded: an
// MMR asks for one at a time, and each would be a wait for the database. Not thread-safe.
class LogNodes final : public mmr::NodeStore {
 public:
  // Two statements on PostgreSQL. Errors: kCorrupt if one is missing.
  Result<> load(sql::Reader& sql, const Community& community,
                std::span<const std::uint64_t> positions);

  Result<mmr::Node> get(std::uint64_t position) override;
  void put(std::uint64_t position, const mmr::Node& node) override;
  void drop(std::uint64_t position) override;  // a log drops nothing

  struct NewNode {
    std::uint64_t position = 0;
    Hash256 hash{};
  };
  // Inner nodes that were put, in ascending order of their positions.
  std::vector<NewNode> take_new_nodes() { return std::move(new_nodes_); }

 private:
  std::unordered_map<std::uint64_t, Hash256> nodes_;
  std::vector<NewNode> new_nodes_;
};

// Finds out which nodes a computation asks for, by giving it zeros.
class NodeRecorder final : public mmr::NodeStore {
 public:
  Result<mmr::Node> get(std::uint64_t position) override {
    positions.push_back(position);
    return mmr::Node{};
  }
  void put(std::uint64_t, const mmr::Node&) override {}
  void drop(std::uint64_t) override {}

  std::vector<std::uint64_t> positions;
};

}  // namespace coffer::token
