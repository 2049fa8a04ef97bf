// Follows a simulated chain into a UTXO store, then asks it. Give another source and its network
// for a real one: follow_utxo DIRECTORY rpc:http://127.0.0.1:8332?cookie=… mainnet
#include <coffer/chain/address.h>
#include <coffer/feed/source.h>
#include <coffer/follow/follower.h>
#include <coffer/utxo/store.h>

#include <iostream>

using namespace coffer;

int main(int argc, char** argv) try {
  const std::string directory = argc > 1 ? argv[1] : "example-utxo";
  const std::string from = argc > 2 ? argv[2] : "devnet";
  const auto network = chain::find_network("bitcoin", argc > 3 ? argv[3] : "devnet").value();

  kv::DatabaseOptions options;
  options.path = directory;
  options.columns = chainstate::ChainState::columns();
  for (auto& column : utxo::columns({})) options.columns.push_back(column);
  const auto db = kv::Database::open(options).value();
  const auto chain = chainstate::ChainState::open(*db, network, chainstate::Identity::of(network),
                                                  network.rollback_window)
                         .value();
  const auto store = utxo::Store::open(*db, network, {}, {}).value();

  bus::Bus bus;
  bus.add(*store);
  bus.start();
  const auto source = feed::open_source(from, network, system_clock()).value();
  follow::FollowerOptions until;
  until.stop_number = 200;
  follow::Follower(*source, network, *chain, bus, until).run().value();
  bus.drain().value();
  bus.stop();

  const auto stats = store->state().stats().value();
  std::cout << "block " << stats.number.value << ", " << stats.unspent << " unspent outputs\n";
  Bytes address;  // of one of them
  const auto take = [&](const utxo::Utxo& utxo) {
    address.assign(utxo.record.address.begin(), utxo.record.address.end());
    return false;
  };
  (void)store->state().for_each(take).value();
  const auto page = store->state().by_address(address, {}).value();
  std::cout << chain::address_text(network, address).value_or(to_hex(address)) << " holds "
            << page.utxos.size() << " of them, the first worth "
            << page.utxos.front().record.amount.value << " satoshi\n";
} catch (const std::bad_expected_access<Error>& failed) {
  std::cerr << failed.error().message << "\n";
  return 1;
}
