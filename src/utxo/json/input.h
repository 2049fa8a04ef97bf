// What people and programs give to ask the UTXO state: credentials, assets, pages.
// Each error says what is wrong with which value, in one line.
#pragma once

#include <coffer/chain/network.h>
#include <coffer/utxo/state.h>
#include "http/message.h"

namespace coffer::utxo {

// All are thread-safe. Errors: kInvalidInput.

// A payment credential: 56 hex digits, or bech32 with the prefix addr_vkh, addr_shared_vkh or
// script. Refused on Bitcoin, which has none.
Result<Hash224> parse_credential(const chain::Network& network, std::string_view text);

// 56 hex digits of the policy, then the name in hex, perhaps after a dot. The policy alone stands
// for all its assets.
Result<utxo::AssetFilter> parse_asset(std::string_view text);

// page, count, order, cursor, asset, from_slot, to_slot; others are left alone. The error names the
// parameter.
Result<utxo::PageRequest> parse_page_request(const http::Fields& query);

}  // namespace coffer::utxo
