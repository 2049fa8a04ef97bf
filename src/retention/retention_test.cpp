// The rule of safe deletion (X1), condition by condition.
#include <coffer/retention/retention.h>

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <sstream>
#include <vector>

namespace coffer::retention {
namespace {

constexpr std::uint64_t kTip = 1'288;
constexpr std::uint64_t kBlocks = 288;
constexpr std::uint64_t kFinal = kTip - kBlocks;

Window window_at(std::uint64_t tip, std::uint64_t blocks = kBlocks) {
  return {blocks, {tip, static_cast<std::int64_t>(tip) - static_cast<std::int64_t>(blocks)}};
}

// A transaction that may go at kTip: final itself, its two outputs spent by final children.
struct Facts {
  Window window = window_at(kTip);
  TxFacts tx = {.on_longest_chain = true, .highest_height = 900, .delete_at_height = kTip};
  std::vector<ChildFacts> children = std::vector<ChildFacts>(
      2, {.present = true, .on_longest_chain = true, .highest_height = kFinal});
  std::vector<OutputFacts> outputs = std::vector<OutputFacts>(2, {.spent = true});

  Verdict verdict() {
    for (std::size_t i = 0; i < outputs.size(); ++i)
      if (i < children.size()) outputs[i].child = &children[i];
    return judge(tx, outputs, window);
  }
};

struct Case {
  const char* name;
  std::function<void(Facts&)> change;
  Reason reason = Reason::kDeletable;
  std::optional<std::uint32_t> output = std::nullopt;
  std::optional<std::uint64_t> until = std::nullopt;
};

void PrintTo(const Case& value, std::ostream* out) {
  *out << value.name;
}

class Rule : public testing::TestWithParam<Case> {};

TEST_P(Rule, GivesVerdict) {
  Facts facts;
  GetParam().change(facts);
  const Verdict verdict = facts.verdict();
  EXPECT_EQ(verdict.reason, GetParam().reason);
  EXPECT_EQ(verdict.output, GetParam().output);
  EXPECT_EQ(verdict.until, GetParam().until);
  EXPECT_EQ(verdict.is_deletable(), GetParam().reason == Reason::kDeletable);
}

const Case kCases[] = {
    // What lets it go.
    {"Deletable", [](Facts&) {}},
    {"NoOutputs", [](Facts& f) { f.outputs.clear(); }},
    {"Unspendable", [](Facts& f) { f.outputs[1] = {.unspendable = true}; }},
    {"RemovedByLedger",
     [](Facts& f) {
       f.outputs[1] = {.removed = true, .spent = true};
       f.children[1] = {};
     }},
    {"FinalEntryChildAbsent",
     [](Facts& f) {
       f.outputs[1].final = true;
       f.children[1] = {};
     }},
    {"FinalEntryChildNotRead",
     [](Facts& f) {
       f.outputs = {{.spent = true, .final = true}};
       f.children.clear();
     }},
    {"AllUnspendable",
     [](Facts& f) {
       f.outputs = {{.unspendable = true}, {.unspendable = true}};
       f.children.clear();
     }},
    {"OwnHeightIsFinalHeight", [](Facts& f) { f.tx.highest_height = kFinal; }},
    {"StampLongReached", [](Facts& f) { f.tx.delete_at_height = 1; }},
    {"ChildOfGenesisHeight", [](Facts& f) { f.children[0].highest_height = 0; }},

    // What keeps it.
    {"Preserved", [](Facts& f) { f.tx.preserved = true; }, Reason::kPreserved},
    {"NoStamp", [](Facts& f) { f.tx.delete_at_height.reset(); }, Reason::kNotDue},
    {"StampNotReached", [](Facts& f) { f.tx.delete_at_height = kTip + 1; }, Reason::kNotDue,
     std::nullopt, kTip + 1},
    {"Locked", [](Facts& f) { f.tx.locked = true; }, Reason::kLocked},
    {"Unmined", [](Facts& f) { f.tx.on_longest_chain = false; }, Reason::kUnmined},
    {"NoHeight", [](Facts& f) { f.tx.highest_height.reset(); }, Reason::kUnmined},
    {"OwnBlockNotFinal", [](Facts& f) { f.tx.highest_height = kFinal + 1; }, Reason::kNotFinal,
     std::nullopt, kTip + 1},
    {"FrozenUnspent", [](Facts& f) { f.outputs[1] = {.frozen = true}; }, Reason::kFrozen, 1},
    {"FrozenSpent", [](Facts& f) { f.outputs[1].frozen = true; }, Reason::kFrozen, 1},
    {"FrozenFinal", [](Facts& f) { f.outputs[0] = {.spent = true, .final = true, .frozen = true}; },
     Reason::kFrozen, 0},
    {"Unspent",
     [](Facts& f) {
       f.outputs[1] = {};
       f.children.pop_back();
     },
     Reason::kUnspent, 1},
    {"ChildAbsent", [](Facts& f) { f.children[1] = {}; }, Reason::kChildAbsent, 1},
    {"ChildNotPresentThoughFinal", [](Facts& f) { f.children[1].present = false; },
     Reason::kChildAbsent, 1},
    {"ChildNotRead", [](Facts& f) { f.children.pop_back(); }, Reason::kChildAbsent, 1},
    {"ChildConflicting", [](Facts& f) { f.children[1].conflicting = true; },
     Reason::kChildConflicting, 1},
    {"ChildUnmined", [](Facts& f) { f.children[1].on_longest_chain = false; },
     Reason::kChildUnmined, 1},
    {"ChildWithoutHeight", [](Facts& f) { f.children[1].highest_height.reset(); },
     Reason::kChildUnmined, 1},
    {"ChildNotFinal", [](Facts& f) { f.children[1].highest_height = kFinal + 1; },
     Reason::kChildNotFinal, 1, kTip + 1},
    {"ChildOnTwoForks", [](Facts& f) { f.children[1].highest_height = 1'250; },
     Reason::kChildNotFinal, 1, 1'538},
    {"ShortChain",
     [](Facts& f) {
       f.window = {kBlocks, {10, -1}};
       f.tx.highest_height = 0;
       f.tx.delete_at_height = 1;
       f.outputs.clear();
     },
     Reason::kNotFinal, std::nullopt, kBlocks},
    {"ShortChainChild",
     [](Facts& f) {
       f.window = {kBlocks, {10, -1}};
       f.tx.highest_height = 0;
       f.tx.delete_at_height = 1;
       f.children[0].highest_height = f.children[1].highest_height = 0;
     },
     Reason::kNotFinal, std::nullopt, kBlocks},
    // It never falls: a chain that was rolled back may be shorter than its final height tells.
    {"FinalHeightAboveTipLessWindow",
     [](Facts& f) {
       f.window.line.final_height = kFinal + 5;
       f.tx.highest_height = f.children[0].highest_height = kFinal + 5;
     }},

    // Several reasons: the first in their order is told; only time alone gives a height.
    {"PreservedBeforeNotDue",
     [](Facts& f) {
       f.tx.preserved = true;
       f.tx.delete_at_height.reset();
     },
     Reason::kPreserved},
    {"NotDueBeforeLocked",
     [](Facts& f) {
       f.tx.delete_at_height = kTip + 9;
       f.tx.locked = true;
     },
     Reason::kNotDue},
    {"LockedBeforeUnmined",
     [](Facts& f) {
       f.tx.locked = true;
       f.tx.on_longest_chain = false;
     },
     Reason::kLocked},
    {"UnminedBeforeFrozen",
     [](Facts& f) {
       f.tx.on_longest_chain = false;
       f.outputs[0].frozen = true;
     },
     Reason::kUnmined},
    {"NotFinalBeforeFrozen",
     [](Facts& f) {
       f.tx.highest_height = kTip;
       f.outputs[0].frozen = true;
     },
     Reason::kNotFinal},
    {"FrozenBeforeUnspent", [](Facts& f) { f.outputs = {{}, {.frozen = true}}; }, Reason::kFrozen,
     1},
    {"UnspentBeforeChildAbsent",
     [](Facts& f) {
       f.children[0] = {};
       f.outputs[1] = {};
     },
     Reason::kUnspent, 1},
    {"ChildAbsentBeforeConflicting",
     [](Facts& f) {
       f.children[0].conflicting = true;
       f.children[1] = {};
     },
     Reason::kChildAbsent, 1},
    {"ChildConflictingBeforeUnmined",
     [](Facts& f) {
       f.children[0].on_longest_chain = false;
       f.children[1].conflicting = true;
     },
     Reason::kChildConflicting, 1},
    {"ChildUnminedBeforeNotFinal",
     [](Facts& f) {
       f.children[0].highest_height = kTip;
       f.children[1].on_longest_chain = false;
     },
     Reason::kChildUnmined, 1},
    {"FirstOutputOfEqualReasons",
     [](Facts& f) { f.children[0].highest_height = f.children[1].highest_height = kTip; },
     Reason::kChildNotFinal, 0, kTip + kBlocks},
    {"UntilIsTheLatest",
     [](Facts& f) {
       f.tx.delete_at_height = kTip + 3;
       f.tx.highest_height = kFinal + 7;
       f.children[0].highest_height = kFinal + 20;
       f.children[1].highest_height = kFinal + 11;
     },
     Reason::kNotDue, std::nullopt, kTip + 20},
    {"UntilIsTheStamp",
     [](Facts& f) {
       f.tx.delete_at_height = kTip + 30;
       f.children[0].highest_height = kFinal + 20;
     },
     Reason::kNotDue, std::nullopt, kTip + 30},

    // The arm of conflicting ones: whatever else holds, only its stamp and preservation count.
    {"ConflictingWithUnspent",
     [](Facts& f) {
       f.tx.conflicting = true;
       f.outputs = {{}, {}};
     }},
    {"ConflictingUnminedLockedFrozen",
     [](Facts& f) {
       f.tx.conflicting = f.tx.locked = true;
       f.tx.on_longest_chain = false;
       f.tx.highest_height.reset();
       f.outputs = {{.frozen = true}};
     }},
    {"ConflictingRecentlyOffChain",
     [](Facts& f) {
       f.tx.conflicting = true;
       f.tx.on_longest_chain = false;
       f.tx.highest_height = kTip;
     }},
    {"ConflictingPreserved", [](Facts& f) { f.tx.conflicting = f.tx.preserved = true; },
     Reason::kPreserved},
    {"ConflictingNotDue",
     [](Facts& f) {
       f.tx.conflicting = true;
       f.tx.delete_at_height = kTip + 1;
     },
     Reason::kNotDue, std::nullopt, kTip + 1},
    {"ConflictingWithoutStamp",
     [](Facts& f) {
       f.tx.conflicting = true;
       f.tx.delete_at_height.reset();
     },
     Reason::kNotDue},
};

INSTANTIATE_TEST_SUITE_P(Retention, Rule, testing::ValuesIn(kCases),
                         [](const auto& each) { return std::string(each.param.name); });

TEST(RetentionRule, TableMeetsEveryReason) {
  std::set<Reason> met;
  for (const Case& each : kCases) met.insert(each.reason);
  EXPECT_EQ(met.size(), kReasons);
}

TEST(RetentionRule, WindowBoundary) {
  for (const auto& [distance, goes] : {std::pair(287, false), {288, true}, {289, true}}) {
    Facts child;
    child.children[1].highest_height = kTip - static_cast<std::uint64_t>(distance);
    EXPECT_EQ(child.verdict().is_deletable(), goes) << distance;
    Facts own;
    own.tx.highest_height = kTip - static_cast<std::uint64_t>(distance);
    EXPECT_EQ(own.verdict().is_deletable(), goes) << distance;
  }
}

// 004: spent at 1000, the child in block 1001.
TEST(RetentionRule, TimelineExample) {
  for (const auto& [tip, goes] : {std::pair(1'287u, false), {1'288u, false}, {1'289u, true}}) {
    Facts facts;
    facts.window = window_at(tip);
    facts.children[0].highest_height = facts.children[1].highest_height = 1'001;
    EXPECT_EQ(facts.verdict().is_deletable(), goes) << tip;
  }
}

TEST(RetentionRule, ChildIsFinal) {
  const ChainLine line = window_at(kTip).line;
  const ChildFacts child = {.present = true, .on_longest_chain = true, .highest_height = kFinal};
  EXPECT_TRUE(is_final(child, line));
  ChildFacts other = child;
  other.present = false;
  EXPECT_FALSE(is_final(other, line));
  other = child;
  other.conflicting = true;
  EXPECT_FALSE(is_final(other, line));
  other = child;
  other.on_longest_chain = false;
  EXPECT_FALSE(is_final(other, line));
  other = child;
  other.highest_height.reset();
  EXPECT_FALSE(is_final(other, line));
  other = child;
  other.highest_height = kFinal + 1;
  EXPECT_FALSE(is_final(other, line));
  other.highest_height = 0;
  EXPECT_TRUE(is_final(other, {288, 0}));
  EXPECT_FALSE(is_final(other, {287, -1}));
}

TEST(RetentionRule, OutputsDoNotMatterForConflicting) {
  TxFacts conflicting;
  conflicting.conflicting = true;
  EXPECT_FALSE(Judge(conflicting, window_at(kTip)).needs_outputs());
  EXPECT_TRUE(Judge({}, window_at(kTip)).needs_outputs());
}

// X7: to the height at which time alone may change the verdict, else a window and one block later.
TEST(RetentionRule, NextLook) {
  const Window window = window_at(kTip);
  Verdict verdict;
  verdict.reason = Reason::kChildNotFinal;
  verdict.until = 1'500;
  EXPECT_EQ(next_look(verdict, window), 1'500u);
  verdict.until = kTip;  // never at this tip again
  EXPECT_EQ(next_look(verdict, window), kTip + 1);
  verdict.until = 3;
  EXPECT_EQ(next_look(verdict, window), kTip + 1);
  verdict.until.reset();
  verdict.reason = Reason::kChildUnmined;
  EXPECT_EQ(next_look(verdict, window), kTip + kBlocks + 1);
}

// A child mined in the next block is final exactly when the parent is looked at again.
TEST(RetentionRule, NextLookOfUnminedChildIsNotTooLate) {
  Facts facts;
  facts.children[0].on_longest_chain = false;
  facts.children[0].highest_height.reset();
  const std::uint64_t next = next_look(facts.verdict(), facts.window);
  facts.children[0].on_longest_chain = true;
  facts.children[0].highest_height = kTip + 1;
  facts.window = window_at(next - 1);
  EXPECT_FALSE(facts.verdict().is_deletable());
  facts.window = window_at(next);
  EXPECT_TRUE(facts.verdict().is_deletable());
}

TEST(RetentionRule, NamesOfReasons) {
  std::set<std::string> names;
  for (std::size_t i = 0; i < kReasons; ++i) {
    std::ostringstream text;
    text << static_cast<Reason>(i);
    EXPECT_EQ(text.str(), to_string(static_cast<Reason>(i)));
    names.insert(text.str());
  }
  EXPECT_EQ(names.size(), kReasons);
  EXPECT_TRUE(names.contains("child_not_final"));
}

}  // namespace
}  // namespace coffer::retention
