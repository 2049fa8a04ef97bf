// What people and programs give to ask the transaction store, and the bodies of what changes it.
// Each error says what is wrong with which value, in one line.
#pragma once

#include <coffer/chain/network.h>
#include <coffer/txstore/types.h>
#include "http/message.h"
#include "node/verb.h"

namespace coffer::txstore {

inline constexpr std::uint32_t kMostOutputs = 1'000;  // of one answer

// All are thread-safe. Errors: kInvalidInput.

// 64 hex digits, as the chain prints them.
Result<Hash256> parse_tx_id(const chain::Network& network, std::string_view text);

struct OutputRange {
  std::uint32_t first = 0;
  std::uint32_t count = 100;
};
// outputs_from and outputs_count; others are left alone.
Result<OutputRange> parse_output_range(const http::Fields& query);

// "child_unmined"; a reason to keep, so not "deletable".
Result<retention::Reason> parse_keep_reason(std::string_view text);
std::vector<std::string> keep_reasons();

struct PruneTxs {
  bool dry_run = false;
};
struct PreserveTx {
  std::uint64_t until_height = 0;
};
const node::Verb<PruneTxs>& prune_verb();
const node::Verb<PreserveTx>& preserve_verb();

}  // namespace coffer::txstore
