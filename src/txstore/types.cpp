#include <coffer/txstore/types.h>

#include <array>
#include <ostream>

#include "base/result.h"
#include "crypto/sha256.h"

namespace coffer::txstore {

std::uint64_t window_of(const chain::Network& network, std::uint64_t rollback_window) {
  return std::max({kLeastWindow, network.rollback_window, rollback_window});
}

std::string_view to_string(State state) {
  static constexpr std::array<std::string_view, 3> kNames = {"unmined", "mined", "conflicting"};
  return kNames.at(static_cast<std::size_t>(state));
}

std::string_view to_string(Outcome outcome) {
  static constexpr std::array<std::string_view, kOutcomes> kNames = {"done",
                                                                     "unchanged",
                                                                     "not_found",
                                                                     "conflicting",
                                                                     "locked",
                                                                     "immature_coinbase",
                                                                     "output_not_found",
                                                                     "hash_mismatch",
                                                                     "frozen",
                                                                     "deleted_child",
                                                                     "spent",
                                                                     "unknown_parent",
                                                                     "mined",
                                                                     "not_frozen",
                                                                     "kept"};
  return kNames.at(static_cast<std::size_t>(outcome));
}

std::ostream& operator<<(std::ostream& out, Outcome outcome) {
  return out << to_string(outcome);
}

std::string_view to_string(Absence absence) {
  static constexpr std::array<std::string_view, 3> kNames = {"pruned", "before_start", "unknown"};
  return kNames.at(static_cast<std::size_t>(absence));
}

BlockRef BlockRef::of(const bus::Position& position) {
  return {position.ordinal.value, load_be64(position.point.hash.data())};
}

Hash256 output_hash(const chain::Outpoint& outpoint, ByteView address, Amount amount) {
  std::uint8_t number[8];
  crypto::Sha256 hash;
  store_le(number, outpoint.index);
  hash.update(outpoint.tx.view()).update({number, 4}).update(address);
  store_le(number, amount.value);
  return hash.update({number, 8}).finish();
}

bool StoredTx::on_longest_chain() const {
  if (genesis) return true;
  return std::any_of(blocks.begin(), blocks.end(),
                     [](const MinedIn& in) { return in.on_longest_chain; });
}

std::optional<std::uint64_t> StoredTx::highest_height() const {
  std::optional<std::uint64_t> highest;
  if (genesis) highest = 0;
  for (const MinedIn& in : blocks)
    if (!highest || in.block.height > *highest) highest = in.block.height;
  return highest;
}

std::optional<BlockRef> StoredTx::mined_in() const {
  std::optional<BlockRef> found;
  for (const MinedIn& in : blocks)
    if (in.on_longest_chain && (!found || in.block.height > found->height)) found = in.block;
  return found;
}

void CleanupReport::add(const CleanupReport& step) {
  looked_at += step.looked_at;
  deleted += step.deleted;
  deleted_conflicting += step.deleted_conflicting;
  kept += step.kept;
  expired += step.expired;
  children_read += step.children_read;
  marked_final += step.marked_final;
  for (std::size_t i = 0; i < retention::kReasons; ++i) kept_by[i] += step.kept_by[i];
  done = step.done;
}

}  // namespace coffer::txstore
