// What an import reads and writes: many rows with few statements.
#pragma once

#include <map>
#include <set>
#include <span>

#include "token/store_impl.h"

namespace coffer::token {

inline constexpr std::size_t kMaxImportedMembers = 100'000;

// A line of the list with the ids that its rows get.
struct NewMember {
  const ImportRow* row = nullptr;
  std::uint64_t line = 0;
  Uuid user{}, wallet{}, transfer{};
};

// Those of the users that exist already.
Result<std::set<Uuid>> find_known_users(sql::Reader& sql, const Community& community,
                                        std::span<const NewMember> members);
// Those of the identities, by issuer and subject, that belong to a user already.
Result<std::map<std::pair<std::string, std::string>, Uuid>> find_known_identities(
    sql::Reader& sql, const Community& community, std::span<const NewMember> members);

// Users with wallets and identities, and the transfers of the opening balances.
Result<> insert_members(sql::Transaction& sql, const Community& community,
                        std::span<const NewMember> members, const Uuid& payer, const Actor& actor,
                        std::int64_t now_ms);

}  // namespace coffer::token
