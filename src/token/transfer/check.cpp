#include "token/transfer/check.h"

#include "json/reader.h"
#include "token/account/accounts.h"
#include "token/store_impl.h"

namespace coffer::token {
namespace {

Result<> check_metadata(std::string& metadata) {
  constexpr std::string_view kBlank = " \t\r\n";
  const std::size_t first = metadata.find_first_not_of(kBlank);
  if (first != std::string::npos)
    metadata = metadata.substr(first, metadata.find_last_not_of(kBlank) - first + 1);
  if (metadata.size() > kMaxMetadataBytes)
    return fail(Code::kInvalidInput, "metadata: {} bytes; at most {} are allowed", metadata.size(),
                kMaxMetadataBytes);
  // A NUL byte in the text is no JSON; an escaped one is refused by neither engine.
  const auto value = TRY_IN("metadata", json::parse(metadata, {.max_bytes = kMaxMetadataBytes}));
  if (!value.is_object()) return fail(Code::kInvalidInput, "metadata: expected a JSON object");
  return {};
}

}  // namespace

Result<> check_amount(std::int64_t amount) {
  if (amount <= 0)
    return fail(Code::kInvalidInput, "amount: {}; expected a whole number above 0", amount);
  return {};
}

Result<> check_memo(const std::optional<std::string>& memo) {
  if (!memo) return {};
  const auto length = count_characters(*memo);
  if (!length || memo->contains('\0'))
    return fail(Code::kInvalidInput, "memo: not valid UTF-8 text");
  if (*length > kMaxMemoLength)
    return fail(Code::kInvalidInput, "memo: {} characters; at most {} are allowed", *length,
                kMaxMemoLength);
  return {};
}

Result<> check_transfer(Transfer& transfer) {
  TRY(check_id("transfer", transfer.id));
  TRY(check_amount(transfer.amount));
  if (transfer.type < 1 || transfer.type > 99)
    return fail(Code::kInvalidInput, "type: {}; expected 1 to 99", transfer.type);
  if (transfer.created_at_ms && *transfer.created_at_ms <= 0)
    return fail(Code::kInvalidInput, "created_at: {}; expected milliseconds since 1970",
                *transfer.created_at_ms);
  TRY(check_memo(transfer.memo));
  if (transfer.metadata) TRY(check_metadata(*transfer.metadata));
  return {};
}

}  // namespace coffer::token
