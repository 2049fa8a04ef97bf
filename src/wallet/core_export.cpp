#include "wallet/core_export.h"

#include <boost/json.hpp>

#include "wallet/strict_json.h"

namespace coffer::wallet {
namespace {

// Fields by name; nothing where there is none, an error where it is of another kind.

Result<std::optional<bool>> flag(const boost::json::object& object, std::string_view name) {
  const boost::json::value* value = object.if_contains(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_bool()) return fail(Code::kInvalidInput, "\"{}\" is not true or false", name);
  return value->as_bool();
}

Result<std::uint64_t> natural(const boost::json::value& value, std::string_view name,
                              std::uint64_t max) {
  if (value.is_int64() && value.as_int64() >= 0) {
    const auto number = static_cast<std::uint64_t>(value.as_int64());
    if (number <= max) return number;
  }
  return fail(Code::kInvalidInput, "\"{}\" is not a whole number from 0 to {}", name, max);
}

Result<std::optional<std::uint64_t>> number(const boost::json::object& object,
                                            std::string_view name, std::uint64_t max) {
  const boost::json::value* value = object.if_contains(name);
  if (value == nullptr) return std::nullopt;
  return TRY(natural(*value, name, max));
}

Result<std::optional<std::string>> text(const boost::json::object& object, std::string_view name) {
  const boost::json::value* value = object.if_contains(name);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) return fail(Code::kInvalidInput, "\"{}\" is not a text", name);
  return std::string(value->as_string());
}

Result<std::optional<CoreDescriptor::Range>> range_of(const boost::json::object& object) {
  const boost::json::value* value = object.if_contains("range");
  if (value == nullptr) return std::nullopt;
  if (!value->is_array() || value->as_array().size() != 2)
    return fail(Code::kInvalidInput, "\"range\" is not a pair of numbers");
  constexpr std::uint64_t kMax = crypto::kHardened - 1;
  const auto first = TRY(natural(value->as_array()[0], "range", kMax));
  const auto last = TRY(natural(value->as_array()[1], "range", kMax));
  if (first > last) return fail(Code::kInvalidInput, "\"range\" ends before it begins");
  return CoreDescriptor::Range{static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(last)};
}

Result<CoreDescriptor> entry(const chain::Network& network, const boost::json::value& value) {
  if (!value.is_object()) return fail(Code::kInvalidInput, "not an object");
  const boost::json::object& object = value.as_object();
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
Result<const boost::json::object*> result_of(const boost::json::value& root) {
  const boost::json::object* object = root.if_object();
  if (object != nullptr && object->contains("result")) object = object->at("result").if_object();
  if (object == nullptr || !object->contains("descriptors"))
    return fail(Code::kInvalidInput, "not what listdescriptors prints: no \"descriptors\"");
  return object;
}

}  // namespace

Result<CoreExport> parse_core_export(const chain::Network& network, std::string_view json_text) {
  if (json_text.size() > kMaxCoreExportBytes)
    return fail(Code::kTooLarge, "a descriptor export of {} bytes, at most {} are read",
                json_text.size(), kMaxCoreExportBytes);
  const boost::json::value root = TRY(parse_strict_json(json_text));
  const boost::json::object& object = *TRY(result_of(root));
  const boost::json::array* entries = object.at("descriptors").if_array();
  if (entries == nullptr) return fail(Code::kInvalidInput, "\"descriptors\" is not a list");
  if (entries->size() > kMaxCoreExportDescriptors)
    return fail(Code::kTooLarge, "an export of {} descriptors, at most {} are read",
                entries->size(), kMaxCoreExportDescriptors);
  CoreExport out;
  out.wallet_name = TRY(text(object, "wallet_name")).value_or("");
  for (std::size_t i = 0; i < entries->size(); ++i)
    out.descriptors.push_back(
        TRY_IN(fmt::format("descriptors[{}]", i), entry(network, (*entries)[i])));
  return out;
}

}  // namespace coffer::wallet
