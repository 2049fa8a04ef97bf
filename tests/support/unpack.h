// Packed data for tests.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>

#include <coffer/base/bytes.h>
#include "support/shell.h"

namespace coffer::test {

// What a program such as zcat makes of a file.
inline std::string unpack(const char* program, const std::filesystem::path& file) {
  std::FILE* pipe = ::popen((std::string(program) + " " + shell_word(file.string())).c_str(), "r");
  std::string out;
  std::array<char, 65536> buffer;
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe))
    out.append(buffer.data(), got);
  EXPECT_EQ(::pclose(pipe), 0) << file;
  return out;
}

// Block 0 of regtest, which files of that network leave out.
inline Bytes regtest_genesis() {
  return from_hex(
             "0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b"
             "12b27ac72c3e67768f617fc81bc3888a51323a9fb8aa4b1e5e4adae5494dffff7f200200000001010000"
             "00010000000000000000000000000000000000000000000000000000000000000000ffffffff4d04ffff"
             "001d0104455468652054696d65732030332f4a616e2f32303039204368616e63656c6c6f72206f6e2062"
             "72696e6b206f66207365636f6e64206261696c6f757420666f722062616e6b73ffffffff0100f2052a01"
             "000000434104678afdb0fe5548271967f1a67130b7105cd6a828e03909a67962e0ea1f61deb649f6bc3f"
             "4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5fac00000000")
      .value();
}

}  // namespace coffer::test
