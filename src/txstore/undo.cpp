#include "txstore/undo.h"

#include "base/result.h"

namespace coffer::txstore {
namespace {

enum EntryBits : std::uint8_t {
  kUnspendable = 1,
  kRemoved = 2,
  kSpent = 4,
  kFinal = 8,
  kFrozen = 16,
  kDelayed = 32,
};

void encode_entry(Bytes& out, const Entry& entry) {
  out.push_back(static_cast<std::uint8_t>(
      (entry.unspendable ? kUnspendable : 0) | (entry.removed ? kRemoved : 0) |
      (entry.spent ? kSpent : 0) | (entry.final ? kFinal : 0) | (entry.frozen ? kFrozen : 0) |
      (entry.spendable_at ? kDelayed : 0)));
  append(out, entry.hash.view());
  append_le(out, entry.amount.value);
  append(out, entry.spender.view());
  append_le(out, entry.spender_input);
  append_le(out, entry.spendable_at.value_or(0));
}

class UndoReader {
 public:
  explicit UndoReader(ByteView bytes) : bytes_(bytes) {}
  bool at_end() const { return at_ == bytes_.size(); }
  bool ok() const { return ok_; }
  // Zeros once the bytes have ended.
  template <typename T>
  T number() {
    T value{};
    if (take(sizeof value)) value = load_le<T>(bytes_.data() + at_ - sizeof value);
    return value;
  }
  Hash256 hash() { return take(32) ? Hash256::from(bytes_.data() + at_ - 32) : Hash256{}; }

 private:
  bool take(std::size_t count) {
    if (!ok_ || bytes_.size() - at_ < count) return ok_ = false;
    at_ += count;
    return true;
  }
  ByteView bytes_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

Entry decode_entry(UndoReader& reader) {
  Entry entry;
  const auto bits = reader.number<std::uint8_t>();
  entry.unspendable = bits & kUnspendable;
  entry.removed = bits & kRemoved;
  entry.spent = bits & kSpent;
  entry.final = bits & kFinal;
  entry.frozen = bits & kFrozen;
  entry.hash = reader.hash();
  entry.amount = Amount(reader.number<std::uint64_t>());
  entry.spender = reader.hash();
  entry.spender_input = reader.number<std::uint32_t>();
  const auto spendable_at = reader.number<std::uint64_t>();
  if (bits & kDelayed) entry.spendable_at = spendable_at;
  return entry;
}

}  // namespace

Bytes encode_undo(const UndoData& undo) {
  Bytes out;
  out.reserve(16 + 36 * undo.txs.size());
  append_le(out, static_cast<std::uint32_t>(undo.txs.size()));
  for (const UndoData::Tx& tx : undo.txs) {
    append(out, tx.id.view());
    append_le(out, static_cast<std::uint32_t>(tx.replaced.size()));
    for (const Entry& entry : tx.replaced) encode_entry(out, entry);
  }
  append_le(out, static_cast<std::uint32_t>(undo.removed.size()));
  for (const chain::Outpoint& outpoint : undo.removed) {
    append(out, outpoint.tx.view());
    append_le(out, outpoint.index);
  }
  return out;
}

Result<UndoData> decode_undo(ByteView bytes) {
  UndoReader reader(bytes);
  UndoData undo;
  for (auto txs = reader.number<std::uint32_t>(); reader.ok() && txs > 0; --txs) {
    UndoData::Tx& tx = undo.txs.emplace_back();
    tx.id = reader.hash();
    for (auto entries = reader.number<std::uint32_t>(); reader.ok() && entries > 0; --entries)
      tx.replaced.push_back(decode_entry(reader));
  }
  for (auto removed = reader.number<std::uint32_t>(); reader.ok() && removed > 0; --removed) {
    chain::Outpoint& outpoint = undo.removed.emplace_back();
    outpoint.tx = reader.hash();
    outpoint.index = reader.number<std::uint32_t>();
  }
  if (!reader.ok() || !reader.at_end())
    return fail(Code::kCorrupt, "the undo data of a block are damaged; run 'coffer tx rebuild'");
  return undo;
}

}  // namespace coffer::txstore
