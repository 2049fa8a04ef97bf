#include "txstore/sql/backend.h"

#include "base/result.h"
#include "txstore/sql/unit.h"

namespace coffer::txstore {
namespace {

// Each time somebody else has stored one of the same transactions.
constexpr int kMostLostRaces = 20;

class SqlBackend final : public Backend {
 public:
  explicit SqlBackend(sql::Database& db) : db_(db), statements_(db.dialect()) {}

  std::string_view name() const override { return sql::name_of(db_.dialect()); }

  Result<> run(Hold hold, const std::function<Result<>(Unit&)>& body) override {
    for (int attempt = 1;; ++attempt) {
      bool lost_race = false;
      auto done = db_.run_transaction([&](sql::Transaction& sql) -> Result<> {
        SqlUnit unit(sql, statements_);
        TRY(unit.begin(hold));
        auto answer = body(unit);
        lost_race = unit.has_lost_race();
        return answer;
      });
      if (done || !lost_race || attempt == kMostLostRaces) return done;
    }
  }

  Result<> read(const std::function<Result<>(View&)>& body) override {
    return db_.run_transaction(
        [&](sql::Transaction& sql) -> Result<> {
          SqlView view(sql, statements_);
          TRY(view.begin());
          return body(view);
        },
        {.access = sql::Access::kRead});
  }

  bool can_wait() const override { return db_.dialect() == sql::Dialect::kPostgres; }

  std::uint64_t disk_bytes() const override {
    auto connection = db_.acquire();
    if (!connection) return 0;
    const auto bytes = connection->value<std::uint64_t>(statements_.disk_bytes);
    return bytes && *bytes ? **bytes : 0;
  }

 private:
  sql::Database& db_;
  const Statements statements_;
};

}  // namespace

sql::MigrateOptions migrations(const chain::Network& network) {
  sql::MigrateOptions options;
  options.known = embedded_migrations();
  options.identity = sql::Identity{.chain = std::string(network.chain_name()),
                                   .network = network.name,
                                   .genesis = network.genesis};
  return options;
}

Result<std::unique_ptr<Backend>> open_sql(sql::Database& db, const chain::Network& network,
                                          sql::Schema schema) {
  (void)TRY(sql::prepare_schema(db, migrations(network), schema));
  return std::make_unique<SqlBackend>(db);
}

}  // namespace coffer::txstore
