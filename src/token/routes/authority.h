// Who may do what in a community: one table, and one pure function that reads it. docs/token.md
// prints the table, tests compare every cell.
// Invariant: authority is judged before existence: for what is not there all facts are false, so
// that a refusal says nothing about it.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <coffer/token/types.h>

namespace coffer::token {

enum class Action : std::uint8_t {
  kReadSummary,  // supply, statistics, checkpoints
  kFindUser,     // by exact name or id, to send something
  kListUsers,    // also system accounts and wallets
  kReadWallet,   // balance, history, statement, holds
  kReadHistory,  // of the whole community, and its events
  kTransfer,     // between users, from the wallet of one
  kDistribute,   // from a system wallet
  kIssue,
  kOpenHold,
  kCaptureHold,
  kReleaseHold,
  kManageUsers,  // create, rename, delete, reactivate, identities, limits
  kFreeze,       // and unfreeze
  kReverse,      // and erase memo and metadata
  kCheck,        // recompute all balances
  kReadAudit,    // and the roles
  kMakeKey,      // with scopes of one's own
  kListKeys,
  kRevokeKey,
  kAdminister,  // roles, system accounts
};
inline constexpr std::size_t kActions = static_cast<std::size_t>(Action::kAdminister) + 1;

enum class Holder : std::uint8_t { kHost, kOperator, kIssuer, kAuditor, kMember, kKey };
inline constexpr std::size_t kHolders = 6;

// When a holder may do something.
enum class Rule : std::uint8_t {
  kNo,
  kYes,
  kOwn,           // on one's own wallet, transaction, key
  kSystem,        // on a system wallet
  kParty,         // as the recipient, or as who opened the hold
  kPartyNotPayer  // the same, but not as the wallet that pays
};

// How something that is asked for stands to who asks.
struct Facts {
  bool is_own = false;     // the wallet, one of its transactions; the key was made by who asks
  bool is_system = false;  // a system wallet, or a transaction of one
  bool is_payer = false;   // of a hold: the wallet
  bool is_recipient = false;
  bool is_creator = false;
};

struct Principal {
  enum class Kind : std::uint8_t { kHost, kPerson, kService };
  Kind kind = Kind::kPerson;
  std::string name = {};                       // of the actor: "host", "user:ID", "key:ID"
  std::set<Role> roles = {};                   // of a person in this community
  std::set<std::string> scopes = {};           // of a service
  std::optional<Uuid> user = {}, wallet = {};  // a person's own, if the identity is linked to one
};

// A row of the table.
struct Authority {
  Action action;
  std::string_view what;   // for people
  Rule rules[kHolders];    // by Holder
  std::string_view scope;  // that a key needs for it; empty: no key has it
};
std::span<const Authority> authority_table();
const Authority& authority_of(Action action);

// All are pure and thread-safe.
bool is_allowed(const Principal& who, Action action, const Facts& facts = {});
// As a problem for who was refused. kForbidden; the reason is not_allowed.
Error forbidden(const Principal& who, Action action);

// The scopes that keys can have, sorted.
std::vector<std::string> known_scopes();
// The first scope that this principal may not give to a key; empty if there is none.
std::string find_excess_scope(const Principal& maker, std::span<const std::string> scopes);

std::string_view to_string(Holder holder);
std::string_view to_string(Rule rule);
// For docs/token.md.
std::string authority_markdown();

}  // namespace coffer::token
