#include "token/commands/view.h"

#include <ctime>

#include "base/result.h"
#include "cli/table.h"

namespace coffer::token {
namespace {

using cli::Align;
using cli::printable;

template <typename T>
std::string finished(const cli::Table& table, const Page<T>& page, const char* none) {
  std::string out = page.items.empty() ? fmt::format("{}\n", none) : table.render();
  if (!page.cursor.empty()) out += fmt::format("more with --cursor {}\n", page.cursor);
  return out;
}

std::string owner_text(const std::string& name, const Uuid& wallet) {
  return name.empty() ? to_string(wallet) : name;
}

std::string limit_text(const std::optional<std::int64_t>& limit) {
  return limit ? tokens_text(*limit) : "";
}

std::string state_of(const Wallet& wallet) {
  if (!wallet.owner_type) return "without an owner";
  if (wallet.owner_deleted_at_ms) return "owner deleted";
  return wallet.is_frozen ? "frozen" : "";
}

// What it did to the wallet: + or -.
std::string signed_text(const Transaction& transaction, const Uuid& wallet) {
  return (transaction.to == wallet ? "+" : "-") + tokens_text(transaction.amount);
}

std::string note_of(const Transaction& transaction) {
  std::string note = transaction.is_issuance() ? "issuance" : "";
  if (transaction.reverses) note = "reversal";
  if (transaction.reversed_by) note = "reversed";
  if (transaction.memo) note += (note.empty() ? "" : ": ") + printable(*transaction.memo);
  return note;
}

}  // namespace

std::string tokens_text(std::int64_t amount) {
  const auto size = static_cast<std::uint64_t>(amount < 0 ? -(amount + 1) : amount);
  return amount < 0 ? "-" + cli::with_thousands(size + 1) : cli::with_thousands(size);
}

std::string time_text(std::int64_t unix_ms) {
  const std::time_t seconds = static_cast<std::time_t>(unix_ms / 1000);
  std::tm parts{};
  char text[64];
  if (gmtime_r(&seconds, &parts) == nullptr ||
      std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &parts) == 0)
    return fmt::format("{} ms", unix_ms);
  return text;
}

std::string row_text(std::string_view name, const std::string& value) {
  return value.empty() ? "" : fmt::format("{:<15}{}\n", name, printable(value));
}

std::string render_users(const Page<User>& page) {
  cli::Table table({{"user"}, {"id"}, {"wallet"}, {"made"}, {"deleted"}});
  for (const User& user : page.items)
    table.add_row({user.name, to_string(user.id), to_string(user.wallet),
                   time_text(user.created_at_ms),
                   user.deleted_at_ms ? time_text(*user.deleted_at_ms) : ""});
  return finished(table, page, "no users; make one with 'coffer token user create NAME'");
}

std::string render_system_accounts(const std::vector<SystemAccount>& accounts) {
  cli::Table table({{"system account"}, {"id"}, {"wallet"}, {"made"}});
  for (const SystemAccount& account : accounts)
    table.add_row({account.name, to_string(account.id), to_string(account.wallet),
                   time_text(account.created_at_ms)});
  return table.render();
}

std::string render_identities(const std::vector<IdentityLink>& links) {
  if (links.empty()) return "no identities; add one with 'coffer token user link'\n";
  cli::Table table({{"issuer"}, {"subject"}, {"linked"}, {"by"}});
  for (const IdentityLink& link : links)
    table.add_row({printable(link.identity.issuer), printable(link.identity.subject),
                   time_text(link.created_at_ms), printable(link.created_by)});
  return table.render();
}

std::string render_wallet(const Wallet& wallet) {
  std::string out = row_text("owner", wallet.owner_name);
  out += row_text("wallet", to_string(wallet.id));
  out += row_text("balance", tokens_text(wallet.balance));
  if (wallet.open_holds > 0) {
    out += row_text("held", fmt::format("{} by {}", tokens_text(wallet.held),
                                        cli::counted(static_cast<std::uint64_t>(wallet.open_holds),
                                                     "open hold")));
    out += row_text("available", tokens_text(wallet.available()));
  }
  out += row_text("per transfer", limit_text(wallet.limits.per_transfer));
  if (wallet.limits.per_day)
    out += row_text(
        "per day", fmt::format("{}, of which {} are spent today", limit_text(wallet.limits.per_day),
                               tokens_text(wallet.spent_today)));
  out += row_text("state", state_of(wallet));
  return out;
}

std::string render_wallets(const Page<Wallet>& page) {
  cli::Table table(
      {{"owner"}, {"balance", Align::kRight}, {"held", Align::kRight}, {"wallet"}, {"state"}});
  for (const Wallet& wallet : page.items)
    table.add_row({wallet.owner_name, tokens_text(wallet.balance), tokens_text(wallet.held),
                   to_string(wallet.id), state_of(wallet)});
  return finished(table, page, "no wallets");
}

std::string render_history(const Page<Transaction>& page, const std::optional<Uuid>& wallet) {
  cli::Table table({{"time"}, {"from"}, {"to"}, {"amount", Align::kRight}, {"note"}});
  for (const Transaction& one : page.items)
    table.add_row({time_text(one.created_at_ms), owner_text(one.from_name, one.from),
                   owner_text(one.to_name, one.to),
                   wallet ? signed_text(one, *wallet) : tokens_text(one.amount), note_of(one)});
  return finished(table, page, "no transactions");
}

std::string render_transaction(const Transaction& one) {
  std::string out = row_text("transaction", to_string(one.id));
  out += row_text("from", owner_text(one.from_name, one.from));
  out += row_text("to", owner_text(one.to_name, one.to));
  out += row_text("amount", tokens_text(one.amount));
  out += row_text("type", fmt::format("{}{}", one.type, one.is_issuance() ? ", issuance" : ""));
  out += row_text("made", time_text(one.created_at_ms));
  out += row_text("by", one.actor);
  out += row_text("memo", one.memo.value_or(""));
  out += row_text("metadata", one.metadata.value_or(""));
  if (one.details_erased_at_ms)
    out += row_text("memo", "erased " + time_text(*one.details_erased_at_ms));
  if (one.reverses) out += row_text("reverses", to_string(*one.reverses));
  if (one.reversed_by) out += row_text("reversed by", to_string(*one.reversed_by));
  out += row_text("in the log",
                  one.log_position ? fmt::format("at {}", *one.log_position) : "not yet");
  return out;
}

std::string render_statement(const Store::Statement& statement) {
  cli::Table table(
      {{"booked"}, {"with"}, {"change", Align::kRight}, {"balance", Align::kRight}, {"memo"}});
  table.add_row({"", "opening balance", "", tokens_text(statement.opening_balance), ""});
  for (const StatementLine& line : statement.lines.items)
    table.add_row({time_text(line.booked_at_ms),
                   owner_text(line.counterparty_name, line.counterparty),
                   (line.delta < 0 ? "" : "+") + tokens_text(line.delta), tokens_text(line.balance),
                   printable(line.memo.value_or(""))});
  std::string out = table.render();
  if (!statement.lines.cursor.empty())
    out += fmt::format("more with --cursor {}\n", statement.lines.cursor);
  return out;
}

std::string render_holds(const Page<Hold>& page) {
  cli::Table table({{"hold"}, {"amount", Align::kRight}, {"state"}, {"expires"}, {"memo"}});
  for (const Hold& hold : page.items)
    table.add_row({to_string(hold.id), tokens_text(hold.amount), std::string(to_string(hold.state)),
                   time_text(hold.expires_at_ms), printable(hold.memo.value_or(""))});
  return finished(table, page, "no holds");
}

std::string render_hold(const Hold& hold) {
  std::string out = row_text("hold", to_string(hold.id));
  out += row_text("from wallet", to_string(hold.wallet));
  out += row_text("to wallet", to_string(hold.to));
  out += row_text("amount", tokens_text(hold.amount));
  out += row_text("state", std::string(to_string(hold.state)));
  if (hold.state == HoldState::kCaptured) out += row_text("captured", tokens_text(hold.captured));
  out += row_text("opened by", hold.created_by);
  out += row_text("expires", time_text(hold.expires_at_ms));
  out += row_text("memo", hold.memo.value_or(""));
  return out;
}

std::string render_supply(const Supply& supply) {
  cli::Table table({{""}, {"", Align::kRight}});
  table.add_row({"circulation", tokens_text(supply.circulation)});
  table.add_row({"system pool", tokens_text(supply.pool)});
  table.add_row({"deleted users", tokens_text(supply.deleted_users)});
  table.add_row({"without an owner", tokens_text(supply.ownerless)});
  table.add_row({"issued in all", tokens_text(supply.issuance)});
  return table.render();
}

std::string render_statistics(const Statistics& statistics) {
  cli::Table table({{""}, {"", Align::kRight}});
  table.add_row({"users", tokens_text(statistics.users)});
  table.add_row({"transactions", tokens_text(statistics.transactions)});
  table.add_row({"circulation", tokens_text(statistics.circulation)});
  table.add_row({"system pool", tokens_text(statistics.pool)});
  table.add_row({"issued in all", tokens_text(statistics.issuance)});
  return table.render() + fmt::format("as of {}\n", time_text(statistics.updated_at_ms));
}

std::string render_differences(const std::vector<WalletDifference>& differences) {
  cli::Table table({{"wallet"},
                    {"balance", Align::kRight},
                    {"by history", Align::kRight},
                    {"by entries", Align::kRight}});
  for (const WalletDifference& one : differences)
    table.add_row({to_string(one.wallet), tokens_text(one.balance),
                   tokens_text(one.history_balance), tokens_text(one.entries_balance)});
  return table.render();
}

std::string render_check(const CheckReport& report) {
  std::string out;
  if (!report.differences.empty()) out += render_differences(report.differences);
  for (const Uuid& orphan : report.orphans)
    out += fmt::format("wallet {} has no owner\n", to_string(orphan));
  out += fmt::format("balances add up to {}, {} were issued: {}\n",
                     tokens_text(report.total_balance), tokens_text(report.total_issuance),
                     report.is_consistent ? "consistent" : "NOT consistent");
  return out;
}

std::string render_keys(const Page<ApiKey>& page) {
  cli::Table table({{"name"}, {"id"}, {"scopes"}, {"made by"}, {"expires"}, {"last used"}});
  for (const ApiKey& key : page.items)
    table.add_row({printable(key.name), to_string(key.id),
                   fmt::format("{}", fmt::join(key.scopes, ",")), printable(key.created_by),
                   key.revoked_at_ms ? "revoked" : time_text(key.expires_at_ms),
                   key.last_used_at_ms ? time_text(*key.last_used_at_ms) : "never"});
  return finished(table, page, "no keys; make one with 'coffer token keys create NAME'");
}

std::string render_roles(const Page<RoleGrant>& page) {
  cli::Table table({{"role"}, {"issuer"}, {"subject"}, {"granted"}, {"by"}});
  for (const RoleGrant& grant : page.items)
    table.add_row({std::string(to_string(grant.role)), printable(grant.identity.issuer),
                   printable(grant.identity.subject), time_text(grant.created_at_ms),
                   printable(grant.created_by)});
  return finished(table, page, "no roles; grant one with 'coffer token roles grant ROLE'");
}

std::string render_audit(const Page<AuditEntry>& page) {
  cli::Table table({{"time"}, {"who"}, {"what"}, {"target"}, {"reason"}});
  for (const AuditEntry& entry : page.items)
    table.add_row({time_text(entry.at_ms), printable(entry.actor), printable(entry.action),
                   printable(entry.target.value_or("")), printable(entry.reason.value_or(""))});
  return finished(table, page, "nothing was changed yet");
}

}  // namespace coffer::token
