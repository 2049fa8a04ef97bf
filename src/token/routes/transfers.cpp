// Routes that move tokens. Single transfers wait for their group without holding a worker.
#include "base/result.h"
#include "token/json/input.h"
#include "token/json/output.h"
#include "token/routes/tokens.h"

namespace coffer::token {
namespace {

using http::Response;

constexpr std::size_t kMaxBatchBytes = 8u << 20;

// Issuance, distribution and payment are rights of their own. Which one it is, is looked up only if
// it decides.
Result<> require_transfer(const TokenCall& call, const Uuid& from, const Uuid& to) {
  if (from == to) return require(call, Action::kIssue);
  const Facts facts{.is_own = call.who.wallet == from};
  const bool may_transfer = is_allowed(call.who, Action::kTransfer, facts);
  const bool may_distribute = is_allowed(call.who, Action::kDistribute);
  if (may_transfer && may_distribute) return {};
  // An own wallet is a user's: an owner is never both.
  if (may_transfer && facts.is_own) return {};
  if (!may_transfer && !may_distribute) return fail(forbidden(call.who, Action::kTransfer));
  const bool is_system = TRY(is_system_wallet(call, from));
  return require(call, is_system ? Action::kDistribute : Action::kTransfer, facts);
}

Result<Transfer> read_transfer(const TokenCall& call) {
  const TransferRequest wanted = TRY(node::parse_body(verbs().transfer, call.request.body));
  TRY(require_transfer(call, *wanted.from.id, *wanted.to.id));
  return to_transfer(wanted, *wanted.from.id, *wanted.to.id);
}

void transfer(const std::shared_ptr<const TokenCall>& call, const api::Respond& respond) {
  auto wanted = read_transfer(*call);
  if (!wanted) return respond(fail(wanted.error()));
  call->store.submit(*std::move(wanted), call->actor(), [call, respond](Result<Applied> applied) {
    if (!applied) return respond(fail(applied.error()));
    respond(http::json_response(applied_json(*applied), applied->is_repeat ? 200 : 201));
  });
}

Result<> require_batch(const TokenCall& call, std::span<const Transfer> transfers) {
  std::set<std::pair<Uuid, bool>> judged;  // a batch mostly has one payer
  for (std::size_t i = 0; i < transfers.size(); ++i) {
    const Transfer& one = transfers[i];
    if (!judged.emplace(one.from, one.from == one.to).second) continue;
    TRY_IN(fmt::format("transfers[{}]", i), require_transfer(call, one.from, one.to));
  }
  return {};
}

Result<Response> batch(const TokenCall& call) {
  const BatchRequest wanted = TRY(parse_batch(call.request.body));
  std::vector<Transfer> transfers;
  transfers.reserve(wanted.transfers.size());
  for (const TransferRequest& one : wanted.transfers)
    transfers.push_back(to_transfer(one, *one.from.id, *one.to.id));
  TRY(require_batch(call, transfers));
  const auto results = TRY(call.store.batch(transfers, wanted.mode, call.actor()));
  return http::json_response(batch_json(transfers, results));
}

// One's own are those that one's wallet takes part in.
Result<Response> show_transfer(const TokenCall& call) {
  const Uuid id = TRY(call.id("transfer"));
  const auto found = TRY(call.store.find_transaction(id));
  Facts facts;
  if (found) facts.is_own = call.who.wallet == found->from || call.who.wallet == found->to;
  if (found && !is_allowed(call.who, Action::kReadWallet, facts)) {
    const Facts system{.is_own = facts.is_own, .is_system = true};
    if (is_allowed(call.who, Action::kReadWallet, system))
      facts.is_system =
          TRY(is_system_wallet(call, found->from)) || TRY(is_system_wallet(call, found->to));
  }
  TRY(require(call, Action::kReadWallet, facts));
  if (!found)
    return fail(not_there(call, Action::kReadWallet, "transaction_not_found",
                          fmt::format("no transfer {}", to_string(id))));
  return http::json_response(transaction_json(*found));
}

Result<Response> erase(const TokenCall& call, const Because& because) {
  TRY(require(call, Action::kReverse));
  const Uuid id = TRY(call.id("transfer"));
  TRY(call.store.erase_details(id, call.actor(because.reason)));
  return http::json_response(erased_json(id));
}

Result<Response> reverse(const TokenCall& call, const Reversal& wanted) {
  TRY(require(call, Action::kReverse));
  const Applied applied =
      TRY(call.store.reverse(wanted.transaction, *wanted.id, call.actor(wanted.reason)));
  return http::json_response(applied_json(applied), applied.is_repeat ? 200 : 201);
}

}  // namespace

std::vector<TokenRoute> transfer_routes() {
  const Verbs& all = verbs();
  const api::Parameter id = path_id("transfer", "the transfer's id");
  return {
      {.method = http::Method::kPost,
       .path = "/transfers",
       .summary = "Send tokens; from a system wallet to itself: issue them. The same id again "
                  "answers as the first time and changes nothing",
       .response_schema = "TokenApplied",
       .request_schema = all.transfer.schema,
       .later = transfer,
       .successes = {200, 201}},
      {.path = "/transfers/{transfer}",
       .summary = "One transfer",
       .parameters = {id},
       .response_schema = "TokenTransaction",
       .answer = show_transfer},
      verb_route(all.because, "/transfers/{transfer}/erase",
                 "Erase memo and metadata; the log keeps their hashes", {id}, "TokenErased", erase),
      {.method = http::Method::kPost,
       .path = "/batches",
       .summary = "Up to 10,000 transfers, in order: all of them or none, or each for itself",
       .response_schema = "TokenBatch",
       .answer = batch,
       .request_schema = "TokenNewBatch",
       .body_bytes = kMaxBatchBytes},
      making(verb_route(all.reverse, "/reversals",
                        "Send the whole amount of a transaction back, once, with a reason", {},
                        "TokenApplied", reverse),
             {200, 201}),
  };
}

}  // namespace coffer::token
