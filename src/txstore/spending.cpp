// Taking and giving back outputs. The errors of an input are asked in a fixed order.
#include "base/check.h"
#include "txstore/operations.h"

namespace coffer::txstore {

std::uint64_t spending_height(const Workspace& work, const Record& spender) {
  if (const auto mined = spender.head.mined_in()) return mined->height;
  return work.tip().position.at_origin ? 0 : work.height() + 1;
}

namespace {

bool is_immature(const StoredTx& coinbase, std::uint64_t height) {
  const auto mined = coinbase.mined_in();
  return mined && height < mined->height + kCoinbaseMaturity;
}

}  // namespace

ItemResult check_input(Workspace& work, const Record& spender, std::uint32_t input,
                       const std::optional<Hash256>& output_hash) {
  const chain::Outpoint& outpoint = spender.inputs[input];
  Record* parent = nullptr;
  const Entry* entry = work.find_entry(outpoint, &parent);
  if (parent == nullptr) return {Outcome::kNotFound};
  if (parent->head.state == State::kConflicting) return {Outcome::kConflicting};
  if (parent->head.locked) return {Outcome::kLocked};
  const std::uint64_t height = spending_height(work, spender);
  if (parent->head.coinbase && is_immature(parent->head, height))
    return {Outcome::kImmatureCoinbase};
  if (entry == nullptr || entry->unspendable) return {Outcome::kOutputNotFound};
  if (output_hash && *output_hash != entry->hash) return {Outcome::kHashMismatch};
  if (entry->frozen || (entry->spendable_at && *entry->spendable_at > height))
    return {Outcome::kFrozen};
  if (!entry->spent) return {Outcome::kDone};
  const bool same = entry->spender == spender.head.id && entry->spender_input == input;
  if (!same) return {Outcome::kSpent, entry->spender};
  return {entry->final ? Outcome::kDeletedChild : Outcome::kUnchanged};
}

SpendResult take_inputs(Workspace& work, Record& spender,
                        std::span<const std::optional<Hash256>> output_hashes, std::uint64_t height,
                        MissingParents missing) {
  SpendResult result;
  result.outcome = Outcome::kUnchanged;
  bool failed = false;
  for (std::uint32_t i = 0; i < spender.inputs.size(); ++i) {
    const ItemResult item =
        check_input(work, spender, i, i < output_hashes.size() ? output_hashes[i] : std::nullopt);
    result.inputs.push_back(item);
    if (failed || (item.outcome == Outcome::kNotFound && missing == MissingParents::kSkip))
      continue;
    if (!item.ok()) {
      failed = true;
      result.outcome = item.outcome;
    } else if (item.outcome == Outcome::kDone) {
      result.outcome = Outcome::kDone;
    }
  }
  if (failed) return result;
  for (std::uint32_t i = 0; i < spender.inputs.size(); ++i) {
    if (result.inputs[i].outcome != Outcome::kDone) continue;
    Record& parent = *work.find(spender.inputs[i].tx);
    work.mark_spent(parent, spender.inputs[i].index, spender.head.id, i);
    work.restamp(parent, height);
  }
  return result;
}

SpendResult release_inputs(Workspace& work, Record& spender, std::uint64_t height) {
  SpendResult result;
  result.outcome = Outcome::kUnchanged;
  for (std::uint32_t i = 0; i < spender.inputs.size(); ++i) {
    Record* parent = nullptr;
    const Entry* entry = work.find_entry(spender.inputs[i], &parent);
    ItemResult item{Outcome::kUnchanged};
    if (parent == nullptr) {
      item.outcome = Outcome::kNotFound;
    } else if (entry == nullptr || entry->unspendable) {
      item.outcome = Outcome::kOutputNotFound;
    } else if (entry->spent && entry->spender == spender.head.id && entry->spender_input == i) {
      item.outcome = entry->final ? Outcome::kDeletedChild : Outcome::kDone;
    }
    if (item.outcome == Outcome::kDone) {
      work.mark_unspent(*parent, spender.inputs[i].index);
      work.restamp(*parent, height);
    }
    if (result.outcome == Outcome::kUnchanged || (result.outcome == Outcome::kDone && !item.ok()))
      result.outcome = item.outcome;
    result.inputs.push_back(item);
  }
  return result;
}

}  // namespace coffer::txstore
