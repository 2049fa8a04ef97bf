#include "feed/block_file.h"

#include "base/limits.h"
#include "base/result.h"
#include "codec/cbor_reader.h"

namespace coffer::feed {
namespace {

bool is_hex_text(ByteView data) {
  const std::size_t look = std::min<std::size_t>(data.size(), 64);
  for (std::size_t i = 0; i < look; ++i)
    if (!std::isxdigit(data[i]) && data[i] != '\n' && data[i] != '\r') return false;
  return look > 0;
}

Result<std::vector<Bytes>> split_hex(ByteView data) {
  std::vector<Bytes> blocks;
  std::string_view text = as_text(data);
  std::size_t line_number = 0;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++line_number;
    while (!line.empty() && std::isspace(static_cast<unsigned char>(line.back())))
      line.remove_suffix(1);
    if (line.empty()) continue;
    blocks.push_back(TRY_IN(fmt::format("line {}", line_number), from_hex(line)));
  }
  return blocks;
}

Result<std::vector<Bytes>> split_blk(const chain::Network& network, ByteView data) {
  std::vector<Bytes> blocks;
  std::size_t at = 0;
  while (at + 8 <= data.size()) {
    if (load_le<std::uint64_t>(data.data() + at) == 0) break;
    if (!equal(data.subspan(at, 4), network.bitcoin.magic))
      return fail(Code::kInvalidInput, "no {} block at byte {}; is it of another network?",
                  network.name, at);
    const std::uint64_t size = load_le<std::uint32_t>(data.data() + at + 4);
    if (size > limits::kMaxBlockBytes || size > data.size() - at - 8)
      return fail(Code::kInvalidInput,
                  "the block at byte {} has {} bytes, beyond the end of the file", at, size);
    ByteView block = data.subspan(at + 8, size);
    blocks.emplace_back(block.begin(), block.end());
    at += 8 + size;
  }
  return blocks;
}

Result<std::vector<Bytes>> split_cbor(ByteView data) {
  std::vector<Bytes> blocks;
  codec::CborReader reader(data);
  while (!reader.at_end()) {
    ByteView block = reader.skip();
    if (!reader.ok()) return fail(reader.fault().to_error("block file"));
    blocks.emplace_back(block.begin(), block.end());
  }
  return blocks;
}

}  // namespace

Result<std::vector<Bytes>> split_blocks(const chain::Network& network, ByteView data) {
  if (is_hex_text(data)) return split_hex(data);
  if (network.family == chain::Family::kCardano) return split_cbor(data);
  if (data.size() >= 4 && equal(data.first(4), network.bitcoin.magic))
    return split_blk(network, data);
  TRY(chain::check_magic(network, data, "the file"));
  std::vector<Bytes> blocks;
  if (!data.empty()) blocks.emplace_back(data.begin(), data.end());
  return blocks;
}

void append_block(Bytes& out, const chain::Network& network, BlockFileFormat format,
                  ByteView block) {
  switch (format) {
    case BlockFileFormat::kBlk:
      append(out, network.bitcoin.magic);
      append_le(out, static_cast<std::uint32_t>(block.size()));
      append(out, block);
      return;
    case BlockFileFormat::kHex:
      append(out, as_bytes(to_hex(block)));
      out.push_back('\n');
      return;
    case BlockFileFormat::kRaw: append(out, block); return;
  }
}

}  // namespace coffer::feed
