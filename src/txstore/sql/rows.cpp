#include "txstore/sql/rows.h"

#include <fmt/ranges.h>

#include <limits>

#include "base/result.h"
#include "bus/position_codec.h"

namespace coffer::txstore {
namespace {

constexpr std::size_t kSpendingBytes = 36, kReassignedBytes = 44;

std::int64_t state_bits(const Entry& entry) {
  return (entry.unspendable ? kUnspendableBit : 0) | (entry.removed ? kRemovedBit : 0) |
         (entry.spent ? kSpentBit : 0) | (entry.final ? kFinalBit : 0) |
         (entry.frozen ? kFrozenBit : 0);
}

Result<retention::Reason> read_reason(std::optional<std::string_view> name) {
  if (!name) return retention::Reason::kDeletable;
  for (std::size_t i = 0; i < retention::kReasons; ++i)
    if (const auto reason = static_cast<retention::Reason>(i); to_string(reason) == *name)
      return reason;
  return fail(Code::kCorrupt, "a stored transaction is kept for the unknown reason {}", *name);
}

}  // namespace

std::string names_of(std::span<const Column> columns) {
  std::vector<std::string_view> names;
  for (const Column& column : columns) names.push_back(column.name);
  return fmt::format("{}", fmt::join(names, ", "));
}

std::int64_t sql_height(std::uint64_t height) {
  constexpr std::uint64_t kHighest = std::numeric_limits<std::int64_t>::max();
  return static_cast<std::int64_t>(std::min(height, kHighest));
}
std::optional<std::int64_t> sql_height(std::optional<std::uint64_t> height) {
  return height ? std::optional(sql_height(*height)) : std::nullopt;
}

bool same_entry(const Entry& a, const Entry& b) {
  return state_bits(a) == state_bits(b) && a.hash == b.hash && a.amount == b.amount &&
         a.spendable_at == b.spendable_at && a.spender == b.spender &&
         a.spender_input == b.spender_input;
}

Result<> add_output(RowWriter& writer, const Hash256& id, std::uint32_t index, const Entry& entry) {
  std::array<std::uint8_t, kSpendingBytes> spending;
  std::copy(entry.spender.begin(), entry.spender.end(), spending.begin());
  store_be32(spending.data() + 32, entry.spender_input);
  const bool has_spender = entry.spent && !entry.removed;
  return writer.add({id, index, entry.hash, entry.amount, state_bits(entry),
                     has_spender ? sql::Param(ByteView(spending)) : sql::Param(nullptr),
                     sql_height(entry.spendable_at)});
}

Result<Entry> read_output(const sql::Rows& rows) {
  Entry entry;
  entry.hash = TRY(rows.get<Hash256>(2));
  entry.amount = TRY(rows.get<Amount>(3));
  const std::int64_t state = TRY(rows.get<std::int64_t>(4));
  entry.unspendable = (state & kUnspendableBit) != 0;
  entry.removed = (state & kRemovedBit) != 0;
  entry.spent = (state & kSpentBit) != 0;
  entry.final = (state & kFinalBit) != 0;
  entry.frozen = (state & kFrozenBit) != 0;
  if (const auto spending = TRY(rows.get<std::optional<ByteView>>(5))) {
    if (spending->size() != kSpendingBytes)
      return fail(Code::kCorrupt, "spending_data of a stored output has {} bytes instead of {}",
                  spending->size(), kSpendingBytes);
    entry.spender = spender_in(*spending);
    entry.spender_input = load_be32(spending->data() + 32);
  }
  entry.spendable_at = TRY(rows.get<std::optional<std::uint64_t>>(6));
  return entry;
}

Hash256 spender_in(ByteView spending_data) {
  return Hash256::from(spending_data.data());
}

Result<> add_head(RowWriter& writer, const Record& record) {
  const StoredTx& head = record.head;
  const std::uint64_t raw_bytes = record.new_body ? record.new_body->raw.size() : record.body_bytes;
  const std::uint64_t inputs =
      record.new_body ? record.new_body->inputs.size() : record.input_count;
  const sql::Param kept = head.kept == retention::Reason::kDeletable
                              ? sql::Param(nullptr)
                              : sql::Param(to_string(head.kept));
  return writer.add({head.id, head.state == State::kConflicting, head.coinbase, head.valid,
                     head.locked, head.genesis, inputs, head.outputs, head.spendable, head.spent,
                     raw_bytes, sql_height(head.unmined_since), sql_height(head.absent_since),
                     sql_height(head.delete_at_height), sql_height(head.due_at),
                     sql_height(head.preserve_until), kept});
}

Result<> read_head(const sql::Rows& rows, Record& record) {
  StoredTx& head = record.head;
  head = StoredTx();
  head.id = TRY(rows.get<Hash256>(0));
  head.state = TRY(rows.get<bool>(1)) ? State::kConflicting : State::kUnmined;
  head.coinbase = TRY(rows.get<bool>(2));
  head.valid = TRY(rows.get<bool>(3));
  head.locked = TRY(rows.get<bool>(4));
  head.genesis = TRY(rows.get<bool>(5));
  record.input_count = TRY(rows.get<std::uint32_t>(6));
  head.outputs = TRY(rows.get<std::uint32_t>(7));
  head.spendable = TRY(rows.get<std::uint32_t>(8));
  head.spent = TRY(rows.get<std::uint32_t>(9));
  record.body_bytes = TRY(rows.get<std::uint64_t>(10));
  head.unmined_since = TRY(rows.get<std::optional<std::uint64_t>>(11));
  head.absent_since = TRY(rows.get<std::optional<std::uint64_t>>(12));
  head.delete_at_height = TRY(rows.get<std::optional<std::uint64_t>>(13));
  head.due_at = TRY(rows.get<std::optional<std::uint64_t>>(14));
  head.preserve_until = TRY(rows.get<std::optional<std::uint64_t>>(15));
  const auto kept = TRY(rows.get<std::optional<std::string_view>>(16));
  head.kept = TRY(read_reason(kept));
  return {};
}

Result<bus::Position> read_position(const sql::Rows& rows, int column) {
  const ByteView bytes = TRY(rows.get<ByteView>(column));
  return bus::decode_position(bytes);
}

Result<> add_mark(RowWriter& writer, const Hash256& id, const Mark& mark) {
  Bytes frozen, reassigned;
  for (const std::uint32_t output : mark.frozen) append_be32(frozen, output);
  for (const Mark::Reassigned& one : mark.reassigned) {
    append_be32(reassigned, one.output);
    append(reassigned, one.hash.view());
    append_be64(reassigned, one.spendable_at);
  }
  return writer.add({id, sql_height(mark.preserve_until), mark.locked, frozen, reassigned});
}

Result<Mark> read_mark(const sql::Rows& rows, int first_column) {
  Mark mark;
  mark.preserve_until = TRY(rows.get<std::optional<std::uint64_t>>(first_column));
  mark.locked = TRY(rows.get<bool>(first_column + 1));
  ByteView frozen = TRY(rows.get<ByteView>(first_column + 2));
  for (; frozen.size() >= 4; frozen = frozen.subspan(4))
    mark.frozen.push_back(load_be32(frozen.data()));
  ByteView reassigned = TRY(rows.get<ByteView>(first_column + 3));
  for (; reassigned.size() >= kReassignedBytes; reassigned = reassigned.subspan(kReassignedBytes))
    mark.reassigned.push_back({load_be32(reassigned.data()), Hash256::from(reassigned.data() + 4),
                               load_be64(reassigned.data() + 36)});
  if (!frozen.empty() || !reassigned.empty())
    return fail(Code::kCorrupt, "a stored mark has bytes that belong to no output");
  return mark;
}

std::array<std::string, kCountColumns> count_names() {
  std::array<std::string, kCountColumns> names = {"records",     "bytes",         "unmined",
                                                  "conflicting", "final_entries", "parent_missing",
                                                  "overrides",   "deleted"};
  for (std::size_t i = 0; i < retention::kReasons; ++i)
    names.at(8 + i) = fmt::format("kept_{}", to_string(static_cast<retention::Reason>(i)));
  return names;
}

std::array<std::int64_t, kCountColumns> count_values(const Counts& counts) {
  std::array<std::int64_t, kCountColumns> values = {
      counts.records,       counts.bytes,          counts.unmined,   counts.conflicting,
      counts.final_entries, counts.parent_missing, counts.overrides, counts.deleted};
  std::copy(std::begin(counts.kept), std::end(counts.kept), values.begin() + 8);
  return values;
}

Result<Counts> read_counts(const sql::Rows& rows) {
  Counts counts;
  std::int64_t* const fields[] = {
      &counts.records,       &counts.bytes,          &counts.unmined,   &counts.conflicting,
      &counts.final_entries, &counts.parent_missing, &counts.overrides, &counts.deleted};
  int column = 0;
  for (std::int64_t* field : fields) *field = TRY(rows.get<std::int64_t>(column++));
  for (std::int64_t& kept : counts.kept) kept = TRY(rows.get<std::int64_t>(column++));
  return counts;
}

}  // namespace coffer::txstore
