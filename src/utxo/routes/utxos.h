// GET routes over the UTXO state: outputs by address, credential and outpoint, balances, block
// deltas, roots and proofs. Nothing here changes state, and each request is bounded (E11).
#pragma once

#include <coffer/chain/network.h>
#include <coffer/utxo/state.h>
#include "api/routes.h"

namespace coffer::utxo {

struct UtxoAccess {
  const utxo::UtxoState* state = nullptr;  // outlives the routes; null: utxo.enabled is false
  chain::Network network;
};

// Without a state every route answers 503 and names the setting (U13).
void add_utxo_routes(api::RouteTable& table, UtxoAccess access);

}  // namespace coffer::utxo
