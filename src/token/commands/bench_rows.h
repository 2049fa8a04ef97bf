// The limit of `coffer bench token`: the rows that a batch of transfers leaves behind, written with
// nothing judged and nothing computed by the database.
#pragma once

#include <map>

#include <coffer/token/store.h>
#include "base/result.h"

namespace coffer::token {

// Tables as a community's (columns, checks, indexes, foreign keys of transactions), without a
// trigger, in a schema of their own. Balances and versions are computed here, in memory.
class RawRows {
 public:
  // Makes the schema from that of a community; one of that name goes first.
  static Result<RawRows> make(sql::Database& database, std::string schema,
                              const std::string& community, std::span<const Uuid> wallets);
  Result<> drop();

  // One durable transaction, in one wait for the server: transactions with their side indexes,
  // entries, outbox, details, and the last balance of each wallet.
  Result<> insert_all(sql::Connection& connection, std::span<const Transfer> transfers);

 private:
  struct Head {
    std::int64_t balance = 0, version = 0;
  };
  RawRows(sql::Database& database, std::string schema)
      : database_(&database), schema_(std::move(schema)) {}
  std::string sql(std::string_view text) const;

  sql::Database* database_;
  std::string schema_;
  std::map<Uuid, Head> heads_;
};

}  // namespace coffer::token
