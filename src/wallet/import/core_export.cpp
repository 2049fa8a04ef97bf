#include "wallet/import/core_export.h"

#include "base/result.h"
#include "json/reader.h"
#include "wallet/descriptor/descriptor.h"

namespace coffer::wallet {
namespace {

// Fields by name; nothing where there is none, an error where it is of another kind.

Result<std::optional<bool>> flag(const json::Value& object, std::string_view name) {
  const auto value = object.find(name);
  if (!value) return std::nullopt;
  const auto flag = value->boolean();
  if (!flag) return fail(Code::kInvalidInput, "\"{}\" is not true or false", name);
  return flag;
}

Result<std::uint64_t> natural(const json::Value& value, std::string_view name, std::uint64_t max) {
  const auto number = value.uint64();
  if (number && *number <= max) return *number;
  return fail(Code::kInvalidInput, "\"{}\" is not a whole number from 0 to {}", name, max);
}

Result<std::optional<std::uint64_t>> number(const json::Value& object, std::string_view name,
                                            std::uint64_t max) {
  const auto value = object.find(name);
  if (!value) return std::nullopt;
  return TRY(natural(*value, name, max));
}

Result<std::optional<std::string>> text(const json::Value& object, std::string_view name) {
  const auto value = object.find(name);
  if (!value) return std::nullopt;
  auto text = value->string();
  if (!text) return fail(Code::kInvalidInput, "\"{}\" is not a text", name);
  return text;
}

Result<std::optional<CoreDescriptor::Range>> range_of(const json::Value& object) {
  const auto value = object.find("range");
  if (!value) return std::nullopt;
  const auto pair = value->elements();
  if (pair.size() != 2) return fail(Code::kInvalidInput, "\"range\" is not a pair of numbers");
  constexpr std::uint64_t kMax = crypto::kHardened - 1;
  const auto first = TRY(natural(pair[0], "range", kMax));
  const auto last = TRY(natural(pair[1], "range", kMax));
  if (first > last) return fail(Code::kInvalidInput, "\"range\" ends before it begins");
  return CoreDescriptor::Range{static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last)};
}

Result<CoreDescriptor> entry(const chain::Network& network, const json::Value& object) {
  if (!object.is_object()) return fail(Code::kInvalidInput, "not an object");
  const auto desc = TRY(text(object, "desc"));
  if (!desc) return fail(Code::kInvalidInput, "\"desc\" is missing");
  CoreDescriptor out{TRY(parse_descriptor(network, *desc)), false, false, {}, {}, 0};
  TRY(out.descriptor.derive(0));  // better refused now than found to be useless later
  out.active = TRY(flag(object, "active")).value_or(false);
  out.internal = TRY(flag(object, "internal")).value_or(false);
  out.birthday_s = TRY(number(object, "timestamp", INT64_MAX)).value_or(0);
  out.range = TRY(range_of(object));
  // Older versions of Core call it "next" only; newer ones write both. The last index has no next,
  // so 2^31 is one of its values.
  auto next = TRY(number(object, "next_index", crypto::kHardened));
  if (!next) next = TRY(number(object, "next", crypto::kHardened));
  if (next) out.next_index = static_cast<std::uint32_t>(*next);
  if (!out.descriptor.is_ranged() && (out.range || out.next_index))
    return fail(Code::kInvalidInput, "a range for a descriptor that has none");
  return out;
}

// The object with "descriptors": the text itself, or the result in an answer of the RPC interface.
Result<json::Value> result_of(json::Value root) {
  auto result = root.find("result");
  json::Value object = result ? *std::move(result) : std::move(root);
  if (!object.find("descriptors"))
    return fail(Code::kInvalidInput, "not what listdescriptors prints: no \"descriptors\"");
  return object;
}

}  // namespace

Result<CoreExport> parse_core_export(const chain::Network& network, std::string_view json_text) {
  if (json_text.size() > kMaxCoreExportBytes)
    return fail(Code::kTooLarge, "a descriptor export of {} bytes, at most {} are read",
                json_text.size(), kMaxCoreExportBytes);
  const json::Value root = TRY(json::parse(json_text, {.max_bytes = kMaxCoreExportBytes}));
  const json::Value object = TRY(result_of(root));
  const json::Value list = *object.find("descriptors");
  if (!list.is_array()) return fail(Code::kInvalidInput, "\"descriptors\" is not a list");
  if (list.size() > kMaxCoreExportDescriptors)
    return fail(Code::kTooLarge, "an export of {} descriptors, at most {} are read", list.size(),
                kMaxCoreExportDescriptors);
  CoreExport out;
  out.wallet_name = TRY(text(object, "wallet_name")).value_or("");
  for (const json::Value& one : list.elements())
    out.descriptors.push_back(
        TRY_IN(fmt::format("descriptors[{}]", out.descriptors.size()), entry(network, one)));
  return out;
}

}  // namespace coffer::wallet
