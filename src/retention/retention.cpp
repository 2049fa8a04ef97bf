#include <coffer/retention/retention.h>

#include <algorithm>
#include <array>
#include <ostream>

namespace coffer::retention {

std::string_view to_string(Reason reason) {
  static constexpr std::array<std::string_view, kReasons> kNames = {
      "deletable",    "preserved",         "not_due",       "locked",
      "unmined",      "not_final",         "frozen",        "unspent",
      "child_absent", "child_conflicting", "child_unmined", "child_not_final"};
  return kNames.at(static_cast<std::size_t>(reason));
}

std::ostream& operator<<(std::ostream& out, Reason reason) {
  return out << to_string(reason);
}

namespace {

bool is_final_height(std::uint64_t height, const ChainLine& line) {
  return line.final_height >= 0 && height <= static_cast<std::uint64_t>(line.final_height);
}

}  // namespace

bool is_final(const ChildFacts& child, const ChainLine& line) {
  return child.present && !child.conflicting && child.on_longest_chain && child.highest_height &&
         is_final_height(*child.highest_height, line);
}

Judge::Judge(const TxFacts& tx, const Window& window) : window_(window) {
  if (tx.preserved) keep(Reason::kPreserved, std::nullopt, std::nullopt);
  if (!tx.delete_at_height)
    keep(Reason::kNotDue, std::nullopt, std::nullopt);
  else if (*tx.delete_at_height > window.line.tip)
    keep(Reason::kNotDue, std::nullopt, tx.delete_at_height);
  // It holds no spend and has no spender: nothing depends on it.
  if (tx.conflicting) return;
  needs_outputs_ = true;
  if (tx.locked) keep(Reason::kLocked, std::nullopt, std::nullopt);
  if (!tx.on_longest_chain || !tx.highest_height)
    keep(Reason::kUnmined, std::nullopt, std::nullopt);
  else if (!is_final_height(*tx.highest_height, window.line))
    keep(Reason::kNotFinal, std::nullopt, *tx.highest_height + window.blocks);
}

void Judge::add(std::uint32_t index, const OutputFacts& output) {
  if (!needs_outputs_) return;
  if (output.frozen) return keep(Reason::kFrozen, index, std::nullopt);
  if (output.unspendable || output.removed || output.final) return;
  if (!output.spent) return keep(Reason::kUnspent, index, std::nullopt);
  if (output.child == nullptr || !output.child->present)
    return keep(Reason::kChildAbsent, index, std::nullopt);
  const ChildFacts& child = *output.child;
  if (child.conflicting) return keep(Reason::kChildConflicting, index, std::nullopt);
  if (!child.on_longest_chain || !child.highest_height)
    return keep(Reason::kChildUnmined, index, std::nullopt);
  if (!is_final(child, window_.line))
    keep(Reason::kChildNotFinal, index, *child.highest_height + window_.blocks);
}

void Judge::keep(Reason reason, std::optional<std::uint32_t> output,
                 std::optional<std::uint64_t> until) {
  if (until)
    until_ = std::max(until_, *until);
  else
    only_time_ = false;
  if (!verdict_.is_deletable() && verdict_.reason <= reason) return;
  verdict_.reason = reason;
  verdict_.output = output;
}

Verdict Judge::verdict() const {
  Verdict verdict = verdict_;
  if (!verdict.is_deletable() && only_time_) verdict.until = until_;
  return verdict;
}

Verdict judge(const TxFacts& tx, std::span<const OutputFacts> outputs, const Window& window) {
  Judge judge(tx, window);
  std::uint32_t index = 0;
  for (const OutputFacts& output : outputs) judge.add(index++, output);
  return judge.verdict();
}

std::uint64_t next_look(const Verdict& verdict, const Window& window) {
  const std::uint64_t later = window.line.tip + 1;
  // A child that is mined in the next block cannot be final sooner.
  return verdict.until ? std::max(*verdict.until, later) : later + window.blocks;
}

}  // namespace coffer::retention
