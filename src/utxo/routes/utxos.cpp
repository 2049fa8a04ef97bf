#include "utxo/routes/utxos.h"

#include "api/input.h"
#include "base/result.h"
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
    return fail(Code::kNotFound,
                "no such output: it never was, or was spent longer ago than utxo.pruneDepth");
  return http::json_response(utxo_json(access.network, *found));
}

Result<std::optional<BlockNumber>> block_number(std::string_view text) {
  if (text == "latest") return std::nullopt;
  const auto number = api::parse_whole(text, 0, std::numeric_limits<std::int64_t>::max());
  if (!number) return fail(Code::kInvalidInput, "block: expected a block's number, or latest");
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
      {"page", In::kQuery, "from 1; ignored with a cursor", R"({"type":"integer","minimum":1})"},
      {"count", In::kQuery, "outputs on a page",
       R"({"type":"integer","minimum":1,"maximum":100,"default":100})"},
      {"order", In::kQuery, "by age", R"({"enum":["asc","desc"],"default":"asc"})"},
      {"cursor", In::kQuery,
       "next_cursor of the page before; costs the same however far. A page may hold fewer than "
       "asked for and still have one"},
      {"asset", In::kQuery, "only outputs with this asset: policy and name in hex, or the policy"},
      {"from_slot", In::kQuery, "made in this slot or later", kSlotParameter},
      {"to_slot", In::kQuery, "made in this slot or earlier", kSlotParameter},
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
                   return fail(Code::kUnavailable,
                               "the UTXO state is off: utxo.enabled is false in the settings");
                 return answer(*access, request);
               }});
  };
  const api::Parameter address = in_path("addr", "bech32, base58, or the raw bytes in hex");
  const api::Parameter tx = in_path("tx", "the transaction's hash");
  const api::Parameter index = in_path("index", "the output's index in it");
  add("/api/v1/addresses/{addr}/utxos", "Unspent outputs of an address",
      with(address, page_parameters()), "UtxoPage", address_page);
  add("/api/v1/addresses/{addr}/balance",
      "What an address holds; with next_cursor set it is a part, and the rest is added to it",
      {address, {"cursor", In::kQuery, "next_cursor of the answer before"}}, "Balance", balance);
  add("/api/v1/credentials/{cred}/utxos", "Unspent outputs of a payment credential (Cardano)",
      with(in_path("cred", "56 hex digits, or addr_vkh1…, addr_shared_vkh1…, script1…"),
           page_parameters()),
      "UtxoPage", credential_page);
  add("/api/v1/utxos/{tx}/{index}",
      "An output, unspent or spent; spent ones are known for utxo.pruneDepth blocks at least",
      {tx, index}, "SpentUtxo", outpoint);
  add("/api/v1/utxos/{tx}/{index}/proof",
      "A proof that the output was unspent after a block, to be checked off line against a root",
      {tx, index, {"block", In::kQuery, "a block's number within the window, or latest"}},
      "UnspentProof", proof);
  add("/api/v1/mmr/roots/{block}",
      "The root over all outputs and which are unspent, after a block (utxo.store = mmr); this "
      "operator's statement, not consensus",
      {in_path("block", "a block's number, or latest")}, "MmrRoot", root);
  add("/api/v1/blocks/{n}/delta", "What a block did to the set; within the rollback window",
      {in_path("n", "the block's number")}, "BlockDelta", delta);
}

}  // namespace coffer::utxo
