// What moved, or is about to: transfers, history, statements, holds.
#include "json/writer.h"
#include "token/json/csv.h"
#include "token/json/fields.h"
#include "token/json/output.h"

namespace coffer::token {
namespace {

void write_applied(json::Writer& out, const Applied& applied) {
  out.begin_object();
  write_id(out, "id", applied.id);
  out.field("created_unix_ms", applied.created_at_ms);
  write_amount(out, "balance", applied.balance);
  out.field("is_repeat", applied.is_repeat);
  // Committed means moved and durable; the log follows (T12).
  out.field("logged", false).end_object();
}

void write_transaction(json::Writer& out, const Transaction& transaction) {
  out.begin_object();
  write_id(out, "id", transaction.id);
  write_id(out, "from", transaction.from);
  write_id(out, "to", transaction.to);
  write_text_or_null(out, "from_name", transaction.from_name);
  write_text_or_null(out, "to_name", transaction.to_name);
  write_amount(out, "amount", transaction.amount);
  out.field("type", transaction.type).field("is_issuance", transaction.is_issuance());
  out.field("created_unix_ms", transaction.created_at_ms);
  write_optional(out, "memo", transaction.memo);
  write_object(out, "metadata", transaction.metadata);
  write_optional(out, "details_erased_unix_ms", transaction.details_erased_at_ms);
  write_text_or_null(out, "actor", transaction.actor);
  write_id(out, "reverses", transaction.reverses);
  write_id(out, "reversed_by", transaction.reversed_by);
  write_optional(out, "log_position", transaction.log_position);
  out.end_object();
}

void write_line(json::Writer& out, const StatementLine& line) {
  out.begin_object().field("booked_unix_ms", line.booked_at_ms).field("version", line.version);
  write_id(out, "transaction", line.transaction);
  write_id(out, "counterparty", line.counterparty);
  write_text_or_null(out, "counterparty_name", line.counterparty_name);
  write_amount(out, "delta", line.delta);
  write_amount(out, "balance", line.balance);
  out.field("type", line.type);
  write_optional(out, "memo", line.memo);
  out.end_object();
}

void write_hold(json::Writer& out, const Hold& hold) {
  out.begin_object();
  write_id(out, "id", hold.id);
  write_id(out, "wallet", hold.wallet);
  write_id(out, "to", hold.to);
  write_amount(out, "amount", hold.amount);
  write_amount(out, "captured", hold.captured);
  out.field("state", to_string(hold.state)).field("created_by", hold.created_by);
  write_optional(out, "memo", hold.memo);
  out.field("created_unix_ms", hold.created_at_ms).field("expires_unix_ms", hold.expires_at_ms);
  write_optional(out, "ended_unix_ms", hold.ended_at_ms);
  write_id(out, "capture_transaction", hold.capture_transaction);
  out.end_object();
}

}  // namespace

std::string applied_json(const Applied& applied) {
  json::Writer out;
  write_applied(out, applied);
  return out.take();
}

std::string batch_json(std::span<const Transfer> transfers,
                       std::span<const Result<Applied>> results) {
  json::Writer out;
  std::size_t applied = 0;
  for (const auto& result : results) applied += result ? 1 : 0;
  out.begin_object().field("applied", applied).field("refused", results.size() - applied);
  out.key("results").begin_array();
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Result<Applied>& result = results[i];
    out.begin_object();
    write_id(out, "id", transfers[i].id);
    out.key("transfer");
    if (result)
      write_applied(out, *result);
    else
      out.null();
    write_optional(out, "code",
                   result ? std::nullopt : std::optional(info(result.error().code).name));
    write_text_or_null(out, "reason", result ? std::string() : result.error().reason);
    write_text_or_null(out, "detail", result ? std::string() : result.error().message);
    out.end_object();
  }
  out.end_array().end_object();
  return out.take();
}

std::string transaction_json(const Transaction& transaction) {
  json::Writer out;
  write_transaction(out, transaction);
  return out.take();
}

std::string history_json(const Page<Transaction>& page) {
  return page_json("transactions", page, write_transaction);
}

std::string statement_json(const Uuid& wallet, const Store::Statement& statement) {
  json::Writer out;
  out.begin_object();
  write_id(out, "wallet", wallet);
  write_amount(out, "opening_balance", statement.opening_balance);
  out.key("lines").begin_array();
  for (const StatementLine& line : statement.lines.items) write_line(out, line);
  out.end_array();
  write_text_or_null(out, "next_cursor", statement.lines.cursor);
  out.end_object();
  return out.take();
}

std::string hold_json(const Hold& hold) {
  json::Writer out;
  write_hold(out, hold);
  return out.take();
}

std::string holds_json(const Page<Hold>& page) {
  return page_json("holds", page, write_hold);
}

std::string erased_json(const Uuid& transaction) {
  json::Writer out;
  out.begin_object();
  write_id(out, "transaction", transaction);
  out.field("erased", true).end_object();
  return out.take();
}

std::string statement_csv(const Store::Statement& statement, bool with_header) {
  std::string out;
  if (with_header)
    out =
        "booked_unix_ms,version,transaction,counterparty,counterparty_name,delta,balance,type,"
        "memo\n";
  for (const StatementLine& line : statement.lines.items)
    out += fmt::format("{},{},{},{},{},{},{},{},{}\n", line.booked_at_ms, line.version,
                       to_string(line.transaction), to_string(line.counterparty),
                       csv_field(line.counterparty_name), line.delta, line.balance, line.type,
                       csv_field(line.memo.value_or("")));
  return out;
}

}  // namespace coffer::token
