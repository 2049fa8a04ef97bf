#include "txstore/json/explain.h"

#include <gtest/gtest.h>

#include "base/result.h"
#include "txstore/json/input.h"
#include "txstore/json/output.h"
#include "txstore/json/reports.h"

namespace coffer::txstore {
namespace {

using retention::Reason;

Hash256 id_of(std::uint8_t byte) {
  Hash256 id{};
  id[0] = byte;
  return id;
}

Explanation kept(Reason reason) {
  Explanation found;
  found.tx.id = id_of(1);
  found.tx.state = State::kMined;
  found.tx.blocks = {{{1'000, 7}, true}};
  found.tx.outputs = found.tx.spendable = 2;
  found.tx.spent = 2;
  found.tx.delete_at_height = 1'288;
  found.verdict.reason = reason;
  if (reason >= Reason::kFrozen) found.verdict.output = 1;
  if (reason >= Reason::kChildAbsent) found.child = id_of(2);
  return found;
}

Tip tip_at(std::uint64_t height, std::int64_t final_height) {
  Tip tip;
  tip.position = bus::Position::after(Ordinal(height), {Slot(height), id_of(9)});
  tip.final_height = final_height;
  return tip;
}

TEST(TxExplain, EveryReasonHasWordsOfItsOwn) {
  std::set<std::string> texts;
  for (std::size_t i = 0; i < retention::kReasons; ++i) {
    Explanation found = kept(static_cast<Reason>(i));
    found.tx.preserve_until = 5'000;
    const std::string text = keep_text(chain::Family::kCardano, found, tip_at(1'300, 1'012));
    EXPECT_FALSE(text.empty()) << i;
    EXPECT_TRUE(texts.insert(text).second) << text;
  }
}

TEST(TxExplain, NamesOutputChildAndHeight) {
  Explanation found = kept(Reason::kChildNotFinal);
  found.child_state = State::kMined;
  found.child_height = 1'200;
  EXPECT_EQ(keep_text(chain::Family::kCardano, found, tip_at(1'300, 1'012)),
            "output 1 is spent by 02" + std::string(62, '0') +
                ", whose block at height 1200 can still be undone");
  // Bitcoin prints hashes back to front.
  EXPECT_NE(keep_text(chain::Family::kBitcoin, found, tip_at(1'300, 1'012))
                .find(std::string(62, '0') + "02"),
            std::string::npos);
}

TEST(TxExplain, WithoutStampTheConditionThatIsMissingIsTold) {
  Explanation found = kept(Reason::kNotDue);
  EXPECT_EQ(keep_reason(found), Reason::kNotDue);
  found.tx.delete_at_height.reset();
  found.tx.spent = 1;
  EXPECT_EQ(keep_reason(found), Reason::kUnspent);
  EXPECT_EQ(keep_text(chain::Family::kBitcoin, found, tip_at(5, -1)),
            "1 of its 2 spendable outputs is unspent");
  found.tx.state = State::kUnmined;
  EXPECT_EQ(keep_reason(found), Reason::kUnmined);
  found.tx.locked = true;
  EXPECT_EQ(keep_reason(found), Reason::kLocked);
}

TEST(TxExplain, EarliestHeightCountsTheEndOfPreservation) {
  Options options;
  const Tip tip = tip_at(1'300, 1'012);
  Explanation found = kept(Reason::kPreserved);
  found.tx.preserve_until = 5'000;
  EXPECT_EQ(earliest_height(found, tip, options), 5'288u);
  found.tx.preserve_until = 1'200;  // reached: the next pass ends it
  EXPECT_EQ(earliest_height(found, tip, options), 1'588u);
  found.tx.spent = 1;
  EXPECT_EQ(earliest_height(found, tip, options), std::nullopt);
  found = kept(Reason::kChildNotFinal);
  found.verdict.until = 1'488;
  EXPECT_EQ(earliest_height(found, tip, options), 1'488u);
  EXPECT_EQ(earliest_height(kept(Reason::kDeletable), tip, options), 1'300u);
}

TEST(TxExplain, AbsenceHasThreeAnswers) {
  Tip tip = tip_at(900, 600);
  const auto text = [&](Absence absence) {
    return absence_text(chain::Family::kCardano, id_of(3), absence, tip);
  };
  EXPECT_NE(text(Absence::kPruned).find("was pruned"), std::string::npos);
  EXPECT_NE(text(Absence::kUnknown).find("is unknown"), std::string::npos);
  tip.first_block = tip_at(500, -1).position;
  EXPECT_NE(text(Absence::kBeforeStart).find("began at block 500"), std::string::npos);
}

TEST(TxStatus, MissingParentsAreDamageOnlyInAStoreBegunAtOrigin) {
  Stats stats;
  stats.tip = tip_at(900, 612);
  EXPECT_FALSE(status_report("rocksdb", 288, stats).damaged);
  stats.counts.parent_missing = 3;
  StatusReport report = status_report("rocksdb", 288, stats);
  EXPECT_TRUE(report.damaged);
  EXPECT_EQ(report.parent_missing, 3u);
  EXPECT_EQ(report.final_height, 612u);
  EXPECT_EQ(report.first_block, std::nullopt);
  stats.tip.first_block = tip_at(500, -1).position;
  report = status_report("rocksdb", 288, stats);
  EXPECT_FALSE(report.damaged);
  EXPECT_EQ(report.first_block, 500u);
  stats.tip.final_height = -1;
  EXPECT_EQ(status_report("rocksdb", 288, stats).final_height, std::nullopt);
}

TEST(TxStatus, ListsReasonsWithACount) {
  Stats stats;
  stats.counts.kept[static_cast<std::size_t>(Reason::kDeletable)] = 9;
  stats.counts.kept[static_cast<std::size_t>(Reason::kChildUnmined)] = 2;
  const StatusReport report = status_report("sqlite", 288, stats);
  ASSERT_EQ(report.kept.size(), 1u);
  EXPECT_EQ(report.kept[0].reason, "child_unmined");
  EXPECT_EQ(report.kept[0].count, 2u);
}

TEST(TxStatus, ReportsCanBeReadBack) {
  CleanupReport step;
  step.deleted = 4;
  step.kept = 1;
  step.kept_by[static_cast<std::size_t>(Reason::kFrozen)] = 1;
  CleanupReport sum;
  sum.add(step);
  step.done = false;
  sum.add(step);
  const PruneReport wrote = prune_report(sum, true);
  const auto value = json::parse(json::write_fields(wrote));
  ASSERT_TRUE(value);
  const auto read = json::read_fields<PruneReport>(*value);
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->dry_run);
  EXPECT_FALSE(read->done);
  EXPECT_EQ(read->deleted, 8u);
  ASSERT_EQ(read->kept_by.size(), 1u);
  EXPECT_EQ(read->kept_by[0].count, 2u);
}

TEST(TxInput, NamesWhatIsWrong) {
  const chain::Network network = chain::find_network("bitcoin", "regtest").value();
  for (const char* bad : {"", "00", "zz", "#0"})
    EXPECT_NE(parse_tx_id(network, bad).error().message.find("64 hex digits"), std::string::npos);
  const std::string last(62, '0');
  EXPECT_EQ(parse_tx_id(network, last + "02").value(), id_of(2));
  EXPECT_EQ(parse_keep_reason("child_unmined").value(), Reason::kChildUnmined);
  EXPECT_NE(parse_keep_reason("deletable").error().message.find("child_absent"), std::string::npos);
  EXPECT_EQ(parse_output_range({}).value().count, 100u);
  for (const auto& [name, value] :
       {std::pair{"outputs_from", "-1"}, std::pair{"outputs_from", "4294967296"},
        std::pair{"outputs_count", "0"}, std::pair{"outputs_count", "1001"}})
    EXPECT_NE(parse_output_range({{name, value}}).error().message.find(name), std::string::npos);
}

TEST(TxInput, BlockIdStandsAsInThePrintedHash) {
  EXPECT_EQ(block_id_text(chain::Family::kCardano, 0x0102030405060708u), "0102030405060708");
  EXPECT_EQ(block_id_text(chain::Family::kBitcoin, 0x0102030405060708u), "0807060504030201");
}

}  // namespace
}  // namespace coffer::txstore
