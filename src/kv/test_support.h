// What the tests of bad days share: a small database of two columns that must always hold the same.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include <coffer/kv/database.h>
#include "base/result.h"

namespace coffer::kv {

namespace fs = std::filesystem;

inline DatabaseOptions options_at(const fs::path& path) {
  DatabaseOptions options;
  options.path = path;
  options.columns = {{.name = "a", .compression = Compression::kNone},
                     {.name = "b", .compression = Compression::kNone}};
  options.block_cache_bytes = 1u << 20;
  return options;
}

inline DatabaseOptions flushing_often(const fs::path& path) {
  DatabaseOptions options = options_at(path);
  for (ColumnOptions& column : options.columns) column.write_buffer_bytes = 256u << 10;
  return options;
}

inline bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

inline void expect_one_line(const Error& error) {
  EXPECT_EQ(error.message.find('\n'), std::string::npos) << error.message;
}

inline std::vector<fs::path> files_with(const fs::path& path, std::string_view extension) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(path))
    if (entry.path().extension() == extension) files.push_back(entry.path());
  return files;
}

inline void flip_byte(const fs::path& file, std::uint64_t at) {
  std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
  stream.seekg(static_cast<std::streamoff>(at));
  const auto byte = static_cast<char>(stream.get() ^ 0x40);
  stream.seekp(static_cast<std::streamoff>(at));
  stream.put(byte);
  ASSERT_TRUE(stream.good());
}

// Puts `value` under the key `number` into both columns.
inline Result<> commit_pair(Database& db, std::uint64_t number, ByteView value,
                            Durability durability = Durability::kWal) {
  Bytes key;
  append_be64(key, number);
  Batch batch;
  batch.put(TRY(db.column("a")), key, value);
  batch.put(TRY(db.column("b")), key, value);
  return db.commit(batch, durability);
}

// How many of the keys 0, 1, 2 … are there without a gap; every pair must be whole.
inline std::uint64_t count_pairs(const Database& db) {
  Iterator a = db.iterate(db.column("a").value());
  Iterator b = db.iterate(db.column("b").value());
  std::uint64_t count = 0;
  b.seek_to_first();
  for (a.seek_to_first(); a.valid(); a.next(), b.next(), ++count) {
    EXPECT_TRUE(b.valid());
    if (!b.valid()) return count;
    EXPECT_EQ(load_be64(a.key().data()), count);
    EXPECT_TRUE(equal(a.key(), b.key()));
    EXPECT_TRUE(equal(a.value(), b.value()));
  }
  EXPECT_FALSE(b.valid());
  EXPECT_TRUE(a.status());
  EXPECT_TRUE(b.status());
  return count;
}

}  // namespace coffer::kv
