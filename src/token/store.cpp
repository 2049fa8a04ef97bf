#include <algorithm>

#include "token/schema.h"
#include "token/store_impl.h"
#include "token/transfer/group_commit.h"

namespace coffer::token {

Store::Impl::Impl(sql::Database& database, StoreOptions given)
    : options(std::move(given)),
      community(database, options.community),
      groups(std::make_unique<GroupCommit>(community, options)) {}
Store::Impl::~Impl() = default;

Result<std::unique_ptr<Store>> Store::open(sql::Database& database, StoreOptions options) {
  TRY(prepare_community(database, options.community, options.schema));
  return std::unique_ptr<Store>(new Store(std::make_unique<Impl>(database, std::move(options))));
}

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;

const std::string& Store::community() const {
  return impl_->community.name();
}
sql::Database& Store::database() const {
  return impl_->community.database();
}
const Community& Store::ledger() const {
  return impl_->community;
}

std::optional<std::size_t> count_characters(std::string_view text) {
  std::size_t count = 0;
  for (std::size_t i = 0; i < text.size(); ++count) {
    const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[i + k]); };
    const unsigned lead = byte(0);
    const std::size_t length = lead < 0x80 ? 1 : lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
    if (text.size() - i < length || (lead >= 0x80 && lead < 0xc2) || lead > 0xf4)
      return std::nullopt;
    for (std::size_t k = 1; k < length; ++k)
      if ((byte(k) & 0xc0) != 0x80) return std::nullopt;
    // Longer than needed, surrogates, above U+10FFFF.
    if ((lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) >= 0xa0) ||
        (lead == 0xf0 && byte(1) < 0x90) || (lead == 0xf4 && byte(1) >= 0x90))
      return std::nullopt;
    i += length;
  }
  return count;
}

Result<> check_text(std::string_view what, std::string_view text, std::size_t least,
                    std::size_t most) {
  const auto length = count_characters(text);
  if (!length || text.contains('\0'))
    return fail(Code::kInvalidInput, "{}: not valid UTF-8 text", what);
  if (*length < least || *length > most)
    return fail(Code::kInvalidInput, "{}: {} characters; expected {} to {}", what, *length, least,
                most);
  return {};
}

namespace {

bool is_ascii_name(std::string_view name, bool with_upper) {
  return std::ranges::all_of(name, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' ||
           (with_upper && ((c >= 'A' && c <= 'Z') || c == '-'));
  });
}

}  // namespace

Result<> check_actor(const Actor& actor) {
  TRY(check_text("actor", actor.name, 1, 255));
  return check_text("reason", actor.reason, 0, kMaxReasonLength);
}

Result<> check_reason(const Actor& actor) {
  TRY(check_actor(actor));
  return check_text("reason", actor.reason, 1, kMaxReasonLength);
}

Result<> check_username(std::string_view name) {
  TRY(check_text("username", name, 3, 255));
  if (!is_ascii_name(name, true))
    return fail(Code::kInvalidInput, "username: only letters, digits, '_' and '-' are allowed");
  return {};
}

Result<> check_account_name(std::string_view name) {
  TRY(check_text("name", name, 3, 255));
  if (!is_ascii_name(name, false))
    return fail(Code::kInvalidInput,
                "name of a system account: only lower-case letters, digits and '_' are allowed");
  return {};
}

Result<> check_page(const PageOptions& page) {
  if (page.count == 0 || page.count > kMaxPage)
    return fail(Code::kInvalidInput, "count: {}; expected 1 to {}", page.count, kMaxPage);
  return {};
}

}  // namespace coffer::token
