// What the tests of node-to-client share: messages in hex, and how a node wraps them.
#pragma once

#include <string>

#include "feed/n2c_codec.h"

namespace coffer::feed::n2c {

inline std::string repeated(const char* hex, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += hex;
  return all;
}
inline Bytes hex(const std::string& text) {
  return from_hex(text).value();
}
inline const std::string kPoint = "821903e85820" + repeated("cd", 32);  // slot 1000

// As the node sends it.
inline void answer(Bytes& out, std::uint16_t protocol, ByteView message, std::size_t segment) {
  for (std::size_t at = 0; at < message.size(); at += segment) {
    const ByteView part = message.subspan(at, std::min(segment, message.size() - at));
    append_be32(out, 99);
    append_be32(out, std::uint32_t{protocol} << 16 | 0x8000'0000u |
                         static_cast<std::uint32_t>(part.size()));
    append(out, part);
  }
}

}  // namespace coffer::feed::n2c
