// The transaction store over HTTP, fed with a simulated chain.
#include "txstore/routes/txs.h"

#include "api/test_schema.h"
#include "txstore/routes/txs_test_util.h"

namespace coffer::txstore {
namespace {

const std::string kZeros(64, '0');

TEST(TxRoutes, StoredTransactionsFitTheirSchema) {
  ServedStore served;
  ASSERT_NO_FATAL_FAILURE(served.grow(160));
  served.serve();
  std::size_t seen = 0, spent = 0;
  for (const StoredTx& tx : served.stored([](const StoredTx&) { return true; })) {
    const bj::value got = served.get("/" + served.name(tx.id));
    api::expect_fits(got, served.schema("StoredTransaction"));
    EXPECT_EQ(got.at("tx_hash").as_string(), served.name(tx.id));
    EXPECT_EQ(got.at("state").as_string(), std::string(to_string(tx.state)));
    api::expect_fits(got.at("decoded"), served.schema("TxDecoded"));
    for (const bj::value& block : got.at("blocks").as_array())
      api::expect_fits(block, served.schema("TxBlock"));
    for (const bj::value& input : got.at("inputs").as_array())
      api::expect_fits(input, served.schema("TxInput"));
    for (const bj::value& output : got.at("outputs").as_array()) {
      api::expect_fits(output, served.schema("TxOutput"));
      if (output.at("spent").as_bool()) ++spent;
    }
    if (tx.state == State::kMined) {
      const std::uint64_t height = served.mined.at(tx.id);
      EXPECT_EQ(got.at("height").to_number<std::uint64_t>(), height);
      EXPECT_EQ(got.at("confirmations").to_number<std::uint64_t>(),
                served.positions.size() - height);
      EXPECT_EQ(got.at("block_hash").as_string(), served.name(served.positions[height].point.hash));
    } else {
      EXPECT_TRUE(got.at("height").is_null());
      EXPECT_EQ(got.at("confirmations").to_number<int>(), 0);
    }
    api::expect_fits(served.get("/" + served.name(tx.id) + "/retention"),
                     served.schema("TxRetention"));
    ++seen;
  }
  EXPECT_GT(seen, 50u);
  EXPECT_GT(spent, 10u);
}

TEST(TxRoutes, FeeIsInputsMinusOutputsEvenIfParentsAreGone) {
  ServedStore served;
  ASSERT_NO_FATAL_FAILURE(served.grow(160));
  served.serve();
  std::size_t orphans = 0;
  for (const StoredTx& tx :
       served.stored([](const StoredTx& t) { return t.state == State::kMined && !t.coinbase; })) {
    const bj::value got = served.get("/" + served.name(tx.id));
    std::uint64_t in = 0, out = 0;
    for (const bj::value& input : got.at("inputs").as_array()) {
      in += std::stoull(std::string(input.at("amount").as_string()));
      const std::string parent(input.at("tx_hash").as_string());
      if (served.send(http::Method::kGet, "/" + parent).status == 404) ++orphans;
    }
    for (const bj::value& output : got.at("outputs").as_array())
      out += std::stoull(std::string(output.at("amount").as_string()));
    EXPECT_EQ(got.at("fee").as_string(), std::to_string(in - out));
  }
  EXPECT_GT(orphans, 0u);
}

TEST(TxRoutes, RawBytesInHexAndBinary) {
  ServedStore served;
  ASSERT_NO_FATAL_FAILURE(served.grow(110));
  served.serve();
  const Hash256 id = served.unspent_output().tx;
  const std::string path = "/" + served.name(id) + "/raw";
  const bj::value hex = served.get(path);
  api::expect_fits(hex, served.schema("RawTransaction"));
  const Bytes raw = from_hex(std::string(hex.at("hex").as_string())).value();
  chain::Block decoded;
  ASSERT_TRUE(chain::decode_tx_into(decoded, served.network, raw));
  EXPECT_EQ(decoded.txs.front().id, id);
  for (const auto& [query, headers] :
       {std::pair<std::string, http::Fields>{"?format=binary", {}},
        std::pair<std::string, http::Fields>{"", {{"Accept", "application/octet-stream"}}}}) {
    const http::Response binary = served.send(http::Method::kGet, path + query, "", headers);
    EXPECT_EQ(binary.status, 200);
    EXPECT_EQ(binary.content_type, "application/octet-stream");
    EXPECT_EQ(binary.content(), as_text(raw));
  }
  EXPECT_NE(served.detail(served.get(path + "?format=xml", 400)).find("format"), std::string::npos);
}

TEST(TxRoutes, OutputsComeInPages) {
  ServedStore served;
  ASSERT_NO_FATAL_FAILURE(served.grow(130));
  served.serve();
  const auto many = served.stored([](const StoredTx& t) { return t.outputs >= 3; });
  ASSERT_FALSE(many.empty());
  const std::string path = "/" + served.name(many.front().id);
  const bj::value whole = served.get(path);
  EXPECT_TRUE(whole.at("next_outputs_from").is_null());
  bj::array joined;
  std::string from = "0";
  for (int pages = 0; pages < 100 && !from.empty(); ++pages) {
    const bj::value page = served.get(path + "?outputs_count=1&outputs_from=" + from);
    for (const bj::value& output : page.at("outputs").as_array()) joined.push_back(output);
    const bj::value& next = page.at("next_outputs_from");
    from = next.is_null() ? "" : std::to_string(next.to_number<std::uint64_t>());
  }
  EXPECT_EQ(bj::value(joined), whole.at("outputs"));
  EXPECT_TRUE(served.get(path + "?outputs_from=4294967295").at("outputs").as_array().empty());
  EXPECT_NE(served.detail(served.get(path + "?outputs_count=1001", 400)).find("outputs_count"),
            std::string::npos);
}

TEST(TxRoutes, WhatIsNotStoredHasAnAnswer) {
  ServedStore served;
  ASSERT_NO_FATAL_FAILURE(served.grow(160));
  served.serve();
  for (const char* rest : {"", "/raw", "/retention"}) {
    const bj::value problem = served.get("/" + kZeros + rest, 404);
    EXPECT_EQ(problem.at("absence").as_string(), "unknown") << rest;
    EXPECT_EQ(problem.at("code").as_string(), "not_found");
    (void)served.get("/zz" + std::string(rest), 400);
  }
  std::size_t pruned = 0;
  for (const auto& [id, height] : served.mined) {
    const http::Response answer = served.send(http::Method::kGet, "/" + served.name(id));
    if (answer.status == 200) continue;
    const bj::value problem = bj::parse(bj::string_view(answer.content()));
    if (problem.at("absence").as_string() == "pruned") ++pruned;
  }
  EXPECT_GT(pruned, 0u);
}

TEST(TxRoutes, RetentionTellsWhyAndWhen) {
  ServedStore served;
  ASSERT_NO_FATAL_FAILURE(served.grow(120));
  served.serve();
  const chain::Outpoint output = served.unspent_output();
  const bj::value kept = served.get("/" + served.name(output.tx) + "/retention");
  EXPECT_FALSE(kept.at("deletable").as_bool());
  EXPECT_EQ(kept.at("reason").as_string(), "unspent");
  EXPECT_TRUE(kept.at("earliest_height").is_null());
  EXPECT_EQ(kept.at("window").to_number<std::uint64_t>(), kTestWindow);
  std::size_t stamped = 0;
  for (const StoredTx& tx : served.stored(
           [](const StoredTx& t) { return t.delete_at_height && t.state == State::kMined; })) {
    const bj::value why = served.get("/" + served.name(tx.id) + "/retention");
    EXPECT_EQ(why.at("delete_at_height").to_number<std::uint64_t>(), *tx.delete_at_height);
    EXPECT_FALSE(why.at("text").as_string().empty());
    ++stamped;
  }
  EXPECT_GT(stamped, 0u);
}

TEST(TxRoutes, ChangesNeedTheTokenAndAreAudited) {
  ServedStore served;
  ASSERT_NO_FATAL_FAILURE(served.grow(110));
  served.serve();
  const std::string id = served.name(served.unspent_output().tx);
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"/prune", "{}"},
      {"/" + id + "/preserve", R"({"until_height":5})"},
      {"/" + id + "/outputs/0/freeze", ""},
      {"/" + id + "/outputs/0/unfreeze", ""}};
  for (const auto& [path, body] : changes)
    EXPECT_EQ(served.send(http::Method::kPost, path, body).status, 401) << path;
  api::expect_fits(served.post("/prune", R"({"dry_run":true})"), served.schema("PrunedTxs"));
  EXPECT_NE(served.fixture.file("audit.log").find("/api/v1/txs/prune"), std::string::npos);
}

TEST(TxRoutes, FreezeAndUnfreeze) {
  ServedStore served;
  ASSERT_NO_FATAL_FAILURE(served.grow(120));
  served.serve();
  const chain::Outpoint output = served.unspent_output();
  const std::string tx = "/" + served.name(output.tx);
  const std::string at = fmt::format("{}/outputs/{}", tx, output.index);
  const auto frozen = [&] {
    return served.get(fmt::format("{}?outputs_from={}", tx, output.index))
        .at("outputs")
        .at(0)
        .at("frozen")
        .as_bool();
  };
  EXPECT_EQ(served.post(at + "/unfreeze", "", 409).at("code").as_string(), "conflict");
  const bj::value done = served.post(at + "/freeze", "");
  api::expect_fits(done, served.schema("TxMark"));
  EXPECT_EQ(done.at("outcome").as_string(), "done");
  EXPECT_EQ(served.post(at + "/freeze", "{}").at("outcome").as_string(), "unchanged");
  EXPECT_TRUE(frozen());
  EXPECT_EQ(served.post(at + "/unfreeze", "").at("outcome").as_string(), "done");
  EXPECT_FALSE(frozen());
  (void)served.post(tx + "/outputs/4000000/freeze", "", 404);
  (void)served.post(tx + "/outputs/x/freeze", "", 400);
  EXPECT_EQ(served.post("/" + kZeros + "/outputs/0/freeze", "", 404).at("absence").as_string(),
            "unknown");
  EXPECT_NE(served.detail(served.post(at + "/freeze", R"({"a":1})", 400)).find("'a'"),
            std::string::npos);
}

TEST(TxRoutes, PreserveKeepsUntilItsHeight) {
  ServedStore served;
  ASSERT_NO_FATAL_FAILURE(served.grow(120));
  served.serve();
  const auto stamped = served.stored(
      [](const StoredTx& t) { return t.delete_at_height && t.state == State::kMined; });
  ASSERT_FALSE(stamped.empty());
  const std::string path = "/" + served.name(stamped.front().id);
  EXPECT_NE(served.detail(served.post(path + "/preserve", "{}", 400)).find("until_height"),
            std::string::npos);
  const bj::value done = served.post(path + "/preserve", R"({"until_height":100000})");
  EXPECT_EQ(done.at("until_height").to_number<int>(), 100'000);
  ASSERT_NO_FATAL_FAILURE(served.grow(3 * kTestWindow));
  const bj::value kept = served.get(path + "/retention");
  EXPECT_EQ(kept.at("reason").as_string(), "preserved");
  EXPECT_EQ(kept.at("preserve_until").to_number<int>(), 100'000);
  (void)served.post("/" + kZeros + "/preserve", R"({"until_height":5})", 404);
}

TEST(TxRoutes, CardanoTransactionsAndGenesis) {
  ServedStore served("cardano");
  ASSERT_NO_FATAL_FAILURE(served.grow(60));
  served.serve();
  std::size_t decoded = 0, genesis = 0;
  for (const StoredTx& tx : served.stored([](const StoredTx&) { return true; })) {
    const bj::value got = served.get("/" + served.name(tx.id));
    api::expect_fits(got, served.schema("StoredTransaction"));
    for (const bj::value& output : got.at("outputs").as_array())
      api::expect_fits(output, served.schema("TxOutput"));
    if (!got.at("decoded").is_null()) {
      api::expect_fits(got.at("decoded"), served.schema("TxDecoded"));
      ++decoded;
    }
    if (!tx.genesis) continue;
    ++genesis;
    EXPECT_TRUE(got.at("decoded").is_null());
    EXPECT_NE(served.detail(served.get("/" + served.name(tx.id) + "/raw", 404)).find("genesis"),
              std::string::npos);
  }
  EXPECT_GT(decoded, 0u);
  EXPECT_GT(genesis, 0u);
}

TEST(TxRoutes, DisabledRoutesNameTheSetting) {
  ServedStore served;
  served.serve(false);
  for (const char* rest : {"", "/raw", "/retention"})
    EXPECT_NE(served.detail(served.get("/" + kZeros + rest, 503)).find("txstore.enabled"),
              std::string::npos);
  EXPECT_NE(served.detail(served.post("/prune", "", 503)).find("txstore.enabled"),
            std::string::npos);
}

}  // namespace
}  // namespace coffer::txstore
