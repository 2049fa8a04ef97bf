// Body, schema and command of every verb have the fields of its declaration, and both doors make
// the same request of the same values.
#include "wallet/json/verbs.h"

#include <map>
#include <set>

#include "base/result.h"
#include "wallet/commands/commands.h"
#include "wallet/routes/wallets_test_util.h"

namespace coffer::wallet {
namespace {

using Path = std::vector<std::string>;
using NameSet = std::set<std::string>;

// The commands of each verb, in the order of for_each_verb.
const std::vector<std::vector<Path>> kCommandsOfVerbs = {
    {{"create"}},
    {{"import", "descriptor"}},
    {{"import", "address"}, {"import", "script"}},
    {{"address"}},
    {{"record"}},
    {{"lease"}},
    {{"renew"}},
    {{"select"}},
    {{"release"}},
    {{"label"}},
    {{"prune"}},
    {{"rescan"}},
};

// All options of these commands but the wallet that they are about.
std::map<std::string, cli::Option> options_of(const std::vector<Path>& paths) {
  const cli::Program program{
      .name = "x", .overview = "", .version = "", .settings = {}, .commands = wallet_commands()};
  std::map<std::string, cli::Option> found;
  for (Path path : paths) {
    path.insert(path.begin(), "wallet");
    const cli::Command* command = cli::find_command(program, path);
    EXPECT_NE(command, nullptr) << path.back();
    if (command == nullptr) continue;
    for (const cli::Option& option : command->options)
      if (option.name != "wallet") found.emplace(option.name, option);
  }
  return found;
}

std::string error_of(const auto& result) {
  return result ? "" : result.error().message;
}

TEST(WalletVerbs, SchemaHasTheDeclaredFields) {
  Wallets wallets;
  wallets.serve();
  for_each_verb([&](const auto& verb) {
    SCOPED_TRACE(verb.schema);
    const json::value served = wallets.schema(verb.schema);
    EXPECT_EQ(served, json::parse(node::body_schema(verb)));
    NameSet names, required, served_required;
    for (const auto& field : verb.fields) {
      names.insert(field.name);
      if (field.option.required) required.insert(field.name);
    }
    for (const json::value& name : served.at("required").as_array())
      served_required.insert(std::string(name.as_string()));
    EXPECT_EQ(served_required, required);
    ASSERT_EQ(api::keys_of(served.at("properties")), names);
    for (const auto& field : verb.fields)
      EXPECT_EQ(served.at("properties").at(field.name), json::parse(field.schema));
    EXPECT_FALSE(served.at("additionalProperties").as_bool());
  });
}

TEST(WalletVerbs, BodyTakesTheDeclaredFieldsOnly) {
  for_each_verb([](const auto& verb) {
    SCOPED_TRACE(verb.schema);
    std::vector<std::string> names;
    json::object all;  // null counts as absent, but not as unknown
    for (const auto& field : verb.fields) {
      names.push_back(field.name);
      all[field.name] = nullptr;
    }
    EXPECT_EQ(error_of(node::parse_body(verb, json::serialize(all))).find("unknown field"),
              std::string::npos);
    all["rescan"] = true;
    const auto refused = node::parse_body(verb, json::serialize(all));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Code::kInvalidInput);
    EXPECT_EQ(refused.error().message,
              fmt::format("unknown field 'rescan'; known are {}", fmt::join(names, ", ")));
    for (const auto& field : verb.fields) {
      if (!field.option.required) continue;
      json::object wrong = {{field.name, json::object()}};  // no field is an object
      EXPECT_NE(error_of(node::parse_body(verb, json::serialize(wrong))), "");
    }
  });
}

TEST(WalletVerbs, CommandHasTheDeclaredOptions) {
  std::size_t index = 0;
  for_each_verb([&](const auto& verb) {
    SCOPED_TRACE(verb.schema);
    ASSERT_LT(index, kCommandsOfVerbs.size());
    const std::vector<Path>& paths = kCommandsOfVerbs[index++];
    std::map<std::string, cli::Option> options = options_of(paths);
    for (const auto& field : verb.fields) {
      if (field.option.name.empty()) continue;
      SCOPED_TRACE(field.name);
      ASSERT_TRUE(options.contains(field.option.name));
      const cli::Option typed = options.extract(field.option.name).mapped();
      EXPECT_EQ(typed.help, field.option.help);
      EXPECT_EQ(typed.kind, field.option.kind);
      EXPECT_EQ(typed.range.max, field.option.range.max);
      // A command that has only one of several fields needs it.
      const bool is_only_one =
          paths.size() > 1 && std::ranges::count(verb.one_of.fields, field.name) != 0;
      EXPECT_EQ(typed.required, field.option.required || is_only_one);
    }
    EXPECT_TRUE(options.empty()) << options.begin()->first << " is not declared";
  });
  EXPECT_EQ(index, kCommandsOfVerbs.size());
}

TEST(WalletVerbs, BothDoorsMakeTheSameRequest) {
  const std::string coin = R"({"tx_hash":")" + kOtherLock + R"(","output_index":7})";
  const std::string lease_body =
      fmt::format(R"({{"coins":[{}],"lock_id":"{}","duration_ms":600000}})", coin, kLock);
  cli::Invocation typed;
  typed.values = {{"output", {kOtherLock + "#7"}}, {"--lock-id", {kLock}}, {"--for", {"10m"}}};
  for (const auto* verb : {&verbs().lease, &verbs().renew}) {
    const LeaseRequest body = node::parse_body(*verb, lease_body).value();
    const LeaseRequest words = node::read_words(*verb, typed).value();
    EXPECT_EQ(body.coins, words.coins);
    EXPECT_EQ(body.lock_id, words.lock_id);
    EXPECT_EQ(body.duration_ms, 600'000);
    EXPECT_EQ(words.duration_ms, 600'000);
  }

  const std::string record_body = fmt::format(
      R"({{"raw":"0102","status":"pending","height":5,"block_hash":"{}","block_index":3,)"
      R"("block_time":9,"bump":true,"lock_id":"{}"}})",
      kOtherLock, kLock);
  typed.values = {{"transaction", {"0102"}}, {"--status", {"pending"}}, {"--height", {"5"}},
                  {"--block", {kOtherLock}}, {"--index", {"3"}},        {"--time", {"9"}},
                  {"--bump", {"true"}},      {"--lock-id", {kLock}},    {"--force", {"false"}}};
  const RecordTransaction body = node::parse_body(verbs().record, record_body).value();
  const RecordTransaction words = node::read_words(verbs().record, typed).value();
  for (const RecordTransaction& record : {body, words}) {
    EXPECT_EQ(record.raw, (Bytes{1, 2}));
    EXPECT_EQ(record.status, TxStatus::kPending);
    ASSERT_TRUE(record.block);
    EXPECT_EQ(record.block->height, 5u);
    EXPECT_EQ(to_display(record.block->hash), kOtherLock);
    EXPECT_EQ(record.block->index, 3u);
    EXPECT_EQ(record.block->time_s, 9);
    EXPECT_TRUE(record.bump);
    EXPECT_EQ(record.lock_id, LockId::from(from_hex(kLock)->data()));
    EXPECT_FALSE(record.force);
  }
}

TEST(WalletVerbs, OneOfSeveralFieldsIsNeeded) {
  const auto release = [](const std::string& more) {
    return error_of(
        node::parse_body(verbs().release, fmt::format(R"({{"lock_id":"{}"{}}})", kLock, more)));
  };
  const std::string coins = R"(,"coins":[{"tx_hash":")" + kZeros + R"(","output_index":0}])";
  for (const std::string& bad :
       {std::string(), coins + R"(,"all":true)", std::string(R"(,"all":false)")})
    EXPECT_EQ(release(bad), "coins or all: give one of them");
  for (const std::string& good :
       {coins, coins + R"(,"all":false)", std::string(R"(,"all":true,"coins":null)")})
    EXPECT_EQ(release(good), "");

  cli::Invocation typed;
  const auto refused = [&](bool expected) {
    const auto read = node::read_words(verbs().release, typed);
    EXPECT_EQ(error_of(read), expected ? verbs().release.one_of.usage : "");
  };
  typed.values = {{"--lock-id", {kLock}}};
  refused(true);
  typed.values["--all"] = {"false"};
  refused(true);
  typed.values["output"] = {kZeros + "#0"};
  refused(false);
  typed.values["--all"] = {"true"};
  refused(true);
}

TEST(WalletVerbs, Durations) {
  const std::pair<const char*, std::int64_t> good[] = {
      {"1ms", 1},        {"30s", 30'000},        {"10m", 600'000},
      {"2h", 7'200'000}, {"90d", 7'776'000'000}, {"1w", 604'800'000}};
  for (const auto& [text, ms] : good) EXPECT_EQ(node::parse_duration_ms(text).value(), ms) << text;
  for (const char* text : {"", "10", "m", "0s", "-1s", "+1s", "1.5h", "1y", "10 m", "10M",
                           "9999999999999999999d", "999999999999d"})
    EXPECT_FALSE(node::parse_duration_ms(text)) << text;
}

}  // namespace
}  // namespace coffer::wallet
