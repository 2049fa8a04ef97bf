// Members from a file.
#include "base/file.h"
#include "cli/output.h"
#include "cli/table.h"
#include "token/commands/commands.h"
#include "token/json/csv.h"
#include "token/json/output.h"

namespace coffer::token {
namespace {

struct ImportArguments {
  std::string file, account;
  bool apply = false;
};

std::string import_text(const ImportReport& report, bool apply) {
  std::string text;
  for (const std::string& problem : report.problems) text += cli::printable(problem) + "\n";
  text += fmt::format("{}, {}, {} distributed in {}", cli::counted(report.users, "user"),
                      cli::counted(report.identities, "identity", "identities"),
                      cli::counted(static_cast<std::uint64_t>(report.tokens), "token"),
                      cli::counted(report.transfers, "transfer"));
  if (report.problems.empty() && !apply) text += "; add --apply to do it";
  return text + "\n";
}

Result<> run_import(const Context& context, const ImportArguments& given) {
  const Bytes text = TRY(given.file == "-" ? read_standard_input(kMaxImportBytes)
                                           : read_file_or_pipe(given.file, kMaxImportBytes));
  const std::vector<ImportRow> rows = TRY_IN(given.file, parse_import(as_text(text)));
  const OpenLedger ledger = TRY(OpenLedger::open(context.config));
  const SystemAccount account = TRY(find_account(*ledger.store, given.account));
  const ImportReport report =
      TRY(ledger.store->import_members(rows, account.id, !given.apply, {"cli"}));
  TRY(print_result(context, import_json(report, !given.apply), import_text(report, given.apply)));
  if (report.problems.empty()) return {};
  return fail(Code::kInvalidInput, "{}: {}; nothing was imported", given.file,
              cli::counted(report.problems.size(), "problem"));
}

}  // namespace

std::vector<cli::Command> import_commands() {
  using I = ImportArguments;
  return {
      node::command<I>(
          token_command({"import"}, "Import members with their opening balances from CSV",
                        "  coffer token import members.csv             only look\n"
                        "  coffer token import members.csv --apply\n"),
          {{"file", &I::file,
            "CSV with the columns username, balance, issuer, subject, user_id; "
            "- for standard "
            "input"},
           {"--apply", &I::apply, "Change something; otherwise the file is only checked"},
           {"--account",
            &I::account,
            "System account that pays the balances (default: the only one)",
            {.value = "NAME"}}},
          run_import),
  };
}

}  // namespace coffer::token
