// What people and programs give to more than one engine. Each error says what is wrong with which
// value, in one line.
#pragma once

#include <coffer/chain/network.h>

namespace coffer::api {

// All are thread-safe. Errors: kInvalidInput.

// Bech32 or base58, or the raw bytes (a scriptPubKey on Bitcoin) as hex. A stake address is
// refused: no output has one.
Result<Bytes> parse_owner(const chain::Network& network, std::string_view text);

// A hash as its chain prints it, and an index within what the chain can have.
Result<chain::Outpoint> parse_outpoint(const chain::Network& network, std::string_view tx,
                                       std::string_view index);
// "TX#INDEX" or "TX:INDEX".
Result<chain::Outpoint> parse_outpoint(const chain::Network& network, std::string_view text);

// A whole number without sign, in [min, max].
Result<std::uint64_t> parse_whole(std::string_view text, std::uint64_t min, std::uint64_t max);

}  // namespace coffer::api
