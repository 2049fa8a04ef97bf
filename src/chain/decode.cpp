#include <coffer/chain/decode.h>

#include "base/limits.h"
#include "base/result.h"

namespace coffer::chain {

Result<> decode_into(Block& block, const Network& network, ByteView raw, DecodeOptions options) {
  if (raw.size() > limits::kMaxBlockBytes)
    return fail(Code::kTooLarge, "block: {} bytes; at most {} are read", raw.size(),
                limits::kMaxBlockBytes);
  block.clear();
  block.raw = raw;
  block.family = network.family;
  if (network.family == Family::kBitcoin) return detail::decode_bitcoin(block, raw, options);
  TRY(detail::decode_cardano(block, raw, options));
  if (block.era > 1)
    block.epoch = network.epoch_of(block.slot);  // Byron headers tell it themselves
  block.time_unix_s = network.time_of(block.slot);
  return {};
}

Result<Block> decode(const Network& network, Bytes raw, DecodeOptions options) {
  Block block;
  TRY(decode_into(block, network, raw, options));
  block.storage = std::move(raw);
  return block;
}

Result<> decode_tx_into(Block& block, const Network& network, ByteView raw, DecodeOptions options) {
  if (raw.size() > limits::kMaxBlockBytes)
    return fail(Code::kTooLarge, "transaction: {} bytes; at most {} are read", raw.size(),
                limits::kMaxBlockBytes);
  block.clear();
  block.raw = raw;
  block.family = network.family;
  return network.family == Family::kBitcoin ? detail::decode_bitcoin_tx(block, raw, options)
                                            : detail::decode_cardano_tx(block, raw, options);
}

}  // namespace coffer::chain
