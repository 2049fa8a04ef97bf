// Pieces that the JSON of the token ledger is written with.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <coffer/token/store.h>
#include "json/text.h"
#include "json/writer.h"

namespace coffer::token {

template <typename T>
void write_optional(json::Writer& out, std::string_view key, const std::optional<T>& value) {
  out.key(key);
  if (value)
    out.value(*value);
  else
    out.null();
}

inline void write_text_or_null(json::Writer& out, std::string_view key, const std::string& text) {
  write_optional(out, key, text.empty() ? std::nullopt : std::optional(text));
}

inline void write_id(json::Writer& out, std::string_view key, const Uuid& id) {
  out.field(key, to_string(id));
}
inline void write_id(json::Writer& out, std::string_view key, const std::optional<Uuid>& id) {
  write_optional(out, key, id ? std::optional(to_string(*id)) : std::nullopt);
}

inline void write_amount(json::Writer& out, std::string_view key, std::int64_t amount) {
  out.field(key, std::to_string(amount));
}
inline void write_amount(json::Writer& out, std::string_view key,
                         const std::optional<std::int64_t>& amount) {
  write_optional(out, key, amount ? std::optional(std::to_string(*amount)) : std::nullopt);
}

// An object that stands in the database as text. Null for what is none: whoever writes SQL by hand
// could put it there.
inline void write_object(json::Writer& out, std::string_view key,
                         const std::optional<std::string>& text) {
  const auto checked = text ? json::Text::parse(*text) : std::nullopt;
  out.key(key);
  if (checked && checked->is_object())
    out.raw(checked->text());
  else
    out.null();
}

// {"KEY": [each item as `write` does it]}
template <typename Items, typename Write>
std::string list_json(std::string_view key, const Items& items, Write write) {
  json::Writer out;
  out.begin_object().key(key).begin_array();
  for (const auto& item : items) write(out, item);
  out.end_array().end_object();
  return out.take();
}

// {"KEY": […], "next_cursor": …}
template <typename T, typename Write>
std::string page_json(std::string_view key, const Page<T>& page, Write write) {
  json::Writer out;
  out.begin_object().key(key).begin_array();
  for (const T& item : page.items) write(out, item);
  out.end_array();
  write_text_or_null(out, "next_cursor", page.cursor);
  out.end_object();
  return out.take();
}

}  // namespace coffer::token
