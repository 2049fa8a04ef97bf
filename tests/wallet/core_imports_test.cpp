// What comes from Bitcoin Core: its place in each descriptor, and which of them gives out
// addresses.
#include "base/result.h"
#include "wallet/descriptor/descriptor_text.h"
#include "wallet/import/core_export.h"
#include "wallet/support/addresses_test_base.h"

namespace coffer::wallet::test {
namespace {

class CoreImports : public Addresses {
 protected:
  static std::string with_checksum(const std::string& body) {
    return body + "#" + descriptor_checksum(body).value();
  }
  // Ranged descriptors with their flags, as Core prints them.
  static std::string active(const std::string& body, bool internal = false) {
    return fmt::format(R"json({{"desc": "{}", "timestamp": 1, "active": true, "internal": {},
      "range": [0, 9], "next": 0}})json",
                       with_checksum(body), internal);
  }
  static std::string inactive(const std::string& body) {
    return fmt::format(
        R"json({{"desc": "{}", "timestamp": 1, "active": false, "range": [0, 9], "next": 0}})json",
        with_checksum(body));
  }
  Result<Imported> import_entries(const std::vector<std::string>& entries) {
    const auto core = parse_core_export(
        network(), fmt::format(R"({{"descriptors": [{}]}})", fmt::join(entries, ",")));
    ok(core);
    return store().import_core(carol_, *core);
  }

  const std::string old_ = "wpkh(" + kTestnetKey + "/7/*)";
  const std::string change_ = "wpkh(" + kTestnetKey + "/1/*)";
  const std::string legacy_ = "pkh(" + kTestnetKey + "/0/*)";
  const std::string taproot_ = "tr(" + kTestnetKey + "/0/*)";
};
COFFER_ON_BOTH_ENGINES(CoreImports);

TEST_P(CoreImports, ContinuesAtNextIndex) {
  const std::string json = fmt::format(
      R"json({{"wallet_name": "savings", "descriptors": [
        {{"desc": "{}", "timestamp": 1, "active": true, "internal": false, "range": [0, 99],
          "next": 17, "next_index": 17}},
        {{"desc": "{}", "timestamp": 1, "active": true, "internal": true, "range": [0, 9],
          "next": 4, "next_index": 4}},
        {{"desc": "{}", "timestamp": 1, "active": false}}]}})json",
      with_checksum(receive_), with_checksum("wpkh(" + kTestnetKey + "/1/*)"),
      with_checksum("pkh(" + kPlain + ")"));
  auto core = parse_core_export(network(), json);
  ok(core);
  const auto imported = store().import_core(carol_, *core);
  ok(imported);
  EXPECT_EQ(imported->descriptors, 3u);
  EXPECT_EQ(imported->addresses, 100u + 24u + 1u);
  EXPECT_EQ(next_address(false).index, 17u);
  EXPECT_EQ(next_address(true).index, 4u);
  mine({pay({at("pkh(" + kPlain + ")", 0), at(receive_, 99)})});
  EXPECT_EQ(balance(carol_).confirmed, 20u);
  // All of it or nothing.
  core->descriptors[1].range = CoreDescriptor::Range{0, 0x7ffffffe};
  const std::string before = everything();
  const WalletId dave = make_wallet("dave", {});
  EXPECT_EQ(code(store().import_core(dave, *core)), Code::kTooLarge);
  EXPECT_EQ(number("SELECT count(*) FROM addresses WHERE wallet_id = $1", {dave}), 0);
}

TEST_P(CoreImports, ActiveDescriptorOfDefaultTypeGivesOut) {
  const std::vector<std::string> entries = {active(receive_), active(change_, true),
                                            active(legacy_), active(taproot_), inactive(old_)};
  ok(import_entries(entries));
  EXPECT_EQ(next_address().script, at(receive_, 0));
  EXPECT_EQ(next_address(true).script, at(change_, 0));
  mine({pay({at(old_, 19), at(legacy_, 3)})});
  EXPECT_EQ(balance(carol_).confirmed, 20u);
  const std::string before = everything();
  const auto again = import_entries(entries);
  ok(again);
  EXPECT_EQ(again->descriptors + again->addresses, 0u);
  EXPECT_EQ(everything(), before);
}

TEST_P(CoreImports, InactiveDescriptorIsNotPreferred) {
  import(receive_);
  EXPECT_EQ(next_address().script, at(receive_, 0));
  ok(import_entries({inactive(old_)}));
  EXPECT_EQ(next_address().script, at(receive_, 1));
  mine({pay({at(receive_, 21)})});
  EXPECT_EQ(next_address().script, at(receive_, 22));
  // It is in use by itself where there is no other.
  const WalletId dave = make_wallet("dave", {});
  const auto core = parse_core_export(network(), R"({"descriptors": [)" + inactive(old_) + "]}");
  ok(store().import_core(dave, *core));
  EXPECT_EQ(store().new_address(dave, "default", false)->script, at(old_, 0));
}

TEST_P(CoreImports, DeactivatedDescriptorIsDemoted) {
  ok(import_entries({active(receive_)}));
  ok(import_entries({active(old_), active(change_, true)}));
  EXPECT_EQ(next_address().script, at(old_, 0));
  // Core says nothing of what an inactive one is for.
  const auto turned = import_entries({active(receive_), inactive(old_), inactive(change_)});
  ok(turned);
  EXPECT_EQ(turned->descriptors, 0u);
  EXPECT_EQ(next_address().script, at(receive_, 0));
  EXPECT_EQ(next_address(true).script, at(change_, 0));
}

}  // namespace
}  // namespace coffer::wallet::test
