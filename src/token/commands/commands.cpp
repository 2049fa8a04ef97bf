// The commands of the token ledger: what they share, and all of them together.
#include "token/commands/commands.h"

#include "cli/output.h"
#include "token/commands/bench.h"
#include "token/json/output.h"
#include "token/settings.h"

namespace coffer::token {
namespace {

constexpr const char* kTokenExamples =
    "  coffer token init                              a community with 10,000 tokens\n"
    "  coffer token user create alice\n"
    "  coffer token transfer system_account_communitytoken alice 100 --memo welcome\n"
    "  coffer token transfer alice bob 5\n"
    "  coffer token wallet alice                      what she has\n"
    "  coffer token history alice --json              as HTTP would say it\n"
    "  coffer token check                             does every token add up?\n"
    "  coffer token list                              the communities that there are\n";

Result<> run_token_list(const Context& context) {
  const std::vector<std::string> names = TRY(list_communities(context.config));
  std::string text;
  for (const std::string& name : names) text += name + "\n";
  if (names.empty()) text = "no communities; create one with 'coffer token init'\n";
  return print_result(context, communities_json(names), text);
}

}  // namespace

cli::Command token_command(std::vector<std::string> path, const char* summary,
                           const char* examples) {
  cli::Command base{.path = std::move(path), .summary = summary, .examples = examples};
  base.path.insert(base.path.begin(), "token");
  base.settings = {"data_dir", "token.", "log."};
  return base;
}

cli::Command token_group(std::string name, const char* summary) {
  return {.path = {"token", std::move(name)}, .summary = summary};
}

TokenQueryField token_option(const std::string& name, std::string value, std::string help) {
  return node::query_option<TokenQuery>(name, std::move(value), std::move(help));
}
TokenQueryField page_count_option() {
  return token_option("--count", "N", "How many at most, up to 1000 (default: 100)");
}
TokenQueryField page_cursor_option() {
  return token_option("--cursor", "TEXT", "Go on where an earlier page ended");
}

cli::Command token_query(cli::Command base, std::vector<TokenQueryField> fields,
                         Result<> (*run)(const Context&, const Store&, const TokenQuery&)) {
  return node::command<TokenQuery>(
      std::move(base), std::move(fields),
      [run](const Context& context, const TokenQuery& query) -> Result<> {
        const OpenLedger ledger = TRY(OpenLedger::open(context.config));
        return run(context, *ledger.store, query);
      });
}

Result<> print_result(const Context& context, const std::string& json, const std::string& text) {
  cli::print(context.json ? json + "\n" : text);
  return cli::finish_output();
}

std::vector<cli::Command> token_commands() {
  std::vector<cli::Command> all = {
      {.path = {"token"},
       .summary = "Keep the tokens of a community: users, transfers, holds, statements",
       .examples = kTokenExamples,
       .notes = "All of them may run beside a server. --community names another community than "
                "the one of the settings; owners are named by name or id."}};
  all.push_back(node::command(
      token_command({"list"}, "List the communities", "  coffer token list\n"), run_token_list));
  for (const auto& list : {account_commands(), transfer_commands(), hold_commands(),
                           read_commands(), integrity_commands(), log_commands(), access_commands(),
                           import_commands(), exchange_commands()})
    all.insert(all.end(), list.begin(), list.end());
  all.push_back(node::bench_group());
  all.push_back(bench_token());
  return all;
}

}  // namespace coffer::token
