#include <charconv>

#include "token/hold/row.h"
#include "token/store_impl.h"

namespace coffer::token {
namespace {

// Pages go by (created_at, id), newest first: "1700000000000.3f2b8c1e-…".
struct HoldCursor {
  std::int64_t created_at_ms = 0;
  Uuid id{};
};

Result<HoldCursor> parse_hold_cursor(std::string_view text) {
  HoldCursor cursor;
  const std::size_t dot = std::min(text.find('.'), text.size());
  const std::string_view time = text.substr(0, dot);
  const auto [end, error] =
      std::from_chars(time.data(), time.data() + time.size(), cursor.created_at_ms);
  auto id = parse_uuid(text.substr(std::min(dot + 1, text.size())));
  if (error != std::errc() || end != time.data() + time.size() || !id)
    return fail(Code::kInvalidInput, "cursor: not one that a page of holds gave");
  cursor.id = *id;
  return cursor;
}

// A page of open holds looks at so many holds and may be shorter than asked for (E11).
constexpr std::size_t kExaminedForOpen = 2'000;

constexpr const char* kHoldsOfPayer =
    "SELECT " COFFER_HOLD_COLUMNS
    " FROM @holds h WHERE h.wallet_id = $1::uuid AND (h.created_at, h.id) < ($2, $3::uuid)"
    " ORDER BY h.created_at DESC, h.id DESC LIMIT $4";
constexpr const char* kHoldsOfRecipient =
    "SELECT " COFFER_HOLD_COLUMNS
    " FROM @holds h WHERE h.to_wallet_id = $1::uuid AND (h.created_at, h.id) < ($2, $3::uuid)"
    " ORDER BY h.created_at DESC, h.id DESC LIMIT $4";

// Those of the rows that are asked for; `examined` is how many rows there are at most.
Result<Page<Hold>> read_hold_page(sql::Rows rows, const Community& community,
                                  const Store::HoldQuery& query, std::size_t examined) {
  Page<Hold> page;
  std::size_t seen = 0;
  HoldCursor last;
  while (TRY(rows.next())) {
    if (seen == examined || page.items.size() == query.page.count) {
      page.cursor = fmt::format("{}.{}", last.created_at_ms, to_string(last.id));
      break;
    }
    Hold hold = TRY(read_hold(rows, community));
    ++seen;
    last = {hold.created_at_ms, hold.id};
    if (!query.open_only || hold.state == HoldState::kOpen) page.items.push_back(std::move(hold));
  }
  return page;
}

}  // namespace

Result<Hold> read_hold(const sql::Rows& rows, const Community& community) {
  Hold hold;
  hold.id = TRY(community.read_id(rows, 0));
  hold.wallet = TRY(community.read_id(rows, 1));
  hold.to = TRY(community.read_id(rows, 2));
  hold.amount = TRY(rows.get<std::int64_t>(3));
  hold.captured = TRY(rows.get<std::int64_t>(4));
  const std::string_view state = TRY(rows.get<std::string_view>(5));
  hold.state = TRY(parse_hold_state(state));
  hold.created_by = TRY(rows.get<std::string>(6));
  hold.memo = TRY(rows.get<std::optional<std::string>>(7));
  hold.created_at_ms = TRY(rows.get<std::int64_t>(8));
  hold.expires_at_ms = TRY(rows.get<std::int64_t>(9));
  hold.ended_at_ms = TRY(rows.get<std::optional<std::int64_t>>(10));
  hold.capture_transaction = TRY(community.read_id_if(rows, 11));
  return hold;
}

Result<std::optional<Hold>> find_hold_row(sql::Reader& sql, const Community& community,
                                          const Uuid& id) {
  sql::Rows rows = TRY(
      sql.query(community.sql("SELECT " COFFER_HOLD_COLUMNS " FROM @holds h WHERE h.id = $1::uuid"),
                {community.id(id)}));
  if (!TRY(rows.next())) return std::nullopt;
  return TRY(read_hold(rows, community));
}

Result<std::optional<Hold>> Store::find_hold(const Uuid& hold) const {
  return impl_->community.database().run_transaction(
      [&](sql::Transaction& sql) { return find_hold_row(sql, impl_->community, hold); }, kRead);
}

Result<Page<Hold>> Store::holds(const HoldQuery& query) const {
  TRY(check_page(query.page));
  if (query.wallet.has_value() == query.recipient.has_value())
    return fail(Code::kInvalidInput, "holds: give a wallet or a recipient, one of the two");
  HoldCursor cursor;
  cursor.created_at_ms = std::numeric_limits<std::int64_t>::max();
  if (!query.page.cursor.empty()) cursor = TRY(parse_hold_cursor(query.page.cursor));
  const Community& community = impl_->community;
  const std::size_t examined =
      query.open_only ? std::max(kExaminedForOpen, query.page.count) : query.page.count;
  return community.database().run_transaction(
      [&](sql::Transaction& sql) -> Result<Page<Hold>> {
        sql::Rows rows = TRY(sql.query(
            community.sql(query.wallet ? kHoldsOfPayer : kHoldsOfRecipient),
            {community.id(query.wallet ? *query.wallet : *query.recipient), cursor.created_at_ms,
             community.id(cursor.id), static_cast<std::int64_t>(examined) + 1}));
        return read_hold_page(std::move(rows), community, query, examined);
      },
      kRead);
}

}  // namespace coffer::token
