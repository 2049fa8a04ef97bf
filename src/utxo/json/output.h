// The UTXO state in JSON, with the names of 003 and yaci-store: one form for HTTP and command line.
// Invariant: a field's type never depends on its value (U9): amounts and quantities are strings,
// what is absent is null, and each chain always has the same fields.
#pragma once

#include <optional>
#include <string>

#include <coffer/chain/network.h>
#include <coffer/utxo/state.h>
#include "api/routes.h"

namespace coffer::json {
class Writer;
}

namespace coffer::utxo {

// All are thread-safe, and linear in what they write.

// One output as an object; with `with_spent` also "spent" and the spent_… fields.
void write_utxo(coffer::json::Writer& out, const chain::Network& network, const utxo::Utxo& utxo,
                const utxo::SpentInfo* spent = nullptr, bool with_spent = false);
std::string utxo_json(const chain::Network& network, const utxo::UtxoLookup& found);
std::string page_json(const chain::Network& network, const utxo::Page& page);
std::string balance_json(const chain::Network& network, ByteView address,
                         const utxo::Balance& balance);
std::string delta_json(const chain::Network& network, const utxo::BlockDelta& delta);
std::string root_json(const chain::Network& network, const utxo::Root& root);

// "block" and "block_hash" of the block after which an answer holds; null before the first.
void write_state_at(coffer::json::Writer& out, chain::Family family, const bus::Position& position,
                    BlockNumber number);

// The address in words, or as hex where it has none.
std::string owner_text(const chain::Network& network, ByteView address);
// "lovelace" or "satoshi".
std::string_view coin_unit(chain::Family family);
// The field that holds an amount of it: "lovelace_amount", as 003 has it, or "satoshi_amount".
std::string_view amount_field(chain::Family family);
std::string decimal(U128 value);

// Their JSON Schemas, for /openapi.json: Utxo, SpentUtxo, UtxoPage, Balance, BlockDelta, MmrRoot.
// The fields of one family are described; those of the other are told apart.
void add_utxo_schemas(api::RouteTable& table, chain::Family family);

}  // namespace coffer::utxo
