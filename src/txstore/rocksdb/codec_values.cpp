// Bodies, marks, blocks and the tip.
#include "bus/position_codec.h"
#include "txstore/rocksdb/codec_impl.h"

namespace coffer::txstore {
namespace {

struct BodyHead {
  std::optional<Amount> fee;
  std::uint64_t inputs = 0;
};

bool read_body_head(WireReader& in, BodyHead& head) {
  if (!read_format(in)) return false;
  if (read_flag(in)) head.fee = Amount(in.u64());
  head.inputs = in.count(kOutpointBytes + 1, "more inputs than bytes");
  return in.ok();
}

StoredInput read_body_input(WireReader& in) {
  StoredInput input;
  const ByteView outpoint = in.bytes(kOutpointBytes);
  if (in.ok()) input.outpoint = read_outpoint_at(outpoint.data());
  if (read_flag(in)) input.amount = Amount(in.u64());
  return input;
}

template <typename Fn>
void for_each_count(auto& counts, Fn fn) {
  for (auto* count :
       {&counts.records, &counts.bytes, &counts.unmined, &counts.conflicting, &counts.final_entries,
        &counts.parent_missing, &counts.overrides, &counts.deleted})
    fn(*count);
  for (auto& kept : counts.kept) fn(kept);
}

bool read_position(WireReader& in, bus::Position& position) {
  const ByteView bytes = in.var_bytes();
  if (!in.ok()) return false;
  auto decoded = bus::decode_position(bytes);
  if (!decoded) return false;
  position = *decoded;
  return true;
}

}  // namespace

ByteView encode_body_value(const TxBody& body, Bytes& buffer) {
  ByteWriter out(buffer, 32 + body.inputs.size() * (kOutpointBytes + 9) + body.raw.size());
  out.u8(kRecordFormat);
  out.u8(body.fee ? 1 : 0);
  if (body.fee) out.fixed(body.fee->value);
  out.compact(body.inputs.size());
  for (const StoredInput& input : body.inputs) {
    out.bytes(input.outpoint.tx.view());
    out.fixed(input.outpoint.index);
    out.u8(input.amount ? 1 : 0);
    if (input.amount) out.fixed(input.amount->value);
  }
  out.compact(body.raw.size());
  out.bytes(body.raw);
  return out.view();
}

bool decode_body_value(ByteView value, TxBody& body) {
  WireReader in(value);
  BodyHead head;
  if (!read_body_head(in, head)) return false;
  body.fee = head.fee;
  body.inputs.clear();
  body.inputs.reserve(head.inputs);
  for (std::uint64_t i = 0; i < head.inputs && in.ok(); ++i)
    body.inputs.push_back(read_body_input(in));
  const ByteView raw = in.var_bytes();
  body.raw.assign(raw.begin(), raw.end());
  return is_complete(in);
}

bool decode_body_inputs(ByteView value, std::vector<chain::Outpoint>& inputs) {
  WireReader in(value);
  BodyHead head;
  if (!read_body_head(in, head)) return false;
  inputs.clear();
  inputs.reserve(head.inputs);
  for (std::uint64_t i = 0; i < head.inputs && in.ok(); ++i)
    inputs.push_back(read_body_input(in).outpoint);
  (void)in.var_bytes();
  return is_complete(in);
}

Bytes encode_mark_value(const Mark& mark) {
  Bytes out;
  out.push_back(kRecordFormat);
  out.push_back(mark.locked ? 1 : 0);
  out.push_back(mark.preserve_until ? 1 : 0);
  if (mark.preserve_until) append_le(out, *mark.preserve_until);
  codec::append_compact_size(out, mark.frozen.size());
  for (const std::uint32_t output : mark.frozen) append_le(out, output);
  codec::append_compact_size(out, mark.reassigned.size());
  for (const Mark::Reassigned& one : mark.reassigned) {
    append_le(out, one.output);
    append(out, one.hash.view());
    append_le(out, one.spendable_at);
  }
  return out;
}

bool decode_mark_value(ByteView value, Mark& mark) {
  WireReader in(value);
  if (!read_format(in)) return false;
  mark.locked = read_flag(in);
  mark.preserve_until.reset();
  if (read_flag(in)) mark.preserve_until = in.u64();
  mark.frozen.resize(in.count(4, "more frozen outputs than bytes"));
  for (std::uint32_t& output : mark.frozen) output = in.u32();
  mark.reassigned.resize(in.count(44, "more reassigned outputs than bytes"));
  for (Mark::Reassigned& one : mark.reassigned) {
    one.output = in.u32();
    const ByteView hash = in.bytes(Hash256::kSize);
    if (in.ok()) one.hash = Hash256::from(hash.data());
    one.spendable_at = in.u64();
  }
  return is_complete(in);
}

Bytes encode_block_value(const BlockUndo& block) {
  Bytes out;
  out.reserve(64 + block.undo.size());
  out.push_back(kRecordFormat);
  codec::append_var_bytes(out, bus::encode_position(block.position));
  codec::append_var_bytes(out, block.undo);
  return out;
}

bool decode_block_value(ByteView value, BlockUndo& block) {
  WireReader in(value);
  if (!read_format(in) || !read_position(in, block.position)) return false;
  const ByteView undo = in.var_bytes();
  block.undo.assign(undo.begin(), undo.end());
  return is_complete(in);
}

bool decode_block_position(ByteView value, bus::Position& position) {
  WireReader in(value);
  if (!read_format(in) || !read_position(in, position)) return false;
  (void)in.var_bytes();
  return is_complete(in);
}

Bytes encode_tip_value(const StoredTip& stored) {
  Bytes out;
  out.push_back(kRecordFormat);
  codec::append_var_bytes(out, bus::encode_position(stored.tip.position));
  append_le(out, stored.tip.final_height);
  out.push_back(stored.tip.first_block ? 1 : 0);
  if (stored.tip.first_block)
    codec::append_var_bytes(out, bus::encode_position(*stored.tip.first_block));
  for_each_count(stored.counts, [&](std::int64_t count) { append_le(out, count); });
  return out;
}

bool decode_tip_value(ByteView value, StoredTip& stored) {
  WireReader in(value);
  if (!read_format(in) || !read_position(in, stored.tip.position)) return false;
  stored.tip.final_height = static_cast<std::int64_t>(in.u64());
  stored.tip.first_block.reset();
  if (read_flag(in) && !read_position(in, stored.tip.first_block.emplace())) return false;
  for_each_count(stored.counts,
                 [&](std::int64_t& count) { count = static_cast<std::int64_t>(in.u64()); });
  return is_complete(in);
}

}  // namespace coffer::txstore
