// For tests: plain Bitcoin transactions in the wire format, without signatures.
#pragma once

#include <vector>

#include <coffer/chain/block.h>
#include "crypto/sha256.h"

namespace coffer::wallet {

struct TestOutput {
  std::uint64_t amount = 0;
  Bytes script;
};

// At most 252 inputs and outputs, with scripts of at most 252 bytes. `lock_time` tells two apart
// that are the same otherwise; `script` stands in every input, where a coinbase has its own.
inline Bytes test_tx(const std::vector<chain::Outpoint>& inputs,
                     const std::vector<TestOutput>& outputs, std::uint32_t lock_time = 0,
                     const Bytes& script = {}) {
  Bytes raw;
  append_le<std::uint32_t>(raw, 2);
  raw.push_back(static_cast<std::uint8_t>(inputs.size()));
  for (const chain::Outpoint& input : inputs) {
    append(raw, input.tx.view());
    append_le<std::uint32_t>(raw, input.index);
    raw.push_back(static_cast<std::uint8_t>(script.size()));
    append(raw, script);
    append_le<std::uint32_t>(raw, 0xfffffffd);
  }
  raw.push_back(static_cast<std::uint8_t>(outputs.size()));
  for (const TestOutput& output : outputs) {
    append_le<std::uint64_t>(raw, output.amount);
    raw.push_back(static_cast<std::uint8_t>(output.script.size()));
    append(raw, output.script);
  }
  append_le<std::uint32_t>(raw, lock_time);
  return raw;
}

inline Hash256 test_txid(ByteView raw) {
  return crypto::sha256d(raw);
}

// An outpoint of nobody in particular.
inline chain::Outpoint foreign_outpoint(std::uint8_t number) {
  chain::Outpoint outpoint;
  outpoint.tx.fill(number);
  outpoint.index = number;
  return outpoint;
}

}  // namespace coffer::wallet
