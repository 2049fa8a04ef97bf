#include "utxo/routes/utxos.h"

#include "api/input.h"
#include "base/result.h"
#include "config/switched_off.h"
#include "utxo/json/input.h"
#include "utxo/json/output.h"
#include "utxo/json/proof.h"

namespace coffer::utxo {
namespace {

using http::Request;
using http::Response;
using In = api::Parameter::In;

constexpr const char* kSlotParameter = R"({"type":"integer","minimum":0})";

std::string_view path(const Request& request, std::string_view name) {
  return request.path_param(name).value_or("");
}

Result<Response> address_page(const UtxoAccess& access, const Request& request) {
  const Bytes address = TRY(api::parse_owner(access.network, path(request, "addr")));
  const utxo::PageRequest page = TRY(parse_page_request(request.query));
  const utxo::Page found = TRY(access.state->by_address(address, page));
  return http::json_response(page_json(access.network, found));
}

Result<Response> credential_page(const UtxoAccess& access, const Request& request) {
  const Hash224 credential = TRY(parse_credential(access.network, path(request, "cred")));
  const utxo::PageRequest page = TRY(parse_page_request(request.query));
  const utxo::Page found = TRY(access.state->by_credential(credential, page));
  return http::json_response(page_json(access.network, found));
}

Result<Response> balance(const UtxoAccess& access, const Request& request) {
  const Bytes address = TRY(api::parse_owner(access.network, path(request, "addr")));
  const utxo::Balance found =
      TRY(access.state->balance(address, request.query_param("cursor").value_or("")));
  return http::json_response(balance_json(access.network, address, found));
}

Result<Response> outpoint(const UtxoAccess& access, const Request& request) {
  const chain::Outpoint wanted =
      TRY(api::parse_outpoint(access.network, path(request, "tx"), path(request, "index")));
  const auto found = TRY(access.state->get(wanted));
  if (!found)
    return fail(
        Code::kNotFound,
        "no such output: it never existed, or was spent more than utxo.pruneDepth blocks ago");
  return http::json_response(utxo_json(access.network, *found));
}

Result<std::optional<BlockNumber>> block_number(std::string_view text) {
  if (text == "latest") return std::nullopt;
  const auto number = api::parse_whole(text, 0, std::numeric_limits<std::int64_t>::max());
  if (!number) return fail(Code::kInvalidInput, "block: expected a block number or 'latest'");
  return BlockNumber(*number);
}

Result<Response> root(const UtxoAccess& access, const Request& request) {
  const auto number = TRY(block_number(path(request, "block")));
  return http::json_response(root_json(access.network, TRY(access.state->root(number))));
}

Result<Response> proof(const UtxoAccess& access, const Request& request) {
  const chain::Outpoint wanted =
      TRY(api::parse_outpoint(access.network, path(request, "tx"), path(request, "index")));
  const auto number = TRY(block_number(request.query_param("block").value_or("latest")));
  const auto found = TRY(access.state->prove(wanted, number));
  return http::json_response(proof_json(access.network.family, found));
}

Result<Response> delta(const UtxoAccess& access, const Request& request) {
  const std::uint64_t number = TRY_IN(
      "block", api::parse_whole(path(request, "n"), 0, std::numeric_limits<std::int64_t>::max()));
  Bytes stored;
  const utxo::BlockDelta found = TRY(access.state->delta(BlockNumber(number), stored));
  return http::json_response(delta_json(access.network, found));
}

std::vector<api::Parameter> page_parameters() {
  return {
      {"page", In::kQuery, "Page number, from 1; ignored if there is a cursor",
       R"({"type":"integer","minimum":1})"},
      {"count", In::kQuery, "Outputs per page",
       R"({"type":"integer","minimum":1,"maximum":100,"default":100})"},
      {"order", In::kQuery, "Oldest (asc) or newest (desc) first",
       R"({"enum":["asc","desc"],"default":"asc"})"},
      {"cursor", In::kQuery,
       "next_cursor of the page before; costs the same at any depth. A page with a filter may hold "
       "fewer outputs than count and still have a next_cursor"},
      {"asset", In::kQuery,
       "Only outputs with this asset: policy id and name in hex, or the policy id alone"},
      {"from_slot", In::kQuery, "Only outputs created in this slot or later", kSlotParameter},
      {"to_slot", In::kQuery, "Only outputs created in this slot or earlier", kSlotParameter},
  };
}

api::Parameter in_path(std::string name, std::string description) {
  return {std::move(name), In::kPath, std::move(description)};
}

std::vector<api::Parameter> with(api::Parameter first, std::vector<api::Parameter> more) {
  more.insert(more.begin(), std::move(first));
  return more;
}

using UtxoAnswer = Result<Response> (*)(const UtxoAccess&, const Request&);

}  // namespace

void add_utxo_routes(api::RouteTable& table, UtxoAccess given) {
  const auto access = std::make_shared<const UtxoAccess>(std::move(given));
  add_utxo_schemas(table, access->network.family);
  add_proof_schema(table);
  const auto add = [&](std::string pattern, std::string summary,
                       std::vector<api::Parameter> parameters, std::string schema,
                       UtxoAnswer answer) {
    table.add({.pattern = std::move(pattern),
               .summary = std::move(summary),
               .parameters = std::move(parameters),
               .response_schema = std::move(schema),
               .handler = [access, answer](const Request& request) -> Result<Response> {
                 if (access->state == nullptr)
                   return fail(config::switched_off("the UTXO state", "utxo.enabled"));
                 return answer(*access, request);
               }});
  };
  const api::Parameter address =
      in_path("addr", "Address in bech32 or base58, or its raw bytes in hex");
  const api::Parameter tx = in_path("tx", "Transaction id");
  const api::Parameter index = in_path("index", "Index of the output in the transaction");
  add("/api/v1/addresses/{addr}/utxos", "List the unspent outputs of an address",
      with(address, page_parameters()), "UtxoPage", address_page);
  add("/api/v1/addresses/{addr}/balance",
      "Get the balance of an address; if next_cursor is set, it is partial: add the next answers",
      {address, {"cursor", In::kQuery, "next_cursor of the previous answer"}}, "Balance", balance);
  add("/api/v1/credentials/{cred}/utxos",
      "List the unspent outputs of a payment credential (Cardano)",
      with(in_path("cred", "56 hex digits, or addr_vkh1…, addr_shared_vkh1…, script1…"),
           page_parameters()),
      "UtxoPage", credential_page);
  add("/api/v1/utxos/{tx}/{index}",
      "Get an output, unspent or spent; spent ones are kept for at least utxo.pruneDepth blocks",
      {tx, index}, "SpentUtxo", outpoint);
  add("/api/v1/utxos/{tx}/{index}/proof",
      "Prove that an output was unspent after a block; the proof is checked offline against a root",
      {tx, index, {"block", In::kQuery, "Block number within the rollback window, or latest"}},
      "UnspentProof", proof);
  add("/api/v1/mmr/roots/{block}",
      "Get the MMR root over all outputs after a block (utxo.store = mmr); a statement of this "
      "operator, not of consensus",
      {in_path("block", "Block number, or latest")}, "MmrRoot", root);
  add("/api/v1/blocks/{n}/delta",
      "Get the outputs that a block created and spent; within the rollback window",
      {in_path("n", "Block number")}, "BlockDelta", delta);
}

}  // namespace coffer::utxo
