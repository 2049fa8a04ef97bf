#include "txstore/json/explain.h"

#include <fmt/format.h>

#include "base/result.h"

namespace coffer::txstore {
namespace {

using retention::Reason;

std::string output_name(const retention::Verdict& verdict) {
  return verdict.output ? fmt::format("output {}", *verdict.output) : std::string("an output");
}

std::string spender_name(chain::Family family, const Explanation& found) {
  return found.child ? chain::display(family, *found.child) : std::string("a transaction");
}

std::string unspent_text(const Explanation& found) {
  if (found.verdict.reason == Reason::kUnspent && found.verdict.output)
    return fmt::format("output {} is unspent", *found.verdict.output);
  return fmt::format("{} of its {} spendable outputs {} unspent", found.tx.unspent(),
                     found.tx.spendable, found.tx.unspent() == 1 ? "is" : "are");
}

std::string not_due_text(const StoredTx& tx) {
  if (!tx.delete_at_height) return "nothing has made it deletable yet";
  if (tx.state == State::kConflicting)
    return fmt::format("it conflicts with the chain, and is kept until height {}",
                       *tx.delete_at_height);
  return fmt::format("all its outputs are spent, and it is kept until height {} at least",
                     *tx.delete_at_height);
}

}  // namespace

Reason keep_reason(const Explanation& found) {
  const Reason reason = found.verdict.reason;
  const StoredTx& tx = found.tx;
  if (reason != Reason::kNotDue || tx.delete_at_height) return reason;
  if (tx.locked) return Reason::kLocked;
  if (tx.state == State::kUnmined) return Reason::kUnmined;
  if (tx.unspent() > 0) return Reason::kUnspent;
  return reason;
}

std::string keep_text(chain::Family family, const Explanation& found, const Tip& tip) {
  const StoredTx& tx = found.tx;
  const std::string output = output_name(found.verdict);
  const std::string child = spender_name(family, found);
  switch (keep_reason(found)) {
    case Reason::kDeletable: return "nothing keeps it: the next pass deletes it";
    case Reason::kPreserved:
      return tx.preserve_until
                 ? fmt::format("somebody asked to keep it until height {}", *tx.preserve_until)
                 : std::string("somebody asked to keep it");
    case Reason::kNotDue: return not_due_text(tx);
    case Reason::kLocked: return "it is locked until a block has it or somebody unlocks it";
    case Reason::kUnmined: return "no block of the longest chain has it";
    case Reason::kNotFinal:
      return fmt::format("its own block, at height {}, can still be undone: the final height is {}",
                         tx.highest_height().value_or(0), tip.final_height);
    case Reason::kFrozen: return output + " is frozen";
    case Reason::kUnspent: return unspent_text(found);
    case Reason::kChildAbsent:
      return fmt::format(
          "{} is spent by {}, which is not stored and was not seen to be final: "
          "doubt keeps it",
          output, child);
    case Reason::kChildConflicting:
      return fmt::format("{} is spent by {}, which conflicts with the chain", output, child);
    case Reason::kChildUnmined:
      return fmt::format("{} is spent by {}, which no block of the longest chain has", output,
                         child);
    case Reason::kChildNotFinal:
      return fmt::format(
          "{} is spent by {}, whose block{} can still be undone", output, child,
          found.child_height ? fmt::format(" at height {}", *found.child_height) : std::string());
  }
  return {};
}

std::optional<std::uint64_t> earliest_height(const Explanation& found, const Tip& tip,
                                             const Options& options) {
  if (found.verdict.is_deletable()) return tip.height();
  const StoredTx& tx = found.tx;
  const bool waits_for_end = found.verdict.reason == Reason::kPreserved && tx.preserve_until &&
                             !tx.locked && tx.state == State::kMined && tx.unspent() == 0;
  // The end of preservation stamps it anew.
  if (waits_for_end) return std::max(*tx.preserve_until, tip.height()) + options.delay();
  return found.verdict.until;
}

std::string absence_text(chain::Family family, const Hash256& id, Absence absence, const Tip& tip) {
  std::string name = chain::display(family, id);
  switch (absence) {
    case Absence::kPruned:
      return fmt::format(
          "transaction {} was pruned: it was final, all its outputs were spent by "
          "final transactions, and a stored parent still names it",
          name);
    case Absence::kBeforeStart:
      return fmt::format(
          "transaction {} is not stored: the store began at block {}, and what is "
          "older was never seen",
          name, tip.first_block ? tip.first_block->ordinal.value : 0);
    case Absence::kUnknown:
      return fmt::format(
          "transaction {} is unknown: it was never seen, or it was pruned with its "
          "parents",
          name);
  }
  return name;
}

Error absence_error(const Store& store, const Hash256& id) {
  const auto absence = store.absence(id);
  if (!absence) return absence.error();
  return make_error(Code::kNotFound,
                    absence_text(store.network().family, id, *absence, store.tip()));
}

}  // namespace coffer::txstore
