#include "wallet/descriptor/descriptor.h"

#include <gtest/gtest.h>

#include <coffer/chain/address.h>
#include "base/random.h"
#include "base/result.h"
#include "wallet/descriptor/descriptor_test_util.h"
#include "wallet/descriptor/descriptor_text.h"

namespace coffer::wallet {
namespace {

using Scripts = std::vector<std::string>;
using Derived = std::vector<Bytes>;

// All scripts of the first `count` indices, in hex.
Scripts scripts_of(const std::string& text, std::uint32_t count = 1) {
  const auto descriptor = parse_descriptor(bitcoin(), text);
  if (!descriptor) return {descriptor.error().message};
  Scripts out;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto derived = descriptor->derive(i);
    if (!derived) return {derived.error().message};
    for (const Bytes& script : *derived) out.push_back(to_hex(script));
  }
  return out;
}

std::string call(std::string_view format, const std::string& argument = kPlain) {
  return fmt::format(fmt::runtime(format), argument);
}

TEST(Descriptor, Bip381OldScripts) {
  EXPECT_EQ(scripts_of(call("pk({})")), Scripts{"21" + kPlain + "ac"});
  EXPECT_EQ(scripts_of(call("pk({})", kUncompressed)), Scripts{"41" + kUncompressed + "ac"});
  for (const char* origin : {"", "[deadbeef/1/2'/3/4']", "[deadbeef/1/2h/3/4h]"})
    EXPECT_EQ(scripts_of(fmt::format("pkh({}{})", origin, kPlain)),
              Scripts{"76a9149a1c78a507689f6f54b847ad1cef1e614ee23f1e88ac"});
  EXPECT_EQ(scripts_of(call("pkh({})", kUncompressed)),
            Scripts{"76a914b5bd079c4d57cc7fc28ecf8213a6b791625b818388ac"});
  EXPECT_EQ(scripts_of(call("sh(pk({}))")),
            Scripts{"a9141857af51a5e516552b3086430fd8ce55f7c1a52487"});
  EXPECT_EQ(scripts_of(call("sh(pkh({}))")),
            Scripts{"a9141a31ad23bf49c247dd531a623c2ef57da3c400c587"});
  EXPECT_EQ(scripts_of(call("pk({}/0)", kKeyB)),
            Scripts{"210379e45b3cf75f9c5f9befd8e9506fb962f6a9d185ac87001ec44a8d3df8d4a9e3ac"});
}

TEST(Descriptor, Bip382Segwit) {
  EXPECT_EQ(scripts_of(call("wpkh({})")), Scripts{"00149a1c78a507689f6f54b847ad1cef1e614ee23f1e"});
  EXPECT_EQ(scripts_of(call("wpkh([ffffffff/13']{}/1/2/*)", kKeyC), 3),
            (Scripts{"0014326b2249e3a25d5dc60935f044ee835d090ba859",
                     "0014af0bd98abc2f2cae66e36896a39ffe2d32984fb7",
                     "00141fa798efd1cbf95cebf912c031b8a4a6e9fb9f27"}));
  EXPECT_EQ(scripts_of(call("wsh(pkh({}))")),
            Scripts{"0020338e023079b91c58571b20e602d7805fb808c22473cbc391a41b1bd3a192e75b"});
  EXPECT_EQ(scripts_of(call("wsh(pk({}))")),
            Scripts{"00202e271faa2325c199d25d22e1ead982e45b64eeb4f31e73dbdf41bd4b5fec23fa"});
  EXPECT_EQ(scripts_of(call("sh(wsh(pkh({})))")),
            Scripts{"a914b61b92e2ca21bac1e72a3ab859a742982bea960a87"});
}

TEST(Descriptor, Bip383Multisig) {
  const std::string both = "5121" + kPlain + "41" + kUncompressed + "52ae";
  EXPECT_EQ(scripts_of("multi(1," + kPlain + "," + kUncompressed + ")"), Scripts{both});
  EXPECT_EQ(scripts_of("sortedmulti(1," + kUncompressed + "," + kPlain + ")"), Scripts{both});
  EXPECT_EQ(scripts_of("sh(multi(2,[00000000/111'/222]" + kKeyA + "," + kKeyB + "/0))"),
            Scripts{"a91445a9a622a8b0a1269944be477640eedc447bbd8487"});
  EXPECT_EQ(
      scripts_of("sortedmulti(2," + kKeyA + "/*," + kKeyB + "/0/0/*)", 3),
      (Scripts{"5221025d5fc65ebb8d44a5274b53bac21ff8307fec2334a32df05553459f8b1f7fe1b62102fbd4"
               "7cc8034098f0e6a94c6aeee8528abf0a2153a5d8e46d325b7284c046784652ae",
               "52210264fd4d1f5dea8ded94c61e9641309349b62f27fbffe807291f664e286bfbe6472103f4ec"
               "e6dfccfa37b211eb3d0af4d0c61dba9ef698622dc17eecdf764beeb005a652ae",
               "5221022ccabda84c30bad578b13c89eb3b9544ce149787e5b538175b1d1ba259cbb83321024d90"
               "2e1a2fc7a8755ab5b694c575fce742c48d9ff192e63df5193e4c7afe1f9c52ae"}));
}

TEST(Descriptor, Bip384Combo) {
  EXPECT_EQ(scripts_of(call("combo({})")),
            (Scripts{scripts_of(call("pk({})"))[0], scripts_of(call("pkh({})"))[0],
                     scripts_of(call("wpkh({})"))[0], scripts_of(call("sh(wpkh({}))"))[0]}));
  EXPECT_EQ(scripts_of(call("combo({})", kUncompressed)),
            (Scripts{scripts_of(call("pk({})", kUncompressed))[0],
                     scripts_of(call("pkh({})", kUncompressed))[0]}));
}

TEST(Descriptor, Bip385RawAndAddr) {
  EXPECT_EQ(scripts_of("raw(deadbeef)#89f8spxm"), Scripts{"deadbeef"});
  EXPECT_EQ(scripts_of("addr(3PUNyaW7M55oKWJ3kDukwk9bsKvryra15j)"),
            Scripts{"a914eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee87"});
}

TEST(Descriptor, Bip386And86Taproot) {
  const Scripts expected{"512077aab6e066f8a7419c5ab714c12c67d25007ed55a43cadcacb4d7a970a093f11"};
  EXPECT_EQ(scripts_of(call("tr({})", kPlain.substr(2))), expected);
  EXPECT_EQ(scripts_of(call("tr({})")), expected);
  // BIP86: the account of its mnemonic, first and second receiving and first change address.
  const std::string account =
      "xpub6BgBgsespWvERF3LHQu6CnqdvfEvtMcQjYrcRzx53QJjSxarj2afYWcLteoGVky7D3UKDP9QyrLprQ3VCECoY49y"
      "fd"
      "DEHGCtMMj92pReUsQ";
  const auto both = parse_descriptors(bitcoin(), "tr([73c5da0a/86h/0h/0h]" + account + "/<0;1>/*)");
  ASSERT_TRUE(both) << both.error().message;
  ASSERT_EQ(both->size(), 2u);
  const auto address = [&](std::size_t branch, std::uint32_t index) {
    return chain::address_text(bitcoin(), both->at(branch).derive(index).value().at(0)).value();
  };
  EXPECT_EQ(address(0, 0), "bc1p5cyxnuxmeuwuvkwfem96lqzszd02n6xdcjrs20cac6yqjjwudpxqkedrcr");
  EXPECT_EQ(address(0, 1), "bc1p4qhjn9zdvkux4e44uhx8tc55attvtyu358kutcqkudyccelu0was9fqzwh");
  EXPECT_EQ(address(1, 0), "bc1p3qkhfews2uk44qtvauqyr2ttdsw7svhkl9nkm9s9c3x4ax5h60wqwruhk7");
}

// BIP67: the keys as given, and the address of two of them sorted.
TEST(Descriptor, Bip67SortsKeys) {
  const auto descriptor = parse_descriptor(
      bitcoin(),
      "sh(sortedmulti(2,02ff12471208c14bd580709cb2358d98975247d8765f92bc25eab3b2763ed605f8,"
      "02fe6f0a5a297eb38c391581c4413e084773ea23954d93f7753db7dc0adc188b2f))");
  ASSERT_TRUE(descriptor) << descriptor.error().message;
  EXPECT_EQ(chain::address_text(bitcoin(), descriptor->derive(0).value().at(0)),
            "39bgKC7RFbpoCRbtD5KEdkYKtNyhpsNa3Z");
}

// BIP389's examples with public keys.
TEST(Descriptor, Bip389Alternatives) {
  const std::pair<std::string, std::vector<std::string>> cases[] = {
      {"pk(B/<0;1>)", {"pk(B/0)", "pk(B/1)"}},
      {"wpkh([ffffffff/13h]C/<1;3>/2/*)",
       {"wpkh([ffffffff/13h]C/1/2/*)", "wpkh([ffffffff/13h]C/3/2/*)"}},
      {"multi(2,A/<1;2>/*,B/<3;4>/0/*)", {"multi(2,A/1/*,B/3/0/*)", "multi(2,A/2/*,B/4/0/*)"}},
      {"pkh(C/<0;1;2>)", {"pkh(C/0)", "pkh(C/1)", "pkh(C/2)"}},
      {"sh(multi(2,A/<1;2;3>/0/*,B/0/*,C/0/0/<3;4;5>/*))",
       {"sh(multi(2,A/1/0/*,B/0/*,C/0/0/3/*))", "sh(multi(2,A/2/0/*,B/0/*,C/0/0/4/*))",
        "sh(multi(2,A/3/0/*,B/0/*,C/0/0/5/*))"}},
      {"pkh(A/<2147483647h;0>/0)", {"pkh(A/2147483647h/0)", "pkh(A/0/0)"}},
  };
  const auto filled = [](std::string_view text) {
    std::string out;
    for (const char c : text)
      out += c == 'A' ? kKeyA : c == 'B' ? kKeyB : c == 'C' ? kKeyC : std::string(1, c);
    return out;
  };
  for (const auto& [text, expected] : cases) {
    const auto all = parse_descriptors(bitcoin(), filled(text));
    ASSERT_TRUE(all) << text << ": " << all.error().message;
    ASSERT_EQ(all->size(), expected.size()) << text;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const std::string body = filled(expected[i]);
      EXPECT_EQ(all->at(i).text(), body + "#" + descriptor_checksum(body).value());
    }
    EXPECT_FALSE(parse_descriptor(bitcoin(), filled(text)));
  }
}

TEST(Descriptor, ScriptTypes) {
  const auto parsed = [](const std::string& text) {
    return parse_descriptor(bitcoin(), text).value();
  };
  EXPECT_TRUE(parsed("wpkh(" + kKeyA + "/0/*)").is_ranged());
  EXPECT_FALSE(parsed("wpkh(" + kKeyA + "/0)").is_ranged());
  EXPECT_TRUE(parsed("multi(1," + kPlain + "," + kKeyA + "/*)").is_ranged());
  EXPECT_TRUE(parsed("pk(" + kPlain + ")").is_solvable());
  EXPECT_FALSE(parsed("raw(51)").is_solvable());
  const KeyExpression key = parsed("wpkh([d34db33f/84h/0]" + kKeyA + "/7/*)").parts().keys.at(0);
  EXPECT_EQ(key.origin()->fingerprint.hex(), "d34db33f");
  EXPECT_EQ(key.origin()->path, (std::vector<std::uint32_t>{84 | crypto::kHardened, 0}));
  EXPECT_EQ(key.extended()->text(), kKeyA);
  EXPECT_EQ(key.path(), std::vector<std::uint32_t>{7});
  EXPECT_EQ(key.wildcard(), Wildcard::kPlain);
}

TEST(Descriptor, CanonicalFormIgnoresSpelling) {
  const std::string one = "wpkh([D34DB33F/84'/0'/0']" + kKeyA + "/0/*)";
  const std::string two = "wpkh([d34db33f/84h/0h/0']" + kKeyA + "/000/*)";
  const auto first = parse_descriptor(bitcoin(), one), second = parse_descriptor(bitcoin(), two);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->canonical(), second->canonical());
  EXPECT_TRUE(first->canonical().starts_with("wpkh([d34db33f/84h/0h/0h]" + kKeyA + "/0/*)#"));
  EXPECT_TRUE(first->text().starts_with("wpkh([d34db33f/84'/0'/0']" + kKeyA + "/0/*)#"));
  EXPECT_EQ(parse_descriptor(bitcoin(), first->text()).value().canonical(), first->canonical());
}

TEST(Descriptor, HardenedStepsParseButDoNotDerive) {
  for (const char* path : {"/3h/4h/5h/*", "/3h/*h", "/0/*'", "/1'/2"}) {
    const auto descriptor = parse_descriptor(bitcoin(), "wpkh(" + kKeyA + path + ")");
    ASSERT_TRUE(descriptor) << descriptor.error().message;
    const auto derived = descriptor->derive(0);
    ASSERT_FALSE(derived) << path;
    EXPECT_EQ(derived.error().code, Code::kInvalidInput);
    EXPECT_NE(derived.error().message.find("needs the private key"), std::string::npos);
  }
}

TEST(Descriptor, IndexIsBelowTwoToThe31) {
  const auto descriptor = parse_descriptor(bitcoin(), "wpkh(" + kKeyA + "/*)").value();
  EXPECT_TRUE(descriptor.derive(crypto::kHardened - 1));
  EXPECT_FALSE(descriptor.derive(crypto::kHardened));
}

// Whatever happens to a text, the parser answers; and what it accepts can be written and read.
TEST(Descriptor, SurvivesTruncationAndMutation) {
  const std::string texts[] = {"sh(wsh(sortedmulti(2,[d34db33f/48h/0h]" + kKeyA + "/<0;1>/*," +
                                   kPlain + "," + kKeyB + "/0'/*h)))",
                               "tr([00000000]" + kKeyC + "/1/*)", "combo(" + kUncompressed + ")",
                               "raw(deadbeef)#89f8spxm",
                               "addr(3PUNyaW7M55oKWJ3kDukwk9bsKvryra15j)"};
  constexpr std::string_view kLikely = "0123456789abcdef()[]<>{},;/*'h# \n";
  const chain::Network network = bitcoin();
  int accepted = 0;
  const auto check = [&](const std::string& text) {
    const auto all = parse_descriptors(network, text);
    if (!all) return;
    ++accepted;
    for (const Descriptor& one : *all) {
      const auto again = parse_descriptor(network, one.text());
      ASSERT_TRUE(again) << text << ": " << again.error().message;
      EXPECT_EQ(again->text(), one.text());
      const auto before = one.derive(1), after = again->derive(1);
      ASSERT_EQ(after.has_value(), before.has_value()) << text;
      ASSERT_EQ(after.value_or(Derived{}), before.value_or(Derived{})) << text;
    }
  };
  Rng rng(20260);
  for (const std::string& text : texts) {
    check(text);
    for (std::size_t length = 0; length < text.size(); ++length) check(text.substr(0, length));
    for (int i = 0; i < 3000; ++i) {
      std::string changed = text;
      const std::size_t at = rng.below(text.size());
      const char with =
          rng.one_in(4) ? static_cast<char>(rng.below(256)) : kLikely[rng.below(kLikely.size())];
      if (rng.one_in(3)) {
        changed.insert(at, 1, with);
      } else if (rng.one_in(2)) {
        changed.erase(at, 1 + rng.below(3));
      } else {
        changed[at] = with;
      }
      check(changed);
    }
  }
  EXPECT_GT(accepted, 100);  // otherwise half of the check above never ran
}

}  // namespace
}  // namespace coffer::wallet
