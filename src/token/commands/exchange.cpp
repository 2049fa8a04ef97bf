// Everything into files.
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "cli/output.h"
#include "cli/table.h"
#include "token/account/export.h"
#include "token/commands/commands.h"
#include "token/commands/view.h"
#include "token/log/audit_file.h"

namespace coffer::token {
namespace {

namespace fs = std::filesystem;

// A file for each table; complete once finish() has said so.
class CsvFiles {
 public:
  explicit CsvFiles(fs::path directory) : directory_(std::move(directory)) {}

  Result<> add(std::string_view table, std::string_view lines) {
    if (table != table_) {
      TRY(finish());
      table_ = table;
      out_.open(path(), std::ios::binary);
    }
    out_ << lines;
    return out_ ? Result<>() : no_room();
  }
  Result<> finish() {
    if (!out_.is_open()) return {};
    out_.close();
    return out_ ? Result<>() : no_room();
  }

 private:
  fs::path path() const { return directory_ / (table_ + ".csv"); }
  Result<> no_room() const {
    return fail(Code::kUnavailable, "cannot write {}; is the disk full?", path().string());
  }

  const fs::path directory_;
  std::string table_;
  std::ofstream out_;
};

// Everything, as it is at one moment.
Result<std::vector<ExportedTable>> export_tables(const Store& store, const fs::path& to) {
  CsvFiles files(to);
  auto tables = TRY(export_all(
      store.ledger(), ExportFormat::kCsv,
      [&](std::string_view table, std::string_view lines) { return files.add(table, lines); }));
  TRY(files.finish());
  return tables;
}

std::uint64_t rows_of(const std::vector<ExportedTable>& tables, std::string_view name) {
  const auto found = std::ranges::find(tables, name, &ExportedTable::name);
  return found == tables.end() ? 0 : found->rows;
}

// For auditors, who check it with `coffer token check-export`.
Result<> export_history(const Store& store, const fs::path& to) {
  std::ofstream out(to / "log.jsonl", std::ios::binary);
  const auto write_line = [&](std::string_view line) -> Result<> {
    out << line << '\n';
    if (!out) return fail(Code::kUnavailable, "cannot write {}", (to / "log.jsonl").string());
    return {};
  };
  TRY(export_log(store.ledger(), write_line));
  out.close();
  if (!out) return fail(Code::kUnavailable, "cannot write {}", (to / "log.jsonl").string());
  return {};
}

struct ExportArguments {
  std::string directory;
};

Result<> run_export(const Context& context, const ExportArguments& given) {
  const OpenLedger ledger = TRY(OpenLedger::open(context.config));
  const fs::path to = given.directory;
  std::error_code ignored;
  if (fs::exists(to, ignored) && !fs::is_empty(to, ignored))
    return fail(Code::kConflict, "{} is not an empty directory; name a new one", to.string());
  TRY(make_directory(to, 0700));
  const auto tables = TRY(export_tables(*ledger.store, to));
  TRY(export_history(*ledger.store, to));
  const std::uint64_t wallets = rows_of(tables, "wallets");
  const std::uint64_t transactions = rows_of(tables, "transactions");
  const std::string json =
      fmt::format(R"({{"wallets":{},"transactions":{}}})", wallets, transactions);
  return print_result(context, json,
                      fmt::format("{} and {} written to {}\n", cli::counted(wallets, "wallet"),
                                  cli::counted(transactions, "transaction"), to.string()));
}

}  // namespace

std::vector<cli::Command> exchange_commands() {
  using E = ExportArguments;
  return {
      node::command<E>(
          token_command({"export"}, "Write everything as CSV, and the log, into a new directory",
                        "  coffer token export /backup/token-2026-01-31\n"),
          {{"directory", &E::directory, "It is made; if it is there it must be empty"}},
          run_export),
  };
}

}  // namespace coffer::token
