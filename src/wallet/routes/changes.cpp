// The routes that change one wallet. Input is read whole before the store is asked.
#include "base/result.h"
#include "wallet/import/core_export.h"
#include "wallet/json/input.h"
#include "wallet/json/output.h"
#include "wallet/json/verbs.h"
#include "wallet/routes/wallets.h"

namespace coffer::wallet {
namespace {

using http::Method;
using http::Response;
using In = api::Parameter::In;

// The route of a verb, whose request is read from the body.
template <typename Request>
WalletRoute of_verb(const node::Verb<Request>& verb, Method method, const char* path,
                    const char* summary, const char* response_schema,
                    Result<Response> (*answer)(const WalletCall&, const Request&)) {
  const auto read = [&verb, answer](const WalletCall& call) -> Result<Response> {
    const Request request = TRY(node::parse_body(verb, call.request.body));
    return answer(call, request);
  };
  return {method, path, summary, {}, response_schema, read, verb.schema};
}

WalletRoute making(WalletRoute route) {
  route.successes = {201};
  return route;
}

Result<Response> import_descriptor(const WalletCall& call, const ImportDescriptor& import) {
  const wallet::Imported done =
      TRY(call.store.import_descriptor(call.wallet, import.descriptor, import));
  return http::json_response(imported_json(done));
}

Result<Response> import_core(const WalletCall& call) {
  const wallet::CoreExport core = TRY(wallet::parse_core_export(call.network, call.request.body));
  const wallet::Imported done = TRY(call.store.import_core(call.wallet, core));
  return http::json_response(imported_json(done));
}

Result<Response> import_script(const WalletCall& call, const ImportScripts& import) {
  const std::vector<Bytes> scripts = TRY(parse_scripts(call.network, import));  // a body has one
  const wallet::Imported done = TRY(call.store.import_script(call.wallet, scripts.front(), import));
  return http::json_response(imported_json(done));
}

Result<Response> new_address(const WalletCall& call, const NewAddress& wanted) {
  const wallet::AddressInfo made =
      TRY(call.store.new_address(call.wallet, wanted.account, wanted.internal));
  return http::json_response(wallet_address_json(made), 201);
}

Result<Response> record(const WalletCall& call, const RecordTransaction& wanted) {
  const wallet::Recorded done = TRY(call.store.record(call.wallet, wanted.raw, wanted));
  return http::json_response(recorded_json(done));
}

Result<Hash256> named_tx(const WalletCall& call) {
  TRY(node::parse_empty_body(call.request.body));
  return parse_hash("transaction", call.request.path_param("tx").value_or(""));
}

Result<Response> publish(const WalletCall& call) {
  const Hash256 tx = TRY(named_tx(call));
  const wallet::Recorded done = TRY(call.store.publish(call.wallet, tx));
  return http::json_response(recorded_json(done));
}

Result<Response> cancel(const WalletCall& call) {
  const Hash256 tx = TRY(named_tx(call));
  const wallet::Recorded done = TRY(call.store.cancel(call.wallet, tx));
  return http::json_response(recorded_json(done));
}

Result<Response> lease(const WalletCall& call, const LeaseRequest& wanted) {
  const std::int64_t until = TRY(call.store.lease(call.wallet, wanted));
  return http::json_response(leased_json(wanted.coins.size(), wanted.lock_id, until));
}

Result<Response> select(const WalletCall& call, const LeaseSelection& wanted) {
  const wallet::SelectedCoins selected = TRY(call.store.select_and_lease(call.wallet, wanted));
  return http::json_response(selected_json(call.network, wanted.lock_id, selected));
}

Result<Response> renew(const WalletCall& call, const LeaseRequest& wanted) {
  const std::int64_t until = TRY(call.store.renew(call.wallet, wanted));
  return http::json_response(leased_json(wanted.coins.size(), wanted.lock_id, until));
}

Result<Response> release(const WalletCall& call, const ReleaseCoins& wanted) {
  std::uint64_t coins = wanted.coins.size();
  if (wanted.all)
    coins = TRY(call.store.release_all(call.wallet, wanted.lock_id));
  else
    TRY(call.store.release(call.wallet, wanted.coins, wanted.lock_id));
  return http::json_response(released_json(coins, wanted.lock_id));
}

Result<Response> set_label(const WalletCall& call, const SetLabel& wanted) {
  const LabelTarget target = TRY(parse_label_target(call.network, wanted.kind, wanted.ref));
  TRY(call.store.set_label(call.wallet, target.kind, target.ref, wanted.label));
  return http::json_response(label_json(target.kind, target.ref, wanted.label));
}

Result<Response> prune(const WalletCall& call, const PruneOptions& options) {
  const wallet::Pruned done = TRY(call.store.prune(call.wallet, options));
  return http::json_response(pruned_json(done, options.dry_run));
}

}  // namespace

std::vector<WalletRoute> wallet_changes() {
  const api::Parameter tx{"tx", In::kPath, "the transaction's id"};
  const auto post = Method::kPost;
  const Verbs& all = verbs();
  return {
      of_verb(all.record, post, "/transactions",
              "Put a transaction into the wallet; a known one changes nothing. 409 if it conflicts "
              "with what is there",
              "Recorded", record),
      {post,
       "/transactions/{tx}/publish",
       "A pending transaction was broadcast",
       {tx},
       "Recorded",
       publish},
      {post,
       "/transactions/{tx}/cancel",
       "A pending transaction will never be broadcast",
       {tx},
       "Recorded",
       cancel},
      of_verb(all.lease, post, "/leases",
              "Lease coins, all of them or none; also longer, or after another's lease ended. 409 "
              "if somebody else holds one",
              "Leased", lease),
      of_verb(all.select, post, "/leases/select",
              "Choose coins worth an amount and lease them, as one; what the lock id holds counts. "
              "409 if there is not so much that may be spent",
              "SelectedCoins", select),
      of_verb(all.renew, post, "/leases/renew",
              "Lease on; 409 unless this lock id holds all of them now", "Leased", renew),
      of_verb(all.release, post, "/leases/release", "Give coins back; what is not leased stays so",
              "Released", release),
      of_verb(all.label, Method::kPut, "/labels", "Label a transaction, address or output", "Label",
              set_label),
      of_verb(all.prune, post, "/prune", "Clear away what nothing can need any more",
              "PrunedWallet", prune),
      of_verb(all.import_descriptor, post, "/descriptors",
              "Watch the scripts of a descriptor; a known one changes nothing", "Imported",
              import_descriptor),
      {post,
       "/core-descriptors",
       "Go on where a wallet of Bitcoin Core stands: the body is what listdescriptors printed",
       {},
       "Imported",
       import_core,
       "CoreDescriptors"},
      of_verb(all.import_scripts, post, "/scripts", "Watch one address or script", "Imported",
              import_script),
      making(of_verb(all.new_address, post, "/addresses",
                     "A new address of an account, kept before it is shown", "WalletAddress",
                     new_address)),
  };
}

}  // namespace coffer::wallet
