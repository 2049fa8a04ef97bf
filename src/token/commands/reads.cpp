// The commands that look at a community.
#include "cli/output.h"
#include "token/commands/commands.h"
#include "token/commands/view.h"
#include "token/json/input.h"
#include "token/json/output.h"

namespace coffer::token {
namespace {

// The wallet of a query by name, in front of its filters.
Result<http::Fields> of_wallet(const Store& store, const TokenQuery& given) {
  http::Fields query = given.query;
  if (!given.name.empty()) query.insert(query.begin(), {"wallet", given.name});
  TRY(resolve_wallet(store, query, "wallet"));
  TRY(resolve_wallet(store, query, "counterparty"));
  return query;
}

Result<> run_wallet(const Context& context, const Store& store, const TokenQuery& given) {
  const Party party = TRY(find_party(store, given.name));
  const auto at = TRY(cli::as_usage_error(parse_moment(given.query)));
  if (at) {
    const std::int64_t balance = TRY(store.balance_at(party.wallet, *at));
    return print_result(
        context, balance_json(party.wallet, balance, at),
        fmt::format("{} had {} at {}\n", party.name, tokens_text(balance), time_text(*at)));
  }
  const auto wallet = TRY(store.find_wallet(party.wallet));
  if (!wallet) return fail(Code::kNotFound, "no wallet {}", given.name);
  return print_result(context, wallet_json(*wallet), render_wallet(*wallet));
}

Result<> run_wallets(const Context& context, const Store& store, const TokenQuery& given) {
  const PageOptions page = TRY(cli::as_usage_error(parse_page(given.query)));
  const Page<Wallet> found = TRY(store.wallets(page));
  return print_result(context, wallets_json(found), render_wallets(found));
}

Result<> run_history(const Context& context, const Store& store, const TokenQuery& given) {
  const http::Fields query = TRY(of_wallet(store, given));
  const HistoryQuery wanted = TRY(cli::as_usage_error(parse_history_query(query)));
  const Page<Transaction> page = TRY(store.history(wanted));
  return print_result(context, history_json(page), render_history(page, wanted.wallet));
}

Result<> run_show(const Context& context, const Store& store, const TokenQuery& given) {
  const Uuid id = TRY(cli::as_usage_error(parse_id("transaction", given.name)));
  const auto found = TRY(store.find_transaction(id));
  if (!found)
    return fail(Code::kNotFound, "no transaction {}; see 'coffer token history'", given.name);
  return print_result(context, transaction_json(*found), render_transaction(*found));
}

// All pages, one after the other.
Result<> print_csv(const Store& store, Store::StatementQuery wanted) {
  wanted.page.count = kMaxPage;
  for (bool first = true;; first = false) {
    const Store::Statement part = TRY(store.statement(wanted));
    cli::print_data(statement_csv(part, first));
    if (part.lines.cursor.empty()) return cli::finish_output();
    wanted.page.cursor = part.lines.cursor;
  }
}

Result<> run_statement(const Context& context, const Store& store, const TokenQuery& given) {
  http::Fields query = TRY(of_wallet(store, given));
  const bool csv = std::erase_if(query, [](const auto& one) { return one.name == "csv"; }) > 0;
  const Store::StatementQuery wanted = TRY(cli::as_usage_error(parse_statement_query(query)));
  if (csv) return print_csv(store, wanted);
  const Store::Statement statement = TRY(store.statement(wanted));
  return print_result(context, statement_json(wanted.wallet, statement),
                      render_statement(statement));
}

Result<> run_supply(const Context& context, const Store& store, const TokenQuery&) {
  const Supply supply = TRY(store.supply());
  return print_result(context, supply_json(supply), render_supply(supply));
}

Result<> run_stats(const Context& context) {
  const OpenLedger ledger = TRY(OpenLedger::open(context.config));
  const Statistics statistics = TRY(ledger.store->refresh_statistics());
  return print_result(context, statistics_json(statistics), render_statistics(statistics));
}

Result<> run_audit(const Context& context, const Store& store, const TokenQuery& given) {
  const Store::AuditQuery query = TRY(cli::as_usage_error(parse_audit_query(given.query)));
  const Page<AuditEntry> page = TRY(store.audit(query));
  return print_result(context, audit_json(page), render_audit(page));
}

constexpr const char* kMoment = "Milliseconds since 1970, 2026-01-31 or 2026-01-31T12:30:00Z";

TokenQueryField from_option(const char* help) {
  return token_option("--from", "TIME", help);
}
TokenQueryField to_option(const char* help) {
  return token_option("--to", "TIME", help);
}

std::vector<cli::Command> history_commands() {
  const TokenQueryField maybe = {
      "wallet", &TokenQuery::name, "Only of this wallet: a name or an id", {.optional = true}};
  const TokenQueryField one = {"wallet", &TokenQuery::name, "A name or an id"};
  return {
      token_query(token_command({"history"}, "List transactions, newest first",
                                "  coffer token history\n"
                                "  coffer token history alice --counterparty bob --json\n"
                                "  coffer token history alice --from 2026-01-01 --order oldest\n"),
                  {maybe, token_option("--counterparty", "NAME", "Only with this one"),
                   token_option("--type", "N", "Only of this type"),
                   from_option("Only since then, by the time that they were made"),
                   to_option("Only before then"),
                   token_option("--order", "ORDER", "newest or oldest first (default: newest)"),
                   page_count_option(), page_cursor_option()},
                  run_history),
      token_query(
          token_command({"show"}, "Show one transaction", "  coffer token show TRANSACTION\n"),
          {{"transaction", &TokenQuery::name, "Its id"}}, run_show),
      token_query(token_command({"statement"},
                                "Print the statement of a wallet: each change and its balance",
                                "  coffer token statement alice --from 2026-01-01 --to 2026-02-01\n"
                                "  coffer token statement alice --csv > alice.csv\n"),
                  {one, from_option("Since then, by the time that they were booked"),
                   to_option("Before then"),
                   node::query_flag<TokenQuery>("--csv", {"csv", "true"},
                                                "All of it as CSV, whatever --count says"),
                   page_count_option(), page_cursor_option()},
                  run_statement),
  };
}

}  // namespace

Result<> resolve_wallet(const Store& store, http::Fields& query, std::string_view name) {
  for (http::Field& field : query)
    if (field.name == name) field.value = to_string(TRY(find_party(store, field.value)).wallet);
  return {};
}

std::vector<cli::Command> read_commands() {
  std::vector<cli::Command> all = history_commands();
  for (cli::Command& command : std::vector<cli::Command>{
           token_query(token_command({"wallet"}, "Show what a wallet has, now or then",
                                     "  coffer token wallet alice\n"
                                     "  coffer token wallet alice --at 2026-01-31\n"),
                       {{"wallet", &TokenQuery::name, "A name or an id"},
                        token_option("--at", "TIME", kMoment)},
                       run_wallet),
           token_query(token_command({"wallets"}, "List all wallets with their balances",
                                     "  coffer token wallets\n"),
                       {page_count_option(), page_cursor_option()}, run_wallets),
           token_query(
               token_command({"supply"}, "Show where all tokens are", "  coffer token supply\n"),
               {}, run_supply),
           node::command(token_command({"stats"}, "Count users, transactions and tokens",
                                       "  coffer token stats\n"),
                         run_stats),
           token_query(token_command({"audit"}, "List what people changed, and why",
                                     "  coffer token audit --from 2026-01-01\n"),
                       {from_option("Only since then"), to_option("Only before then"),
                        page_count_option(), page_cursor_option()},
                       run_audit)})
    all.push_back(std::move(command));
  return all;
}

}  // namespace coffer::token
