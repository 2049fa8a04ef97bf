// Exports, and what an auditor finds in those that somebody changed.
#include "token/log/audit_file.h"

#include <functional>

#include "token/log/test_log_community.h"

namespace coffer::token {
namespace {

class LogExport : public test::LogTest {
 protected:
  using Lines = std::vector<std::string>;

  // Two passes, events, memos, and something that is not logged yet.
  void SetUp() override {
    LogTest::SetUp();
    if (IsSkipped() || HasFatalFailure()) return;
    publish_key();
    for (int i = 0; i < 9; ++i) pay(bank_, i % 2 == 0 ? alice_ : bob_, 10 + i);
    pay_with_memo("tea");
    pass();
    freeze(bob_, true);
    freeze(bob_, false);
    pay(alice_, bob_, 3);
    pass();
    pay(bob_, alice_, 2);
    freeze(bob_, true);
  }

  Lines lines() {
    Lines all;
    const auto done = export_log(community(), [&](std::string_view line) -> Result<> {
      all.emplace_back(line);
      return {};
    });
    EXPECT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->entries + done->checkpoints + done->unlogged + done->wallets + 1, all.size());
    return all;
  }
  static Result<AuditReport> audit(const Lines& lines, AuditExpectations expected = {}) {
    Auditor auditor(std::move(expected));
    for (const std::string& line : lines)
      if (auto taken = auditor.add_line(line); !taken) return fail(std::move(taken).error());
    return auditor.finish();
  }
  AuditExpectations known() const { return {.public_key = key_.public_key()}; }
  // The problems, one in a line; or the error.
  std::string problems(const Lines& lines) {
    const auto report = audit(lines, known());
    if (!report) return report.error().message;
    std::string text;
    for (const std::string& problem : report->problems) text += problem + "\n";
    return text;
  }
  static std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from << " in " << text;
    return at == std::string::npos ? text : text.replace(at, from.size(), to);
  }
  static std::size_t find(const Lines& lines, const std::string& part) {
    for (std::size_t i = 0; i < lines.size(); ++i)
      if (lines[i].contains(part)) return i;
    ADD_FAILURE() << "no line with " << part;
    return 0;
  }
};
COFFER_ON_EVERY_ENGINE(LogExport);

TEST_P(LogExport, IsWholeAndGivesTheBalances) {
  const auto report = audit(lines(), known());
  ASSERT_TRUE(report) << report.error().message;
  EXPECT_TRUE(report->is_good()) << problems(lines());
  EXPECT_EQ(report->community, kName);
  EXPECT_EQ(report->entries, 15u);
  EXPECT_EQ(report->unlogged, 2u);
  EXPECT_EQ(report->transactions, 13u);
  EXPECT_EQ(report->wallets, 3u);
  EXPECT_EQ(report->checkpoints, 2u);
  EXPECT_EQ(report->issuance, 1'000'000);
  EXPECT_EQ(report->checkpoint->size, 15u);
  EXPECT_TRUE(report->is_key_known);
}

TEST_P(LogExport, KeptCheckpointsAreComparedWithTheLog) {
  AuditExpectations expected = known();
  expected.checkpoints = log().checkpoints()->items;
  ASSERT_EQ(expected.checkpoints.size(), 2u);
  const auto good = audit(lines(), expected);
  ASSERT_TRUE(good);
  EXPECT_EQ(good->problems, std::vector<std::string>());
  expected.checkpoints[1].root[3] ^= 1;
  expected.checkpoints[0].size = 99;
  const auto report = audit(lines(), expected);
  ASSERT_EQ(report->problems.size(), 2u);
  EXPECT_EQ(report->problems[0],
            "the log does not begin with the one of the kept checkpoint of size 12");
  EXPECT_EQ(report->problems[1], "the log is shorter than the kept checkpoint of size 99");
}

TEST_P(LogExport, WrongBalanceIsFound) {
  Lines changed = lines();
  const std::size_t at = find(changed, R"({"wallet":)");
  const std::string wallet = changed[at].substr(changed[at].find("\"id\":\"") + 6, 36);
  changed[at] = R"({"wallet":{"balance":"1","id":")" + wallet + R"("}})";
  EXPECT_TRUE(problems(changed).contains("wallet " + wallet + " has 1, and its history gives"));
  EXPECT_TRUE(problems(changed).contains("the balances add up to"));
}

TEST_P(LogExport, ChangedEntryIsFound) {
  const Lines good = lines();
  const auto expect_found = [&](const std::function<void(Lines&)>& change, const char* what) {
    Lines changed = good;
    change(changed);
    const std::string found = problems(changed);
    EXPECT_TRUE(found.contains(what)) << found;
  };
  constexpr const char* kRoot = "the root of the checkpoint of size 12 is not that of its entries";
  expect_found([](Lines& l) { l[3] = replaced(l[3], R"("type":1)", R"("type":2)"); }, kRoot);
  expect_found([](Lines& l) { std::swap(l[3], l[4]); }, kRoot);
  expect_found([](Lines& l) { l[4] = l[3]; }, "is there twice");
  expect_found(
      [](Lines& l) {
        const std::size_t at = find(l, R"({"checkpoint":)");
        l[at] = replaced(l[at], R"("at":17)", R"("at":18)");
      },
      "the signature of the checkpoint of size 12 is wrong");
  expect_found([](Lines& l) { std::swap(l[find(l, R"({"checkpoint":)")], l[3]); },
               "a checkpoint of size 12 stands behind entry 2");
  expect_found([](Lines& l) { l[0] = replaced(l[0], "village", "villagf"); },
               "the signature of the checkpoint of size 12 is wrong");
  const auto other = crypto::Ed25519Key::generate();
  expect_found(
      [&](Lines& l) { l[0] = replaced(l[0], key_.public_key().hex(), other.public_key().hex()); },
      "the file names another public key");
}

TEST_P(LogExport, MissingOrForeignLinesAreRefused) {
  const Lines good = lines();
  for (std::size_t at = 0; at < good.size(); ++at) {
    Lines changed = good;
    changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(at));
    EXPECT_TRUE(problems(changed).starts_with("not an export of a token log")) << at;
    changed = good;
    changed[at] += "x";
    EXPECT_NE(problems(changed), "") << at;
  }
  EXPECT_EQ(audit({}).error().message, "not an export of a token log: it is empty");
  Lines more = good;
  more.emplace_back("{}");
  EXPECT_EQ(audit(more).error().message, "not an export of a token log: a line of unknown kind");
}

TEST_P(LogExport, EndsWhenItsReaderIsGone) {
  int taken = 0;
  const auto ended = export_log(community(), [&](std::string_view) -> Result<> {
    if (++taken == 5) return fail(Code::kUnavailable, "no space left");
    return {};
  });
  ASSERT_FALSE(ended);
  EXPECT_EQ(ended.error().message, "no space left");
  EXPECT_EQ(taken, 5);
}

}  // namespace
}  // namespace coffer::token
