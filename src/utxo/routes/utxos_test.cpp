// The UTXO state over HTTP, fed with real blocks.
#include "utxo/routes/utxos.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <fstream>
#include <set>

#include <coffer/chain/decode.h>
#include <coffer/utxo/store.h>
#include "api/test_schema.h"
#include "api/test_util.h"
#include "base/result.h"
#include "base/test_data.h"

namespace coffer::utxo {
namespace {

namespace json = boost::json;

// A store of one network, and a service over it.
struct Chain {
  explicit Chain(const chain::Network& of, utxo::Options options = {}) : network(of) {
    db = kv::Database::open({.path = dir.path() / "db", .columns = utxo::columns(options)}).value();
    store = utxo::Store::open(*db, network, options, {}).value();
  }
  void apply(Bytes raw) {
    auto block = std::make_shared<chain::Block>(
        chain::decode(network, std::move(raw), {.hash = true, .verify = false}).value());
    if (network.family == chain::Family::kBitcoin) {
      block->number = BlockNumber(next);
      block->slot = Slot(next);
    }
    const auto applied = store->on_block({.ordinal = Ordinal(next++), .block = block});
    ASSERT_TRUE(applied) << applied.error().message;
    ASSERT_TRUE(store->flush());
  }
  void serve(bool enabled = true) {
    fixture.options.more_routes = [this, enabled](api::RouteTable& table) {
      add_utxo_routes(table, {enabled ? &store->state() : nullptr, network});
    };
    fixture.start();
  }
  json::value get(const std::string& path, int status = 200) {
    const http::Response answer = fixture.get("/api/v1" + path);
    EXPECT_EQ(answer.status, status) << path << ": " << answer.content();
    EXPECT_EQ(answer.content_type, status == 200 ? "application/json" : "application/problem+json");
    return json::parse(json::string_view(answer.content()));
  }
  // The detail of the problem that a path is answered with.
  std::string problem(const std::string& path, int status = 400) {
    return std::string(get(path, status).at("detail").as_string());
  }

  chain::Network network;
  TempDir dir;
  std::unique_ptr<kv::Database> db;
  std::unique_ptr<utxo::Store> store;
  std::uint64_t next = 0;
  api::Fixture fixture;
};

Bytes hex_file(const std::filesystem::path& path) {
  std::string text(as_text(read_file(path, 16u << 20).value()));
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.pop_back();
  return from_hex(text).value();
}

// The first blocks of a blk-style file: magic, size, block.
std::vector<Bytes> first_blocks(const std::filesystem::path& path, std::size_t count) {
  const Bytes file = read_file(path, 1u << 28).value();
  std::vector<Bytes> blocks;
  for (std::size_t at = 0; blocks.size() < count;) {
    const auto size = load_le<std::uint32_t>(file.data() + at + 4);
    blocks.emplace_back(file.begin() + static_cast<std::ptrdiff_t>(at + 8),
                        file.begin() + static_cast<std::ptrdiff_t>(at + 8 + size));
    at += 8 + size;
  }
  return blocks;
}

// What /openapi.json says of a named schema.
json::value schema_of(Chain& chain, const std::string& name) {
  const auto answer = json::parse(chain.fixture.get("/openapi.json").body);
  return answer.at("components").at("schemas").at(name);
}

const char* const kPreviewBlock = "cardano/yaci/preview1300024.txt";

TEST(UtxoRoutes, RealCardanoBlockMatchesTheOracle) {
  COFFER_REQUIRE_DATA_OR_SKIP(data, "oracle/cardano");
  // Inline datums and assets; a reference script and a datum's hash.
  const std::pair<const char*, const char*> blocks[] = {
      {kPreviewBlock, "yaci__preview1300024.json"},
      {"cardano/amaru-block/313e774e32c23b3691751e62d6b57181538cf3164b242505919bce29226de19f/"
       "sample.cbor",
       "amaru__block__313e774e32c23b3691751e62d6b57181538cf3164b242505919bce29226de19f.json"}};
  for (const auto& [file, oracle_file] : blocks) {
    Chain chain(chain::find_network("cardano", "preview").value());
    const auto path = data.parent_path().parent_path() / file;
    ASSERT_NO_FATAL_FAILURE(chain.apply(
        path.extension() == ".txt" ? hex_file(path) : read_file(path, 16u << 20).value()));
    chain.serve();
    const Bytes text = read_file(data / oracle_file, 16u << 20).value();
    const json::value oracle = json::parse(json::string_view(as_text(text)));
    const json::value schema = schema_of(chain, "SpentUtxo");
    for (const json::value& tx : oracle.at("txs").as_array()) {
      std::size_t index = 0;
      for (const json::value& output : tx.at("outputs").as_array()) {
        const std::string hash(tx.at("hash").as_string());
        const json::value got = chain.get(fmt::format("/utxos/{}/{}", hash, index));
        api::expect_fits(got, schema);
        EXPECT_EQ(got.at("tx_hash").as_string(), hash);
        EXPECT_EQ(got.at("output_index").to_number<std::size_t>(), index++);
        EXPECT_EQ(got.at("lovelace_amount").as_string(),
                  std::to_string(output.at("lovelace").to_number<std::uint64_t>()));
        EXPECT_EQ(got.at("block"), oracle.at("block_number"));
        EXPECT_EQ(got.at("block_number"), oracle.at("block_number"));
        EXPECT_EQ(got.at("slot"), oracle.at("slot"));
        EXPECT_EQ(got.at("block_hash"), oracle.at("hash"));
        EXPECT_FALSE(got.at("spent").as_bool());
        const json::array& amounts = got.at("amounts").as_array();
        EXPECT_EQ(amounts[0].at("unit").as_string(), "lovelace");
        std::set<std::string> assets, wanted;
        for (std::size_t i = 1; i < amounts.size(); ++i) {
          api::expect_fits(amounts[i], schema_of(chain, "Amount"));
          assets.insert(fmt::format("{} {}", amounts[i].at("unit").as_string().c_str(),
                                    amounts[i].at("quantity").as_string().c_str()));
        }
        for (const json::value& asset : output.at("assets").as_array())
          wanted.insert(fmt::format("{}{} {}", asset.at(0).as_string().c_str(),
                                    asset.at(1).as_string().c_str(),
                                    asset.at(2).to_number<std::uint64_t>()));
        EXPECT_EQ(assets, wanted);
        const auto& fields = output.as_object();
        EXPECT_EQ(got.at("data_hash"),
                  fields.contains("datum_hash") ? fields.at("datum_hash") : json::value(nullptr));
        EXPECT_EQ(!got.at("inline_datum").is_null(), fields.contains("inline_datum_hash"));
        if (fields.contains("inline_datum_len")) {
          EXPECT_EQ(got.at("inline_datum").as_string().size(),
                    2 * fields.at("inline_datum_len").to_number<std::size_t>());
        }
        EXPECT_EQ(got.at("reference_script_hash"), fields.contains("script_ref")
                                                       ? fields.at("script_ref").at("hash")
                                                       : json::value(nullptr));
      }
    }
  }
}

TEST(UtxoRoutes, AddressIsFoundInEveryForm) {
  COFFER_REQUIRE_DATA_OR_SKIP(block, kPreviewBlock);
  Chain chain(chain::find_network("cardano", "preview").value());
  ASSERT_NO_FATAL_FAILURE(chain.apply(hex_file(block)));
  chain.serve();
  const json::value schema = schema_of(chain, "Utxo");
  std::size_t seen = 0, filtered = 0;
  chain.store->state()
      .for_each([&](const utxo::Utxo& utxo) {
        const std::string raw = to_hex(utxo.record.address);
        const json::value by_hex = chain.get("/addresses/" + raw + "/utxos");
        api::expect_fits(by_hex, schema_of(chain, "UtxoPage"));
        EXPECT_TRUE(by_hex.at("next_cursor").is_null());
        EXPECT_EQ(by_hex.at("block").to_number<std::uint64_t>(), 1300024u);
        const json::array& found = by_hex.at("utxos").as_array();
        EXPECT_FALSE(found.empty());
        std::uint64_t sum = 0;
        for (const json::value& one : found) {
          api::expect_fits(one, schema);
          const std::string text(one.at("owner_addr").as_string());
          EXPECT_TRUE(text.starts_with("addr_test1")) << text;
          EXPECT_EQ(chain.get("/addresses/" + text + "/utxos"), by_hex);
          const std::string credential(one.at("owner_payment_credential").as_string());
          const json::value of_credential = chain.get("/credentials/" + credential + "/utxos");
          EXPECT_GE(of_credential.at("utxos").as_array().size(), found.size());
          // Filters apply before paging.
          const auto size_of = [&](const std::string& query) {
            return chain.get("/addresses/" + raw + "/utxos" + query).at("utxos").as_array().size();
          };
          const json::array& amounts = one.at("amounts").as_array();
          for (std::size_t i = 1; i < amounts.size(); ++i) {
            const std::string unit(amounts[i].at("unit").as_string());
            EXPECT_GE(size_of("?count=1&asset=" + unit), 1u) << unit;
            EXPECT_GE(size_of("?asset=" + unit.substr(0, 56)), 1u) << unit;
            EXPECT_EQ(size_of("?asset=" + unit.substr(0, 56) + ".00ff00"), 0u) << unit;
            ++filtered;
          }
          const std::string slot = std::to_string(one.at("slot").to_number<std::uint64_t>());
          EXPECT_EQ(size_of("?from_slot=" + slot + "&to_slot=" + slot), found.size());
          EXPECT_EQ(size_of("?from_slot=" + slot + "0"), 0u);
          EXPECT_EQ(size_of("?to_slot=1"), 0u);
          sum += std::stoull(std::string(one.at("lovelace_amount").as_string()));
          ++seen;
        }
        const json::value balance = chain.get("/addresses/" + raw + "/balance");
        api::expect_fits(balance, schema_of(chain, "Balance"));
        EXPECT_EQ(balance.at("lovelace_amount").as_string(), std::to_string(sum));
        EXPECT_EQ(balance.at("utxo_count").to_number<std::size_t>(), found.size());
        return true;
      })
      .value();
  EXPECT_GT(seen, 0u);
  EXPECT_GT(filtered, 0u);
  // An address without outputs is an empty page, not an error.
  const json::value none = chain.get("/addresses/60" + std::string(56, '0') + "/utxos");
  EXPECT_TRUE(none.at("utxos").as_array().empty());
}

class Bitcoin : public testing::Test {
 protected:
  void fill(std::size_t blocks, utxo::Options options = {}) {
    COFFER_REQUIRE_DATA_OR_SKIP(file, "bitcoin/mainnet/blk00000.dat");
    chain_ = std::make_unique<Chain>(chain::find_network("bitcoin", "mainnet").value(), options);
    for (Bytes& raw : first_blocks(file, blocks))
      ASSERT_NO_FATAL_FAILURE(chain_->apply(std::move(raw)));
    chain_->serve();
  }
  std::unique_ptr<Chain> chain_;
};
// fill() may skip the test.
#define FILL(...)    \
  fill(__VA_ARGS__); \
  if (testing::Test::IsSkipped() || HasFatalFailure()) return

const std::string kBlock9 = "0437cd7f8525ceed2324359c2d0ba26006d92d856a9c20fa0241106ee5a597c9";
const std::string kFirstPayment =
    "f4184fc596403b9d638783cf57adfe4c75c605f6356fbc91338530e9831e9e16";

TEST_F(Bitcoin, FirstPaymentAndItsInput) {
  FILL(171);
  const json::value spent = chain_->get("/utxos/" + kBlock9 + "/0");
  api::expect_fits(spent, schema_of(*chain_, "SpentUtxo"));
  EXPECT_TRUE(spent.at("spent").as_bool());
  EXPECT_EQ(spent.at("spent_tx_hash").as_string(), kFirstPayment);
  EXPECT_EQ(spent.at("spent_at_block").to_number<int>(), 170);
  EXPECT_EQ(spent.at("spent_at_slot").to_number<int>(), 170);
  EXPECT_EQ(spent.at("spent_at_block_hash").as_string(),
            "00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a2ee");
  EXPECT_EQ(spent.at("spent_block_time").to_number<int>(), 1231731025);
  EXPECT_TRUE(spent.at("spent_epoch").is_null());
  EXPECT_TRUE(spent.at("coinbase").as_bool());

  const json::value change = chain_->get("/utxos/" + kFirstPayment + "/1");
  EXPECT_FALSE(change.at("spent").as_bool());
  EXPECT_TRUE(change.at("spent_tx_hash").is_null());
  EXPECT_EQ(change.at("satoshi_amount").as_string(), "4000000000");
  EXPECT_FALSE(change.as_object().contains("lovelace_amount"));
  EXPECT_EQ(change.at("amounts").at(0).at("unit").as_string(), "satoshi");
  EXPECT_FALSE(change.at("coinbase").as_bool());
  // A bare public key has no address: its script is shown, and asked by.
  const std::string script(change.at("script_pub_key").as_string());
  EXPECT_EQ(change.at("owner_addr").as_string(), script);
  EXPECT_TRUE(change.at("owner_payment_credential").is_null());
  const json::value page = chain_->get("/addresses/" + script + "/utxos");
  EXPECT_EQ(page.at("utxos").at(0).at("tx_hash").as_string(), kFirstPayment);
  EXPECT_EQ(page.at("block").to_number<int>(), 170);
  EXPECT_EQ(page.at("block_hash").as_string(),
            "00000000d1145790a8694403d4063f323d499e655c83426834d4ce2f8dd4a2ee");
}

TEST_F(Bitcoin, BlockDelta) {
  FILL(171);
  const json::value delta = chain_->get("/blocks/170/delta");
  api::expect_fits(delta, schema_of(*chain_, "BlockDelta"));
  EXPECT_EQ(delta.at("created").as_array().size(), 3u);
  ASSERT_EQ(delta.at("spent").as_array().size(), 1u);
  EXPECT_EQ(delta.at("spent").at(0).at("tx_hash").as_string(), kBlock9);
  EXPECT_FALSE(delta.at("flags").at("contains_invalid_tx").as_bool());
  EXPECT_TRUE(delta.at("mmr").is_null());
  (void)chain_->get("/blocks/171/delta", 404);
  EXPECT_NE(chain_->problem("/blocks/-1/delta").find("block"), std::string::npos);
  EXPECT_NE(chain_->problem("/blocks/tip/delta").find("block"), std::string::npos);
}

TEST_F(Bitcoin, RootsNeedTheOtherStore) {
  FILL(5);
  EXPECT_NE(chain_->problem("/mmr/roots/latest", 409).find("mmr"), std::string::npos);
  EXPECT_NE(chain_->problem("/mmr/roots/newest").find("latest"), std::string::npos);
}

TEST_F(Bitcoin, BadInputNamesTheParameter) {
  FILL(5);
  const std::string some = "/addresses/76a914" + std::string(40, '0') + "88ac/utxos";
  const std::pair<const char*, const char*> bad[] = {
      {"?page=0", "page"},           {"?page=x", "page"},
      {"?count=0", "count"},         {"?count=101", "count"},
      {"?count=-1", "count"},        {"?order=up", "order"},
      {"?asset=00", "asset"},        {"?from_slot=x", "from_slot"},
      {"?to_slot=", "to_slot"},      {"?from_slot=5&to_slot=4", "from_slot"},
      {"?cursor=nonsense", "cursor"}};
  for (const auto& [query, name] : bad)
    EXPECT_NE(chain_->problem(some + query).find(name), std::string::npos) << query;
  EXPECT_TRUE(chain_->get(some + "?page=1&count=100&order=desc&from_slot=4&to_slot=4")
                  .at("utxos")
                  .as_array()
                  .empty());
  const std::string zeros(64, '0');
  (void)chain_->get("/utxos/" + zeros + "/0", 404);
  for (const char* path :
       {"/utxos/00/0", "/utxos/zz/0", "/addresses/nobody/utxos", "/addresses/nobody/balance"})
    (void)chain_->get(path, 400);
  EXPECT_NE(chain_->problem("/utxos/" + zeros + "/-1").find("index"), std::string::npos);
  EXPECT_NE(chain_->problem("/utxos/" + zeros + "/4294967296").find("index"), std::string::npos);
  EXPECT_NE(chain_->problem("/credentials/" + std::string(56, '0') + "/utxos").find("bitcoin"),
            std::string::npos);
}

TEST_F(Bitcoin, PagesAndCursorsGiveTheSameOutputs) {
  FILL(171);
  // The owner of block 9's coinbase was paid the change of four payments.
  const std::string script(
      chain_->get("/utxos/" + kBlock9 + "/0").at("script_pub_key").as_string());
  const std::string path = "/addresses/" + script + "/utxos?count=1";
  const json::value all = chain_->get("/addresses/" + script + "/utxos");
  const json::array& outputs = all.at("utxos").as_array();
  ASSERT_GT(outputs.size(), 0u);
  std::string cursor;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    EXPECT_EQ(chain_->get(path + "&page=" + std::to_string(i + 1)).at("utxos").at(0), outputs[i]);
    const json::value page = chain_->get(path + (cursor.empty() ? "" : "&cursor=" + cursor));
    EXPECT_EQ(page.at("utxos").at(0), outputs[i]);
    cursor = page.at("next_cursor").is_null() ? "" : page.at("next_cursor").as_string().c_str();
  }
  EXPECT_TRUE(chain_->get(path + "&page=" + std::to_string(outputs.size() + 1))
                  .at("utxos")
                  .as_array()
                  .empty());
  json::array reversed(outputs.rbegin(), outputs.rend());
  EXPECT_EQ(chain_->get("/addresses/" + script + "/utxos?order=desc").at("utxos"),
            json::value(reversed));
}

TEST(UtxoRoutes, DisabledRoutesNameTheSetting) {  // U13
  Chain chain(chain::find_network("bitcoin", "regtest").value());
  chain.serve(false);
  const std::string zeros(64, '0');
  for (const char* path : {"/addresses/x/utxos", "/addresses/x/balance", "/credentials/x/utxos",
                           "/mmr/roots/latest", "/blocks/1/delta"})
    EXPECT_NE(chain.problem(path, 503).find("utxo.enabled"), std::string::npos) << path;
  EXPECT_NE(chain.problem("/utxos/" + zeros + "/0", 503).find("utxo.enabled"), std::string::npos);
}

}  // namespace
}  // namespace coffer::utxo
