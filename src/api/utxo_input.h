// What people and programs give to ask the UTXO state: addresses, credentials, outpoints, pages.
// Each error says what is wrong with which value, in one line.
#pragma once

#include "chain/network.h"
#include "http/message.h"
#include "utxo/state.h"

namespace coffer::api {

// All are thread-safe. Errors: kInvalidInput.

// Bech32 or base58, or the raw bytes (a scriptPubKey on Bitcoin) as hex. A stake address is
// refused: no output has one.
Result<Bytes> parse_owner(const chain::Network& network, std::string_view text);

// A payment credential: 56 hex digits, or bech32 with the prefix addr_vkh, addr_shared_vkh or
// script. Refused on Bitcoin, which has none.
Result<Hash224> parse_credential(const chain::Network& network, std::string_view text);

// A hash as its chain prints it, and an index within what the chain can have.
Result<chain::Outpoint> parse_outpoint(const chain::Network& network, std::string_view tx,
                                       std::string_view index);
// "TX#INDEX" or "TX:INDEX".
Result<chain::Outpoint> parse_outpoint(const chain::Network& network, std::string_view text);

// 56 hex digits of the policy, then the name in hex, perhaps after a dot. The policy alone stands
// for all its assets.
Result<utxo::AssetFilter> parse_asset(std::string_view text);

// A whole number without sign, in [min, max].
Result<std::uint64_t> parse_whole(std::string_view text, std::uint64_t min, std::uint64_t max);

// page, count, order, cursor, asset, from_slot, to_slot; others are left alone. The error names the
// parameter.
Result<utxo::PageRequest> parse_page_request(const http::Fields& query);

}  // namespace coffer::api
