// The commands that move tokens.
#include "base/file.h"
#include "cli/output.h"
#include "cli/table.h"
#include "token/commands/commands.h"
#include "token/commands/view.h"
#include "token/json/input.h"
#include "token/json/output.h"

namespace coffer::token {
namespace {

constexpr std::uint64_t kMaxBatchFile = 8u << 20;  // as a body of HTTP

std::string repeated_text(const Applied& applied) {
  return applied.is_repeat ? "; it was applied before, nothing changed now" : "";
}

Result<> run_transfer(const TokenCommand& on, const TransferRequest& given) {
  const Party from = TRY(find_party(on.store, given.from));
  const Party to = TRY(find_party(on.store, given.to));
  Transfer transfer = to_transfer(given, from.wallet, to.wallet);
  if (!given.id) transfer.id = random_uuid();
  if (from.wallet == to.wallet)
    return fail(Code::kUsage, "{} would pay itself; to issue tokens, use 'coffer token issue'",
                from.name);
  const Applied applied = TRY(cli::as_usage_error(on.store.transfer(transfer, on.actor())));
  return print_result(
      on.context, applied_json(applied),
      fmt::format("{} to {}; {} has {} left{}\n", tokens_text(given.amount), to.name, from.name,
                  tokens_text(applied.balance), repeated_text(applied)));
}

Result<> run_issue(const TokenCommand& on, const IssueRequest& given) {
  const SystemAccount account = TRY(find_account(on.store, given.account));
  const Transfer issuance{.id = given.id.value_or(random_uuid()),
                          .from = account.wallet,
                          .to = account.wallet,
                          .amount = given.amount,
                          .memo = given.memo};
  const Applied applied = TRY(cli::as_usage_error(on.store.transfer(issuance, on.actor())));
  return print_result(
      on.context, applied_json(applied),
      fmt::format("{} issued; {} has {}{}\n", tokens_text(given.amount), account.name,
                  tokens_text(applied.balance), repeated_text(applied)));
}

struct BatchArguments {
  std::string file;
};

Result<> run_batch(const Context& context, const BatchArguments& given) {
  const Bytes text = TRY(given.file == "-" ? read_standard_input(kMaxBatchFile)
                                           : read_file_or_pipe(given.file, kMaxBatchFile));
  const BatchRequest batch = TRY_IN(given.file, parse_batch(as_text(text)));
  std::vector<Transfer> transfers;
  transfers.reserve(batch.transfers.size());
  for (const TransferRequest& one : batch.transfers)
    transfers.push_back(to_transfer(one, *one.from.id, *one.to.id));
  const OpenLedger ledger = TRY(OpenLedger::open(context.config));
  const auto results = TRY(ledger.store->batch(transfers, batch.mode, {"cli"}));
  std::size_t applied = 0;
  std::string refused;
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i])
      ++applied;
    else
      refused += fmt::format("item {}: {}\n", i + 1, cli::printable(results[i].error().message));
  }
  TRY(print_result(
      context, batch_json(transfers, results),
      refused + fmt::format("{} applied, {} refused\n", cli::counted(applied, "transfer"),
                            cli::with_thousands(results.size() - applied))));
  if (refused.empty()) return {};
  return fail(Code::kConflict, "{} of {} transfers were refused", results.size() - applied,
              results.size());
}

Result<> run_reverse(const TokenCommand& on, const Reversal& given) {
  const Applied applied = TRY(cli::as_usage_error(on.store.reverse(
      given.transaction, given.id.value_or(random_uuid()), on.actor(given.reason))));
  return print_result(on.context, applied_json(applied),
                      fmt::format("{} is reversed by {}{}\n", to_string(given.transaction),
                                  to_string(applied.id), repeated_text(applied)));
}

Result<Uuid> typed_id(const TokenCommand& on, std::string_view name) {
  return cli::as_usage_error(parse_id(name, on.argument(name)));
}

Result<> run_erase(const TokenCommand& on, const Because& given) {
  const Uuid transaction = TRY(typed_id(on, "transaction"));
  TRY(cli::as_usage_error(on.store.erase_details(transaction, on.actor(given.reason))));
  return print_result(on.context, erased_json(transaction),
                      fmt::format("memo and metadata of {} are erased; the log keeps their hash\n",
                                  to_string(transaction)));
}

}  // namespace

std::vector<cli::Command> transfer_commands() {
  using A = BatchArguments;
  return {
      token_verb(token_command({"transfer"}, "Send tokens from one wallet to another",
                               "  coffer token transfer alice bob 5 --memo lunch\n"
                               "  coffer token transfer prizes alice 100 --metadata "
                               "'{\"round\":3}'\n"),
                 {}, with_optional_id(verbs().transfer), run_transfer),
      token_verb(token_command({"issue"}, "Issue new tokens to a system account",
                               "  coffer token issue 1000\n"
                               "  coffer token issue 1000 --account prizes --memo 'season 2'\n"),
                 {}, issue_verb(), run_issue),
      node::command<A>(
          token_command({"batch"}, "Apply up to 10,000 transfers of a file, in order",
                        "  coffer token batch payday.json\n"
                        "  generate | coffer token batch -\n"),
          {{"file", &A::file,
            "JSON: {\"mode\": \"all\" or \"each\", \"transfers\": [{\"id\", \"from\", \"to\", "
            "\"amount\"}, …]}"}},
          run_batch),
      token_verb(token_command({"reverse"}, "Send the whole amount of a transaction back, once",
                               "  coffer token reverse TRANSACTION --reason 'wrong recipient'\n"),
                 {}, with_optional_id(verbs().reverse), run_reverse),
      token_verb(token_command({"erase"}, "Erase memo and metadata of a transaction",
                               "  coffer token erase TRANSACTION --reason 'personal data'\n"),
                 {node::required("transaction", "Its id")}, verbs().because, run_erase),
  };
}

}  // namespace coffer::token
