// The verbs that change a community, with the fields of their requests. The routes and the
// commands both read their requests by these declarations, and the schemas of the bodies are made
// of them.
#pragma once

#include <coffer/token/store.h>
#include "node/verb.h"

namespace coffer::token {

// A wallet as it is named: by its id in a body; on the command line also by the id or the name of
// its owner (commands/find.h).
struct WalletName {
  std::string text;
  std::optional<Uuid> id;
};

struct NewOwner {
  std::optional<Uuid> id;  // required in a body; made on the command line
  std::string name;
};
struct Rename {
  std::string name;
};
struct Because {
  std::string reason;
};
struct TransferRequest {
  std::optional<Uuid> id;
  WalletName from, to;
  std::int64_t amount = 0;
  int type = 1;
  std::optional<std::int64_t> created_at_ms;
  std::optional<std::string> memo, metadata;
};
struct IssueRequest {  // on the command line only: in a body it is a transfer to the same wallet
  std::optional<Uuid> id;
  std::int64_t amount = 0;
  std::string account;  // empty: the only system account
  std::optional<std::string> memo;
};
struct HoldRequest {
  std::optional<Uuid> id;
  WalletName wallet, to;
  std::int64_t amount = 0;
  std::int64_t duration_ms = 0;
  std::optional<std::string> memo;
};
struct Capture {
  std::optional<Uuid> transaction;
  std::optional<std::int64_t> amount;
};
struct Reversal {
  Uuid transaction{};
  std::optional<Uuid> id;
  std::string reason;
};
struct RoleRequest {
  ExternalIdentity identity;
  std::string issuer, subject;
  Role role = Role::kMember;
};
struct IdentityRequest {
  std::string issuer, subject;

  ExternalIdentity identity() const { return {issuer, subject}; }
};

struct Verbs {
  node::Verb<NewOwner> create_user, create_system_account;
  node::Verb<Rename> rename;
  node::Verb<Because> because, with_reason;  // without one, or not
  node::Verb<WalletLimits> limits;
  node::Verb<IdentityRequest> identity;
  node::Verb<TransferRequest> transfer;
  node::Verb<HoldRequest> hold;
  node::Verb<Capture> capture;
  node::Verb<Reversal> reverse;
  node::Verb<NewApiKey> make_key;
  node::Verb<RoleRequest> role;
};

// Thread-safe.
const Verbs& verbs();
// Of the command line alone.
const node::Verb<IssueRequest>& issue_verb();

// Calls visit(verb) for each. A member that is missing here does not compile.
template <typename Visit>
void for_each_verb(Visit visit) {
  const auto visit_all = [&](const auto&... verb) { (visit(verb), ...); };
  const auto& [v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13] = verbs();
  visit_all(v1, v2, v3, v4, v5, v6, v7, v8, v9, v10, v11, v12, v13);
}

// The same verb for a command that makes the id itself unless it is typed.
template <typename Request>
node::Verb<Request> with_optional_id(node::Verb<Request> verb, std::string_view name = "id") {
  for (node::VerbField<Request>& field : verb.fields)
    if (field.name == name) field.option.required = false;
  return verb;
}

// The list of a batch; each element is read as the body of a transfer. Errors: kInvalidInput with
// "transfers[N]: " before it; kTooLarge above kMaxBatch.
struct BatchRequest {
  BatchMode mode = BatchMode::kAll;
  std::vector<TransferRequest> transfers;
};
Result<BatchRequest> parse_batch(std::string_view body);
std::string batch_schema();

// A name that is an id already.
Transfer to_transfer(const TransferRequest& request, const Uuid& from, const Uuid& to);

// A whole number of tokens, as text. Errors: kInvalidInput for a sign, a fraction, 0 and what is
// above 2^63 - 1, naming it.
Result<std::int64_t> parse_amount(std::string_view text);

}  // namespace coffer::token
