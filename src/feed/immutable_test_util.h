// What the tests of the immutable database share: small chunks made of a real one, and a reader.
#pragma once

#include <gtest/gtest.h>

#include "base/file.h"
#include "base/temp_dir.h"
#include "base/test_data.h"
#include "feed/immutable_source.h"

namespace coffer::feed {

namespace fs = std::filesystem;

inline chain::Network network(const char* name) {
  return chain::find_network("cardano", name).value();
}

struct Walked {
  std::vector<chain::Point> points;
  std::vector<std::uint64_t> numbers;
  std::optional<Error> error;
};

// From wherever the source stands to its end, each block decoded in full.
inline Walked walk(ImmutableSource& source, const chain::Network& net) {
  Walked walked;
  chain::Block block;
  for (;;) {
    auto step = source.next(0);
    if (!step) {
      walked.error = step.error();
      return walked;
    }
    if (!std::holds_alternative<NextBlock>(*step)) return walked;
    auto decoded = chain::decode_into(block, net, std::get<NextBlock>(*step).raw);
    EXPECT_TRUE(decoded) << decoded.error().message;
    if (!decoded) return walked;
    walked.points.push_back(block.point());
    walked.numbers.push_back(block.number.value);
  }
}
inline Walked walk_all(const fs::path& directory, const chain::Network& net) {
  ImmutableSource source({.directory = directory, .network = net});
  auto met = source.intersect({});
  if (!met) return {{}, {}, met.error()};
  return walk(source, net);
}

// A small chunk that lies in memory: the first blocks of a real one.
struct SmallChunk {
  Bytes primary, secondary, chunk;
  void write(const fs::path& directory, const std::string& number = "00000") const {
    const WriteOptions quick{.sync = false};
    ASSERT_TRUE(write_file_atomically(directory / (number + ".chunk"), chunk, quick));
    ASSERT_TRUE(write_file_atomically(directory / (number + ".primary"), primary, quick));
    ASSERT_TRUE(write_file_atomically(directory / (number + ".secondary"), secondary, quick));
  }
};
inline SmallChunk first_blocks(const fs::path& data, std::size_t count) {
  SmallChunk small{read_file(data / "01285.primary", 1 << 20).value(),
                   read_file(data / "01285.secondary", 1 << 20).value(),
                   read_file(data / "01285.chunk", 1 << 24).value()};
  small.chunk.resize(load_be64(small.secondary.data() + count * kSecondaryEntryBytes));
  small.secondary.resize(count * kSecondaryEntryBytes);
  std::size_t end = 5;
  while (load_be32(small.primary.data() + end - 4) < small.secondary.size()) end += 4;
  small.primary.resize(end);
  return small;
}

// Blocks of the original, from its start, without a gap.
inline bool is_prefix(const Walked& part, const Walked& whole) {
  return part.points.size() <= whole.points.size() &&
         std::equal(part.points.begin(), part.points.end(), whole.points.begin());
}

}  // namespace coffer::feed
