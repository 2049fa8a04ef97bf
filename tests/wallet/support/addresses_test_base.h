// A wallet, carol's, that watches descriptors of one key.
#pragma once

#include "wallet/descriptor/descriptor_test_util.h"
#include "wallet/support/wallet_test.h"

namespace coffer::wallet::test {

class Addresses : public WalletTest {
 protected:
  const std::string both_ = "wpkh(" + kTestnetKey + "/<0;1>/*)";
  const std::string receive_ = "wpkh(" + kTestnetKey + "/0/*)";
  const std::string combo_ = "combo(" + kTestnetKey + "/0/*)";

  void SetUp() override {
    WalletTest::SetUp();
    if (engine_ != nullptr) carol_ = make_wallet("carol", {});
  }
  void import(const std::string& text, std::optional<WalletId> wallet = {}) {
    ok(store().import_descriptor(wallet.value_or(carol_), text, {}));
  }
  // A script of a descriptor: of its branch, at an index, and of several the n-th.
  Bytes at(const std::string& text, std::uint32_t index, std::size_t branch = 0,
           std::size_t nth = 0) {
    const auto parsed = parse_descriptors(network(), text);
    return (*parsed)[branch].derive(index).value()[nth];
  }
  MadeTx pay(const std::vector<Bytes>& scripts) {
    std::vector<Pay> pays;
    pays.reserve(scripts.size());
    for (const Bytes& to : scripts) pays.push_back({to, 10});
    ++nonce_;
    return make_tx({foreign(1'000'000 + nonce_)}, std::move(pays), nonce_);
  }
  DescriptorInfo info(std::size_t nth = 0) { return store().descriptors(carol_)->at(nth); }
  AddressInfo next_address(bool internal = false) {
    const auto given = store().new_address(carol_, "default", internal);
    ok(given);
    return given.value_or(AddressInfo{});
  }

  WalletId carol_;
};

}  // namespace coffer::wallet::test
