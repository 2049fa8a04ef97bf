#include "node/stored_chain.h"

#include "base/result.h"
#include "node/database.h"

namespace coffer::node {

Result<StoredChain> open_stored_chain(const config::Config& config, kv::Database& db) {
  const auto identity = TRY(stored_identity(db));
  if (!identity)
    return fail(Code::kNotFound, "there is no block in {} yet; start coffer to import some",
                config.data_dir);
  StoredChain stored;
  stored.network = TRY(identity->to_network());
  const std::uint64_t window =
      config.chainstate.rollback_window.value_or(stored.network.rollback_window);
  stored.chain = TRY(chainstate::ChainState::open(db, stored.network, *identity, window));
  return stored;
}

Result<std::optional<Hash256>> block_at(const chainstate::ChainState& chain, std::uint64_t height) {
  const auto found = TRY(chain.at(Ordinal(height)));
  if (!found) return std::nullopt;
  return found->hash;
}

std::function<Result<std::optional<Hash256>>(std::uint64_t)> stored_blocks(
    const config::Config& config, const chain::Network& network) {
  struct Opened {
    std::unique_ptr<kv::Database> db;
    StoredChain stored;
  };
  auto kept = std::make_shared<std::optional<Opened>>();
  return
      [config, name = network.name, kept](std::uint64_t height) -> Result<std::optional<Hash256>> {
        if (!*kept) {
          const auto found = TRY(data_identity(config));
          if (!found || found->network != name) return std::nullopt;
          Opened opened;
          kv::DatabaseOptions options = TRY(database_options(config, true));
          opened.db = TRY(kv::Database::open(options));
          opened.stored = TRY(open_stored_chain(config, *opened.db));
          *kept = std::move(opened);
        }
        return block_at(*(*kept)->stored.chain, height);
      };
}

}  // namespace coffer::node
