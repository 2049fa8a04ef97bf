// Stored records as the facts that the rule of safe deletion asks for.
#pragma once

#include "txstore/record.h"

namespace coffer::txstore {

inline retention::TxFacts tx_facts(const StoredTx& tx) {
  return {.conflicting = tx.state == State::kConflicting,
          .preserved = tx.preserve_until.has_value(),
          .locked = tx.locked,
          .on_longest_chain = tx.on_longest_chain(),
          .highest_height = tx.highest_height(),
          .delete_at_height = tx.delete_at_height};
}

// Of a record that was looked up; null: it is not stored.
inline retention::ChildFacts child_facts(const Record* child) {
  if (child == nullptr) return {};
  return {.present = true,
          .conflicting = child->head.state == State::kConflicting,
          .on_longest_chain = child->head.on_longest_chain(),
          .highest_height = child->head.highest_height()};
}

inline retention::OutputFacts output_facts(const Entry& entry, const retention::ChildFacts* child) {
  return {.unspendable = entry.unspendable,
          .removed = entry.removed,
          .spent = entry.spent,
          .final = entry.final,
          .frozen = entry.frozen,
          .child = child};
}

}  // namespace coffer::txstore
