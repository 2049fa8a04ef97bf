// The rule of safe deletion (X1) against a second statement of it, on random facts.
#include <coffer/retention/retention.h>

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <vector>

#include "base/random.h"

namespace coffer::retention {
namespace {

// X1 once more, in the words of the decision.
bool may_go(const TxFacts& tx, const std::vector<OutputFacts>& outputs, const ChainLine& line) {
  const auto is_below = [&](std::optional<std::uint64_t> height) {
    return height && static_cast<std::int64_t>(*height) <= line.final_height;
  };
  const bool reached = tx.delete_at_height && *tx.delete_at_height <= line.tip;
  if (tx.conflicting) return reached && !tx.preserved;
  bool each = true;
  for (const OutputFacts& output : outputs) {
    const bool by_final_child = output.spent && output.child != nullptr && output.child->present &&
                                !output.child->conflicting && output.child->on_longest_chain &&
                                is_below(output.child->highest_height);
    each = each && !output.frozen &&
           (output.unspendable || output.removed || output.final || by_final_child);
  }
  return !tx.preserved && !tx.locked && reached && tx.on_longest_chain &&
         is_below(tx.highest_height) && each;
}

TEST(RetentionRule, RandomFactsMatchSecondStatement) {
  std::size_t by_reason[kReasons] = {};
  for (std::uint64_t seed = 1; seed <= 300'000; ++seed) {
    Rng rng(seed);
    const std::uint64_t blocks = rng.between(1, 10);
    const std::uint64_t tip = rng.below(40);
    const Window window = {blocks,
                           {tip, std::max<std::int64_t>(-1, static_cast<std::int64_t>(tip) -
                                                                static_cast<std::int64_t>(blocks) +
                                                                (rng.one_in(4) ? 1 : 0))}};
    // Mostly good facts: else the first reasons hide the others.
    const auto height = [&]() -> std::optional<std::uint64_t> {
      if (rng.one_in(30)) return std::nullopt;
      return rng.one_in(10) ? rng.below(45)
                            : rng.below(std::max<std::uint64_t>(tip, blocks + 1) - blocks + 1);
    };
    TxFacts tx;
    tx.conflicting = rng.one_in(12);
    tx.preserved = rng.one_in(20);
    tx.locked = rng.one_in(20);
    tx.on_longest_chain = !rng.one_in(20);
    tx.highest_height = height();
    if (!rng.one_in(20)) tx.delete_at_height = rng.one_in(10) ? rng.below(45) : rng.below(tip + 1);
    std::vector<OutputFacts> outputs(rng.below(4));
    std::deque<ChildFacts> children;
    for (OutputFacts& output : outputs) {
      output.unspendable = rng.one_in(6);
      output.removed = rng.one_in(12);
      output.spent = output.removed || !rng.one_in(12);
      output.final = output.spent && rng.one_in(6);
      output.frozen = rng.one_in(20);
      if (!output.spent || rng.one_in(20)) continue;
      output.child = &children.emplace_back(
          ChildFacts{!rng.one_in(15), rng.one_in(15), !rng.one_in(15), height()});
    }
    const Verdict verdict = judge(tx, outputs, window);
    ASSERT_EQ(verdict.is_deletable(), may_go(tx, outputs, window.line)) << "seed " << seed;
    ++by_reason[static_cast<std::size_t>(verdict.reason)];
    // In any order of outputs the same reason.
    Judge backwards(tx, window);
    for (std::size_t i = outputs.size(); i-- > 0;)
      backwards.add(static_cast<std::uint32_t>(i), outputs[i]);
    ASSERT_EQ(backwards.verdict().reason, verdict.reason) << "seed " << seed;
    ASSERT_EQ(backwards.verdict().until, verdict.until) << "seed " << seed;
    if (!verdict.until) continue;
    // Blocks alone can change it then, and not sooner.
    for (std::uint64_t later = tip; later <= *verdict.until; ++later) {
      const ChainLine line = {
          later, std::max(window.line.final_height,
                          static_cast<std::int64_t>(later) - static_cast<std::int64_t>(blocks))};
      ASSERT_EQ(may_go(tx, outputs, line), later == *verdict.until)
          << "seed " << seed << " at " << later;
    }
  }
  for (std::size_t i = 0; i < kReasons; ++i) EXPECT_GE(by_reason[i], 50u) << static_cast<Reason>(i);
}

}  // namespace
}  // namespace coffer::retention
