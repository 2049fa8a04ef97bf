// The immutable database as a source, on real chunks, damaged ones, and all kinds of damage.
#include "feed/immutable_source.h"

#include <cstdio>
#include <fstream>
#include <thread>

#include "base/random.h"
#include "crypto/crc32.h"
#include "feed/immutable_test_util.h"

namespace coffer::feed {
namespace {

// What a command prints.
std::string output_of(const std::string& command) {
  std::string text;
  std::FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return text;
  char buffer[1 << 16];
  for (std::size_t got; (got = std::fread(buffer, 1, sizeof buffer, pipe)) > 0;)
    text.append(buffer, got);
  EXPECT_EQ(::pclose(pipe), 0) << command;
  return text;
}

struct Expected {
  std::uint64_t number = 0, slot = 0;
  std::string hash;
};

std::string field(const std::string& line, const std::string& name) {
  const std::size_t at = line.find("\"" + name + "\":");
  if (at == std::string::npos) return "";
  const std::size_t from = at + name.size() + 3 + (line[at + name.size() + 3] == '"' ? 1 : 0);
  return line.substr(from, line.find_first_of(",\"}", from) - from);
}

// [number, slot, "hash", …] of the blocks that have transactions.
std::vector<Expected> preview_oracle(const fs::path& file) {
  std::istringstream lines(output_of("zcat '" + file.string() + "'"));
  std::vector<Expected> all;
  for (std::string line; std::getline(lines, line);) {
    Expected one;
    char hash[65] = {};
    if (std::sscanf(line.c_str(), "[%lu,%lu,\"%64[0-9a-f]\"", &one.number, &one.slot, hash) != 3)
      continue;
    one.hash = hash;
    all.push_back(std::move(one));
  }
  return all;
}

// One object a line.
std::vector<Expected> chunk_oracle(const fs::path& file) {
  std::istringstream lines(output_of("zcat '" + file.string() + "'"));
  std::vector<Expected> all;
  for (std::string line; std::getline(lines, line);)
    all.push_back({std::stoull(field(line, "block_number")), std::stoull(field(line, "slot")),
                   field(line, "hash")});
  return all;
}

void copy_chunk(const fs::path& from, const std::string& number, const fs::path& to) {
  for (const char* extension : {".chunk", ".primary", ".secondary"}) {
    fs::copy_file(from / (number + extension), to / (number + extension));
    fs::permissions(to / (number + extension), fs::perms::owner_write, fs::perm_options::add);
  }
}

TEST(Immutable, WholePreviewChainMatchesTheOracle) {
  COFFER_REQUIRE_DATA_OR_SKIP(archive, "cardano/preview/immutable-00000-00275.tar.xz");
  COFFER_REQUIRE_DATA_OR_SKIP(oracle, "oracle/preview/preview-blocks.jsonl.gz");
  TempDir dir;
  output_of("tar -C '" + dir.path().string() + "' -xf '" + archive.string() + "'");
  const chain::Network net = network("preview");
  ImmutableSource source({.directory = dir.path(), .network = net});
  ASSERT_TRUE(source.intersect({}).value().is_origin());
  EXPECT_EQ(source.tip_number(), 54'294u);
  const Walked all = walk(source, net);
  ASSERT_FALSE(all.error) << all.error->message;
  ASSERT_EQ(all.points.size(), 54'295u);
  for (std::size_t i = 0; i < all.numbers.size(); ++i) ASSERT_EQ(all.numbers[i], i);
  const std::vector<Expected> expected = preview_oracle(oracle);
  ASSERT_GT(expected.size(), 1'000u);
  for (const Expected& one : expected) {
    ASSERT_EQ(all.points[one.number].hash.hex(), one.hash) << "block " << one.number;
    ASSERT_EQ(all.points[one.number].slot.value, one.slot) << "block " << one.number;
  }
  // Any block is a place to go on from; one that is not there is passed over.
  Rng rng(7);
  for (int i = 0; i < 100; ++i) {
    const std::size_t at = i == 0 ? all.points.size() - 1 : rng.below(all.points.size());
    chain::Point foreign = all.points[at];
    foreign.hash[0] ^= 1;
    const chain::Point points[] = {foreign, all.points[at]};
    ASSERT_EQ(source.intersect(points).value(), all.points[at]) << "block " << at;
    const SourceEvent step = source.next(0).value();
    if (at + 1 == all.points.size()) {
      EXPECT_TRUE(std::holds_alternative<End>(step));
      continue;
    }
    const chain::Block after = chain::decode(net, std::get<NextBlock>(step).raw).value();
    ASSERT_EQ(after.point(), all.points[at + 1]);
  }
}

TEST(Immutable, PreprodChunksMatchTheOracle) {
  COFFER_REQUIRE_DATA_OR_SKIP(data, "cardano/pallas");
  COFFER_REQUIRE_DATA_OR_SKIP(oracles, "oracle/cardano");
  for (const std::string number : {"01285", "01836"}) {
    TempDir dir;
    copy_chunk(data, number, dir.path());
    const Walked all = walk_all(dir.path(), network("preprod"));
    ASSERT_FALSE(all.error) << all.error->message;
    const auto expected = chunk_oracle(oracles / ("pallas-" + number + ".jsonl.gz"));
    ASSERT_GT(expected.size(), 100u);  // the blocks that have transactions
    for (const Expected& one : expected) {
      const std::uint64_t at = one.number - all.numbers.front();
      ASSERT_LT(at, all.points.size());
      ASSERT_EQ(all.numbers[at], one.number);
      ASSERT_EQ(all.points[at].hash.hex(), one.hash) << number << " block " << one.number;
      ASSERT_EQ(all.points[at].slot.value, one.slot) << number << " block " << one.number;
    }
  }
}

TEST(Immutable, DamagedChunksAreNamedWithTheOffset) {
  COFFER_REQUIRE_DATA_OR_SKIP(data, "cardano/pallas");
  struct Case {
    fs::path from;
    std::string number, says;
  };
  for (const Case& c :
       {Case{data, "02019", "02019.chunk: secondary at offset 280: block 5 lies beyond the 21901"},
        Case{data / "inconsistent_indexes", "10366",
             "10366.chunk: primary at offset 5477: it ends at 3192, but the secondary at 1400"}}) {
    TempDir dir;
    copy_chunk(c.from, c.number, dir.path());
    const Walked all = walk_all(dir.path(), network("preprod"));
    ASSERT_TRUE(all.error) << c.number;
    EXPECT_EQ(all.error->code, Code::kCorrupt);
    EXPECT_NE(all.error->message.find(c.says), std::string::npos) << all.error->message;
    EXPECT_FALSE(all.error->retryable);
  }
}

TEST(Immutable, NoFlippedByteOfAnIndexGivesAWrongBlock) {
  COFFER_REQUIRE_DATA_OR_SKIP(data, "cardano/pallas");
  const SmallChunk whole = first_blocks(data, 5);
  const chain::Network net = network("preprod");
  TempDir dir;
  whole.write(dir.path());
  const Walked all = walk_all(dir.path(), net);
  ASSERT_EQ(all.points.size(), 5u);
  Rng rng(3);
  for (const bool in_primary : {true, false})
    for (std::size_t at = 0; at < (in_primary ? whole.primary : whole.secondary).size(); ++at) {
      SmallChunk bad = whole;
      (in_primary ? bad.primary : bad.secondary)[at] ^=
          static_cast<std::uint8_t>(1u << rng.below(8));
      bad.write(dir.path());
      const Walked part = walk_all(dir.path(), net);
      ASSERT_TRUE(is_prefix(part, all)) << (in_primary ? "primary " : "secondary ") << at;
      ASSERT_TRUE(part.error || part.points.size() < 5)
          << (in_primary ? "primary " : "secondary ") << at << " went unnoticed";
      // In a finished chunk every such flip is an error.
      auto strict = parse_chunk_index(bad.primary, bad.secondary, bad.chunk.size());
      if (in_primary) {
        ASSERT_FALSE(strict) << at;
      }
    }
}

TEST(Immutable, FlippedByteOfABlockIsFound) {
  COFFER_REQUIRE_DATA_OR_SKIP(data, "cardano/pallas");
  const SmallChunk whole = first_blocks(data, 5);
  const chain::Network net = network("preprod");
  TempDir dir;
  whole.write(dir.path());
  SmallChunk{{1, 0, 0, 0, 0}, {}, {}}.write(dir.path(), "00001");
  const Walked all = walk_all(dir.path(), net);
  ASSERT_EQ(all.points.size(), 5u);
  Rng rng(4);
  for (int i = 0; i < 200; ++i) {
    SmallChunk bad = whole;
    bad.chunk[rng.below(bad.chunk.size())] ^= static_cast<std::uint8_t>(1u << rng.below(8));
    bad.write(dir.path());
    const Walked part = walk_all(dir.path(), net);
    ASSERT_TRUE(is_prefix(part, all));
    ASSERT_TRUE(part.error);
    ASSERT_EQ(part.error->code, Code::kCorrupt);
    ASSERT_NE(part.error->message.find("00000.chunk at offset"), std::string::npos);
  }
}

// As a node would index a chunk that holds this block alone.
SmallChunk chunk_of(const chain::Block& block) {
  const std::uint64_t place = block.epoch_boundary ? 0 : block.slot.value % 21'600 + 1;
  SmallChunk small{{1}, {}, Bytes(block.raw.begin(), block.raw.end())};
  for (std::uint64_t i = 0; i <= place; ++i) append_be32(small.primary, 0);
  append_be32(small.primary, kSecondaryEntryBytes);
  append_be64(small.secondary, 0);
  append_be32(small.secondary, 0);  // where the header lies is not checked in Byron
  append_be32(small.secondary, crypto::crc32(block.raw));
  append(small.secondary, block.hash.view());
  append_be64(small.secondary, block.epoch_boundary ? block.slot.value / 21'600 : block.slot.value);
  return small;
}

TEST(Immutable, ByronAndEpochBoundaryBlocks) {
  COFFER_REQUIRE_DATA_OR_SKIP(data, "cardano/pallas");
  const chain::Network net = network("mainnet");
  for (const char* name : {"genesis.block", "byron1.block", "byron2.block"}) {
    SCOPED_TRACE(name);
    const Bytes file = read_file(data / name, 1 << 24).value();
    std::string text(as_text(file));
    text.erase(text.find_last_not_of("\n ") + 1);
    const chain::Block block = chain::decode(net, from_hex(text).value()).value();
    EXPECT_EQ(block.epoch_boundary, std::string(name) == "genesis.block");
    TempDir dir;
    chunk_of(block).write(dir.path());
    const Walked all = walk_all(dir.path(), net);
    ASSERT_FALSE(all.error) << all.error->message;
    ASSERT_EQ(all.points, std::vector{block.point()});
    ImmutableSource source({.directory = dir.path(), .network = net});
    EXPECT_EQ(source.intersect(all.points).value(), block.point());
  }
}

TEST(Immutable, AbsentAndIncompleteDirectoriesAreErrors) {
  TempDir dir;
  const chain::Network net = network("preview");
  EXPECT_EQ(walk_all(dir.path() / "none", net).error->code, Code::kNotFound);
  EXPECT_EQ(walk_all(dir.path(), net).error->code, Code::kNotFound);
  const SmallChunk empty{{1, 0, 0, 0, 0}, {}, {}};
  empty.write(dir.path(), "00003");
  EXPECT_FALSE(walk_all(dir.path(), net).error);
  empty.write(dir.path(), "00005");
  const Walked gap = walk_all(dir.path(), net);
  ASSERT_TRUE(gap.error);
  EXPECT_EQ(gap.error->code, Code::kCorrupt);
  EXPECT_NE(gap.error->message.find("00004.chunk is missing"), std::string::npos);
}

}  // namespace
}  // namespace coffer::feed
