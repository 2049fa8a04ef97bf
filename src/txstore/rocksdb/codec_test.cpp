#include <gtest/gtest.h>

#include "txstore/rocksdb/codec.h"
#include "txstore/rocksdb/test_support.h"

namespace coffer::txstore::rocks_test {
namespace {

// No prefix of the value is read, nor the value with a byte more, nor one of another format.
template <typename Decode>
void expect_strict(ByteView value, Decode decode) {
  for (std::size_t size = 0; size < value.size(); ++size)
    ASSERT_FALSE(decode(value.first(size))) << "first " << size << " of " << value.size();
  Bytes longer(value.begin(), value.end());
  longer.push_back(0);
  EXPECT_FALSE(decode(longer));
  longer.pop_back();
  longer[0] = kRecordFormat + 1;
  EXPECT_FALSE(decode(longer));
}

TEST(TxStoreCodec, RandomRecordsRoundTrip) {
  Rng rng(1);
  Bytes buffer;
  for (int i = 0; i < 2'000; ++i) {
    const Record record = random_record(rng, static_cast<std::uint32_t>(rng.below(40)));
    Record read;
    read.head.id = record.head.id;
    ASSERT_TRUE(decode_state_value(encode_state_value(record, buffer), read));
    expect_same_state(record, read);
  }
}

TEST(TxStoreCodec, DecodingOverwritesAnEarlierRecord) {
  Rng rng(2);
  Bytes buffer;
  Record read;
  for (int i = 0; i < 500; ++i) {
    const Record record = random_record(rng, static_cast<std::uint32_t>(rng.below(40)));
    read.head.id = record.head.id;
    ASSERT_TRUE(decode_state_value(encode_state_value(record, buffer), read));
    expect_same_state(record, read);
  }
}

TEST(TxStoreCodec, TruncatedRecordsAreRefused) {
  Rng rng(3);
  Bytes buffer;
  for (const std::uint32_t outputs : {0u, 1u, 2u, 16u, 17u, 40u})
    for (int i = 0; i < 10; ++i) {
      const ByteView value = encode_state_value(random_record(rng, outputs), buffer);
      Record read;
      expect_strict(value, [&](ByteView part) { return decode_state_value(part, read); });
    }
}

TEST(TxStoreCodec, UnknownBitsAreRefused) {
  Rng rng(4);
  Bytes buffer;
  const ByteView value = encode_state_value(random_record(rng, 3), buffer);
  // The byte of the state, the bits of heights, the reason, the count of outputs, an entry's state.
  for (const auto& [at, byte] : {std::pair(1, 0x40), std::pair(1, 0x03), std::pair(2, 0x20),
                                 std::pair(3, 0x0c), std::pair(7, 0x10), std::pair(8, 0x40)}) {
    Bytes damaged(value.begin(), value.end());
    damaged[static_cast<std::size_t>(at)] |= static_cast<std::uint8_t>(byte);
    if (at == 3) damaged[3] = static_cast<std::uint8_t>(byte);
    Record read;
    EXPECT_FALSE(decode_state_value(damaged, read)) << "byte " << at;
  }
}

TEST(TxStoreCodec, StateBytesAreAtAFixedOffset) {
  Rng rng(5);
  Bytes buffer;
  Record record = random_record(rng, 16);
  for (Entry& entry : record.pages[0].entries) {
    entry = Entry{};
    entry.frozen = true;
  }
  const ByteView state = encode_state_value(record, buffer);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(state[8 + i], 16);
  const ByteView page = encode_page_value(record.pages[0].entries, buffer);
  for (std::size_t i = 0; i < 16; ++i) EXPECT_EQ(page[2 + i], 16);
}

TEST(TxStoreCodec, PagesRoundTripAndAreStrict) {
  Rng rng(6);
  Bytes buffer;
  for (int i = 0; i < 200; ++i) {
    std::vector<Entry> entries(rng.between(1, kPageEntries)), read;
    for (Entry& entry : entries) entry = random_entry(rng);
    const ByteView value = encode_page_value(entries, buffer);
    ASSERT_TRUE(decode_page_value(value, entries.size(), read));
    ASSERT_EQ(read.size(), entries.size());
    for (std::size_t k = 0; k < read.size(); ++k) expect_same_entry(entries[k], read[k]);
    EXPECT_FALSE(decode_page_value(value, entries.size() - 1, read));
    expect_strict(value,
                  [&](ByteView part) { return decode_page_value(part, entries.size(), read); });
  }
}

TEST(TxStoreCodec, BodiesRoundTripAndAreStrict) {
  Rng rng(7);
  Bytes buffer;
  for (int i = 0; i < 50; ++i) {
    const TxBody body = random_body(rng, static_cast<std::uint32_t>(rng.below(12)));
    const ByteView value = encode_body_value(body, buffer);
    TxBody read;
    ASSERT_TRUE(decode_body_value(value, read));
    expect_same_body(body, read);
    std::vector<chain::Outpoint> inputs;
    ASSERT_TRUE(decode_body_inputs(value, inputs));
    ASSERT_EQ(inputs.size(), body.inputs.size());
    for (std::size_t k = 0; k < inputs.size(); ++k) EXPECT_EQ(inputs[k], body.inputs[k].outpoint);
    expect_strict(value, [&](ByteView part) { return decode_body_value(part, read); });
    expect_strict(value, [&](ByteView part) { return decode_body_inputs(part, inputs); });
  }
}

TEST(TxStoreCodec, MarksRoundTripAndAreStrict) {
  Rng rng(8);
  for (int i = 0; i < 50; ++i) {
    Mark mark;
    mark.locked = rng.one_in(2);
    if (rng.one_in(2)) mark.preserve_until = rng();
    for (std::uint64_t k = rng.below(4); k > 0; --k)
      mark.frozen.push_back(static_cast<std::uint32_t>(rng()));
    for (std::uint64_t k = rng.below(4); k > 0; --k)
      mark.reassigned.push_back({static_cast<std::uint32_t>(rng()), random_hash(rng), rng()});
    const Bytes value = encode_mark_value(mark);
    Mark read;
    ASSERT_TRUE(decode_mark_value(value, read));
    EXPECT_EQ(read.locked, mark.locked);
    EXPECT_EQ(read.preserve_until, mark.preserve_until);
    EXPECT_EQ(read.frozen, mark.frozen);
    ASSERT_EQ(read.reassigned.size(), mark.reassigned.size());
    for (std::size_t k = 0; k < read.reassigned.size(); ++k) {
      EXPECT_EQ(read.reassigned[k].output, mark.reassigned[k].output);
      EXPECT_EQ(read.reassigned[k].hash, mark.reassigned[k].hash);
      EXPECT_EQ(read.reassigned[k].spendable_at, mark.reassigned[k].spendable_at);
    }
    expect_strict(value, [&](ByteView part) { return decode_mark_value(part, read); });
  }
}

TEST(TxStoreCodec, BlocksRoundTripAndAreStrict) {
  Rng rng(9);
  const BlockUndo block{position_at(77, rng), Bytes(300, 7)};
  const Bytes value = encode_block_value(block);
  BlockUndo read;
  ASSERT_TRUE(decode_block_value(value, read));
  EXPECT_EQ(read.position, block.position);
  EXPECT_EQ(read.undo, block.undo);
  bus::Position position;
  ASSERT_TRUE(decode_block_position(value, position));
  EXPECT_EQ(position, block.position);
  expect_strict(value, [&](ByteView part) { return decode_block_value(part, read); });
  expect_strict(value, [&](ByteView part) { return decode_block_position(part, position); });
}

TEST(TxStoreCodec, TipsRoundTripAndAreStrict) {
  Rng rng(10);
  for (const bool has_first : {false, true}) {
    StoredTip stored;
    stored.tip.position = position_at(5'000, rng);
    stored.tip.final_height = -3;
    if (has_first) stored.tip.first_block = position_at(4'000, rng);
    stored.counts.records = 12;
    stored.counts.bytes = 1'000'000'000'000;
    stored.counts.deleted = 9;
    stored.counts.kept[retention::kReasons - 1] = -1;
    const Bytes value = encode_tip_value(stored);
    StoredTip read;
    ASSERT_TRUE(decode_tip_value(value, read));
    EXPECT_EQ(read.tip.position, stored.tip.position);
    EXPECT_EQ(read.tip.final_height, -3);
    EXPECT_EQ(read.tip.first_block, stored.tip.first_block);
    EXPECT_EQ(read.counts, stored.counts);
    expect_strict(value, [&](ByteView part) { return decode_tip_value(part, read); });
  }
}

}  // namespace
}  // namespace coffer::txstore::rocks_test
