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

// The directory of an export, and what was made for it: removed again unless keep() was called.
// Every file is new, so that of two exports into one directory the second fails at its first.
class NewFiles {
 public:
  explicit NewFiles(fs::path directory) : directory_(std::move(directory)) {}
  ~NewFiles() {
    std::error_code ignored;
    for (const fs::path& file : made_) fs::remove(file, ignored);
    if (made_directory_) fs::remove(directory_, ignored);
  }
  NewFiles(const NewFiles&) = delete;
  NewFiles& operator=(const NewFiles&) = delete;

  // Errors: kConflict if there is anything in it.
  Result<> make_place() {
    if (directory_.has_parent_path()) TRY(make_directory(directory_.parent_path()));
    auto made = make_new_directory(directory_, 0700);
    made_directory_ = made.has_value();
    if (!made && made.error().code != Code::kConflict) return made;
    std::error_code error;
    if (fs::is_empty(directory_, error) && !error) return {};
    return fail(Code::kConflict, "{} is not an empty directory; name a new one",
                directory_.string());
  }
  Result<fs::path> make(const std::string& name) {
    fs::path file = directory_ / name;
    TRY(make_new_file(file));
    made_.push_back(file);
    return file;
  }
  void keep() {
    made_.clear();
    made_directory_ = false;
  }

 private:
  const fs::path directory_;
  bool made_directory_ = false;
  std::vector<fs::path> made_;
};

// A file for each table; complete once finish() has said so.
class CsvFiles {
 public:
  explicit CsvFiles(NewFiles& files) : files_(files) {}

  Result<> add(std::string_view table, std::string_view lines) {
    if (table != table_) {
      TRY(finish());
      table_ = table;
      path_ = TRY(files_.make(table_ + ".csv"));
      out_.open(path_, std::ios::binary);
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
  Result<> no_room() const {
    return fail(Code::kUnavailable, "cannot write {}; is the disk full?", path_.string());
  }

  NewFiles& files_;
  std::string table_;
  fs::path path_;
  std::ofstream out_;
};

// Everything, as it is at one moment.
Result<std::vector<ExportedTable>> export_tables(const Store& store, NewFiles& to) {
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
Result<> export_history(const Store& store, NewFiles& to) {
  const fs::path path = TRY(to.make("log.jsonl"));
  std::ofstream out(path, std::ios::binary);
  const auto write_line = [&](std::string_view line) -> Result<> {
    out << line << '\n';
    if (!out) return fail(Code::kUnavailable, "cannot write {}", path.string());
    return {};
  };
  TRY(export_log(store.ledger(), write_line));
  out.close();
  if (!out) return fail(Code::kUnavailable, "cannot write {}", path.string());
  return {};
}

struct ExportArguments {
  std::string directory;
};

Result<> run_export(const Context& context, const ExportArguments& given) {
  const OpenLedger ledger = TRY(OpenLedger::open(context.config));
  const fs::path to = given.directory;
  NewFiles files(to);
  TRY(files.make_place());
  const auto tables = TRY(export_tables(*ledger.store, files));
  TRY(export_history(*ledger.store, files));
  files.keep();
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
