#include "txstore/json/input.h"

#include "api/input.h"
#include "base/result.h"

namespace coffer::txstore {

Result<Hash256> parse_tx_id(const chain::Network& network, std::string_view text) {
  return TRY(api::parse_outpoint(network, text, "0")).tx;
}

Result<OutputRange> parse_output_range(const http::Fields& query) {
  OutputRange range;
  if (const auto text = http::find(query, "outputs_from"))
    range.first =
        static_cast<std::uint32_t>(TRY_IN("outputs_from", api::parse_whole(*text, 0, 0xffffffffu)));
  if (const auto text = http::find(query, "outputs_count"))
    range.count = static_cast<std::uint32_t>(
        TRY_IN("outputs_count", api::parse_whole(*text, 1, kMostOutputs)));
  return range;
}

std::vector<std::string> keep_reasons() {
  std::vector<std::string> names;
  for (std::size_t i = 1; i < retention::kReasons; ++i)
    names.emplace_back(to_string(static_cast<retention::Reason>(i)));
  return names;
}

Result<retention::Reason> parse_keep_reason(std::string_view text) {
  for (std::size_t i = 1; i < retention::kReasons; ++i)
    if (const auto reason = static_cast<retention::Reason>(i); to_string(reason) == text)
      return reason;
  return fail(Code::kInvalidInput, "kept: expected one of {}", fmt::join(keep_reasons(), ", "));
}

const node::Verb<PruneTxs>& prune_verb() {
  static const node::Verb<PruneTxs> verb = [] {
    node::Verb<PruneTxs> made{.schema = "PruneTxs"};
    made.add("dry_run", node::kind::flag(), &PruneTxs::dry_run,
             node::typed("--dry-run", "Change nothing; tell what would be deleted"));
    return made;
  }();
  return verb;
}

const node::Verb<PreserveTx>& preserve_verb() {
  static const node::Verb<PreserveTx> verb = [] {
    node::Verb<PreserveTx> made{.schema = "PreserveTx"};
    cli::Option until = node::required("--until", "Keep it until the tip has this height");
    until.value = "HEIGHT";
    made.add("until_height", node::kind::whole({0, std::uint64_t{1} << 62}),
             &PreserveTx::until_height, until);
    return made;
  }();
  return verb;
}

}  // namespace coffer::txstore
