// Proofs, and what a member or a stranger can do with their files.
#include "token/log/log.h"

#include "json/reader.h"
#include "token/log/proof_file.h"
#include "token/log/test_log_community.h"

namespace coffer::token {
namespace {

using LogProofs = test::LogTest;
COFFER_ON_EVERY_ENGINE(LogProofs);

TEST_P(LogProofs, StatusTellsHowFarTheLogIs) {
  auto status = log().status();
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(status->size, 0u);
  EXPECT_EQ(status->unlogged, 2u);
  EXPECT_EQ(status->oldest_unlogged_at_ms, kNow);
  EXPECT_FALSE(status->is_late());
  EXPECT_FALSE(status->checkpoint || status->public_key);
  advance(5'000);
  EXPECT_FALSE(log().status()->is_late());
  advance(1);
  EXPECT_TRUE(log().status()->is_late());
  pass();
  publish_key();
  status = log().status();
  EXPECT_EQ(status->size, 2u);
  EXPECT_EQ(status->unlogged, 0u);
  EXPECT_FALSE(status->is_late());
  EXPECT_EQ(status->checkpoint->size, 2u);
  EXPECT_EQ(status->public_key, key_.public_key());
}

TEST_P(LogProofs, EveryEntryIsProvedAtEveryCheckpointAfterIt) {
  publish_key();
  std::vector<Uuid> ids;
  for (int i = 0; i < 24; ++i) {
    ids.push_back(pay(bank_, alice_, i + 1));
    if (i % 3 != 1) pass();
  }
  const auto checkpoints = log().checkpoints()->items;
  ASSERT_GT(checkpoints.size(), 10u);
  for (std::size_t i = 0; i < ids.size(); ++i)
    for (const Checkpoint& checkpoint : checkpoints) {
      const auto proof = log().prove(ids[i], checkpoint.size);
      if (checkpoint.size <= i + 2) {
        EXPECT_EQ(reason_of(proof), "not_logged_yet");
        continue;
      }
      ASSERT_TRUE(proof) << proof.error().message;
      EXPECT_EQ(proof->position, i + 2);
      const auto checked =
          check_proof(proof_json(*proof),
                      {.public_key = key_.public_key(), .community = kName, .transaction = ids[i]});
      ASSERT_TRUE(checked) << checked.error().message;
      EXPECT_TRUE(checked->is_key_known);
      EXPECT_EQ(checked->entry->transaction.amount, static_cast<std::int64_t>(i) + 1);
      EXPECT_EQ(checked->checkpoint.size, checkpoint.size);
    }
}

TEST_P(LogProofs, EveryCheckpointBeginsWithEveryOlderOne) {
  publish_key();
  for (int i = 0; i < 18; ++i) {
    for (int k = 0; k <= i % 3; ++k) pay(bank_, alice_, 1);
    pass();
  }
  const auto checkpoints = log().checkpoints()->items;
  for (const Checkpoint& newer : checkpoints)
    for (const Checkpoint& older : checkpoints) {
      const auto proof = log().prove_consistency(older.size, newer.size);
      if (older.size > newer.size) {
        EXPECT_EQ(proof.error().code, Code::kInvalidInput);
        continue;
      }
      ASSERT_TRUE(proof) << proof.error().message;
      const auto checked = check_proof(proof_json(*proof), {.public_key = key_.public_key()});
      ASSERT_TRUE(checked) << checked.error().message;
      EXPECT_EQ(checked->older->size, older.size);
    }
}

TEST_P(LogProofs, NotLoggedYetIsToldFromUnknown) {
  publish_key();
  const Uuid id = pay(bank_, alice_, 1);
  const auto early = log().prove(id);
  EXPECT_EQ(reason_of(early), "not_logged_yet");
  EXPECT_EQ(early.error().code, Code::kConflict);
  // In the log, without a checkpoint.
  ASSERT_TRUE(run_pass(community(), nullptr));
  EXPECT_EQ(reason_of(log().prove(id)), "not_logged_yet");
  pass();
  EXPECT_TRUE(log().prove(id));
  const auto unknown = log().prove(random_uuid());
  EXPECT_EQ(reason_of(unknown), "transaction_not_found");
  EXPECT_EQ(unknown.error().code, Code::kNotFound);
  EXPECT_EQ(log().prove(id, 1).error().code, Code::kNotFound);
}

TEST_P(LogProofs, MemoIsShownUntilItIsErased) {
  publish_key();
  const Uuid id = pay_with_memo("für Käse");
  pass();
  const auto proof = log().prove(id);
  ASSERT_TRUE(proof) << proof.error().message;
  const auto checked = check_proof(proof_json(*proof));
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(checked->memo, "für Käse");
  EXPECT_FALSE(checked->is_key_known);
  InclusionProof other = *proof;
  other.memo->text = "für Wein";
  EXPECT_EQ(check_proof(proof_json(other)).error().message,
            "the proof does not hold: the entry was made with another memo");
  run("UPDATE @transaction_details SET memo = NULL, memo_salt = NULL, erased_at = 1"
      " WHERE transaction_id = $1::uuid",
      {community().id(id)});
  const auto erased = check_proof(proof_json(log().prove(id).value()));
  ASSERT_TRUE(erased) << erased.error().message;
  EXPECT_FALSE(erased->memo);
  EXPECT_TRUE(erased->entry->transaction.memo_hash);
}

TEST_P(LogProofs, EventsAreProvedToo) {
  publish_key();
  freeze(alice_, true);
  pass();
  const auto entries = log().entries(2, 10);
  ASSERT_EQ(entries->size(), 1u);
  const auto proof = log().prove(entries->front().entry.id);
  ASSERT_TRUE(proof) << proof.error().message;
  EXPECT_EQ(check_proof(proof_json(*proof))->entry->kind, 2);
}

// Somebody who may do everything in the database changes a row that the log holds.
TEST_P(LogProofs, RowThatWasChangedIsNoticed) {
  publish_key();
  const Uuid id = pay(bank_, alice_, 10);
  pass();
  if (is_sqlite()) {
    run("DROP TRIGGER prevent_transaction_update");
  } else {
    run("ALTER TABLE @transactions DISABLE TRIGGER prevent_transaction_update");
  }
  run("UPDATE @transactions SET amount = 11 WHERE id = $1::uuid", {community().id(id)});
  const auto proof = log().prove(id);
  ASSERT_FALSE(proof);
  EXPECT_EQ(proof.error().code, Code::kCorrupt);
}

TEST_P(LogProofs, CheckpointsComeInPages) {
  for (int i = 0; i < 7; ++i) {
    pay(bank_, alice_, 1);
    pass();
  }
  std::vector<std::uint64_t> sizes;
  PageOptions page{.count = 3};
  do {
    const auto found = log().checkpoints(page);
    ASSERT_TRUE(found) << found.error().message;
    for (const Checkpoint& each : found->items) sizes.push_back(each.size);
    page.cursor = found->cursor;
  } while (!page.cursor.empty());
  EXPECT_EQ(sizes, (std::vector<std::uint64_t>{9, 8, 7, 6, 5, 4, 3}));
  EXPECT_EQ(log().checkpoints({.count = 3, .cursor = "x"}).error().code, Code::kInvalidInput);
  EXPECT_EQ(log().checkpoints({.count = 0}).error().code, Code::kInvalidInput);
}

// Every digit and letter of a file, changed to another one: no file holds that says another thing.
class ProofFiles : public test::LogTest {
 protected:
  void expect_every_change_refused(const std::string& good) {
    const ProofExpectations expected{.public_key = key_.public_key(), .community = kName};
    const auto held = check_proof(good, expected);
    ASSERT_TRUE(held) << held.error().message;
    for (std::size_t at = 0; at < good.size(); ++at) {
      std::string changed = good;
      const char c = good[at];
      changed[at] = c == '0' ? '1' : c >= '1' && c <= '9' ? '0' : c == 'a' ? 'b' : 'a';
      const auto checked = check_proof(changed, expected);
      ASSERT_FALSE(checked) << "changed at " << at << ": " << changed;
      ASSERT_EQ(checked.error().code, Code::kInvalidInput);
    }
    for (std::size_t size = 0; size < good.size(); ++size)
      ASSERT_FALSE(check_proof(std::string_view(good).substr(0, size), expected));
  }
};
INSTANTIATE_TEST_SUITE_P(Every, ProofFiles, testing::Values(sql::test::Engine::kSqlite),
                         sql::test::engine_name);

TEST_P(ProofFiles, EveryChangedCharacterIsRefused) {
  publish_key();
  const Uuid id = pay_with_memo("tea");
  pass();
  for (int i = 0; i < 4; ++i) pay(bank_, alice_, 1);
  pass();
  expect_every_change_refused(proof_json(log().prove(id).value()));
  expect_every_change_refused(proof_json(log().prove_consistency(3).value()));
}

TEST_P(ProofFiles, OtherExpectationsAreRefused) {
  publish_key();
  const Uuid id = pay(bank_, alice_, 1);
  pass();
  const std::string file = proof_json(log().prove(id).value());
  const auto fault = [&](const ProofExpectations& expected) {
    const auto checked = check_proof(file, expected);
    return checked ? "none" : checked.error().message;
  };
  EXPECT_EQ(fault({}), "none");
  EXPECT_EQ(fault({.community = "town"}),
            "the proof does not hold: it is of the community 'village'");
  EXPECT_EQ(fault({.transaction = bank_}), "the proof does not hold: it is of " + to_string(id));
  const auto other = crypto::Ed25519Key::generate();
  EXPECT_EQ(fault({.public_key = other.public_key()}),
            "the proof does not hold: it names another public key: " + key_.public_key().hex());
  for (const char* text : {"", "[]", "{}", R"({"format":"coffer-token-inclusion-1"})",
                           R"({"format":"x"})", R"({"format":1})"})
    EXPECT_EQ(check_proof(text).error().code, Code::kInvalidInput) << text;
}

// A log that was rewritten, signed with the right key: the kept checkpoint gives it away.
TEST_P(ProofFiles, RewrittenHistoryHasNoConsistencyProof) {
  publish_key();
  pay(bank_, alice_, 1);
  pass();
  const Checkpoint kept = log().checkpoint().value();
  pay(bank_, alice_, 2);
  pass();
  ConsistencyProof proof = log().prove_consistency(kept.size).value();
  EXPECT_TRUE(check_proof(proof_json(proof)));
  proof.older.root[0] ^= 1;
  sign(proof.older, kName, key_);
  EXPECT_EQ(check_proof(proof_json(proof)).error().message,
            "the proof does not hold: the proof starts from another root");
}

}  // namespace
}  // namespace coffer::token
