// New records. A transaction that was deleted is recognised by its parents' marks (X5), and one
// whose parents are unknown is not taken for new.
#include "base/check.h"
#include "base/result.h"
#include "txstore/operations.h"

namespace coffer::txstore {

ItemResult check_new(Workspace& work, const NewTx& tx) {
  if (work.find(tx.id) != nullptr) return {Outcome::kUnchanged};
  if (tx.mined_in) return {Outcome::kDone};
  for (std::uint32_t i = 0; i < tx.inputs.size(); ++i) {
    const Entry* entry = work.find_entry(tx.inputs[i]);
    if (entry != nullptr && entry->final && entry->spender == tx.id && entry->spender_input == i)
      return {Outcome::kDeletedChild};
  }
  for (const chain::Outpoint& input : tx.inputs) {
    Record* parent = nullptr;
    const Entry* entry = work.find_entry(input, &parent);
    if (parent == nullptr) {
      // It may be older than the store, if that did not begin with the chain.
      if (work.tip().first_block) continue;
      return {Outcome::kUnknownParent, input.tx};
    }
    if (entry == nullptr || entry->unspendable) return {Outcome::kOutputNotFound};
  }
  return {Outcome::kDone};
}

// Bitcoin states no fee: it is what the inputs have more than the outputs.
std::optional<Amount> fee_of(const NewTx& tx, std::span<const StoredInput> inputs) {
  if (tx.fee) return tx.fee;
  if (tx.coinbase || inputs.empty()) return std::nullopt;
  U128 in = 0, out = 0;
  for (const StoredInput& input : inputs) {
    if (!input.amount) return std::nullopt;
    in += input.amount->value;
  }
  for (const NewOutput& output : tx.outputs) out += output.amount.value;
  if (in < out) return std::nullopt;
  return Amount(static_cast<std::uint64_t>(in - out));
}

namespace {

void set_outputs(Record& record, const NewTx& tx) {
  const auto count = static_cast<std::uint32_t>(tx.outputs.size());
  record.head.outputs = count;
  record.head.spendable = record.head.spent = 0;
  record.pages.assign(Record::pages_of(count), Page());
  for (std::uint32_t i = 0; i < count; ++i) {
    Page& page = record.pages[Record::page_of(i)];
    if (page.entries.empty()) page.entries.reserve(std::min(kPageEntries, count - i));
    page.dirty = true;
    Entry& entry = page.entries.emplace_back();
    entry.hash = tx.outputs[i].hash;
    entry.amount = tx.outputs[i].amount;
    entry.unspendable = !tx.outputs[i].spendable;
    record.head.spendable += entry.unspendable ? 0 : 1;
  }
}

// What people did before the store was built anew.
void apply_mark(Record& record, const Mark& mark) {
  record.head.preserve_until = mark.preserve_until;
  record.head.locked |= mark.locked;
  for (const std::uint32_t output : mark.frozen)
    if (output < record.head.outputs) record.entry(output).frozen = true;
  for (const Mark::Reassigned& each : mark.reassigned) {
    if (each.output >= record.head.outputs) continue;
    record.entry(each.output).hash = each.hash;
    record.entry(each.output).spendable_at = each.spendable_at;
  }
}

}  // namespace

void reset_outputs(Workspace& work, Record& record, const NewTx& tx) {
  work.touch(record);
  set_outputs(record, tx);
  record.replaced = record.stored;
}

Record& create_record(Workspace& work, NewTx tx, std::uint64_t height) {
  Record& record = work.create(tx.id);
  StoredTx& head = record.head;
  head.coinbase = tx.coinbase;
  head.valid = tx.valid;
  head.locked = tx.locked;
  record.input_count = static_cast<std::uint32_t>(tx.inputs.size());
  set_outputs(record, tx);
  record.body_bytes = tx.raw.size();
  TxBody& body = record.new_body.emplace();
  body.raw = std::move(tx.raw);
  body.inputs.reserve(tx.inputs.size());
  for (std::size_t i = 0; i < tx.inputs.size(); ++i) {
    StoredInput& input = body.inputs.emplace_back();
    input.outpoint = tx.inputs[i];
    if (i < tx.input_amounts.size() && tx.input_amounts[i]) {
      input.amount = tx.input_amounts[i];
    } else if (const Entry* entry = work.find_entry(tx.inputs[i])) {
      input.amount = entry->amount;
    }
  }
  body.fee = fee_of(tx, body.inputs);
  record.inputs = std::move(tx.inputs);
  if (const Mark* mark = work.find_mark(tx.id)) apply_mark(record, *mark);
  if (tx.mined_in) {
    head.blocks.push_back({*tx.mined_in, true});
    head.locked = false;
  } else {
    head.unmined_since = height;
  }
  work.restamp(record, height);
  return record;
}

}  // namespace coffer::txstore
