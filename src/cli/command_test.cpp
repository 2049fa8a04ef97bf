#include "cli/command.h"

#include <gtest/gtest.h>

#include "cli/command_help.h"

namespace coffer::cli {
namespace {

struct LeaseArguments {
  std::string wallet;
  Words coins;
  std::optional<std::uint32_t> count;
  std::uint64_t blocks = 300;
  std::string order = "largest";
  bool all = false;
};

std::vector<Field<LeaseArguments>> lease_table() {
  using A = LeaseArguments;
  return {{"wallet", &A::wallet, "Name of the wallet"},
          {"coin", &A::coins, "One or more", {.optional = true}},
          {"--count", &A::count, "How many", {.range = {1, std::uint64_t{1} << 40}}},
          {"--blocks", &A::blocks, "How long", {.required = true, .show_default = true}},
          {"--order", [](A& a) -> auto& { return a.order; }, "Which first", {.value = "ORDER"}},
          {"--all", &A::all, "All of them"}};
}

Program lease_program() {
  Command lease{.path = {"wallet", "lease"}, .summary = "Lease coins"};
  lease.examples = "  x wallet lease shop\n";
  lease.settings = {"data", "log."};
  for (const auto& field : lease_table()) lease.options.push_back(field.option);
  lease.run = [](const Invocation&) -> Result<> { return {}; };
  return {.name = "x",
          .overview = "Keeps coins.",
          .version = "x 1",
          .settings = {{"data", {"--data"}, "Where."}, {"http.port", {"--http-port"}, "Port."}},
          .commands = {{.path = {"wallet"}, .summary = "Keep wallets"}, lease}};
}

TEST(CommandFields, MemberTypeDecidesWhatAnOptionTakes) {
  const auto table = lease_table();
  const Kind kinds[] = {Kind::kText,   Kind::kList, Kind::kNumber,
                        Kind::kNumber, Kind::kText, Kind::kFlag};
  for (std::size_t i = 0; i < table.size(); ++i)
    EXPECT_EQ(table[i].option.kind, kinds[i]) << table[i].option.name;
  EXPECT_TRUE(table[0].option.required);
  EXPECT_FALSE(table[1].option.required);
  EXPECT_EQ(table[2].option.range.max, 0xffffffffu);  // what fits the member
  EXPECT_EQ(table[3].option.fallback, "300");
}

TEST(CommandFields, ValuesFillFreshArguments) {
  const auto table = lease_table();
  const auto read = [&](std::map<std::string, Words, std::less<>> values) {
    Invocation given{.program = "x", .config_file = {}, .settings = {}, .values = {}};
    given.values = std::move(values);
    return read_fields(table, given);
  };
  const LeaseArguments full = read({{"wallet", {"shop"}},
                                    {"coin", {"a", "b"}},
                                    {"--count", {"7"}},
                                    {"--order", {""}},
                                    {"--all", {"true"}}});
  EXPECT_EQ(full.wallet, "shop");
  EXPECT_EQ(full.coins, (Words{"a", "b"}));
  EXPECT_EQ(full.count, 7u);
  EXPECT_EQ(full.order, "");
  EXPECT_TRUE(full.all);
  const LeaseArguments empty = read({});
  EXPECT_EQ(empty.count, std::nullopt);
  EXPECT_EQ(empty.blocks, 300u);
  EXPECT_EQ(empty.order, "largest");
}

TEST(CommandHelp, OwnOptionsFirstAndSettingsOnRequest) {
  const Program program = lease_program();
  const Command* lease = find_command(program, {"wallet", "lease"});
  ASSERT_NE(lease, nullptr);
  const std::string own = render_help(program, lease, false);
  EXPECT_TRUE(
      own.starts_with("Lease coins\n\n"
                      "Usage: x wallet lease WALLET [COIN…] --blocks N [OPTIONS]\n\n"
                      "Arguments:\n"
                      "  WALLET  Name of the wallet\n"
                      "  COIN    One or more\n\n"
                      "Options:\n"
                      "  --count N      How many\n"
                      "  --blocks N     How long (default: 300) (required)\n"
                      "  --order ORDER  Which first\n"
                      "  --all          All of them\n"))
      << own;
  EXPECT_NE(own.find("'x wallet lease --help-all' lists them"), std::string::npos) << own;
  EXPECT_TRUE(own.ends_with("\nExamples:\n  x wallet lease shop\n")) << own;
  const std::string all = render_help(program, lease, true);
  EXPECT_NE(all.find("\nSettings:\n  --data VALUE  Where.\n"), std::string::npos) << all;
  EXPECT_EQ(all.find("--http-port"), std::string::npos) << all;  // it does not take this one
}

TEST(CommandHelp, LinesAreWrapped) {
  Program program = lease_program();
  std::string words;
  for (int i = 0; i < 60; ++i) words += "word ";
  program.commands[1].options[2].help = words + "end";
  const std::string help = render_help(program, &program.commands[1], false);
  std::size_t longest = 0, column = 0;
  for (const char c : help) {
    column = c == '\n' ? 0 : column + 1;
    longest = std::max(longest, column);
  }
  EXPECT_LE(longest, 100u) << help;
  EXPECT_NE(help.find("word end\n"), std::string::npos) << help;
}

TEST(CommandTree, UnknownCommandSuggestsTheNearest) {
  const Program program = lease_program();
  EXPECT_EQ(no_command(program, {}, "walet").message, "no command 'walet'; did you mean wallet?");
  EXPECT_EQ(no_command(program, {"wallet"}, "leese").message,
            "no command 'wallet leese'; did you mean wallet lease?");
  EXPECT_EQ(no_command(program, {"wallet"}, "fly").message,
            "no command 'wallet fly'; see 'x wallet --help'");
}

}  // namespace
}  // namespace coffer::cli
