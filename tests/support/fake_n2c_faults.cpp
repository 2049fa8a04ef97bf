// How a fake node-to-client peer can be wrong.
#include "base/check.h"
#include "codec/cbor_writer.h"
#include "support/fake_n2c_peer.h"

namespace coffer::test::n2c_fault {

using feed::n2c::kFromResponder;

N2cFault late(int time_ms) {
  return [=](N2cReply& reply) { reply.late_ms = time_ms; };
}
N2cFault message(const Bytes& bytes) {
  return [=](N2cReply& reply) { reply.message = bytes; };
}
N2cFault corrupt_block() {
  return [](N2cReply& reply) {
    CHECK(!reply.block.empty());
    // The last part of a block lists the invalid transactions; the header's hash covers it.
    if (reply.block.back() == 0x80) {
      reply.block.back() = 0x81;
      reply.block.push_back(0);
    } else {
      reply.block.back() ^= 1;
    }
  };
}
N2cFault wrong_prev() {
  return [](N2cReply& reply) {
    const auto at =
        std::search(reply.block.begin(), reply.block.end(), reply.prev.begin(), reply.prev.end());
    CHECK(at != reply.block.end());
    *at ^= 1;
  };
}
N2cFault wrong_era() {
  // [era, block]; 1 is Byron's.
  return [](N2cReply& reply) { reply.block.at(1) = reply.block.at(1) == 1 ? 2 : 1; };
}
N2cFault other_block(const Bytes& block) {
  return [=](N2cReply& reply) { reply.block = block; };
}
N2cFault refuse(const std::string& reason) {
  return [=](N2cReply& reply) {
    reply.message.emplace();
    codec::CborWriter(*reply.message)
        .array(2)
        .uint(2)
        .array(3)
        .uint(2)
        .uint(reply.version)
        .text(reason);
  };
}
N2cFault roll_back_to(chain::Point point) {
  return [=](N2cReply& reply) {
    reply.kind = N2cReply::Kind::kBackward;
    reply.point = point;
  };
}
N2cFault tip_number(std::uint64_t number) {
  return [=](N2cReply& reply) { reply.tip.number = number; };
}
N2cFault empty_segments(std::size_t count) {
  return [=](N2cReply& reply) { reply.empty_segments = count; };
}
N2cFault split(std::size_t segment_bytes) {
  return [=](N2cReply& reply) { reply.segment_bytes = segment_bytes; };
}
N2cFault protocol(std::uint16_t id) {
  return [=](N2cReply& reply) { reply.protocol = static_cast<std::uint16_t>(id | kFromResponder); };
}
N2cFault wrong_direction() {
  return [](N2cReply& reply) {
    reply.protocol = static_cast<std::uint16_t>(reply.protocol & ~kFromResponder);
  };
}
N2cFault twice() {
  return [](N2cReply& reply) { reply.times = 2; };
}
N2cFault cut() {
  return [](N2cReply& reply) { reply.end = N2cReply::End::kCut; };
}
N2cFault close() {
  return [](N2cReply& reply) { reply.end = N2cReply::End::kClose; };
}
N2cFault hang() {
  return [](N2cReply& reply) { reply.end = N2cReply::End::kHang; };
}

}  // namespace coffer::test::n2c_fault
