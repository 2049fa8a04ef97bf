// Records as rows: columns, and the values that SQL has no type for.
// Invariant: what is written is read back the same, except that heights above 2^63 − 1 become that.
#pragma once

#include <array>

#include "txstore/record.h"
#include "txstore/sql/lists.h"

namespace coffer::txstore {

inline constexpr auto kBool = sql::PostgresArray::Element::kBool;
inline constexpr auto kBytea = sql::PostgresArray::Element::kBytea;
inline constexpr auto kInt8 = sql::PostgresArray::Element::kInt8;
inline constexpr auto kText = sql::PostgresArray::Element::kText;

// The columns of the tables, in their order.
inline constexpr Column kHeadColumns[] = {{"hash", kBytea},
                                          {"conflicting", kBool},
                                          {"coinbase", kBool},
                                          {"valid", kBool},
                                          {"locked", kBool},
                                          {"genesis", kBool},
                                          {"input_count", kInt8},
                                          {"output_count", kInt8},
                                          {"spendable_count", kInt8},
                                          {"spent_count", kInt8},
                                          {"raw_bytes", kInt8},
                                          {"unmined_since", kInt8},
                                          {"absent_since", kInt8},
                                          {"delete_at_height", kInt8},
                                          {"due_at", kInt8},
                                          {"preserve_until", kInt8},
                                          {"kept", kText}};
inline constexpr Column kBodyColumns[] = {{"hash", kBytea}, {"raw", kBytea}, {"fee", kInt8}};
inline constexpr Column kInputColumns[] = {{"hash", kBytea},
                                           {"idx", kInt8},
                                           {"prev_hash", kBytea},
                                           {"prev_idx", kInt8},
                                           {"amount", kInt8}};
inline constexpr Column kOutputColumns[] = {{"hash", kBytea},       {"idx", kInt8},
                                            {"utxo_hash", kBytea},  {"amount", kInt8},
                                            {"state", kInt8},       {"spending_data", kBytea},
                                            {"spendable_at", kInt8}};
inline constexpr Column kBlockIdColumns[] = {
    {"hash", kBytea}, {"block_height", kInt8}, {"block_id", kInt8}, {"on_longest_chain", kBool}};
inline constexpr Column kMarkColumns[] = {{"hash", kBytea},
                                          {"preserve_until", kInt8},
                                          {"locked", kBool},
                                          {"frozen", kBytea},
                                          {"reassigned", kBytea}};
inline constexpr Column kUndoColumns[] = {
    {"height", kInt8}, {"position", kBytea}, {"undo", kBytea}};

// "hash, conflicting, …"
std::string names_of(std::span<const Column> columns);

// A height as SQL can hold it.
std::int64_t sql_height(std::uint64_t height);
std::optional<std::int64_t> sql_height(std::optional<std::uint64_t> height);

// Bits of outputs.state.
inline constexpr std::int64_t kUnspendableBit = 1, kRemovedBit = 2, kSpentBit = 4, kFinalBit = 8,
                              kFrozenBit = 16;
bool same_entry(const Entry& a, const Entry& b);
Result<> add_output(RowWriter& writer, const Hash256& id, std::uint32_t index, const Entry& entry);
// From kOutputColumns.
Result<Entry> read_output(const sql::Rows& rows);

Result<> add_head(RowWriter& writer, const Record& record);
// All but blocks and state, which follow from block_ids; from kHeadColumns.
Result<> read_head(const sql::Rows& rows, Record& record);

// The first 32 bytes of outputs.spending_data.
Hash256 spender_in(ByteView spending_data);

Result<bus::Position> read_position(const sql::Rows& rows, int column);

Result<> add_mark(RowWriter& writer, const Hash256& id, const Mark& mark);
// From kMarkColumns without the first.
Result<Mark> read_mark(const sql::Rows& rows, int first_column);

// The columns of txstore_counts, and their values in the same order.
inline constexpr std::size_t kCountColumns = 8 + retention::kReasons;
std::array<std::string, kCountColumns> count_names();
std::array<std::int64_t, kCountColumns> count_values(const Counts& counts);
Result<Counts> read_counts(const sql::Rows& rows);

}  // namespace coffer::txstore
