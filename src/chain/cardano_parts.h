// Readers that Cardano's Byron and later blocks share. Internal to the decoder.
#pragma once

#include <coffer/chain/block.h>
#include "codec/cbor_reader.h"

namespace coffer::chain::detail {

inline constexpr std::uint8_t kBoundaryEra = 0, kByronEra = 1;

// The next row of a table.
std::uint32_t rows(const auto& table) {
  return static_cast<std::uint32_t>(table.size());
}

// [transaction id, index]
Input read_input(codec::CborReader& reader);
// Bytes that are CBOR themselves (tag 24).
ByteView read_encoded_cbor(codec::CborReader& reader);
// The predecessor's hash, or null.
void read_prev(codec::CborReader& reader, Block& block);

// A Byron or epoch-boundary block without its [era, …] wrapper; block.era tells which. Returns the
// header's proof of the body.
ByteView read_byron_block(codec::CborReader& reader, Block& block);
// Appends one Byron transaction, without its witnesses.
void read_byron_tx(codec::CborReader& reader, Block& block);
// Whether transactions and witnesses are what the proof says. Errors: kInvalidInput.
Result<> verify_byron_body(const Block& block, ByteView body_proof);

}  // namespace coffer::chain::detail
