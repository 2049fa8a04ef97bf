// The wallets as a module of the program: database, store and consumer of a running node.
#pragma once

#include <coffer/wallet/consumer.h>
#include "node/module.h"
#include "wallet/routes/metrics.h"
#include "wallet/sync/maintenance.h"

namespace coffer::wallet {

class WalletModule final : public node::OpenModule {
 public:
  explicit WalletModule(const node::OpenContext& context)
      : config_(context.config), network_(context.network), read_only_(context.read_only) {}
  ~WalletModule() override { stop(); }

  // Errors: those of sql::Database::open and Store::open.
  Result<> open(const node::OpenContext& context);

  bus::Consumer* consumer() override { return consumer_.get(); }
  std::optional<bus::Position> stored_position() const override;
  std::optional<std::string> status() const override;
  std::vector<const sql::Database*> databases() const override;
  void add_routes(api::RouteTable& table) override;
  void start(api::Metrics& metrics) override;
  void stop() override;

  // Null when there are no wallets.
  Maintenance* maintenance() { return maintenance_.get(); }

 private:
  const config::Config& config_;
  const chain::Network& network_;
  const bool read_only_;
  std::unique_ptr<sql::Database> database_;
  std::unique_ptr<Store> store_;
  std::unique_ptr<Consumer> consumer_;
  std::unique_ptr<Maintenance> maintenance_;
  std::unique_ptr<WalletMonitor> monitor_;
};

const node::Module& wallet_module();

}  // namespace coffer::wallet
