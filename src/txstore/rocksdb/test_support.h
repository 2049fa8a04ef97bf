// What the tests of the RocksDB backend share: random records, and comparing them.
#pragma once

#include <gtest/gtest.h>

#include "base/random.h"
#include "txstore/rocksdb/codec.h"

namespace coffer::txstore::rocks_test {

inline Hash256 random_hash(Rng& rng) {
  Hash256 hash;
  rng.fill(hash);
  return hash;
}

inline std::optional<std::uint64_t> maybe_height(Rng& rng) {
  if (rng.one_in(2)) return std::nullopt;
  return rng() >> rng.below(64);
}

inline bus::Position position_at(std::uint64_t height, Rng& rng) {
  return bus::Position::after(Ordinal(height), {Slot(height), random_hash(rng)});
}

inline Entry random_entry(Rng& rng) {
  Entry entry;
  entry.hash = random_hash(rng);
  entry.amount = Amount(rng());
  entry.unspendable = rng.one_in(8);
  entry.removed = rng.one_in(8);
  entry.final = rng.one_in(4);
  entry.frozen = rng.one_in(4);
  entry.spent = rng.one_in(2);
  if (entry.spent) {
    entry.spender = random_hash(rng);
    entry.spender_input = static_cast<std::uint32_t>(rng());
  }
  if (rng.one_in(4)) entry.spendable_at = rng();
  return entry;
}

inline TxBody random_body(Rng& rng, std::uint32_t inputs) {
  TxBody body;
  body.raw.resize(rng.below(400));
  rng.fill(body.raw);
  if (rng.one_in(2)) body.fee = Amount(rng());
  for (std::uint32_t i = 0; i < inputs; ++i) {
    StoredInput& input = body.inputs.emplace_back();
    input.outpoint = {random_hash(rng), static_cast<std::uint32_t>(rng())};
    if (rng.one_in(2)) input.amount = Amount(rng());
  }
  return body;
}

// New, with all its pages and a body; heights are anything.
inline Record random_record(Rng& rng, std::uint32_t outputs) {
  Record record;
  StoredTx& head = record.head;
  head.id = random_hash(rng);
  head.state = static_cast<State>(rng.below(3));
  head.coinbase = rng.one_in(2);
  head.valid = rng.one_in(2);
  head.locked = rng.one_in(2);
  head.genesis = rng.one_in(2);
  for (std::uint64_t i = rng.below(4); i > 0; --i)
    head.blocks.push_back({{rng() >> rng.below(64), rng()}, rng.one_in(2)});
  head.outputs = outputs;
  head.spendable = static_cast<std::uint32_t>(rng.below(outputs + 1));
  head.spent = static_cast<std::uint32_t>(rng.below(head.spendable + 1));
  head.unmined_since = maybe_height(rng);
  head.absent_since = maybe_height(rng);
  head.delete_at_height = maybe_height(rng);
  head.due_at = maybe_height(rng);
  head.preserve_until = maybe_height(rng);
  head.kept = static_cast<retention::Reason>(rng.below(retention::kReasons));
  record.new_body =
      random_body(rng, static_cast<std::uint32_t>(rng.below(2 * std::uint64_t{kInlineInputs})));
  record.body_bytes = record.new_body->raw.size();
  record.input_count = static_cast<std::uint32_t>(record.new_body->inputs.size());
  for (const StoredInput& input : record.new_body->inputs) record.inputs.push_back(input.outpoint);
  record.pages.resize(Record::pages_of(outputs));
  for (std::uint32_t i = 0; i < outputs; ++i)
    record.pages[Record::page_of(i)].entries.push_back(random_entry(rng));
  record.present = record.dirty = true;
  return record;
}

inline void expect_same_entry(const Entry& a, const Entry& b) {
  EXPECT_EQ(a.hash, b.hash);
  EXPECT_EQ(a.amount, b.amount);
  EXPECT_EQ(a.unspendable, b.unspendable);
  EXPECT_EQ(a.removed, b.removed);
  EXPECT_EQ(a.spent, b.spent);
  EXPECT_EQ(a.final, b.final);
  EXPECT_EQ(a.frozen, b.frozen);
  EXPECT_EQ(a.spendable_at, b.spendable_at);
  EXPECT_EQ(a.spender, b.spender);
  EXPECT_EQ(a.spender_input, b.spender_input);
}

inline void expect_same_body(const TxBody& a, const TxBody& b) {
  EXPECT_EQ(a.raw, b.raw);
  EXPECT_EQ(a.fee, b.fee);
  ASSERT_EQ(a.inputs.size(), b.inputs.size());
  for (std::size_t i = 0; i < a.inputs.size(); ++i) {
    EXPECT_EQ(a.inputs[i].outpoint, b.inputs[i].outpoint);
    EXPECT_EQ(a.inputs[i].amount, b.inputs[i].amount);
  }
}

// `read` is what tx_state alone tells of `record`.
inline void expect_same_state(const Record& record, const Record& read) {
  const StoredTx &a = record.head, &b = read.head;
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.state, b.state);
  EXPECT_EQ(a.coinbase, b.coinbase);
  EXPECT_EQ(a.valid, b.valid);
  EXPECT_EQ(a.locked, b.locked);
  EXPECT_EQ(a.genesis, b.genesis);
  EXPECT_EQ(a.blocks, b.blocks);
  EXPECT_EQ(a.outputs, b.outputs);
  EXPECT_EQ(a.spendable, b.spendable);
  EXPECT_EQ(a.spent, b.spent);
  EXPECT_EQ(a.unmined_since, b.unmined_since);
  EXPECT_EQ(a.absent_since, b.absent_since);
  EXPECT_EQ(a.delete_at_height, b.delete_at_height);
  EXPECT_EQ(a.due_at, b.due_at);
  EXPECT_EQ(a.preserve_until, b.preserve_until);
  EXPECT_EQ(a.kept, b.kept);
  EXPECT_TRUE(read.stored && read.present);
  EXPECT_FALSE(read.dirty || read.replaced || read.new_body);
  EXPECT_EQ(read.stored_due_at, a.due_at);
  EXPECT_EQ(read.stored_unmined_since, a.unmined_since);
  EXPECT_EQ(read.body_bytes, record.body_bytes);
  EXPECT_EQ(read.input_count, record.input_count);
  if (record.input_count <= kInlineInputs)
    EXPECT_EQ(read.inputs, record.inputs);
  else
    EXPECT_TRUE(read.inputs.empty());
  ASSERT_EQ(read.pages.size(), record.pages.size());
  for (std::size_t i = 0; i < read.pages.size(); ++i) {
    if (a.outputs > kPageEntries) {
      EXPECT_TRUE(read.pages[i].entries.empty());
      continue;
    }
    ASSERT_EQ(read.pages[i].entries.size(), record.pages[i].entries.size());
    for (std::size_t k = 0; k < read.pages[i].entries.size(); ++k)
      expect_same_entry(record.pages[i].entries[k], read.pages[i].entries[k]);
  }
}

}  // namespace coffer::txstore::rocks_test
