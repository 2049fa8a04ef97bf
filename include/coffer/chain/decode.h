// From wire bytes to a Block. Malformed input is kInvalidInput with a position, never a crash.
#pragma once

#include <coffer/chain/block.h>
#include <coffer/chain/network.h>

namespace coffer::chain {

struct DecodeOptions {
  bool hash = true;    // compute block hash and transaction ids
  bool verify = true;  // check merkle root and witness commitment, or body hash; needs `hash`
};

// Decodes `raw`, which must outlive the block's views. Reuses the block's tables: on a warm block
// nothing is allocated. Cost: one pass over the bytes, then one hash pass if asked for.
// Errors: kInvalidInput (malformed, or a commitment that does not match), kTooLarge.
// On an error the block holds nothing usable.
Result<> decode_into(Block& block, const Network& network, ByteView raw,
                     DecodeOptions options = {});

// The same for a block that owns its bytes.
Result<Block> decode(const Network& network, Bytes raw, DecodeOptions options = {});

// A single transaction (as relayed, before it is in a block), as the only row of a Block without a
// header. Bitcoin: the whole transaction. Cardano: [body, witness set, validity, auxiliary data].
Result<> decode_tx_into(Block& block, const Network& network, ByteView raw,
                        DecodeOptions options = {});

// The two commitments of a Bitcoin block that was hashed, each by itself. A block without witnesses
// commits to none. Errors: kInvalidInput if it does not match.
Result<> verify_merkle_root(const Block& block);
Result<> verify_witness_commitment(const Block& block);

namespace detail {
Result<> decode_bitcoin(Block& block, ByteView raw, DecodeOptions options);
Result<> decode_bitcoin_tx(Block& block, ByteView raw, DecodeOptions options);
Result<> decode_cardano(Block& block, ByteView raw, DecodeOptions options);
Result<> decode_cardano_tx(Block& block, ByteView raw, DecodeOptions options);
}  // namespace detail

}  // namespace coffer::chain
