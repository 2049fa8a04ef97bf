// The types of the community token ledger: users, wallets, transfers, holds, and why something is
// refused. Amounts are whole tokens; times are milliseconds since 1970.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <coffer/base/bytes.h>

namespace coffer::token {

using Uuid = FixedBytes<16, struct UuidTag>;
// Thirty-six characters, hex digits of either case. Errors: kInvalidInput.
Result<Uuid> parse_uuid(std::string_view text);
std::string to_string(const Uuid& id);  // in lower case
Uuid random_uuid();                     // version 4

inline constexpr std::size_t kMaxMemoLength = 500;       // characters
inline constexpr std::size_t kMaxMetadataBytes = 4'096;  // a JSON object
inline constexpr std::size_t kMaxReasonLength = 500;     // characters
inline constexpr std::size_t kMaxBatch = 10'000;
inline constexpr std::size_t kMaxPage = 1'000;

// Who does something, and why, as the log and the audit tell it.
struct Actor {
  std::string name;  // "user:ID", "key:ID", "host", "cli"; 1 to 255 characters
  std::string reason = {};
};

// ---- wallets and their owners ----

enum class OwnerType : std::uint8_t { kUser, kSystemAccount };
std::string_view to_string(OwnerType type);  // "user", "system_account"

struct WalletLimits {
  std::optional<std::int64_t> per_transfer = {}, per_day = {};
};

// A wallet with all that decides what it may send, and its owner.
struct Wallet {
  Uuid id{};
  std::int64_t balance = 0;
  std::int64_t held = 0;  // of the balance: promised to others by open holds
  std::int64_t open_holds = 0;
  bool is_frozen = false;
  WalletLimits limits;
  std::int64_t spent_today = 0;
  std::int64_t created_at_ms = 0, updated_at_ms = 0;
  std::optional<OwnerType> owner_type;  // nothing: an orphan
  std::optional<Uuid> owner;
  std::string owner_name;
  std::optional<std::int64_t> owner_deleted_at_ms;

  std::int64_t available() const { return balance - held; }
};

struct User {
  Uuid id{}, wallet{};
  std::string name;
  std::int64_t created_at_ms = 0, updated_at_ms = 0;
  std::optional<std::int64_t> deleted_at_ms;
};
struct SystemAccount {
  Uuid id{}, wallet{};
  std::string name;
  std::int64_t created_at_ms = 0, updated_at_ms = 0;
};

// Who a user is at an identity provider.
struct ExternalIdentity {
  std::string issuer, subject;
};
struct IdentityLink {
  ExternalIdentity identity;
  Uuid user{};
  std::int64_t created_at_ms = 0;
  std::string created_by;
};

// ---- transfers ----

struct Transfer {
  Uuid id{};          // made by the client; the same id again is the same transfer (T9)
  Uuid from{}, to{};  // equal: an issuance
  std::int64_t amount = 0;
  int type = 1;                                    // 1 to 99
  std::optional<std::int64_t> created_at_ms = {};  // the client's; else the database's clock
  std::optional<std::string> memo = {};
  std::optional<std::string> metadata = {};  // the text of a JSON object
};

// What became of a transfer that was applied, now or before.
struct Applied {
  Uuid id{};
  std::int64_t created_at_ms = 0;
  std::int64_t balance = 0;  // of the sending wallet, right after it
  bool is_repeat = false;    // it was applied before, and nothing changed now (E3)
};

// A row of the history, as one looks at it from outside.
struct Transaction {
  Uuid id{}, from{}, to{};
  std::int64_t amount = 0;
  int type = 1;
  std::int64_t created_at_ms = 0;
  std::string from_name, to_name;  // of the owners; empty for an orphan
  std::optional<std::string> memo, metadata;
  std::optional<std::int64_t> details_erased_at_ms;
  std::string actor;
  std::optional<Uuid> reverses, reversed_by;
  std::optional<std::uint64_t> log_position;  // nothing: not in the log yet (T12)

  bool is_issuance() const { return from == to; }
};

// ---- holds ----

enum class HoldState : std::uint8_t { kOpen, kCaptured, kReleased, kExpired };
std::string_view to_string(HoldState state);                // "open"
Result<HoldState> parse_hold_state(std::string_view text);  // Errors: kInvalidInput

struct NewHold {
  Uuid id{};  // as of a transfer: the same id again is the same hold
  Uuid wallet{}, to{};
  std::int64_t amount = 0;
  std::int64_t duration_ms = 0;  // from now, by the database's clock
  std::optional<std::string> memo = {};
};
inline constexpr std::int64_t kMaxHoldMs = 366ll * 24 * 3600 * 1000;

struct Hold {
  Uuid id{}, wallet{}, to{};
  std::int64_t amount = 0, captured = 0;
  HoldState state = HoldState::kOpen;
  std::string created_by;
  std::optional<std::string> memo;
  std::int64_t created_at_ms = 0, expires_at_ms = 0;
  std::optional<std::int64_t> ended_at_ms;
  std::optional<Uuid> capture_transaction;
};

// ---- access ----

enum class Role : std::uint8_t { kMember, kOperator, kIssuer, kAuditor };
std::string_view to_string(Role role);           // "member"
Result<Role> parse_role(std::string_view text);  // Errors: kInvalidInput

struct RoleGrant {
  ExternalIdentity identity;
  Role role = Role::kMember;
  std::int64_t created_at_ms = 0;
  std::string created_by;
};

// A key of a service. The secret is shown once, when it is made, and only its hash is stored.
struct ApiKey {
  Uuid id{};
  std::string name;
  std::vector<std::string> scopes;  // sorted
  std::string created_by;
  std::int64_t created_at_ms = 0, expires_at_ms = 0;
  std::optional<std::int64_t> revoked_at_ms, last_used_at_ms;
};

// ---- reports ----

// Where all tokens are; the first four add up to the issuance (T5).
struct Supply {
  std::int64_t circulation = 0;    // wallets of users
  std::int64_t pool = 0;           // system wallets
  std::int64_t deleted_users = 0;  // wallets of deleted users
  std::int64_t ownerless = 0;
  std::int64_t issuance = 0;
};

struct Statistics {
  std::int64_t issuance = 0, circulation = 0, pool = 0;
  std::int64_t users = 0, transactions = 0;
  std::int64_t updated_at_ms = 0;
};

// A wallet whose balance is not what its history gives.
struct WalletDifference {
  Uuid wallet{};
  std::int64_t balance = 0, history_balance = 0, entries_balance = 0;
};
struct CheckReport {
  bool is_consistent = true;
  std::int64_t total_balance = 0, total_issuance = 0;
  std::int64_t checked_at_ms = 0;
  std::vector<WalletDifference> differences;  // the first kMaxPage
  std::vector<Uuid> orphans;                  // wallets without an owner; the first kMaxPage
};

struct AuditEntry {
  Uuid id{};
  std::int64_t at_ms = 0;
  std::string actor, action;
  std::optional<std::string> target, reason, detail;  // detail: the text of a JSON object
};

}  // namespace coffer::token
