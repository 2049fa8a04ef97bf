#include "token/log/entry.h"

#include "base/result.h"
#include "crypto/blake2b.h"
#include "json/reader.h"

namespace coffer::token {
namespace {

std::string quoted_hash(const std::optional<Hash256>& hash) {
  return hash ? '"' + hash->hex() + '"' : "null";
}

std::unexpected<Error> not_an_entry(std::string_view why) {
  return fail(Code::kInvalidInput, "not an entry of a log: {}", why);
}

// Reads fields of the object; what is missing or of another type is noted in `fault`.
struct EntryReader {
  json::Value object;
  std::string fault = {};

  std::int64_t number(std::string_view name) {
    const auto value = object.find(name);
    const auto number = value ? value->int64() : std::nullopt;
    if (!number) fault = std::string(name) + " is not a whole number";
    return number.value_or(0);
  }
  std::string text(std::string_view name) {
    const auto value = object.find(name);
    auto text = value ? value->string() : std::nullopt;
    if (!text) fault = std::string(name) + " is no text";
    return std::move(text).value_or("");
  }
  Uuid id(std::string_view name) {
    const auto id = parse_uuid(text(name));
    if (!id) fault = std::string(name) + " is no UUID";
    return id.value_or(Uuid{});
  }
  std::int64_t amount(std::string_view name) {
    const std::string digits = text(name);
    const auto parsed = json::parse(digits);
    const auto amount = parsed ? parsed->int64() : std::nullopt;
    if (!amount || *amount <= 0) fault = std::string(name) + " is no amount";
    return amount.value_or(0);
  }
  std::optional<Hash256> hash(std::string_view name) {
    const auto value = object.find(name);
    if (value && value->is_null()) return std::nullopt;
    const auto bytes = from_hex(text(name));
    auto hash = bytes ? Hash256::from_view(*bytes) : Result<Hash256>(Hash256{});
    if (!bytes || !hash) fault = std::string(name) + " is no hash";
    return hash.value_or(Hash256{});
  }
};

// The value of "event" as it stands in the text: between what to_text() writes before and behind.
std::string_view event_within(std::string_view text, const LogEntry& entry) {
  const std::string before = fmt::format(R"({{"at":{},"event":)", entry.at_ms);
  const std::string behind =
      fmt::format(R"(,"id":"{}","kind":{}}})", to_string(entry.id), entry.kind);
  if (text.size() < before.size() + behind.size()) return {};
  return text.substr(before.size(), text.size() - before.size() - behind.size());
}

}  // namespace

std::string to_text(const LogEntry& entry) {
  if (!entry.is_transaction())
    return fmt::format(R"({{"at":{},"event":{},"id":"{}","kind":{}}})", entry.at_ms, entry.event,
                       to_string(entry.id), entry.kind);
  const LoggedTransaction& tx = entry.transaction;
  return fmt::format(R"({{"amount":"{}","at":{},"created_at":{},"from":"{}","id":"{}","kind":1,)"
                     R"("memo_hash":{},"metadata_hash":{},"to":"{}","type":{}}})",
                     tx.amount, entry.at_ms, tx.created_at_ms, to_string(tx.from),
                     to_string(entry.id), quoted_hash(tx.memo_hash), quoted_hash(tx.metadata_hash),
                     to_string(tx.to), tx.type);
}

Result<LogEntry> parse_log_entry(std::string_view text) {
  const auto document = json::parse(text, {.max_bytes = kMaxEntryBytes, .max_depth = 4});
  if (!document) return not_an_entry(document.error().message);
  EntryReader from{*document};
  LogEntry entry;
  entry.id = from.id("id");
  entry.at_ms = from.number("at");
  const std::int64_t kind = from.number("kind");
  if (!from.fault.empty()) return not_an_entry(from.fault);
  if (kind < kTransactionKind || kind > kMaxKind) return not_an_entry("its kind is unknown");
  entry.kind = static_cast<int>(kind);
  if (entry.is_transaction()) {
    LoggedTransaction& tx = entry.transaction;
    tx.from = from.id("from");
    tx.to = from.id("to");
    tx.amount = from.amount("amount");
    const std::int64_t type = from.number("type");
    tx.created_at_ms = from.number("created_at");
    tx.memo_hash = from.hash("memo_hash");
    tx.metadata_hash = from.hash("metadata_hash");
    if (!from.fault.empty()) return not_an_entry(from.fault);
    if (type < 1 || type > 99) return not_an_entry("its type is not 1 to 99");
    tx.type = static_cast<int>(type);
  } else {
    entry.event = event_within(text, entry);
    const auto event = json::parse(entry.event);
    if (!event || !event->is_object()) return not_an_entry("event is no object");
  }
  if (to_text(entry) != text)
    return not_an_entry("its text is not canonical (sorted keys, no blanks, no other fields)");
  return entry;
}

mmr::Digest hash_bytes(const std::uint8_t* data, std::size_t size) {
  return crypto::blake2b_256({data, size});
}

Hash256 leaf_hash(std::uint64_t position, std::string_view entry) {
  const ByteView bytes = as_bytes(entry);
  const mmr::Digest leaf = mmr::log_leaf(position, Bytes(bytes.begin(), bytes.end()), hash_bytes);
  return Hash256::from(leaf.data());
}

}  // namespace coffer::token
