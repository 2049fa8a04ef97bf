// The open columns of the UTXO state.
#pragma once

#include <coffer/chain/network.h>
#include <coffer/kv/database.h>

namespace coffer::utxo {

struct Columns {
  kv::Column unspent, spent, addr, cred, delta, meta;
  kv::Column mmr;  // only with store mmr
};

inline constexpr const char* kColumnNames[] = {"utxo_unspent",  "utxo_spent",       "utxo_addr",
                                               "utxo_cred",     "utxo_block_delta", "utxo_meta",
                                               "utxo_mmr_nodes"};

// Errors: kNotFound if one of them is not open.
Result<Columns> open_columns(const kv::Database& db, bool with_mmr);

}  // namespace coffer::utxo
