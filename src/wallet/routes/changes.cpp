// The routes that change one wallet. Input is read whole before the store is asked.
#include "base/result.h"
#include "wallet/import/core_export.h"
#include "wallet/json/body.h"
#include "wallet/json/input.h"
#include "wallet/json/output.h"
#include "wallet/routes/wallets.h"

namespace coffer::wallet {
namespace {

using http::Response;
using In = api::Parameter::In;

Result<Response> import_descriptor(const WalletCall& call) {
  const DescriptorBody body = TRY(parse_descriptor_body(call.request.body));
  const wallet::Imported done =
      TRY(call.store.import_descriptor(call.wallet, body.text, body.options));
  return http::json_response(imported_json(done));
}

Result<Response> import_core(const WalletCall& call) {
  const wallet::CoreExport core = TRY(wallet::parse_core_export(call.network, call.request.body));
  const wallet::Imported done = TRY(call.store.import_core(call.wallet, core));
  return http::json_response(imported_json(done));
}

Result<Response> import_script(const WalletCall& call) {
  const ScriptBody body = TRY(parse_script_body(call.network, call.request.body));
  const wallet::Imported done =
      TRY(call.store.import_script(call.wallet, body.script, body.options));
  return http::json_response(imported_json(done));
}

Result<Response> new_address(const WalletCall& call) {
  const AddressBody body = TRY(parse_address_body(call.request.body));
  const wallet::AddressInfo made =
      TRY(call.store.new_address(call.wallet, body.account, body.internal));
  return http::json_response(wallet_address_json(made), 201);
}

Result<Response> record(const WalletCall& call) {
  const RecordBody body = TRY(parse_record_body(call.request.body));
  const wallet::Recorded done = TRY(call.store.record(call.wallet, body.raw, body.options));
  return http::json_response(recorded_json(done));
}

Result<Hash256> named_tx(const WalletCall& call) {
  TRY(parse_no_body(call.request.body));
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

Result<Response> lease(const WalletCall& call) {
  const wallet::LeaseRequest wanted = TRY(parse_lease_body(call.network, call.request.body));
  const std::int64_t until = TRY(call.store.lease(call.wallet, wanted));
  return http::json_response(leased_json(wanted.coins.size(), wanted.lock_id, until));
}

Result<Response> select(const WalletCall& call) {
  const wallet::LeaseSelection wanted = TRY(parse_selection_body(call.request.body));
  const wallet::SelectedCoins selected = TRY(call.store.select_and_lease(call.wallet, wanted));
  return http::json_response(selected_json(call.network, wanted.lock_id, selected));
}

Result<Response> renew(const WalletCall& call) {
  const wallet::LeaseRequest wanted = TRY(parse_lease_body(call.network, call.request.body));
  const std::int64_t until = TRY(call.store.renew(call.wallet, wanted));
  return http::json_response(leased_json(wanted.coins.size(), wanted.lock_id, until));
}

Result<Response> release(const WalletCall& call) {
  const ReleaseBody body = TRY(parse_release_body(call.network, call.request.body));
  std::uint64_t coins = body.coins.size();
  if (body.all)
    coins = TRY(call.store.release_all(call.wallet, body.lock_id));
  else
    TRY(call.store.release(call.wallet, body.coins, body.lock_id));
  return http::json_response(released_json(coins, body.lock_id));
}

Result<Response> set_label(const WalletCall& call) {
  const LabelBody body = TRY(parse_label_body(call.network, call.request.body));
  TRY(call.store.set_label(call.wallet, body.kind, body.ref, body.label));
  return http::json_response(label_json(body.kind, body.ref, body.label));
}

Result<Response> prune(const WalletCall& call) {
  const wallet::PruneOptions options = TRY(parse_prune_body(call.request.body));
  const wallet::Pruned done = TRY(call.store.prune(call.wallet, options));
  return http::json_response(pruned_json(done, options.dry_run));
}

// What is watched.
std::vector<WalletRoute> imports() {
  const auto post = http::Method::kPost;
  return {
      {post,
       "/descriptors",
       "Watch the scripts of a descriptor; a known one changes nothing",
       {},
       "Imported",
       import_descriptor,
       "ImportDescriptor"},
      {post,
       "/core-descriptors",
       "Go on where a wallet of Bitcoin Core stands: the body is what listdescriptors printed",
       {},
       "Imported",
       import_core,
       "CoreDescriptors"},
      {post,
       "/scripts",
       "Watch one address or script",
       {},
       "Imported",
       import_script,
       "ImportScript"},
      {post,
       "/addresses",
       "A new address of an account, kept before it is shown",
       {},
       "WalletAddress",
       new_address,
       "NewAddress"},
  };
}

}  // namespace

std::vector<WalletRoute> wallet_changes() {
  const api::Parameter tx{"tx", In::kPath, "the transaction's id"};
  const auto post = http::Method::kPost;
  std::vector<WalletRoute> routes = {
      {post,
       "/transactions",
       "Put a transaction into the wallet; a known one changes nothing. 409 if it conflicts with "
       "what is there",
       {},
       "Recorded",
       record,
       "RecordTransaction"},
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
      {post,
       "/leases",
       "Lease coins, all of them or none; also longer, or after another's lease ended. 409 if "
       "somebody else holds one",
       {},
       "Leased",
       lease,
       "LeaseCoins"},
      {post,
       "/leases/select",
       "Choose coins worth an amount and lease them, as one; what the lock id holds counts. 409 if "
       "there is not so much that may be spent",
       {},
       "SelectedCoins",
       select,
       "SelectCoins"},
      {post,
       "/leases/renew",
       "Lease on; 409 unless this lock id holds all of them now",
       {},
       "Leased",
       renew,
       "LeaseCoins"},
      {post,
       "/leases/release",
       "Give coins back; what is not leased stays so",
       {},
       "Released",
       release,
       "ReleaseCoins"},
      {http::Method::kPut,
       "/labels",
       "Label a transaction, address or output",
       {},
       "Label",
       set_label,
       "Label"},
      {post,
       "/prune",
       "Clear away what nothing can need any more",
       {},
       "PrunedWallet",
       prune,
       "PruneWallet"},
  };
  for (WalletRoute& route : imports()) routes.push_back(std::move(route));
  return routes;
}

}  // namespace coffer::wallet
