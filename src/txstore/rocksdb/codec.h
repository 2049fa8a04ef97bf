// The values of the store's columns as bytes (docs/formats/txstore.md). Pure.
// Invariants: every value begins with the format byte; what encode writes, decode reads back; a
// decoder refuses every truncation, unknown bit and length that does not fit.
//
// Encoders of what is written often take a buffer that only grows, and return a view of its used
// part, good until the next call with that buffer.
#pragma once

#include "txstore/record.h"

namespace coffer::txstore {

inline constexpr std::uint8_t kRecordFormat = 1;
// More than a block of 8 MiB can hold. A larger count in a stored record is damage.
inline constexpr std::uint32_t kMaxOutputs = 1u << 20;

// The head, up to kInlineInputs inputs, and the entries if there is one page at most. These must be
// loaded.
ByteView encode_state_value(const Record& record, Bytes& buffer);
// Fills all of the record but its id, as loaded from the store. False if it cannot be read; the
// record is in no defined state then.
[[nodiscard]] bool decode_state_value(ByteView value, Record& record);

// One page of entries: 1 to kPageEntries.
ByteView encode_page_value(std::span<const Entry> entries, Bytes& buffer);
[[nodiscard]] bool decode_page_value(ByteView value, std::size_t count,
                                     std::vector<Entry>& entries);

ByteView encode_body_value(const TxBody& body, Bytes& buffer);
[[nodiscard]] bool decode_body_value(ByteView value, TxBody& body);
// Only the outpoints that it spends; the raw bytes are not copied.
[[nodiscard]] bool decode_body_inputs(ByteView value, std::vector<chain::Outpoint>& inputs);

Bytes encode_mark_value(const Mark& mark);
[[nodiscard]] bool decode_mark_value(ByteView value, Mark& mark);

Bytes encode_block_value(const BlockUndo& block);
[[nodiscard]] bool decode_block_value(ByteView value, BlockUndo& block);
[[nodiscard]] bool decode_block_position(ByteView value, bus::Position& position);

// Where the store stands, and its counts: one value, written with every commit that changes them.
struct StoredTip {
  Tip tip;
  Counts counts;
};
Bytes encode_tip_value(const StoredTip& stored);
[[nodiscard]] bool decode_tip_value(ByteView value, StoredTip& stored);

}  // namespace coffer::txstore
