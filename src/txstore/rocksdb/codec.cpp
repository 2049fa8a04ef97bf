#include "txstore/rocksdb/codec.h"

#include "txstore/rocksdb/codec_impl.h"

namespace coffer::txstore {
namespace {

constexpr std::size_t kSpendingBytes = 36, kEntryBytes = 40;
constexpr std::size_t kMostEntryBytes = 1 + kEntryBytes + kSpendingBytes + 8;

enum EntryBit : std::uint8_t {
  kUnspendableBit = 1,
  kRemovedBit = 2,
  kSpentBit = 4,
  kFinalBit = 8,
  kFrozenBit = 16,
  kSpendableAtBit = 32,
  kEntryBits = 63,
};

enum HeadBit : std::uint8_t {
  kStateBits = 3,
  kCoinbaseBit = 4,
  kValidBit = 8,
  kLockedBit = 16,
  kGenesisBit = 32,
  kHeadBits = 63,
};

std::uint8_t state_byte(const Entry& entry) {
  return static_cast<std::uint8_t>(
      (entry.unspendable ? kUnspendableBit : 0) | (entry.removed ? kRemovedBit : 0) |
      (entry.spent ? kSpentBit : 0) | (entry.final ? kFinalBit : 0) |
      (entry.frozen ? kFrozenBit : 0) | (entry.spendable_at ? kSpendableAtBit : 0));
}

void write_states(ByteWriter& out, std::span<const Entry> entries) {
  for (const Entry& entry : entries) out.u8(state_byte(entry));
}

void write_entries(ByteWriter& out, std::span<const Entry> entries) {
  for (const Entry& entry : entries) {
    out.fixed(entry.amount.value);
    out.bytes(entry.hash.view());
    if (entry.spent) {
      out.bytes(entry.spender.view());
      out.fixed(entry.spender_input);
    }
    if (entry.spendable_at) out.fixed(*entry.spendable_at);
  }
}

// The variable parts; `states` are the state bytes, one an entry.
bool read_entries(WireReader& in, ByteView states, std::vector<Entry>& entries) {
  std::size_t needed = 0;
  for (const std::uint8_t state : states) {
    if ((state & ~kEntryBits) != 0) return false;
    needed += kEntryBytes + ((state & kSpentBit) != 0 ? kSpendingBytes : 0) +
              ((state & kSpendableAtBit) != 0 ? 8 : 0);
  }
  const ByteView all = in.bytes(needed);
  if (!in.ok()) return false;
  const std::uint8_t* at = all.data();
  entries.resize(states.size());
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::uint8_t state = states[i];
    Entry& entry = entries[i];
    entry.unspendable = (state & kUnspendableBit) != 0;
    entry.removed = (state & kRemovedBit) != 0;
    entry.spent = (state & kSpentBit) != 0;
    entry.final = (state & kFinalBit) != 0;
    entry.frozen = (state & kFrozenBit) != 0;
    entry.amount = Amount(load_le<std::uint64_t>(at));
    entry.hash = Hash256::from(at + 8);
    at += kEntryBytes;
    entry.spender = {};
    entry.spender_input = 0;
    if (entry.spent) {
      entry.spender = Hash256::from(at);
      entry.spender_input = load_le<std::uint32_t>(at + 32);
      at += kSpendingBytes;
    }
    entry.spendable_at.reset();
    if ((state & kSpendableAtBit) != 0) {
      entry.spendable_at = load_le<std::uint64_t>(at);
      at += 8;
    }
  }
  return true;
}

std::uint32_t read_compact32(WireReader& in) {
  const std::uint64_t value = in.compact_size();
  if (value > 0xffffffff) in.fail_at("a count beyond 32 bits", in.offset());
  return static_cast<std::uint32_t>(value);
}

template <typename Head>
auto heights_of(Head& head) {
  return std::array{&head.unmined_since, &head.absent_since, &head.delete_at_height, &head.due_at,
                    &head.preserve_until};
}

std::uint8_t head_byte(const StoredTx& head) {
  return static_cast<std::uint8_t>(static_cast<std::uint8_t>(head.state) |
                                   (head.coinbase ? kCoinbaseBit : 0) |
                                   (head.valid ? kValidBit : 0) | (head.locked ? kLockedBit : 0) |
                                   (head.genesis ? kGenesisBit : 0));
}

bool read_head_byte(std::uint8_t bits, StoredTx& head) {
  if ((bits & ~kHeadBits) != 0 || (bits & kStateBits) > 2) return false;
  head.state = static_cast<State>(bits & kStateBits);
  head.coinbase = (bits & kCoinbaseBit) != 0;
  head.valid = (bits & kValidBit) != 0;
  head.locked = (bits & kLockedBit) != 0;
  head.genesis = (bits & kGenesisBit) != 0;
  return true;
}

void read_heights(WireReader& in, std::uint8_t present, StoredTx& head) {
  for (auto* height : heights_of(head)) {
    height->reset();
    if ((present & 1) != 0) *height = in.compact_size();
    present >>= 1;
  }
}

void read_blocks(WireReader& in, StoredTx& head) {
  head.blocks.clear();
  const std::uint64_t count = in.count(10, "more blocks than bytes");
  for (std::uint64_t i = 0; i < count && in.ok(); ++i) {
    MinedIn mined;
    mined.on_longest_chain = read_flag(in);
    mined.block.height = in.compact_size();
    mined.block.id = in.u64();
    head.blocks.push_back(mined);
  }
}

bool read_inline_inputs(WireReader& in, Record& record) {
  record.inputs.clear();
  record.input_count = read_compact32(in);
  record.body_bytes = in.compact_size();
  if (!in.ok() || record.input_count > kInlineInputs) return in.ok();
  const ByteView all = in.bytes(record.input_count * kOutpointBytes);
  if (!in.ok()) return false;
  for (std::size_t at = 0; at < all.size(); at += kOutpointBytes)
    record.inputs.push_back(read_outpoint_at(all.data() + at));
  return true;
}

}  // namespace

ByteView encode_state_value(const Record& record, Bytes& buffer) {
  const StoredTx& head = record.head;
  const bool has_entries = head.outputs <= kPageEntries;
  std::span<const Entry> entries;
  if (has_entries && head.outputs > 0) entries = record.pages.at(0).entries;
  CHECK(!has_entries || entries.size() == head.outputs);
  CHECK(record.input_count > kInlineInputs || record.has_inputs());
  ByteWriter out(buffer, 128 + head.blocks.size() * 18 + kInlineInputs * kOutpointBytes +
                             entries.size() * kMostEntryBytes);
  out.u8(kRecordFormat);
  out.u8(head_byte(head));
  std::uint8_t present = 0, bit = 1;
  for (const auto* height : heights_of(head)) {
    if (height->has_value()) present |= bit;
    bit = static_cast<std::uint8_t>(bit << 1);
  }
  out.u8(present);
  out.u8(static_cast<std::uint8_t>(head.kept));
  out.fixed(head.outputs);
  write_states(out, entries);
  out.compact(head.spendable);
  out.compact(head.spent);
  for (const auto* height : heights_of(head))
    if (height->has_value()) out.compact(**height);
  out.compact(head.blocks.size());
  for (const MinedIn& mined : head.blocks) {
    out.u8(mined.on_longest_chain ? 1 : 0);
    out.compact(mined.block.height);
    out.fixed(mined.block.id);
  }
  out.compact(record.input_count);
  out.compact(record.body_bytes);
  if (record.input_count <= kInlineInputs)
    for (const chain::Outpoint& input : record.inputs) {
      out.bytes(input.tx.view());
      out.fixed(input.index);
    }
  write_entries(out, entries);
  return out.view();
}

bool decode_state_value(ByteView value, Record& record) {
  WireReader in(value);
  StoredTx& head = record.head;
  if (!read_format(in) || !read_head_byte(in.u8(), head)) return false;
  const std::uint8_t present = in.u8();
  const std::uint8_t kept = in.u8();
  head.outputs = in.u32();
  if (!in.ok() || present > 31 || kept >= retention::kReasons || head.outputs > kMaxOutputs)
    return false;
  head.kept = static_cast<retention::Reason>(kept);
  const bool has_entries = head.outputs <= kPageEntries;
  const ByteView states = in.bytes(has_entries ? head.outputs : 0);
  head.spendable = read_compact32(in);
  head.spent = read_compact32(in);
  read_heights(in, present, head);
  read_blocks(in, head);
  if (!in.ok() || head.spendable > head.outputs || head.spent > head.outputs) return false;
  if (!read_inline_inputs(in, record)) return false;
  record.pages.resize(Record::pages_of(head.outputs));
  for (Page& page : record.pages) {
    page.entries.clear();
    page.dirty = false;
  }
  if (has_entries && head.outputs > 0 && !read_entries(in, states, record.pages[0].entries))
    return false;
  record.new_body.reset();
  record.stored = record.present = true;
  record.dirty = record.replaced = false;
  record.stored_due_at = head.due_at;
  record.stored_unmined_since = head.unmined_since;
  return is_complete(in);
}

ByteView encode_page_value(std::span<const Entry> entries, Bytes& buffer) {
  CHECK(!entries.empty() && entries.size() <= kPageEntries);
  ByteWriter out(buffer, 2 + entries.size() * kMostEntryBytes);
  out.u8(kRecordFormat);
  out.u8(static_cast<std::uint8_t>(entries.size()));
  write_states(out, entries);
  write_entries(out, entries);
  return out.view();
}

bool decode_page_value(ByteView value, std::size_t count, std::vector<Entry>& entries) {
  WireReader in(value);
  if (!read_format(in) || in.u8() != count || count > kPageEntries) return false;
  const ByteView states = in.bytes(count);
  return in.ok() && read_entries(in, states, entries) && is_complete(in);
}

}  // namespace coffer::txstore
