// The commands that check a community, and set balances right.
#include "cli/output.h"
#include "cli/table.h"
#include "token/commands/commands.h"
#include "token/commands/view.h"
#include "token/json/output.h"

namespace coffer::token {
namespace {

Result<> run_check(const Context& context, const Store& store, const TokenQuery&) {
  const CheckReport report = TRY(store.check());
  TRY(print_result(context, check_json(report), render_check(report)));
  if (report.is_consistent && report.differences.empty()) return {};
  return fail(Code::kCorrupt,
              "balances differ from their history; see 'coffer token rebuild', and restore a "
              "backup if you do not know why");
}

struct RebuildArguments {
  bool apply = false;
};

Result<> run_rebuild(const Context& context, const RebuildArguments& given) {
  const OpenLedger ledger = TRY(OpenLedger::open(context.config));
  const auto differences =
      TRY(ledger.store->rebuild_balances(!given.apply, {"cli", "coffer token rebuild --apply"}));
  std::string text = differences.empty() ? "" : render_differences(differences);
  const std::string wallets = cli::counted(differences.size(), "wallet");
  if (given.apply)
    text += fmt::format("{} set right\n", wallets);
  else
    text += fmt::format("{} would be set right{}\n", wallets,
                        differences.empty() ? "" : "; add --apply to do it");
  return print_result(context, rebuilt_json(differences, !given.apply), text);
}

}  // namespace

std::vector<cli::Command> integrity_commands() {
  using A = RebuildArguments;
  return {
      token_query(token_command({"check"}, "Recompute every balance from the history",
                                "  coffer token check || echo 'call somebody'\n"),
                  {}, run_check),
      node::command<A>(
          token_command({"rebuild"},
                        "List balances that differ from their history; --apply sets "
                        "them right",
                        "  coffer token rebuild\n  coffer token rebuild --apply\n"),
          {{"--apply", &A::apply, "Change the balances; on PostgreSQL as the owner of the tables"}},
          run_rebuild),
  };
}

}  // namespace coffer::token
