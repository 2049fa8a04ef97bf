// Pages and balances of an address or a credential: their bounds, their cursors, and what they say
// when an index or a record is damaged.
#include <gtest/gtest.h>

#include <coffer/chain/address.h>
#include "utxo/keys.h"
#include "utxo/support/chain.h"

namespace coffer::utxo {
namespace {

const Bytes kAddress(57, 0x01);

// So many outputs of one script in the block after the newest.
void add_outputs(Chain& chain, std::uint8_t tx, std::size_t count, std::uint64_t behind = 0) {
  Chain::Tx many{.id = id(tx), .inputs = {}, .outputs = {}};
  many.outputs.assign(count, kScript);
  ASSERT_TRUE(chain.add({many}, 6, behind));
}

TEST(UtxoPages, CursorOfTheOtherDirectionIsRefused) {  // U8
  Chain chain("cardano");
  for (std::uint8_t i = 1; i <= 3; ++i)
    ASSERT_TRUE(chain.add({{.id = id(i), .inputs = {}, .outputs = {kAddress}}}));
  for (const bool descending : {false, true}) {
    PageRequest request;
    request.count = 1;
    request.descending = descending;
    request.cursor = chain.state().by_address(kAddress, request).value().cursor;
    ASSERT_FALSE(request.cursor.empty());
    EXPECT_EQ(chain.state().by_address(kAddress, request).value().utxos[0].outpoint.tx, id(2));
    request.descending = !descending;
    const auto turned = chain.state().by_address(kAddress, request);
    ASSERT_FALSE(turned) << descending;
    EXPECT_EQ(turned.error().code, Code::kInvalidInput);
    // A balance goes from the oldest to the newest.
    const auto balance = chain.state().balance(kAddress, request.cursor);
    EXPECT_EQ(balance.has_value(), !descending);
  }
}

// A filtered page reads records many at a time; what matches beyond the page is not lost.
TEST(UtxoPages, FilteredPagesMeetEveryMatchOnce) {  // U8
  Chain chain("cardano");
  Hash224 policy{};
  policy.fill(0x77);
  for (std::uint8_t i = 1; i <= 40; ++i) {
    Chain::Tx tx{.id = id(i), .inputs = {}, .outputs = {kAddress}};
    if (i % 4 != 0) tx.policy = policy;
    ASSERT_TRUE(chain.add({tx}));
  }
  for (const bool descending : {false, true}) {
    std::vector<Hash256> expected, by_cursor, by_number;
    for (std::uint8_t i = 1; i <= 40; ++i)
      if (i % 4 != 0) expected.push_back(id(i));
    if (descending) std::reverse(expected.begin(), expected.end());
    PageRequest request;
    request.asset = AssetFilter{policy, std::nullopt};
    request.count = 7;
    request.descending = descending;
    do {
      const Page page = chain.state().by_address(kAddress, request).value();
      EXPECT_LE(page.utxos.size(), 7u);
      for (const Utxo& utxo : page.utxos) by_cursor.push_back(utxo.outpoint.tx);
      request.cursor = page.cursor;
    } while (!request.cursor.empty() && by_cursor.size() <= expected.size());
    EXPECT_EQ(by_cursor, expected);
    for (request.page = 1; request.page <= 5; ++request.page) {
      const Page page = chain.state().by_address(kAddress, request).value();
      for (const Utxo& utxo : page.utxos) by_number.push_back(utxo.outpoint.tx);
      EXPECT_EQ(page.cursor.empty(), request.page == 5) << request.page;
    }
    EXPECT_EQ(by_number, expected);
  }
}

TEST(UtxoPages, PageNumberTooFarInIsRefused) {  // E11
  Chain chain("bitcoin");
  ASSERT_TRUE(chain.add({}));
  ASSERT_NO_FATAL_FAILURE(add_outputs(chain, 1, 3));
  PageRequest request;
  request.page = 10'001;  // after 1,000,000 entries
  EXPECT_TRUE(chain.state().by_address(kScript, request).value().utxos.empty());
  for (const std::uint64_t page : {std::uint64_t{10'002}, ~std::uint64_t{0}}) {
    request.page = page;
    const auto refused = chain.state().by_address(kScript, request);
    ASSERT_FALSE(refused) << page;
    EXPECT_EQ(refused.error().code, Code::kInvalidInput);
    EXPECT_NE(refused.error().message.find("use the cursor"), std::string::npos);
  }
}

TEST(UtxoPages, FilteredPageExaminesABoundedNumberOfEntries) {  // E11
  Chain chain("bitcoin");
  ASSERT_TRUE(chain.add({}));
  for (std::uint8_t tx = 1; tx <= 3; ++tx) ASSERT_NO_FATAL_FAILURE(add_outputs(chain, tx, 9'000));
  PageRequest request;
  request.asset = AssetFilter{};  // that nothing holds
  int pages = 0;
  do {
    const Page page = chain.state().by_address(kScript, request).value();
    EXPECT_TRUE(page.utxos.empty());
    request.cursor = page.cursor;
    ++pages;
  } while (!request.cursor.empty() && pages < 10);
  EXPECT_EQ(pages, 3) << "10,000 of 27,000 entries at a time";
}

TEST(UtxoPages, BalanceOfVeryManyOutputsComesInParts) {  // E11
  Chain chain("bitcoin");
  ASSERT_TRUE(chain.add({}));
  constexpr std::uint64_t kBlocks = 56, kOutputs = 9'000;
  for (std::uint64_t i = 0; i < kBlocks; ++i)
    ASSERT_NO_FATAL_FAILURE(
        add_outputs(chain, static_cast<std::uint8_t>(i + 1), kOutputs, 100'000));
  ASSERT_TRUE(chain.store().flush());
  const Balance first = chain.state().balance(kScript).value();
  EXPECT_LT(first.utxos, kBlocks * kOutputs);
  EXPECT_GE(first.utxos, 500'000u);
  ASSERT_FALSE(first.cursor.empty());
  const Balance rest = chain.state().balance(kScript, first.cursor).value();
  EXPECT_TRUE(rest.cursor.empty());
  EXPECT_EQ(first.utxos + rest.utxos, kBlocks * kOutputs);
  EXPECT_TRUE(first.amount + rest.amount == U128{1000} * kBlocks * kOutputs);
}

TEST(UtxoPages, MissingRecordIsCorruptNotLeftOut) {  // E6
  Chain chain("cardano");
  const auto payment = chain::credentials_of(kAddress).payment;
  ASSERT_TRUE(payment);
  for (std::uint8_t i = 1; i <= 3; ++i)
    ASSERT_TRUE(chain.add({{.id = id(i), .inputs = {}, .outputs = {kAddress}}}));
  kv::Batch batch;
  batch.del(chain.db().column("utxo_unspent").value(),
            outpoint_key(chain::Family::kCardano, {id(2), 0}).view());
  ASSERT_TRUE(chain.db().commit(batch));
  const auto page = chain.state().by_address(kAddress, {});
  ASSERT_FALSE(page);
  EXPECT_EQ(page.error().code, Code::kCorrupt);
  EXPECT_NE(page.error().message.find("coffer utxo verify"), std::string::npos);
  EXPECT_EQ(chain.state().by_credential(payment->hash, {}).error().code, Code::kCorrupt);
  EXPECT_EQ(chain.state().balance(kAddress).error().code, Code::kCorrupt);
}

// What a collision of the indexed hash would do: an entry under an owner whose record is another's.
TEST(UtxoPages, EntryOfAnotherOwnerIsNotShown) {  // U11
  Chain chain("cardano");
  const Bytes other(57, 0x02);
  const auto payment = chain::credentials_of(kAddress).payment;
  ASSERT_TRUE(payment);
  ASSERT_TRUE(chain.add({{.id = id(1), .inputs = {}, .outputs = {kAddress, other}}}));
  kv::Batch batch;
  for (const auto& [column, owner] :
       {std::pair("utxo_addr", address_owner(kAddress)), std::pair("utxo_cred", payment->hash)})
    batch.put(chain.db().column(column).value(),
              index_key(chain::Family::kCardano, owner, Slot(20), {id(1), 1}).view(), {});
  ASSERT_TRUE(chain.db().commit(batch));
  for (const Page& page : {chain.state().by_address(kAddress, {}).value(),
                           chain.state().by_credential(payment->hash, {}).value()}) {
    ASSERT_EQ(page.utxos.size(), 1u);
    EXPECT_EQ(page.utxos[0].outpoint.index, 0u);
  }
  const Balance balance = chain.state().balance(kAddress).value();
  EXPECT_EQ(balance.utxos, 1u);
  EXPECT_TRUE(balance.amount == U128{1000});
}

TEST(UtxoPages, OutputIndexThatNoKeyHoldsIsNotFound) {  // U3
  Options options;
  options.store = StoreType::kMmr;
  Chain chain("cardano", options);
  ASSERT_TRUE(chain.add({{.id = id(1), .inputs = {}, .outputs = {kAddress}}}));
  ASSERT_TRUE(chain.unspent({id(1), 0}));
  // Two bytes hold the index on Cardano: cut to them, it would be output 0.
  EXPECT_FALSE(chain.state().get({id(1), 65'536}).value());
  const auto proof = chain.state().prove({id(1), 65'536});
  ASSERT_FALSE(proof);
  EXPECT_EQ(proof.error().code, Code::kNotFound);
}

}  // namespace
}  // namespace coffer::utxo
