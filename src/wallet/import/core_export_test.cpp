#include "wallet/import/core_export.h"

#include <gtest/gtest.h>

#include "base/result.h"
#include "wallet/descriptor/descriptor_test_util.h"
#include "wallet/descriptor/descriptor_text.h"

namespace coffer::wallet {
namespace {

std::string with_checksum(const std::string& body) {
  return body + "#" + descriptor_checksum(body).value();
}

// As `bitcoin-cli listdescriptors` prints it, with four of its descriptors; the second as older
// versions do, without "next_index".
std::string exported(const std::string& first) {
  return fmt::format(
      R"json({{
  "wallet_name": "savings",
  "descriptors": [
    {{"desc": "{}", "timestamp": 1700000000, "active": true, "internal": false,
     "range": [0, 999], "next": 17, "next_index": 17}},
    {{"desc": "{}", "timestamp": 1700000000, "active": true, "internal": true,
     "range": [0, 1003], "next": 4}},
    {{"desc": "{}", "timestamp": 1, "active": false}},
    {{"desc": "addr(3PUNyaW7M55oKWJ3kDukwk9bsKvryra15j)"}}
  ]
}})json",
      first, with_checksum("wpkh([d34db33f/84'/0'/0']" + kKeyA + "/1/*)"),
      with_checksum("pkh(" + kPlain + ")"));
}
const std::string kFirst = with_checksum("wpkh([d34db33f/84'/0'/0']" + kKeyA + "/0/*)");

std::string message_of_export(const std::string& json) {
  const auto result = parse_core_export(bitcoin(), json);
  return result ? "accepted" : result.error().message;
}

TEST(CoreExport, ListDescriptorsOutput) {
  const auto result = parse_core_export(bitcoin(), exported(kFirst));
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->wallet_name, "savings");
  ASSERT_EQ(result->descriptors.size(), 4u);
  const CoreDescriptor& receive = result->descriptors[0];
  EXPECT_EQ(receive.descriptor.text(), kFirst);
  EXPECT_TRUE(receive.active);
  EXPECT_FALSE(receive.internal);
  EXPECT_EQ(receive.range, (CoreDescriptor::Range{0, 999}));
  EXPECT_EQ(receive.next_index, 17u);
  EXPECT_EQ(receive.birthday_s, 1'700'000'000u);
  const CoreDescriptor& change = result->descriptors[1];
  EXPECT_TRUE(change.internal);
  EXPECT_EQ(change.next_index, 4u);
  const CoreDescriptor& single = result->descriptors[2];
  EXPECT_FALSE(single.active);
  EXPECT_FALSE(single.range || single.next_index);
  EXPECT_EQ(single.birthday_s, 1u);
  EXPECT_EQ(result->descriptors[3].birthday_s, 0u);
}

TEST(CoreExport, RpcResponse) {
  const auto result = parse_core_export(
      bitcoin(), R"({"result": )" + exported(kFirst) + R"(, "error": null, "id": 1})");
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(result->descriptors.size(), 4u);
  EXPECT_FALSE(parse_core_export(bitcoin(), R"({"result": null, "error": {"code": -4}})"));
}

TEST(CoreExport, PrivateKeyIsRefusedAndNotEchoed) {
  const std::string message =
      message_of_export(exported("wpkh(" + kSecretXprv + "/84h/0h/0h/0/*)"));
  EXPECT_TRUE(message.starts_with("descriptors[0]: position 5: this is a private key")) << message;
  EXPECT_FALSE(leaks(message, kSecretXprv));
}

TEST(CoreExport, ErrorsNameEntryAndField) {
  const std::string good = "\"desc\": \"" + kFirst + "\"";
  const std::pair<std::string, std::string> cases[] = {
      {R"json({"desc": "wpkh(x)"})json", "descriptors[0]: position 5: not a key"},
      {R"({"timestamp": 1})", "descriptors[0]: \"desc\" is missing"},
      {R"({"desc": 1})", "descriptors[0]: \"desc\" is not a text"},
      {"7", "descriptors[0]: not an object"},
      {"{" + good + R"(, "active": 1})", "descriptors[0]: \"active\" is not true or false"},
      {"{" + good + R"(, "timestamp": "now"})", "descriptors[0]: \"timestamp\" is not a whole"},
      {"{" + good + R"(, "timestamp": -1})", "descriptors[0]: \"timestamp\" is not a whole"},
      {"{" + good + R"(, "range": 999})", "descriptors[0]: \"range\" is not a pair"},
      {"{" + good + R"(, "range": [0, 2147483648]})", "descriptors[0]: \"range\" is not a whole"},
      {"{" + good + R"(, "range": [5, 4]})", "descriptors[0]: \"range\" ends before it begins"},
      {"{" + good + R"(, "next_index": 1.5})", "descriptors[0]: \"next_index\" is not a whole"},
      {R"json({"desc": "raw(51)", "range": [0, 1]})json",
       "descriptors[0]: a range for a descriptor"},
      {"{\"desc\": \"wpkh(" + kKeyA + "/<0;1>/*)\"}",
       "descriptors[0]: the descriptor's alternatives"},
      {"{\"desc\": \"wpkh(" + kKeyA + "/0h/*)\"}", "descriptors[0]: the hardened step 0h needs"},
  };
  for (const auto& [entry, expected] : cases) {
    const std::string message = message_of_export(R"({"descriptors": [)" + entry + "]}");
    EXPECT_TRUE(message.starts_with(expected)) << message;
  }
  EXPECT_EQ(message_of_export(R"({"descriptors": []})"), "accepted");
  EXPECT_TRUE(message_of_export("{").starts_with("not JSON: "));
  EXPECT_TRUE(message_of_export("[]").starts_with("not what listdescriptors prints"));
  EXPECT_EQ(message_of_export(R"({"descriptors": {}})"), "\"descriptors\" is not a list");
  EXPECT_EQ(message_of_export(R"({"descriptors": [], "descriptors": []})"),
            "a field is there twice");
  EXPECT_EQ(message_of_export(R"({"a": ":\":", "descriptors": [], "b": {"a": [{"a": 1}]}})"),
            "accepted");
}

TEST(CoreExport, SizeIsBounded) {
  std::string many = R"({"descriptors": [0)";
  for (std::size_t i = 0; i < kMaxCoreExportDescriptors; ++i) many += ",0";
  EXPECT_EQ(parse_core_export(bitcoin(), many + "]}").error().code, Code::kTooLarge);
  const std::string large(kMaxCoreExportBytes + 1, ' ');
  EXPECT_EQ(parse_core_export(bitcoin(), large).error().code, Code::kTooLarge);
  EXPECT_EQ(parse_core_export(bitcoin(), std::string(1000, '[')).error().code, Code::kInvalidInput);
}

TEST(CoreExport, TruncationIsRefused) {
  const std::string whole = exported(kFirst);
  const chain::Network network = bitcoin();
  for (std::size_t length = 0; length < whole.size(); ++length)
    EXPECT_FALSE(parse_core_export(network, whole.substr(0, length))) << length;
}

}  // namespace
}  // namespace coffer::wallet
