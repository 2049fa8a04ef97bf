// Opens a wallet, imports a descriptor, feeds blocks, asks the balance and leases coins.
#include <coffer/chain/decode.h>
#include <coffer/feed/source.h>
#include <coffer/wallet/consumer.h>

#include <iostream>
using namespace coffer;

int main(int argc, char** argv) try {
  const auto network = chain::find_network("bitcoin", "devnet").value();
  const std::string file = argc > 1 ? argv[1] : "example-wallet.db";
  const auto database = sql::Database::open({.location = "sqlite:" + file}).value();
  const auto store = wallet::Store::open(*database, network).value();
  const auto consumer = wallet::Consumer::open(*store).value();
  const auto shop = store->create({.name = "shop"}).value().id;
  const auto source = feed::open_source("devnet", network, system_clock()).value();
  (void)source->intersect({}).value();
  std::vector<bus::Position> chain;
  while (chain.size() <= 200) {
    auto event = source->next(1'000).value();
    if (!std::holds_alternative<feed::NextBlock>(event)) continue;
    const auto& raw = std::get<feed::NextBlock>(event).raw;
    const auto block = std::make_shared<chain::Block>(chain::decode(network, raw).value());
    // The predecessor of a block tells whether the source changed branches.
    while (!chain.empty() && chain.back().point.hash != block->prev) chain.pop_back();
    if (consumer->position().block_count() > chain.size())
      consumer->on_rollback({chain.back()}).value();
    block->number = BlockNumber(chain.size());
    block->slot = Slot(chain.size());
    const auto paid_here = "raw(" + to_hex(block->outputs.front().address) + ")";
    if (chain.size() == 100) (void)store->import_descriptor(shop, paid_here, {}).value();
    chain.push_back(bus::BlockApplied{Ordinal(chain.size()), block}.position());
    consumer->on_block({Ordinal(chain.size() - 1), block}).value();
  }
  std::cout << "confirmed " << store->balance(shop, {}).value().confirmed << " satoshi\n";
  const auto leased = store->select_and_lease(shop, {.amount = 1, .duration_ms = 60'000}).value();
  std::cout << "leased " << leased.amount << " satoshi for a minute\n";
} catch (const std::bad_expected_access<Error>& failed) {
  std::cerr << failed.error().message << "\n";
  return 1;
}
