// Any text as a proof of a token log, as an entry and as a line of an export: what is taken is what
// would be written again.
#include "base/check.h"
#include "token/log/audit_file.h"
#include "token/log/proof_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace coffer;
  const std::string_view text = as_text({data, size});
  const auto entry = token::parse_log_entry(text);
  CHECK(entry ? token::to_text(*entry) == text : entry.error().code == Code::kInvalidInput);
  const auto proof = token::check_proof(text);
  CHECK(proof || proof.error().code == Code::kInvalidInput);

  token::Auditor auditor;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    if (!auditor.add_line(text.substr(from, end - from))) return 0;
    from = end + 1;
  }
  if (const auto report = auditor.finish()) CHECK(report->wallets <= text.size());
  return 0;
}
