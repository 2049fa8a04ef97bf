// What people and programs give to ask a community: pages, times, filters. The command line and
// HTTP read them here alike. Each error says what is wrong with which value, in one line.
#pragma once

#include <coffer/token/store.h>
#include "http/message.h"

namespace coffer::token {

// All are thread-safe. Errors: kInvalidInput.

// Milliseconds since 1970, or a time in UTC: 2026-01-31, 2026-01-31T12:30:00Z.
Result<std::int64_t> parse_time(std::string_view text);

// count (1 to 1,000), cursor.
Result<PageOptions> parse_page(const http::Fields& query);
// wallet, counterparty, type, from, to, order (newest or oldest), and the page.
Result<HistoryQuery> parse_history_query(const http::Fields& query);
// wallet, which must be there, from, to, and the page. To defaults to the end of time.
Result<Store::StatementQuery> parse_statement_query(const http::Fields& query);
// wallet or recipient, open, and the page.
Result<Store::HoldQuery> parse_hold_query(const http::Fields& query);
// name, with_deleted, and the page.
Result<Store::UserQuery> parse_user_query(const http::Fields& query);
// from, to, and the page.
Result<Store::AuditQuery> parse_audit_query(const http::Fields& query);
// at: nothing for now.
Result<std::optional<std::int64_t>> parse_moment(const http::Fields& query);
// A UUID; `what` is for the error.
Result<Uuid> parse_id(std::string_view what, std::string_view text);

}  // namespace coffer::token
