// The descriptor vectors of shared/data: another implementation's view of what is valid, how it is
// written, and which addresses it has. Private keys in them are refused here; where their public
// keys are known from the same files, the addresses are checked with those.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <map>

#include <coffer/chain/address.h>
#include "base/file.h"
#include "base/test_data.h"
#include "chain/script.h"
#include "wallet/descriptor/descriptor.h"
#include "wallet/descriptor/descriptor_test_util.h"
#include "wallet/descriptor/descriptor_text.h"
#include "wallet/descriptor/scripts.h"

namespace coffer::wallet {
namespace {

namespace json = boost::json;

json::value load(const std::filesystem::path& path) {
  return json::parse(as_text(read_file(path, 1u << 20).value()));
}

std::string field(const json::object& entry, std::string_view name, std::string_view otherwise) {
  const json::value* value = entry.if_contains(name);
  return std::string(value != nullptr ? std::string_view(value->as_string()) : otherwise);
}

chain::Network network_of(const json::object& entry) {
  const std::string name = field(entry, "network", "mainnet");
  return bitcoin(name == "main" ? "mainnet" : name);
}

std::string body_of(std::string_view text) {
  return std::string(text.substr(0, text.find('#')));
}

bool has_secret(std::string_view text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of("(),/]#", begin), text.size());
    if (crypto::is_private_key(text.substr(begin, end - begin))) return true;
    begin = end + 1;
  }
  return false;
}

// The public side of texts with private keys.
class PublicSide {
 public:
  explicit PublicSide(const std::filesystem::path& vectors) {
    const json::value valid = load(vectors / "desc-valid.json");
    for (const auto& [kind, entries] : valid.as_object())
      for (const json::value& entry : entries.as_array())
        if (entry.at("hasprivatekeys").as_bool())
          whole_[body_of(entry.at("input").as_string())] = entry.at("descriptor").as_string();
    const json::value keys = load(vectors / "btclib/bip32_test_vectors.json");
    for (const auto& [seed, chain] : keys.as_object())
      for (const json::value& row : chain.as_array())
        keys_[std::string(row.at(2).as_string())] = row.at(1).as_string();
  }
  // Empty if it is not known.
  std::string of(const std::string& text) const {
    if (const auto found = whole_.find(body_of(text)); found != whole_.end()) return found->second;
    std::string out = body_of(text);
    for (const auto& [secret, key] : keys_)
      for (std::size_t at; (at = out.find(secret)) != std::string::npos;)
        out.replace(at, secret.size(), key);
    return has_secret(out) ? "" : out;
  }

 private:
  std::map<std::string, std::string> whole_, keys_;
};

void expect_refused(const chain::Network& network, const std::string& text) {
  const auto result = parse_descriptors(network, text);
  ASSERT_FALSE(result) << text;
  EXPECT_EQ(result.error().code, Code::kInvalidInput);
  EXPECT_NE(result.error().message.find("private key"), std::string::npos) << text;
  EXPECT_EQ(result.error().message.find("prv"), std::string::npos);
}

TEST(DescriptorVectors, ValidOnes) {
  COFFER_REQUIRE_DATA_OR_SKIP(path, "bitcoin/vectors/desc-valid.json");
  int checked = 0, refused = 0;
  const json::value file = load(path);
  for (const auto& [kind, entries] : file.as_object())
    for (const json::value& value : entries.as_array()) {
      const json::object& entry = value.as_object();
      const chain::Network network = network_of(entry);
      const std::string input = field(entry, "input", ""), written = field(entry, "descriptor", "");
      EXPECT_EQ(descriptor_checksum(body_of(input)).value(), field(entry, "checksum", ""));
      if (entry.at("hasprivatekeys").as_bool()) {
        expect_refused(network, input);
        ++refused;
      }
      const auto parsed =
          parse_descriptor(network, entry.at("hasprivatekeys").as_bool() ? written : input);
      ASSERT_TRUE(parsed) << input << ": " << parsed.error().message;
      EXPECT_EQ(parsed->text(), written) << input;
      EXPECT_EQ(parsed->is_ranged(), entry.at("isrange").as_bool()) << input;
      EXPECT_EQ(parsed->is_solvable(), entry.at("issolvable").as_bool()) << input;
      ++checked;
    }
  EXPECT_EQ(checked, 57);
  EXPECT_GT(refused, 10);
}

TEST(DescriptorVectors, InvalidOnes) {
  COFFER_REQUIRE_DATA_OR_SKIP(path, "bitcoin/vectors/desc-invalid.json");
  int checked = 0;
  const json::value file = load(path);
  for (const json::value& value : file.as_array()) {
    const json::object& entry = value.as_object();
    const std::string input = field(entry, "input", "");
    const auto result = parse_descriptors(network_of(entry), input);
    if (input.find("<0;1>") != std::string::npos) {
      EXPECT_TRUE(result) << "alternatives are read here";
      continue;
    }
    ASSERT_FALSE(result) << input;
    EXPECT_EQ(result.error().code, Code::kInvalidInput);
    EXPECT_NE(result.error().message.find("position"), std::string::npos) << input;
    EXPECT_EQ(result.error().message.find("prv"), std::string::npos);
    ++checked;
  }
  EXPECT_EQ(checked, 39);
}

// That implementation gives a bare key the address of its hash.
std::string address_of(const chain::Network& network, const Bytes& script) {
  const ByteView view(script);
  const Bytes shown = chain::output_type(view) == chain::OutputType::kP2pk
                          ? p2pkh_script(view.subspan(1, view.size() - 2))
                          : script;
  return chain::address_text(network, shown).value_or("none");
}

// Sorted: for combo() the vectors list scripts by kind, then by index.
std::vector<std::string> addresses_of(const chain::Network& network, const Descriptor& descriptor,
                                      const json::object& entry) {
  std::uint32_t first = 0, last = 0;
  if (const json::value* range = entry.if_contains("range")) {
    first = range->at(0).to_number<std::uint32_t>();
    last = range->at(1).to_number<std::uint32_t>();
  }
  std::vector<std::string> out;
  for (std::uint32_t i = first; i <= last; ++i) {
    const auto scripts = descriptor.derive(i);
    if (!scripts) return {scripts.error().message};
    for (const Bytes& script : *scripts) out.push_back(address_of(network, script));
  }
  std::sort(out.begin(), out.end());
  return out;
}

TEST(DescriptorVectors, Addresses) {
  COFFER_REQUIRE_DATA_OR_SKIP(path, "bitcoin/vectors/desc-addresses.json");
  const PublicSide public_side(path.parent_path());
  std::size_t addresses = 0, without = 0, hardened = 0, unknown = 0;
  const json::value file = load(path);
  for (const auto& [kind, entries] : file.as_object())
    for (const json::value& value : entries.as_array()) {
      const json::object& entry = value.as_object();
      const chain::Network network = network_of(entry);
      std::string text = field(entry, "input", "");
      if (has_secret(text)) {
        expect_refused(network, text);
        text = public_side.of(text);
        if (text.empty()) {
          ++unknown;
          continue;
        }
      }
      const auto parsed = parse_descriptor(network, text);
      ASSERT_TRUE(parsed) << text << ": " << parsed.error().message;
      const std::vector<std::string> found = addresses_of(network, *parsed, entry);
      ASSERT_FALSE(found.empty());
      if (found[0].find("needs the private key") != std::string::npos) {
        ++hardened;
      } else if (!entry.contains("addresses")) {
        EXPECT_EQ(found, std::vector<std::string>{"none"}) << text;
        ++without;
      } else {
        std::vector<std::string> expected;
        for (const json::value& address : entry.at("addresses").as_array())
          expected.emplace_back(address.as_string());
        std::sort(expected.begin(), expected.end());
        EXPECT_EQ(found, expected) << text;
        addresses += expected.size();
      }
    }
  EXPECT_EQ(addresses, 204u);
  EXPECT_EQ(without, 3u);
  EXPECT_EQ(hardened, 9u);
  EXPECT_EQ(unknown, 2u);
}

TEST(DescriptorVectors, Checksums) {
  COFFER_REQUIRE_DATA_OR_SKIP(path, "bitcoin/vectors/btclib/descriptor_checksums.json");
  int accepted = 0;
  const json::value file = load(path);
  for (const json::value& entry : file.as_array()) {
    const std::string desc(entry.at("desc").as_string()), sum(entry.at("checksum").as_string());
    EXPECT_EQ(descriptor_checksum(desc).value(), sum);
    const auto parsed = parse_descriptor(bitcoin(), desc + "#" + sum);
    EXPECT_EQ(parsed.has_value(), !desc.starts_with("tr(")) << desc;  // those have script trees
    if (!parsed) continue;
    EXPECT_EQ(parsed->text(), desc + "#" + sum);
    ++accepted;
  }
  EXPECT_EQ(accepted, 16);
}

TEST(DescriptorVectors, Bip67) {
  COFFER_REQUIRE_DATA_OR_SKIP(path, "bitcoin/vectors/btclib/bip67_test_vectors.json");
  int checked = 0;
  const json::value file = load(path);
  for (const auto& [number, row] : file.as_object()) {
    std::string text = "sh(sortedmulti(2";
    for (const json::value& key : row.at(0).as_array()) text += "," + std::string(key.as_string());
    const auto parsed = parse_descriptor(bitcoin(), text + "))");
    ASSERT_TRUE(parsed) << parsed.error().message;
    EXPECT_EQ(address_of(bitcoin(), parsed->derive(0).value().at(0)),
              std::string_view(row.at(1).as_string()));
    ++checked;
  }
  EXPECT_EQ(checked, 5);
}

}  // namespace
}  // namespace coffer::wallet
