#include "txstore/routes/txs.h"

#include "api/input.h"
#include "base/result.h"
#include "config/switched_off.h"
#include "txstore/json/explain.h"
#include "txstore/json/input.h"
#include "txstore/json/reports.h"

namespace coffer::txstore {
namespace {

using http::Method;
using http::Request;
using http::Response;
using In = api::Parameter::In;

constexpr int kMostSteps = 16;  // of cleanup, in one request

std::string_view tx_path(const Request& request, std::string_view name) {
  return request.path_param(name).value_or("");
}

// 404 with the reason as a member of the problem document.
Result<Response> not_stored(const TxAccess& access, const Request& request, const Hash256& id) {
  const Absence absence = TRY(access.store->absence(id));
  Response response = http::problem(
      404, info(Code::kNotFound).name,
      absence_text(access.network.family, id, absence, access.store->tip()), request.path);
  response.body.pop_back();
  response.body += fmt::format(",\"absence\":\"{}\"}}", to_string(absence));
  return response;
}

Result<Response> get_tx(const TxAccess& access, const Request& request) {
  const Hash256 id = TRY(parse_tx_id(access.network, tx_path(request, "id")));
  const OutputRange range = TRY(parse_output_range(request.query));
  const auto detail = read_detail(*access.store, access.block_at, id, range);
  if (!detail && detail.error().code == Code::kNotFound) return not_stored(access, request, id);
  if (!detail) return fail(detail.error());
  return http::json_response(tx_json(access.network, *detail));
}

// Whether the bytes are asked for as they are.
Result<bool> wants_binary(const Request& request) {
  if (const auto format = request.query_param("format")) {
    if (*format != "hex" && *format != "binary")
      return fail(Code::kInvalidInput, "format: expected hex or binary");
    return *format == "binary";
  }
  return request.header("Accept").value_or("").find("application/octet-stream") !=
         std::string_view::npos;
}

Result<Response> get_raw(const TxAccess& access, const Request& request) {
  const Hash256 id = TRY(parse_tx_id(access.network, tx_path(request, "id")));
  const bool binary = TRY(wants_binary(request));
  const auto body = access.store->body(id);
  if (!body && body.error().code == Code::kNotFound) {
    const auto found = TRY(access.store->get(std::span(&id, 1)));
    if (found.empty() || !found.front()) return not_stored(access, request, id);
  }
  if (!body && body.error().code != Code::kNotFound) return fail(body.error());
  if (!body || body->raw.empty())
    return fail(Code::kNotFound,
                "this transaction has no bytes: it is known from the genesis files only");
  if (!binary) return http::json_response(raw_json(access.network, id, body->raw));
  Response response;
  response.content_type = "application/octet-stream";
  response.body = as_text(body->raw);
  return response;
}

Result<Response> get_retention(const TxAccess& access, const Request& request) {
  const Hash256 id = TRY(parse_tx_id(access.network, tx_path(request, "id")));
  const auto found = access.store->explain(id);
  if (!found && found.error().code == Code::kNotFound) return not_stored(access, request, id);
  if (!found) return fail(found.error());
  return http::json_response(retention_json(*access.store, *found));
}

// A dry run looks at all that is due; a pass does up to kMostSteps of work and tells if it is done.
Result<Response> prune_txs(const TxAccess& access, const Request& request) {
  const PruneTxs wanted = TRY(node::parse_body(prune_verb(), request.body));
  CleanupReport sum;
  if (wanted.dry_run) {
    sum = TRY(access.store->prune(true));
  } else {
    sum.done = false;
    for (int step = 0; step < kMostSteps && !sum.done; ++step)
      sum.add(TRY(access.store->cleanup()));
  }
  return http::json_response(json::write_fields(prune_report(sum, wanted.dry_run)));
}

// The answer to an operation on a transaction; 404 tells why it is not stored.
Result<Response> marked(const TxAccess& access, const Request& request, const Hash256& id,
                        const Result<MarkReport>& report) {
  if (report) return http::json_response(json::write_fields(*report));
  if (report.error().code != Code::kNotFound) return fail(report.error());
  const auto found = TRY(access.store->get(std::span(&id, 1)));
  if (found.empty() || !found.front()) return not_stored(access, request, id);
  return fail(report.error());  // it has no such output
}

Result<Response> post_preserve(const TxAccess& access, const Request& request) {
  const Hash256 id = TRY(parse_tx_id(access.network, tx_path(request, "id")));
  const PreserveTx wanted = TRY(node::parse_body(preserve_verb(), request.body));
  return marked(access, request, id, preserve_tx(*access.store, id, wanted.until_height));
}

Result<chain::Outpoint> named_output(const TxAccess& access, const Request& request) {
  TRY(node::parse_empty_body(request.body));
  return api::parse_outpoint(access.network, tx_path(request, "id"), tx_path(request, "index"));
}

Result<Response> post_freeze(const TxAccess& access, const Request& request) {
  const chain::Outpoint output = TRY(named_output(access, request));
  return marked(access, request, output.tx, freeze_output(*access.store, output));
}

Result<Response> post_unfreeze(const TxAccess& access, const Request& request) {
  const chain::Outpoint output = TRY(named_output(access, request));
  return marked(access, request, output.tx, unfreeze_output(*access.store, output));
}

using TxAnswer = Result<Response> (*)(const TxAccess&, const Request&);

}  // namespace

void add_tx_routes(api::RouteTable& table, TxAccess given) {
  const auto access = std::make_shared<const TxAccess>(std::move(given));
  add_tx_schemas(table, access->network.family);
  const auto add = [&](api::Route route, TxAnswer answer) {
    if (route.method != Method::kGet) route.scope = api::Scope::kWrite;
    route.pattern.insert(0, "/api/v1/txs");
    route.handler = [access, answer](const Request& request) -> Result<Response> {
      if (access->store == nullptr)
        return fail(config::switched_off("the transaction store", "txstore.enabled"));
      return answer(*access, request);
    };
    table.add(std::move(route));
  };
  const api::Parameter id{"id", In::kPath, "Transaction id"};
  const api::Parameter index{"index", In::kPath, "Index of the output in the transaction"};
  add({.pattern = "/{id}",
       .summary = "Get a stored transaction: decoded fields, fee, amounts of its inputs, and who "
                  "spent each output. 404 tells whether it was pruned, is older than the store, or "
                  "is unknown",
       .parameters = {id,
                      {"outputs_from", In::kQuery, "First output to show",
                       R"({"type":"integer","minimum":0,"default":0})"},
                      {"outputs_count", In::kQuery, "Most outputs to show",
                       R"({"type":"integer","minimum":1,"maximum":1000,"default":100})"}},
       .response_schema = "StoredTransaction"},
      get_tx);
  add({.pattern = "/{id}/raw",
       .summary = "Get the bytes of a stored transaction: hex, or as they are with Accept: "
                  "application/octet-stream or format=binary",
       .parameters = {id,
                      {"format", In::kQuery, "hex or binary",
                       R"({"enum":["hex","binary"],"default":"hex"})"}},
       .response_schema = "RawTransaction"},
      get_raw);
  add({.pattern = "/{id}/retention",
       .summary = "Explain why a transaction is still stored: which output and child keep it, and "
                  "the earliest height at which it can go",
       .parameters = {id},
       .response_schema = "TxRetention"},
      get_retention);
  add({.method = Method::kPost,
       .pattern = "/prune",
       .summary = "Delete what the rule of safe deletion allows now; repeat while done is false",
       .response_schema = "PrunedTxs",
       .request_schema = prune_verb().schema},
      prune_txs);
  add({.method = Method::kPost,
       .pattern = "/{id}/preserve",
       .summary = "Keep a transaction until the tip has a height, whatever becomes of it",
       .parameters = {id},
       .response_schema = "TxMark",
       .request_schema = preserve_verb().schema},
      post_preserve);
  add({.method = Method::kPost,
       .pattern = "/{id}/outputs/{index}/freeze",
       .summary = "Freeze an unspent output: no unmined transaction can spend it. 409 if it is "
                  "spent",
       .parameters = {id, index},
       .response_schema = "TxMark"},
      post_freeze);
  add({.method = Method::kPost,
       .pattern = "/{id}/outputs/{index}/unfreeze",
       .summary = "Unfreeze an output; 409 if it is not frozen",
       .parameters = {id, index},
       .response_schema = "TxMark"},
      post_unfreeze);
}

}  // namespace coffer::txstore
