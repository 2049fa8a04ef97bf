// Everything into files.
#include <filesystem>
#include <fstream>

#include "base/file.h"
#include "cli/output.h"
#include "cli/table.h"
#include "token/commands/commands.h"
#include "token/commands/view.h"
#include "token/json/csv.h"
#include "token/json/output.h"
#include "token/log/audit_file.h"

namespace coffer::token {
namespace {

namespace fs = std::filesystem;

// A file of the export; complete once finish() has said so.
class CsvFile {
 public:
  static Result<CsvFile> create(const fs::path& directory, const char* name, const char* columns) {
    CsvFile file;
    file.path_ = directory / name;
    file.out_.open(file.path_, std::ios::binary);
    file.out_ << columns << '\n';
    return file;
  }
  void add(const std::string& line) {
    out_ << line << '\n';
    ++lines_;
  }
  Result<std::uint64_t> finish() {
    out_.close();
    if (!out_)
      return fail(Code::kUnavailable, "cannot write {}; is the disk full?", path_.string());
    return lines_;
  }

 private:
  fs::path path_;
  std::ofstream out_;
  std::uint64_t lines_ = 0;
};

// Calls read(page) for one page after another, and visit(item) for each item.
template <typename Read, typename Visit>
Result<> for_each_item(Read read, Visit visit) {
  PageOptions page{.count = kMaxPage, .cursor = {}};
  do {
    auto part = TRY(read(page));
    for (const auto& item : part.items) TRY(visit(item));
    page.cursor = part.cursor;
  } while (!page.cursor.empty());
  return {};
}

std::string number_or_empty(const std::optional<std::int64_t>& value) {
  return value ? std::to_string(*value) : "";
}
std::string id_or_empty(const std::optional<Uuid>& id) {
  return id ? to_string(*id) : "";
}

Result<> export_accounts(const Store& store, const fs::path& to) {
  CsvFile accounts =
      TRY(CsvFile::create(to, "system_accounts.csv", "id,wallet_id,name,created_at,updated_at"));
  for (const SystemAccount& one : TRY(store.system_accounts()))
    accounts.add(fmt::format("{},{},{},{},{}", to_string(one.id), to_string(one.wallet), one.name,
                             one.created_at_ms, one.updated_at_ms));
  TRY(accounts.finish());
  CsvFile users = TRY(
      CsvFile::create(to, "users.csv", "id,wallet_id,username,created_at,updated_at,deleted_at"));
  CsvFile identities = TRY(CsvFile::create(to, "external_identities.csv",
                                           "issuer,subject,user_id,created_at,created_by"));
  const auto add_user = [&](const User& one) -> Result<> {
    users.add(fmt::format("{},{},{},{},{},{}", to_string(one.id), to_string(one.wallet),
                          csv_field(one.name), one.created_at_ms, one.updated_at_ms,
                          number_or_empty(one.deleted_at_ms)));
    for (const IdentityLink& link : TRY(store.identities(one.id)))
      identities.add(fmt::format("{},{},{},{},{}", csv_field(link.identity.issuer),
                                 csv_field(link.identity.subject), to_string(link.user),
                                 link.created_at_ms, csv_field(link.created_by)));
    return {};
  };
  TRY(for_each_item([&](const PageOptions& page) { return store.users({{}, true, page}); },
                    add_user));
  TRY(users.finish());
  TRY(identities.finish());
  return {};
}

Result<std::uint64_t> export_wallets(const Store& store, const fs::path& to) {
  CsvFile wallets =
      TRY(CsvFile::create(to, "wallets.csv",
                          "id,balance,held,is_frozen,created_at,updated_at,limit_per_transfer,"
                          "limit_per_day"));
  CsvFile holds =
      TRY(CsvFile::create(to, "holds.csv",
                          "id,wallet_id,to_wallet_id,amount,captured,state,created_by,created_at,"
                          "expires_at,ended_at,capture_transaction_id,memo"));
  const auto add_hold = [&](const Hold& one) -> Result<> {
    holds.add(fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}", to_string(one.id),
                          to_string(one.wallet), to_string(one.to), one.amount, one.captured,
                          to_string(one.state), csv_field(one.created_by), one.created_at_ms,
                          one.expires_at_ms, number_or_empty(one.ended_at_ms),
                          id_or_empty(one.capture_transaction), csv_field(one.memo.value_or(""))));
    return {};
  };
  const auto add_wallet = [&](const Wallet& one) -> Result<> {
    wallets.add(fmt::format("{},{},{},{},{},{},{},{}", to_string(one.id), one.balance, one.held,
                            one.is_frozen, one.created_at_ms, one.updated_at_ms,
                            number_or_empty(one.limits.per_transfer),
                            number_or_empty(one.limits.per_day)));
    return for_each_item(
        [&](const PageOptions& page) { return store.holds({one.id, {}, false, page}); }, add_hold);
  };
  TRY(for_each_item([&](const PageOptions& page) { return store.wallets(page); }, add_wallet));
  TRY(holds.finish());
  return wallets.finish();
}

Result<std::uint64_t> export_transactions(const Store& store, const fs::path& to) {
  CsvFile file = TRY(CsvFile::create(
      to, "transactions.csv",
      "id,from_wallet_id,to_wallet_id,amount,transaction_type,created_at,actor,reverses,"
      "log_position,details_erased_at,memo,metadata"));
  const auto read = [&](const PageOptions& page) {
    return store.history({.newest_first = false, .page = page});
  };
  TRY(for_each_item(read, [&](const Transaction& one) -> Result<> {
    file.add(fmt::format("{},{},{},{},{},{},{},{},{},{},{},{}", to_string(one.id),
                         to_string(one.from), to_string(one.to), one.amount, one.type,
                         one.created_at_ms, csv_field(one.actor), id_or_empty(one.reverses),
                         one.log_position ? std::to_string(*one.log_position) : "",
                         number_or_empty(one.details_erased_at_ms),
                         csv_field(one.memo.value_or("")), csv_field(one.metadata.value_or(""))));
    return {};
  }));
  return file.finish();
}

Result<> export_access(const Store& store, const fs::path& to) {
  CsvFile roles =
      TRY(CsvFile::create(to, "role_grants.csv", "issuer,subject,role,created_at,created_by"));
  TRY(for_each_item([&](const PageOptions& page) { return store.role_grants(page); },
                    [&](const RoleGrant& one) -> Result<> {
                      roles.add(fmt::format("{},{},{},{},{}", csv_field(one.identity.issuer),
                                            csv_field(one.identity.subject), to_string(one.role),
                                            one.created_at_ms, csv_field(one.created_by)));
                      return {};
                    }));
  TRY(roles.finish());
  CsvFile audit = TRY(CsvFile::create(to, "audit.csv", "id,at,actor,action,target,reason,detail"));
  TRY(for_each_item([&](const PageOptions& page) { return store.audit({{}, {}, page}); },
                    [&](const AuditEntry& one) -> Result<> {
                      audit.add(fmt::format("{},{},{},{},{},{},{}", to_string(one.id), one.at_ms,
                                            csv_field(one.actor), csv_field(one.action),
                                            csv_field(one.target.value_or("")),
                                            csv_field(one.reason.value_or("")),
                                            csv_field(one.detail.value_or(""))));
                      return {};
                    }));
  TRY(audit.finish());
  return {};
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
  TRY(export_accounts(*ledger.store, to));
  const std::uint64_t transactions = TRY(export_transactions(*ledger.store, to));
  const std::uint64_t wallets = TRY(export_wallets(*ledger.store, to));
  TRY(export_access(*ledger.store, to));
  TRY(export_history(*ledger.store, to));
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
