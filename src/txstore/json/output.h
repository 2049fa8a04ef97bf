// The transaction store in JSON: one form for HTTP and command line.
// Invariant: a field's type never depends on its value (U9): amounts are strings, what is absent is
// null, and each chain always has the same fields.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <coffer/chain/block.h>
#include <coffer/txstore/store.h>
#include "api/routes.h"
#include "txstore/json/input.h"

namespace coffer::json {
class Writer;
}

namespace coffer::txstore {

// The block at a height of the longest chain, if there is one so high.
using BlockAt = std::function<Result<std::optional<Hash256>>(std::uint64_t height)>;

// Everything that is told of one transaction. Outputs: the part that was asked for.
struct TxDetail {
  StoredTx tx;
  TxBody body;
  std::uint32_t outputs_from = 0;
  std::vector<StoredOutput> outputs;
  Tip tip;
  std::optional<Hash256> block_hash;  // of its block on the longest chain, if that is known
  // The decoded bytes: its only row is the transaction. None if there are no bytes, or if they are
  // of a form that is only decoded within its block (Byron).
  std::optional<chain::Block> decoded;

  std::optional<std::uint64_t> height() const;  // on the longest chain
  std::uint64_t confirmations() const;
  // The first output after those here; nothing at the end.
  std::optional<std::uint64_t> next_output() const;
  // What the decoded transaction says of an output; null if it is not decoded.
  const chain::Output* decoded_output(std::uint32_t index) const;
};

// All below are thread-safe, and linear in what they write.

// Errors: kNotFound with the words of absence_text(); those of the store.
Result<TxDetail> read_detail(const Store& store, const BlockAt& block_at, const Hash256& id,
                             const OutputRange& range);

std::string tx_json(const chain::Network& network, const TxDetail& detail);
std::string raw_json(const chain::Network& network, const Hash256& id, ByteView raw);
std::string retention_json(const Store& store, const Explanation& found);
// {"tx_hash", "stored": false, "absence", "detail"}: of what is not stored.
std::string absence_json(const Store& store, const Hash256& id, Absence absence);
// A transaction in lists and in `dump --json`.
void write_stored_tx(coffer::json::Writer& out, chain::Family family, const StoredTx& tx);
std::string list_json(chain::Family family, const Store::ListPage& page);
std::string stats_json(std::string_view backend, const Store& store, const Stats& stats);

// "lovelace" or "satoshi".
std::string_view coin_unit(chain::Family family);
// The eight bytes of a block's hash that transactions remember, as they stand in the printed hash.
std::string block_id_text(chain::Family family, std::uint64_t id);

// Their JSON Schemas, for /openapi.json.
void add_tx_schemas(api::RouteTable& table, chain::Family family);

}  // namespace coffer::txstore
