// What the parser refuses, with which words and at which position.
#include <gtest/gtest.h>

#include "base/result.h"
#include "wallet/descriptor/descriptor.h"
#include "wallet/descriptor/descriptor_test_util.h"
#include "wallet/descriptor/descriptor_text.h"
#include "wallet/descriptor/scripts.h"

namespace coffer::wallet {
namespace {

std::string multi(std::size_t threshold, std::size_t keys, const std::string& key = kPlain) {
  std::string text = fmt::format("multi({}", threshold);
  for (std::size_t i = 0; i < keys; ++i) text += "," + key;
  return text + ")";
}

TEST(DescriptorErrors, Bip380Checksums) {
  EXPECT_EQ(message_of("raw(deadbeef)#89f8spxm"), "accepted");
  EXPECT_EQ(message_of("raw(deadbeef)"), "accepted");
  EXPECT_EQ(message_of("raw(deadbeef)#"), "position 14: a checksum has 8 characters, not 0");
  EXPECT_EQ(message_of("raw(deadbeef)#89f8spxmx"),
            "position 14: a checksum has 8 characters, not 9");
  EXPECT_EQ(message_of("raw(deadbeef)#89f8spx"), "position 14: a checksum has 8 characters, not 7");
  const std::string right = descriptor_checksum("raw(deedbeef)").value();
  EXPECT_EQ(message_of("raw(deedbeef)#89f8spxm"),
            "position 14: wrong checksum: " + right +
                " would be right for this text, so either it or the text has an error");
  EXPECT_EQ(message_of("raw(deedbeef)##9f8spxm"), "position 14: a second '#'");
  EXPECT_EQ(message_of("raw(\xc3\x9c)#00000000"),
            "position 4: a character that no descriptor may have");
}

TEST(DescriptorErrors, Bip380KeyExpressions) {
  struct Case {
    std::string key;
    std::size_t position;  // counted from the key
    std::string expected;
  };
  const Case cases[] = {
      {"[deadbeef/0h/0h/0h/*]" + kPlain, 19, "a step of a path"},
      {"[deadbeef/0h/0h/0h/]" + kPlain, 19, "a step of a path"},
      {"[deadbef/0h/0h/0h]" + kPlain, 1, "a key origin begins"},
      {"[deadbeeef/0h/0h/0h]" + kPlain, 1, "a key origin begins"},
      {"[gaaaaaaa]" + kPlain, 1, "a key origin begins"},
      {"[deadbeef/0f/0f/0f]" + kPlain, 10, "a step of a path"},
      {"[deadbeef/0H/0H/0H]" + kPlain, 10, "a step of a path"},
      {"[deadbeef/-0/-0/-0]" + kPlain, 10, "a step of a path"},
      {kKeyA + "/2147483648", 112, "a step of a path"},
      {kKeyA + "/4294967296", 112, "a step of a path"},
      {kKeyA + "/1aa", 112, "a step of a path"},
      {kKeyA + "/", 112, "a step of a path"},
      {kKeyA + "/*/0", 114, "a path ends at its '*'"},
      {kKeyA + "/*/*", 114, "a path ends at its '*'"},
      {"[aaaaaaaa][aaaaaaaa]" + kKeyA, 19, "a ']' that closes no key origin"},
      {"aaaaaaaa]" + kKeyA, 8, "a ']' that closes no key origin"},
      {"[deadbeef]", 10, "a key is missing"},
      {"[deadbeef", 0, "the key origin has no ']'"},
      {"", 0, "a key is missing"},
      {kPlain + "/0", 67, "only an extended key can be followed by a path"},
      {kPlain + "0", 0, "a key with an odd number"},
      {kPlain.substr(0, 64), 0, "a public key has 33 bytes"},
      {"07" + kUncompressed.substr(2), 0, "a public key has 33 bytes"},
      {"pk(" + kPlain + ")", 0, "not a key: base58"},
      {kKeyA + "/<0;1>/<2;3>", 118, "a second list of alternatives"},
      {"[deadbeef/<0;1>]" + kKeyA, 10, "a step of a path"},
      {kKeyA + "/<>/*", 112, "a list of alternatives has 2 to 16"},
      {kKeyA + "/<0>/*", 112, "a list of alternatives has 2 to 16"},
      {kKeyA + "/0>/*", 112, "a step of a path"},
      {kKeyA + "/<0/*", 112, "alternatives that do not end with '>'"},
      {kKeyA + "/<0;>/*", 115, "a step of a path"},
      {kKeyA + "/<0;1;0>", 117, "an alternative that is there already"},
      {kTestnetKey, 0, "an extended key of another network than mainnet"},
  };
  for (const auto& [key, position, expected] : cases) {
    const std::string message = message_of("pk(" + key + ")");
    EXPECT_TRUE(message.starts_with(fmt::format("position {}: {}", 3 + position, expected)))
        << key << "\n"
        << message;
  }
}

TEST(DescriptorErrors, MisplacedFunctions) {
  const std::pair<std::string, std::string> cases[] = {
      {"sh(" + kPlain + ")", "position 3: a function is needed here"},
      {"wsh(" + kPlain + ")", "position 4: a function is needed here"},
      {"", "position 0: a function is needed here"},
      {"pk", "position 0: a function is needed here"},
      {"pk(" + kPlain, "position 69: the text does not end with ')'"},
      {"pk(" + kPlain + ") ", "position 71: the text does not end with ')'"},
      {"sh(sh(pk(" + kPlain + ")))", "position 3: sh() cannot stand inside sh()"},
      {"wsh(sh(pk(" + kPlain + ")))", "position 4: sh() cannot stand inside wsh()"},
      {"wsh(wsh(pk(" + kPlain + ")))", "position 4: wsh() cannot stand inside wsh()"},
      {"sh(wsh(wsh(pk(" + kPlain + "))))", "position 7: wsh() cannot stand inside wsh()"},
      {"wsh(wpkh(" + kPlain + "))", "position 4: wpkh() cannot stand inside wsh()"},
      {"sh(wsh(wpkh(" + kPlain + ")))", "position 7: wpkh() cannot stand inside wsh()"},
      {"sh(combo(" + kPlain + "))", "position 3: combo() cannot stand inside sh()"},
      {"wsh(tr(" + kPlain.substr(2) + "))", "position 4: tr() cannot stand inside wsh()"},
      {"sh(raw(deadbeef))", "position 3: raw() cannot stand inside sh()"},
      {"wsh(addr(3PUNyaW7M55oKWJ3kDukwk9bsKvryra15j))", "position 4: addr() cannot stand"},
      {"rawtr(" + kPlain.substr(2) + ")", "position 0: no function that Coffer knows"},
      {"PK(" + kPlain + ")", "position 0: no function that Coffer knows"},
      {"tr(" + kPlain.substr(2) + ",pk(" + kPlain + "))", "position 67: script trees"},
      {"pkh(" + kPlain + "," + kPlain + ")", "position 70: pkh() takes one key"},
      {"wpkh(" + kUncompressed + ")", "position 5: an uncompressed key cannot be used here"},
      {"wsh(pk(" + kUncompressed + "))", "position 7: an uncompressed key cannot be used here"},
      {"tr(" + kUncompressed + ")", "position 3: an uncompressed key cannot be used here"},
      {"raw()", "position 4: a script is missing"},
      {"raw(asdf)", "the script from position 4: "},
      {"addr(asdf)", "position 5: "},
      {"addr(2N7K71Qaxd5zcgarLq9J1MFGWyjfrTtqwX6)", "position 5: an address of another network"},
  };
  for (const auto& [text, expected] : cases)
    EXPECT_TRUE(message_of(text).starts_with(expected)) << text << "\n" << message_of(text);
}

TEST(DescriptorErrors, Multisig) {
  const std::string begins = "a multisig begins with the number of signatures it needs";
  EXPECT_EQ(message_of("multi(a," + kPlain + ")"), "position 6: " + begins);
  EXPECT_EQ(message_of("multi(0," + kPlain + ")"), "position 6: " + begins);
  EXPECT_EQ(message_of("multi(-1," + kPlain + ")"), "position 6: " + begins);
  EXPECT_EQ(message_of("multi(pk())"), "position 6: " + begins);
  EXPECT_EQ(message_of("multi(1)"),
            "position 6: 0 keys, where a multisig outside sh() and wsh() has 1 to 3");
  EXPECT_EQ(message_of(multi(3, 2)), "position 6: 3 signatures of 2 keys are needed");
  EXPECT_EQ(message_of("sh(multi(1," + kKeyA + "/<0;1>," + kKeyB + "/<0;1;2>))"),
            "position 129: 3 alternatives, where an earlier key has 2");
}

TEST(DescriptorErrors, LimitsAreExact) {
  EXPECT_EQ(message_of(multi(3, 3)), "accepted");
  EXPECT_EQ(message_of(multi(3, 4)),
            "position 6: 4 keys, where a multisig outside sh() and wsh() has 1 to 3");
  EXPECT_EQ(message_of("sh(" + multi(15, 15) + ")"), "accepted");
  EXPECT_EQ(message_of("sh(" + multi(16, 16) + ")"),
            "position 9: a script of 547 bytes is too large for sh(), which takes 520");
  EXPECT_EQ(message_of("sh(" + multi(1, 7, kUncompressed) + ")"), "accepted");
  EXPECT_EQ(message_of("sh(" + multi(1, 8, kUncompressed) + ")"),
            "position 9: a script of 531 bytes is too large for sh(), which takes 520");
  EXPECT_EQ(message_of("wsh(" + multi(20, 20) + ")"), "accepted");
  EXPECT_EQ(message_of("sh(wsh(" + multi(20, 21) + "))"),
            "position 13: 21 keys, where a multisig has 1 to 20");
  EXPECT_EQ(message_of("raw(" + std::string(2 * kMaxScriptBytes, '0') + ")"), "accepted");
  EXPECT_EQ(message_of("raw(" + std::string(2 * kMaxScriptBytes + 2, '0') + ")"),
            "position 4: a script of more than 10000 bytes");
  const auto too_long = parse_descriptors(bitcoin(), std::string(kMaxDescriptorText + 1, 'a'));
  EXPECT_EQ(too_long.error().code, Code::kTooLarge);
}

TEST(DescriptorErrors, PathLengthIsBounded) {
  std::string path;
  for (std::size_t i = 0; i < kMaxPathSteps; ++i) path += "/0";
  EXPECT_EQ(message_of("pk([00000000" + path + "]" + kKeyA + path + "/*)"), "accepted");
  EXPECT_EQ(message_of("pk(" + kKeyA + path + "/0)"), "position 179: a path of more than 32 steps");
  EXPECT_EQ(message_of("pk([00000000" + path + "/0]" + kPlain + ")"),
            "position 77: a path of more than 32 steps");
  auto deep = crypto::ExtendedPublicKey::parse(kKeyA).value();
  deep.depth = 250;
  EXPECT_EQ(message_of("pk(" + deep.text() + "/0/0/0/0/0)"), "accepted");
  EXPECT_EQ(message_of("pk(" + deep.text() + "/0/0/0/0/0/*)"),
            "position 3: a path that leads below depth 255");
}

TEST(DescriptorErrors, PrivateKeyIsRefusedAndNotEchoed) {
  for (const std::string& secret : {kSecretXprv, kSecretWif})
    for (const std::string format :
         {"pk({})", "wpkh([d34db33f/84h]{}/0/*)", "sh(wsh(multi(1,{})))", "tr({})", "combo({}/*)",
          "sh(wsh({}))", "{}", "addr({})", "raw({})", "{}({})", "pk({}", "multi({})", "pk([{}]aa)",
          "pk({})#{}", "pk(x/{})", "tr(aa,{})"}) {
      const std::string text = fmt::format(fmt::runtime(format), secret, secret);
      const std::string message = message_of(text);
      EXPECT_NE(message, "accepted") << format;
      EXPECT_FALSE(leaks(message, secret)) << format << ": " << message;
    }
  EXPECT_EQ(message_of("pk([d34db33f]" + kSecretXprv + "/0)"),
            "position 13: this is a private key: Coffer never holds any; give the public key "
            "(xpub) instead");
}

TEST(DescriptorErrors, OtherNetworkIsRefused) {
  EXPECT_EQ(message_of("pk(" + kTestnetKey + ")", "testnet"), "accepted");
  EXPECT_EQ(message_of("pk(" + kTestnetKey + ")", "regtest"), "accepted");
  EXPECT_EQ(message_of("pk(" + kKeyA + ")", "regtest"),
            "position 3: an extended key of another network than regtest");
  EXPECT_EQ(message_of("addr(2N7K71Qaxd5zcgarLq9J1MFGWyjfrTtqwX6)", "regtest"), "accepted");
  const auto cardano = chain::find_network("cardano", "mainnet").value();
  EXPECT_FALSE(parse_descriptors(cardano, "raw(51)"));
}

}  // namespace
}  // namespace coffer::wallet
