#include "json/writer.h"

#include "base/check.h"

namespace coffer::json {
namespace {

constexpr char kHex[] = "0123456789abcdef";

// Length of the well-formed UTF-8 sequence at `at`, or 0.
std::size_t sequence_length(std::string_view text, std::size_t at) {
  auto byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u;
  };
  auto continues = [&](std::size_t i) { return (byte(i) & 0xC0) == 0x80; };
  unsigned lead = byte(0), next = byte(1);
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return continues(1) ? 2 : 0;
  if (lead >= 0xE0 && lead <= 0xEF) {
    bool overlong = lead == 0xE0 && next < 0xA0, surrogate = lead == 0xED && next > 0x9F;
    return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
  }
  if (lead >= 0xF0 && lead <= 0xF4) {
    bool overlong = lead == 0xF0 && next < 0x90, too_high = lead == 0xF4 && next > 0x8F;
    return continues(1) && continues(2) && continues(3) && !overlong && !too_high ? 4 : 0;
  }
  return 0;
}

}  // namespace

void append_string(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t i = 0; i < text.size();) {
    char c = text[i];
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (c == '\n') {
      out += "\\n";
    } else if (byte < 0x20 || byte == 0x7f) {
      out += "\\u00";
      out += kHex[byte >> 4];
      out += kHex[byte & 15];
    } else if (byte < 0x80) {
      out += c;
    } else if (std::size_t length = sequence_length(text, i); length > 0) {
      out += text.substr(i, length);
      i += length;
      continue;
    } else {
      out += "\\ufffd";
    }
    ++i;
  }
  out += '"';
}

void Writer::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (has_items_.empty()) return;
  if (has_items_.back()) out_ += ',';
  has_items_.back() = true;
}

Writer& Writer::open(char bracket) {
  separate();
  out_ += bracket;
  has_items_.push_back(false);
  return *this;
}

Writer& Writer::close(char bracket) {
  CHECK(!has_items_.empty() && !after_key_);
  has_items_.pop_back();
  out_ += bracket;
  return *this;
}

Writer& Writer::key(std::string_view name) {
  separate();
  append_string(out_, name);
  out_ += ':';
  after_key_ = true;
  return *this;
}

Writer& Writer::value(std::string_view text) {
  separate();
  append_string(out_, text);
  return *this;
}

Writer& Writer::raw(std::string_view json) {
  separate();
  out_ += json;
  return *this;
}

}  // namespace coffer::json
