#include "token/log/entry.h"

#include <gtest/gtest.h>

#include "token/details.h"
#include "token/log/checkpoint.h"

namespace coffer::token {
namespace {

// Computed by a separate program; docs/formats/token_log.md has them too.
constexpr const char* kTransaction =
    R"({"amount":"100","at":1700000000123,"created_at":1700000000000,)"
    R"("from":"00000000-0000-4000-8000-000000000001",)"
    R"("id":"00000000-0000-4000-8000-00000000000a","kind":1,)"
    R"("memo_hash":"36694de93f6f953fe7bf65e41d18fccc4ab9e59e3fc83d58031d466a2777ca7f",)"
    R"("metadata_hash":null,"to":"00000000-0000-4000-8000-000000000002","type":7})";
constexpr const char* kEvent = R"({"at":1700000000456,"event":{"actor":"user:op","amount":null,)"
                               R"("reason":"lost \"card\"","related":null,"subject":null,)"
                               R"("wallet":"00000000-0000-4000-8000-000000000001"},)"
                               R"("id":"00000000-0000-4000-8000-00000000000b","kind":2})";

Uuid id(const char* last) {
  return parse_uuid(std::string("00000000-0000-4000-8000-0000000000") + last).value();
}

LogEntry transaction() {
  LogEntry entry;
  entry.id = id("0a");
  entry.at_ms = 1'700'000'000'123;
  DetailSalt salt;
  for (std::size_t i = 0; i < salt.size(); ++i) salt[i] = static_cast<std::uint8_t>(i);
  entry.transaction = {
      id("01"), id("02"), 100, 7, 1'700'000'000'000, hash_detail(salt, "für Käse"), std::nullopt};
  return entry;
}
LogEntry event() {
  LogEntry entry;
  entry.id = id("0b");
  entry.kind = 2;
  entry.at_ms = 1'700'000'000'456;
  entry.event = R"({"actor":"user:op","amount":null,"reason":"lost \"card\"","related":null,)"
                R"("subject":null,"wallet":"00000000-0000-4000-8000-000000000001"})";
  return entry;
}

TEST(LogEntry, HasTheTextAndHashesOfTheFormat) {
  EXPECT_EQ(to_text(transaction()), kTransaction);
  EXPECT_EQ(to_text(event()), kEvent);
  EXPECT_EQ(leaf_hash(0, kTransaction).hex(),
            "6cb3f68311fe06d9acc3380f676ba2f3b27ee1eacaad2a9d31d83c3b06c73d09");
  EXPECT_EQ(leaf_hash(1, kEvent).hex(),
            "83c00d93ebd64234e76e40e05ebcb3e0dbdfa141b93d5001306efdf988410ff7");
}

TEST(LogEntry, CheckpointHasTheSignatureOfTheFormat) {
  mmr::LogReplay replay;
  replay.add(leaf_hash(0, kTransaction), hash_bytes);
  replay.add(leaf_hash(1, kEvent), hash_bytes);
  Checkpoint checkpoint;
  checkpoint.size = 2;
  checkpoint.root = Hash256::from(replay.state(hash_bytes).root.data());
  checkpoint.at_ms = 1'700'000'000'999;
  EXPECT_EQ(signed_text("village", checkpoint),
            "coffer token checkpoint 1\nvillage\n2\n"
            "88b24a16d5a78df30cbd4712e2eb0c9263b9ba99b7e4b9fde8c5c6980f11631c\n1700000000999\n");
  Bytes seed(32);
  for (std::size_t i = 0; i < seed.size(); ++i) seed[i] = static_cast<std::uint8_t>(i);
  const auto key = crypto::Ed25519Key::from_seed(seed);
  ASSERT_TRUE(key);
  EXPECT_EQ(key->public_key().hex(),
            "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8");
  sign(checkpoint, "village", *key);
  EXPECT_EQ(checkpoint.signature.hex(),
            "50b546a06506ff241d5d5b3fd63341e7a023141fbd2ccf75e2d4c59720e93993"
            "17c4037113110107d583338f5e718f05f1c29f0d192eda7f587815d8f4a2610d");
  EXPECT_TRUE(is_signed_by(key->public_key(), "village", checkpoint));
  EXPECT_FALSE(is_signed_by(key->public_key(), "villages", checkpoint));
  checkpoint.at_ms += 1;
  EXPECT_FALSE(is_signed_by(key->public_key(), "village", checkpoint));
}

TEST(LogEntry, IsReadBackAsItWasWritten) {
  for (const std::string text : {kTransaction, kEvent}) {
    const auto entry = parse_log_entry(text);
    ASSERT_TRUE(entry) << entry.error().message;
    EXPECT_EQ(to_text(*entry), text);
  }
  EXPECT_EQ(parse_log_entry(kTransaction)->transaction.amount, 100);
  EXPECT_EQ(parse_log_entry(kEvent)->event, event().event);
}

TEST(LogEntry, OtherTextsAreRefused) {
  const auto changed = [](std::string text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    return text.replace(at, from.size(), to);
  };
  const std::string texts[] = {
      "",
      "{}",
      "[]",
      changed(kTransaction, ",\"at\"", ", \"at\""),
      changed(kTransaction, "\"100\"", "\"0100\""),
      changed(kTransaction, "\"100\"", "\"-100\""),
      changed(kTransaction, "\"100\"", "\"0\""),
      changed(kTransaction, "\"100\"", "100"),
      changed(kTransaction, "\"100\"", "\"9223372036854775808\""),
      changed(kTransaction, "\"type\":7", "\"type\":100"),
      changed(kTransaction, "\"type\":7", "\"type\":7,\"x\":1"),
      changed(kTransaction, "\"kind\":1", "\"kind\":14"),
      changed(kTransaction, "\"kind\":1", "\"kind\":2"),
      changed(kTransaction, "36694de9", "36694DE9"),
      changed(kTransaction, "-00000000000a", "-00000000000A"),
      changed(kTransaction, "\"metadata_hash\":null", "\"metadata_hash\":\"\""),
      changed(kEvent, "\"kind\":2", "\"kind\":1"),
      changed(kEvent, "}", "},\"more\":{}"),
      changed(kEvent, "\"event\":{", "\"event\":[{"),
      std::string(kEvent) + " ",
      std::string(kMaxEntryBytes + 1, ' '),
  };
  for (const std::string& text : texts) {
    const auto refused = parse_log_entry(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code, Code::kInvalidInput) << text;
  }
}

}  // namespace
}  // namespace coffer::token
