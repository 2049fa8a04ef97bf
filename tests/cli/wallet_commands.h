// For tests that run `coffer wallet` as people type it.
#pragma once

#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "base/result.h"
#include "base/temp_dir.h"
#include "support/process.h"
#include "wallet/descriptor/descriptor_test_util.h"
#include "wallet/test_tx.h"

namespace coffer {

namespace fs = std::filesystem;
using test::expect_refusal;
using test::Finished;
using test::run;

inline const std::string kRanged = "wpkh(" + wallet::kTestnetKey + "/<0;1>/*)";
inline const std::string kLock(64, 'a'), kOtherLock(64, 'b'), kZeros(64, '0');

class WalletCommands : public testing::Test {
 protected:
  std::string data(const char* name = "data") const { return (dir_.path() / name).string(); }
  // coffer wallet ARGUMENTS --data …
  Finished wallet(std::vector<std::string> arguments, const char* name = "data") const {
    arguments.insert(arguments.begin(), "wallet");
    arguments.insert(arguments.end(), {"--data", data(name)});
    return run(arguments, database_.empty() ? std::vector<std::string>()
                                            : std::vector{"COFFER_WALLET_DATABASE=" + database_});
  }
  std::string text(std::vector<std::string> arguments) const {
    const Finished end = wallet(std::move(arguments));
    EXPECT_EQ(end.exit_code, 0) << end.err;
    return end.out;
  }
  boost::json::value as_json(std::vector<std::string> arguments) const {
    arguments.emplace_back("--json");
    return boost::json::parse(text(std::move(arguments)));
  }
  static std::string str(const boost::json::value& object, const char* key) {
    return std::string(object.at(key).as_string());
  }
  void make_shop() const {
    ASSERT_EQ(wallet({"create", "shop"}).exit_code, 0);
    ASSERT_EQ(wallet({"import", "descriptor", "shop", kRanged}).exit_code, 0);
  }
  Bytes new_script() const {
    return from_hex(str(as_json({"address", "shop"}), "script_pub_key")).value();
  }
  // A confirmed payment to a new address: its bytes.
  Bytes pay(std::uint64_t satoshi, int height) {
    const Bytes raw =
        wallet::test_tx({wallet::foreign_outpoint(++foreign_)}, {{satoshi, new_script()}});
    (void)as_json({"record", "shop", to_hex(raw), "--height", std::to_string(height), "--block",
                   fmt::format("{:064x}", height), "--index", "1"});
    return raw;
  }
  static std::string id_of(const Bytes& raw) {
    return chain::display(chain::Family::kBitcoin, wallet::test_txid(raw));
  }
  static boost::json::value without_time(boost::json::value answer) {
    answer.as_object().erase("counted_unix_ms");
    return answer;
  }
  std::string everything() const {
    std::string all;
    for (const std::vector<std::string>& one :
         std::vector<std::vector<std::string>>{{"list"},
                                               {"stats"},
                                               {"descriptors", "shop"},
                                               {"addresses", "shop"},
                                               {"balance", "shop"},
                                               {"history", "shop"},
                                               {"leases", "shop"}})
      all += boost::json::serialize(without_time(as_json(one))) + "\n";
    return all;
  }

  TempDir dir_;
  std::string database_;  // empty: the file in the data directory
  std::uint8_t foreign_ = 0;
};

}  // namespace coffer
