// The commands of the tamper-evident log: checkpoints, proofs and their checks off line.
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "cli/output.h"
#include "cli/table.h"
#include "token/commands/commands.h"
#include "token/commands/view.h"
#include "token/json/input.h"
#include "token/json/log.h"
#include "token/log/audit_file.h"
#include "token/log/key.h"
#include "token/log/pass.h"

namespace coffer::token {
namespace {

struct ProofArguments {
  std::string transaction;
  std::optional<std::uint64_t> size;
};
struct ConsistencyArguments {
  std::uint64_t older = 1;
  std::optional<std::uint64_t> newer;
};
struct CheckProofArguments {
  std::string file, key, transaction;
};
struct CheckExportArguments {
  std::string file, key;
};

Result<std::optional<crypto::Ed25519PublicKey>> typed_key(const std::string& hex) {
  if (hex.empty()) return std::nullopt;
  const auto bytes = from_hex(hex);
  if (!bytes || bytes->size() != crypto::Ed25519PublicKey::kSize)
    return fail(Code::kUsage, "--key: expected 64 hex digits, as 'coffer token checkpoints' shows");
  return crypto::Ed25519PublicKey::from(bytes->data());
}

Result<> print_document(const std::string& json) {
  cli::print(json + "\n");
  return cli::finish_output();
}

Result<> run_proof(const Context& context, const ProofArguments& given) {
  const Uuid id = TRY(cli::as_usage_error(parse_id("transaction", given.transaction)));
  const OpenLedger ledger = TRY(OpenLedger::open(context.config));
  const InclusionProof proof = TRY(Log(ledger.store->ledger()).prove(id, given.size));
  return print_document(proof_json(proof));
}

Result<> run_consistency(const Context& context, const ConsistencyArguments& given) {
  const OpenLedger ledger = TRY(OpenLedger::open(context.config));
  const ConsistencyProof proof =
      TRY(Log(ledger.store->ledger()).prove_consistency(given.older, given.newer));
  return print_document(proof_json(proof));
}

std::string key_text(const crypto::Ed25519PublicKey& key, bool is_known) {
  return key.hex() + (is_known ? "" : " (not compared: give it with --key)");
}

std::string checkpoint_text(const Checkpoint& checkpoint) {
  return fmt::format("{} entries, {}", cli::with_thousands(checkpoint.size),
                     time_text(checkpoint.at_ms));
}

std::string render_checked(const CheckedProof& checked) {
  std::string out = row_text("community", checked.community);
  out += row_text("checkpoint", checkpoint_text(checked.checkpoint));
  if (checked.older) out += row_text("begins with", checkpoint_text(*checked.older));
  if (checked.entry) {
    out += row_text("entry", fmt::format("{} at {}", to_string(checked.entry->id),
                                         checked.position.value_or(0)));
    if (checked.entry->is_transaction())
      out += row_text("amount", tokens_text(checked.entry->transaction.amount));
  }
  out += row_text("memo", checked.memo.value_or(""));
  out += row_text("metadata", checked.metadata.value_or(""));
  out += row_text("signed by", key_text(checked.public_key, checked.is_key_known));
  return out + "the proof holds\n";
}

// Needs neither database nor settings.
Result<> run_check_proof(const Context& context, const CheckProofArguments& given) {
  ProofExpectations expected;
  expected.public_key = TRY(typed_key(given.key));
  if (!given.transaction.empty())
    expected.transaction = TRY(cli::as_usage_error(parse_id("--transaction", given.transaction)));
  const Bytes text = TRY(given.file == "-" ? read_standard_input(kMaxProofBytes)
                                           : read_file_or_pipe(given.file, kMaxProofBytes));
  const CheckedProof checked = TRY_IN(given.file, check_proof(as_text(text), expected));
  return print_result(context, checked_proof_json(checked), render_checked(checked));
}

std::string audit_report_json(const AuditReport& report) {
  json::Writer out;
  out.begin_object().field("community", report.community).field("is_good", report.is_good());
  out.field("entries", report.entries).field("unlogged", report.unlogged);
  out.field("wallets", report.wallets).field("transactions", report.transactions);
  out.field("checkpoints", report.checkpoints);
  out.field("issuance", std::to_string(report.issuance));
  out.field("is_key_known", report.is_key_known).key("problems").begin_array();
  for (const std::string& problem : report.problems) out.value(problem);
  out.end_array().end_object();
  return out.take();
}

std::string render_audit_report(const AuditReport& report) {
  std::string out = row_text("community", report.community);
  out += row_text("log",
                  fmt::format("{}, {} unlogged", cli::counted(report.entries, "entry", "entries"),
                              cli::with_thousands(report.unlogged)));
  out += row_text("transactions", cli::with_thousands(report.transactions));
  out += row_text("wallets", cli::with_thousands(report.wallets));
  out += row_text("issued in all", tokens_text(report.issuance));
  if (report.public_key)
    out += row_text("signed by", key_text(*report.public_key, report.is_key_known));
  for (const std::string& problem : report.problems)
    out += row_text("problem", cli::printable(problem));
  return out + (report.is_good() ? "the log is whole and gives these balances\n" : "");
}

Result<> run_check_export(const Context& context, const CheckExportArguments& given) {
  AuditExpectations expected;
  expected.public_key = TRY(typed_key(given.key));
  std::filesystem::path path = given.file;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) path /= "log.jsonl";
  std::ifstream file(path);
  if (!file) return fail(errno_error(errno, "cannot read " + path.string()));
  Auditor auditor(std::move(expected));
  std::uint64_t number = 0;
  for (std::string line; std::getline(file, line);)
    TRY_IN(fmt::format("{}, line {}", path.string(), ++number), auditor.add_line(line));
  const AuditReport report = TRY_IN(path.string(), auditor.finish());
  TRY(print_result(context, audit_report_json(report), render_audit_report(report)));
  if (report.is_good()) return {};
  return fail(Code::kCorrupt, "{}: {}", path.string(),
              cli::counted(report.problems.size(), "problem"));
}

Result<> run_checkpoints(const Context& context, const Store& store, const TokenQuery& given) {
  const PageOptions page = TRY(cli::as_usage_error(parse_page(given.query)));
  const Log log(store.ledger());
  const Page<Checkpoint> found = TRY(log.checkpoints(page));
  const LogStatus status = TRY(log.status());
  cli::Table table({{"size", cli::Align::kRight}, {"time"}, {"root"}});
  for (const Checkpoint& one : found.items)
    table.add_row({cli::with_thousands(one.size), time_text(one.at_ms), one.root.hex()});
  std::string text = found.items.empty()
                         ? "no checkpoints yet; a server makes one within seconds of a change\n"
                         : table.render();
  if (!found.cursor.empty()) text += fmt::format("more with --cursor {}\n", found.cursor);
  if (status.public_key) text += fmt::format("signed by {}\n", status.public_key->hex());
  if (status.unlogged > 0)
    text += fmt::format("{} not in the log yet\n",
                        cli::counted(status.unlogged, "change is", "changes are"));
  return print_result(context, checkpoints_json(found), text);
}

// What waits in the outbox goes into the log now: for a community that no server serves.
Result<> run_log_pass(const Context& context) {
  const OpenLedger ledger = TRY(OpenLedger::open(context.config));
  const Community& community = ledger.store->ledger();
  const auto key = TRY(open_log_key(community, context.config.data_dir));
  std::uint64_t entries = 0;
  for (bool more = true; more;) {
    const Pass pass = TRY(run_pass(community, key ? &*key : nullptr));
    entries += pass.entries;
    more = pass.is_full;
  }
  const std::string json = fmt::format(R"({{"entries":{}}})", entries);
  return print_result(
      context, json,
      fmt::format("{} put into the log\n", cli::counted(entries, "change", "changes")));
}

constexpr cli::Range kSizes = {1, std::uint64_t{1} << 62};

}  // namespace

std::vector<cli::Command> log_commands() {
  using P = ProofArguments;
  using C = ConsistencyArguments;
  using K = CheckProofArguments;
  using E = CheckExportArguments;
  const char* const key_help = "The community's public key, from somebody you trust";
  return {
      token_query(token_command({"checkpoints"}, "List the signed checkpoints of the log",
                                "  coffer token checkpoints --count 1 --json > today.json\n"),
                  {page_count_option(), page_cursor_option()}, run_checkpoints),
      node::command(
          token_command({"log"}, "Put what waits into the log now; a server does so by itself",
                        "  coffer token log\n"),
          run_log_pass),
      node::command<P>(
          token_command({"proof"}, "Print a proof that a transaction is in the history",
                        "  coffer token proof TRANSACTION > lunch.proof\n"),
          {{"transaction", &P::transaction, "Its id"},
           {"--size",
            &P::size,
            "Against the checkpoint of this size (default: the newest)",
            {.value = "N", .range = kSizes}}},
          run_proof),
      node::command<C>(
          token_command({"consistency"},
                        "Print a proof that the history was only appended to since a checkpoint",
                        "  coffer token consistency 120 > since-120.proof\n"),
          {{"older", &C::older, "Size of the older checkpoint", {.range = kSizes}},
           {"newer", &C::newer, "Size of the newer one (default: the newest)", {.range = kSizes}}},
          run_consistency),
      node::command<K>(
          token_command({"check-proof"}, "Check a proof, without database or network",
                        "  coffer token check-proof lunch.proof --key HEX\n"),
          {{"file", &K::file, "What 'coffer token proof' printed; - for standard input"},
           {"--key", &K::key, key_help, {.value = "HEX"}},
           {"--transaction", &K::transaction, "The proof must be of this one", {.value = "ID"}}},
          run_check_proof),
      node::command<E>(
          token_command({"check-export"},
                        "Check the log and the balances of an export, without the database",
                        "  coffer token check-export /backup/token-2026-01-31 --key HEX\n"),
          {{"file", &E::file, "A directory that 'coffer token export' wrote, or its log.jsonl"},
           {"--key", &E::key, key_help, {.value = "HEX"}}},
          run_check_export),
  };
}

}  // namespace coffer::token
