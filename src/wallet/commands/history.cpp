// The commands that bring old history into a wallet: a rescan of blocks, and a file of another
// program.
#include "base/file.h"
#include "base/result.h"
#include "base/shell.h"
#include "cli/interrupt.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "http/url.h"
#include "json/writer.h"
#include "node/daemon.h"
#include "node/node.h"
#include "sql/backup.h"
#include "wallet/commands/commands.h"
#include "wallet/commands/open_wallet.h"
#include "wallet/import/history_import.h"
#include "wallet/json/output.h"
#include "wallet/module.h"
#include "wallet/settings.h"

namespace coffer::wallet {
namespace {

namespace fs = std::filesystem;

Result<bool> ask_daemon_to_rescan(const Context& context, const std::string& wallet,
                                  const Rescan& rescan) {
  json::Writer body;
  body.begin_object();
  if (rescan.from_height) body.field("from_height", *rescan.from_height);
  body.end_object();
  node::DaemonRequest request;
  request.method = http::Method::kPost;
  request.target = fmt::format("/api/v1/wallets/{}/rescan", http::percent_encode(wallet));
  request.body = body.take();
  const auto answer = TRY(node::ask_daemon(context.config, request));
  if (!answer) return false;
  if (context.json)
    cli::print_line(answer->body);
  else
    cli::print("the running coffer rescans; 'coffer wallet list' shows how far it is\n");
  return true;
}

// A name beside the database that is free: the way back.
Result<fs::path> free_backup_name(const fs::path& directory) {
  for (int i = 1; i < 10'000; ++i) {
    fs::path name = directory / fmt::format("wallet.db.before-import-{}", i);
    if (!TRY(file_exists(name))) return name;
  }
  return fail(Code::kConflict, "{} is full of backups", directory.string());
}

// The command that puts the copy back where it was taken from. The location of a SQLite database
// holds no secret.
std::string way_back(const Context& context, const fs::path& backup,
                     const chain::Network& network) {
  const std::string& database = context.config.of<wallet::Settings>().database;
  return fmt::format("{} db restore {} --replace --data {}{} --network {}", context.program,
                     shell_word(backup.string()), shell_word(context.config.data_dir),
                     database.empty() ? "" : " --wallet-database " + shell_word(database),
                     network.name);
}

Result<> print_history(const Context& context, const wallet::HistoryImported& done, bool dry_run) {
  if (context.json) {
    json::Writer out;
    out.begin_object()
        .field("dry_run", dry_run)
        .field("lines", done.lines)
        .field("resumed", done.resumed)
        .field("transactions", done.transactions)
        .field("unchanged", done.unchanged)
        .field("descriptors", done.descriptors)
        .field("addresses", done.addresses)
        .field("labels", done.labels)
        .field("leases", done.leases)
        .field("passed_over", done.passed_over)
        .end_object();
    cli::print_line(out.take());
    return cli::finish_output();
  }
  cli::print(fmt::format(
      "{}{}: {}, {} known already, {}, {}, {}, {}\n", dry_run ? "every line can be read; " : "",
      cli::counted(done.lines, "line"), cli::counted(done.transactions, "transaction"),
      cli::with_thousands(done.unchanged), cli::counted(done.descriptors, "descriptor"),
      cli::counted(done.addresses, "address", "addresses"), cli::counted(done.labels, "label"),
      cli::counted(done.leases, "lease")));
  return cli::finish_output();
}

}  // namespace

Result<> run_wallet_rescan(const Context& context, const std::string& wallet,
                           const Rescan& rescan) {
  {
    const OpenWallet session = TRY(OpenWallet::open(context.config));
    (void)TRY(session.find(wallet));
  }
  if (TRY(ask_daemon_to_rescan(context, wallet, rescan))) return cli::finish_output();
  node::NodeOptions options;
  options.one_shot = true;
  const std::unique_ptr<node::Node> node =
      TRY(node::Node::open(context.config, options, system_clock()));
  cli::ProgressBar progress({.label = "rescanning", .total = {}}, system_clock(),
                            cli::stderr_output());
  std::optional<std::uint64_t> first;
  auto* wallets = static_cast<WalletModule*>(node->find(wallet_module().name));
  if (wallets->maintenance() == nullptr) return fail(no_wallets(context.config.chain));
  const Rescanned done = TRY(wallets->maintenance()->rescan_now(
      wallet, rescan.from_height, [&](std::uint64_t height, std::uint64_t to) {
        if (!first) first = height;
        progress.set_total(to - *first + 1);
        progress.update(height - *first + 1);
      }));
  progress.finish();
  if (context.json) {
    json::Writer out;
    out.begin_object().field("blocks", done.blocks).field("changed", done.changed).end_object();
    cli::print_line(out.take());
  } else {
    cli::print(fmt::format("{} looked at; new, or with more of this wallet: {}\n",
                           cli::counted(done.blocks, "block"),
                           cli::counted(done.changed, "transaction")));
  }
  return cli::finish_output();
}

Result<> run_wallet_import_history(const Context& context, const WalletHistory& history) {
  if (history.file == "-")
    return fail(Code::kUsage,
                "the file is read twice, so it cannot be standard input; save it to a file first");
  const OpenWallet session = TRY(OpenWallet::open(context.config));
  const wallet::WalletId wallet = TRY(session.find(history.wallet));
  const cli::CatchInterrupts stoppable;
  cli::ProgressBar progress({.label = "importing", .unit = "lines", .total = {}}, system_clock(),
                            cli::stderr_output());
  wallet::HistoryImportOptions options;
  options.progress = [&](std::uint64_t lines) {
    progress.update(lines);
    return session.go_on();
  };
  if (history.dry_run) {
    const auto tried = TRY(wallet::try_history(*session.store, wallet, history.file, options));
    progress.finish();
    return print_history(context, tried, true);
  }
  if (session.database->dialect() == sql::Dialect::kSqlite && !history.no_backup) {
    const fs::path backup = TRY(free_backup_name(context.config.data_dir));
    TRY(sql::backup(*session.database, backup));
    if (!context.json)
      cli::print(fmt::format("the way back: {}\n", way_back(context, backup, session.network)));
  }
  const auto done = TRY(wallet::import_history(*session.store, wallet, history.file, options));
  progress.finish();
  return print_history(context, done, false);
}

}  // namespace coffer::wallet
