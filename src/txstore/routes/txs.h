// Routes over the transaction store: /api/v1/txs. Those that change something need the token and
// are audited. Each request is bounded (E11) and, if it is refused, has changed nothing.
#pragma once

#include <coffer/chain/network.h>
#include <coffer/txstore/store.h>
#include "api/routes.h"
#include "txstore/json/output.h"

namespace coffer::txstore {

struct TxAccess {
  Store* store = nullptr;  // outlives the routes; null: txstore.enabled is false
  chain::Network network;
  BlockAt block_at = nullptr;  // null: hashes of blocks are not told
  std::string pool = {};       // of workers, for a store that waits for an SQL database
};

// Without a store every route answers 503 and names the setting.
void add_tx_routes(api::RouteTable& table, TxAccess access);

}  // namespace coffer::txstore
