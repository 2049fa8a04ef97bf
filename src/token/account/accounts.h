// What the rooms of accounts, access and integrity share: a change that is done once and audited,
// and the rows of users and system accounts.
#pragma once

#include <string>
#include <type_traits>

#include "json/writer.h"
#include "token/store_impl.h"

namespace coffer::token {

inline constexpr std::size_t kMaxIssuerLength = 500, kMaxSubjectLength = 255;

// Whether an error says that somebody else took a unique value, perhaps a moment ago.
inline bool is_taken(const Error& error) {
  return error.reason == "unique" || error.reason == "TK015";
}

// Runs `body` in a durable transaction in which `actor` acts. It looks first whether the change has
// been made already (E3); so if another transaction made it meanwhile, doing all again finds that.
template <typename Body>
auto write_as(const Community& community, const Actor& actor, Body&& body)
    -> std::invoke_result_t<Body&, sql::Transaction&> {
  using Answer = std::invoke_result_t<Body&, sql::Transaction&>;
  constexpr int kMaxAttempts = 3;
  for (int attempt = 1;; ++attempt) {
    Answer answer = community.database().run_transaction(
        [&](sql::Transaction& sql) -> Answer {
          TRY(begin_acting(sql, community, actor));
          Answer done = body(sql);
          if (done) TRY(end_acting(sql, community));
          return done;
        },
        kWrite);
    if (answer) return answer;
    if (is_taken(answer.error()) && attempt < kMaxAttempts) continue;
    return std::unexpected(explain(std::move(answer).error()));
  }
}

// In one moment of the database; `body` cannot write.
template <typename Body>
auto read_as_of_now(const Community& community, Body&& body)
    -> std::invoke_result_t<Body&, sql::Transaction&> {
  return community.database().run_transaction(std::forward<Body>(body), kRead);
}

// Errors: kInvalidInput for an id of zeros, which is one that somebody forgot to set.
Result<> check_id(std::string_view what, const Uuid& id);
Result<> check_identity(const ExternalIdentity& identity);

// A JSON object with these members, for the audit.
std::string audit_detail(
    std::initializer_list<std::pair<std::string_view, std::string_view>> members);

// write_audit() at the database's time.
Result<> audit_now(sql::Transaction& sql, const Community& community, const Actor& actor,
                   std::string_view action, std::string_view target, std::string_view detail);

// Columns: id, wallet_id, username, created_at, updated_at, deleted_at.
Result<User> read_user(const Community& community, const sql::Rows& rows);
Result<std::optional<User>> find_user_row(sql::Reader& sql, const Community& community,
                                          const Uuid& user);
// Errors: kNotFound user_not_found.
Result<User> get_user_row(sql::Reader& sql, const Community& community, const Uuid& user);

// Columns: id, wallet_id, name, created_at, updated_at.
Result<SystemAccount> read_account(const Community& community, const sql::Rows& rows);
Result<std::optional<SystemAccount>> find_account_row(sql::Reader& sql, const Community& community,
                                                      const Uuid& account);
Result<std::optional<SystemAccount>> find_account_by_name(sql::Reader& sql,
                                                          const Community& community,
                                                          std::string_view name);

// A wallet and its owner, without any check of what is there already.
Result<User> insert_user(sql::Transaction& sql, const Community& community, const Uuid& user,
                         const Uuid& wallet, std::string_view name, std::int64_t now_ms);
Result<SystemAccount> insert_system_account(sql::Transaction& sql, const Community& community,
                                            const Uuid& account, const Uuid& wallet,
                                            std::string_view name, std::int64_t now_ms);

Result<std::optional<Uuid>> find_linked_user(sql::Reader& sql, const Community& community,
                                             const ExternalIdentity& identity);
Result<> insert_identity(sql::Transaction& sql, const Community& community, const Uuid& user,
                         const ExternalIdentity& identity, const Actor& actor, std::int64_t now_ms);

// Locks the wallet's row for this transaction. Errors: kNotFound wallet_not_found.
Result<> lock_wallet(sql::Transaction& sql, const Community& community, const Uuid& wallet);
// Errors: kNotFound wallet_not_found.
Result<> expect_wallet(sql::Reader& sql, const Community& community, const Uuid& wallet);

}  // namespace coffer::token
