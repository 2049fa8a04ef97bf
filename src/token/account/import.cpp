// Members with their opening balances, from a list that is checked as a whole first. All of it is
// one SQL transaction: a problem in any line changes nothing.
#include "token/account/accounts.h"
#include "token/account/import_rows.h"
#include "token/query/wallet_rows.h"

namespace coffer::token {
namespace {

constexpr std::size_t kMaxProblems = 1'000;

using IdentityKey = std::pair<std::string, std::string>;

// What is wrong with the list, by line.
class Problems {
 public:
  void add(const NewMember& member, std::string_view what) {
    if (++count_ <= kMaxProblems) texts_.push_back(fmt::format("line {}: {}", member.line, what));
  }
  void add(std::string_view what) {
    if (++count_ <= kMaxProblems) texts_.emplace_back(what);
  }
  std::vector<std::string> take() {
    if (count_ > kMaxProblems)
      texts_.push_back(fmt::format("and {} more problems", count_ - kMaxProblems));
    return std::move(texts_);
  }

 private:
  std::size_t count_ = 0;
  std::vector<std::string> texts_;
};

// What can be said without the database.
void check_lines(std::span<const NewMember> members, Problems& problems) {
  std::map<Uuid, std::uint64_t> users;
  std::map<IdentityKey, std::uint64_t> identities;
  for (const NewMember& member : members) {
    const ImportRow& row = *member.row;
    if (const auto good = check_username(row.username); !good)
      problems.add(member, good.error().message);
    if (row.balance < 0)
      problems.add(member, fmt::format("balance: {}; expected 0 or more", row.balance));
    if (const auto [at, is_new] = users.emplace(member.user, member.line); !is_new)
      problems.add(member, fmt::format("user {} stands in line {} already", to_string(member.user),
                                       at->second));
    if (!row.identity) continue;
    if (const auto good = check_identity(*row.identity); !good) {
      problems.add(member, good.error().message);
      continue;
    }
    const auto [at, is_new] =
        identities.emplace(IdentityKey{row.identity->issuer, row.identity->subject}, member.line);
    if (!is_new)
      problems.add(member, fmt::format("this identity stands in line {} already", at->second));
  }
}

Result<> check_against_users(sql::Reader& sql, const Community& community,
                             std::span<const NewMember> members, Problems& problems) {
  const auto users = TRY(find_known_users(sql, community, members));
  const auto identities = TRY(find_known_identities(sql, community, members));
  for (const NewMember& member : members) {
    if (users.contains(member.user))
      problems.add(member, fmt::format("user {} exists", to_string(member.user)));
    if (!member.row->identity) continue;
    const auto known =
        identities.find({member.row->identity->issuer, member.row->identity->subject});
    if (known != identities.end())
      problems.add(member,
                   fmt::format("this identity belongs to user {}", to_string(known->second)));
  }
  return {};
}

// The payer's balance and limits.
void check_funds(const Wallet& payer, std::span<const NewMember> members, Problems& problems) {
  std::int64_t total = 0;
  for (const NewMember& member : members) {
    const std::int64_t amount = std::max<std::int64_t>(member.row->balance, 0);
    if (__builtin_add_overflow(total, amount, &total)) {
      problems.add("the balances add up to more than 9223372036854775807");
      return;
    }
    if (payer.limits.per_transfer && amount > *payer.limits.per_transfer)
      problems.add(member, fmt::format("balance: {}; the paying wallet's limit per transfer is {}",
                                       amount, *payer.limits.per_transfer));
  }
  if (total > payer.available())
    problems.add(
        fmt::format("the balances add up to {}; the paying wallet has {} available: "
                    "issue more first",
                    total, payer.available()));
  if (payer.limits.per_day && total > *payer.limits.per_day - payer.spent_today)
    problems.add(
        fmt::format("the balances add up to {}; the paying wallet's limit per day leaves "
                    "{}",
                    total, *payer.limits.per_day - payer.spent_today));
}

Result<Wallet> get_payer(sql::Reader& sql, const Community& community, const Uuid& account) {
  const auto found = TRY(find_account_row(sql, community, account));
  if (!found)
    return fail(Code::kNotFound,
                "there is no system account {} in '{}'; list them with 'coffer token account list'",
                to_string(account), community.name());
  auto wallet = TRY(find_wallet_row(sql, community, found->wallet));
  if (!wallet) return fail(Code::kInternal, "system account {} has no wallet", to_string(account));
  return *std::move(wallet);
}

Result<std::vector<std::string>> find_problems(sql::Reader& sql, const Community& community,
                                               const Uuid& account,
                                               std::span<const NewMember> members) {
  Problems problems;
  const Wallet payer = TRY(get_payer(sql, community, account));
  check_lines(members, problems);
  check_funds(payer, members, problems);
  auto found = problems.take();
  if (!found.empty()) return found;  // texts that are none cannot be looked for
  Problems taken;
  TRY(check_against_users(sql, community, members, taken));
  return taken.take();
}

ImportReport summarize(std::span<const NewMember> members) {
  ImportReport report;
  for (const NewMember& member : members) {
    ++report.users;
    if (member.row->identity) ++report.identities;
    if (member.row->balance <= 0) continue;
    ++report.transfers;
    if (__builtin_add_overflow(report.tokens, member.row->balance, &report.tokens))
      report.tokens = std::numeric_limits<std::int64_t>::max();  // a problem, and told as one
  }
  return report;
}

std::vector<NewMember> prepare_members(std::span<const ImportRow> rows) {
  std::vector<NewMember> members;
  members.reserve(rows.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    members.push_back({&rows[i], rows[i].line != 0 ? rows[i].line : i + 1,
                       rows[i].user ? *rows[i].user : random_uuid(), random_uuid(), random_uuid()});
  return members;
}

Result<> audit_import(sql::Transaction& sql, const Community& community, const Uuid& account,
                      const ImportReport& report, const Actor& actor, std::int64_t now_ms) {
  return write_audit(sql, community, actor, "import_members", to_string(account),
                     audit_detail({{"users", std::to_string(report.users)},
                                   {"identities", std::to_string(report.identities)},
                                   {"transfers", std::to_string(report.transfers)},
                                   {"tokens", std::to_string(report.tokens)}}),
                     now_ms);
}

}  // namespace

Result<ImportReport> Store::import_members(std::span<const ImportRow> rows,
                                           const Uuid& system_account, bool dry_run,
                                           const Actor& actor) {
  TRY(check_actor(actor));
  if (rows.size() > kMaxImportedMembers)
    return fail(Code::kTooLarge, "{} members; import at most {} at once: divide the list",
                rows.size(), kMaxImportedMembers);
  for (const ImportRow& row : rows)
    if (row.user) TRY(check_id("user", *row.user));
  const Community& community = impl_->community;
  const std::vector<NewMember> members = prepare_members(rows);
  ImportReport report = summarize(members);
  if (dry_run) {
    report.problems = TRY(read_as_of_now(community, [&](sql::Transaction& sql) {
      return find_problems(sql, community, system_account, members);
    }));
    return report;
  }
  return write_as(community, actor, [&](sql::Transaction& sql) -> Result<ImportReport> {
    // An attempt whose end is unknown may have done it: nobody else has made up this wallet's id.
    if (members.empty() || TRY(find_wallet_row(sql, community, members.front().wallet)))
      return report;
    const Uuid payer = TRY(get_payer(sql, community, system_account)).id;
    TRY(lock_wallet(sql, community, payer));
    ImportReport done = report;
    done.problems = TRY(find_problems(sql, community, system_account, members));
    if (!done.problems.empty()) return done;
    const std::int64_t now_ms = TRY(database_now(sql, community));
    TRY(insert_members(sql, community, members, payer, actor, now_ms));
    TRY(audit_import(sql, community, system_account, done, actor, now_ms));
    return done;
  });
}

}  // namespace coffer::token
