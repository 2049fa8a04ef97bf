// What a fake bitcoind answers while no script says otherwise.
#include <charconv>

#include <coffer/chain/decode.h>
#include "support/fake_bitcoind.h"
#include "support/networks.h"

namespace coffer::test {
namespace {

namespace bj = boost::json;

constexpr int kMiscError = -1, kInvalidAddressOrKey = -5, kInvalidParameter = -8;
constexpr int kDeserializationError = -22, kMethodNotFound = -32601;
constexpr const char* kPruned = "Block not available (pruned data)";

std::string text_of(const bj::value& value) {
  return value.is_string() ? std::string(value.get_string()) : bj::serialize(value);
}

// Verbosity is a boolean or a number.
bool is_verbose(const bj::array& params) {
  if (params.size() < 2) return false;
  return params[1].is_bool() ? params[1].get_bool() : params[1].to_number<int>() > 0;
}

RpcReply not_found(const std::string& text) {
  return {.status = 404, .body = text + "\r\n", .content_type = "text/plain"};
}

RpcReply binary(ByteView bytes) {
  return {.body = std::string(as_text(bytes)), .content_type = "application/octet-stream"};
}

}  // namespace

// The members in the order in which Core writes them.
RpcReply rpc_result(const bj::value& result) {
  return {.body = bj::serialize(bj::object{{"result", result}, {"error", nullptr}, {"id", 1}})};
}

RpcReply rpc_error(int code, const std::string& message) {
  const bj::object error{{"code", code}, {"message", message}};
  return {.status = code == kMethodNotFound ? 404 : 500,
          .body = bj::serialize(bj::object{{"result", nullptr}, {"error", error}, {"id", 1}})};
}

const FakeBitcoind::Stored* FakeBitcoind::find_block(const std::string& printed_hash) const {
  const auto found = blocks_.find(printed_hash);
  return found == blocks_.end() ? nullptr : &found->second;
}

bj::value FakeBitcoind::chain_info() const {
  const feed::RpcTip tip = reported_tip_.value_or(feed::RpcTip{chain_.size() - 1, chain_.back()});
  bj::object info{{"chain", "regtest"},
                  {"blocks", tip.height},
                  {"headers", tip.height},
                  {"bestblockhash", printed(tip.hash)},
                  {"initialblockdownload", false},
                  {"pruned", prune_height_ > 0}};
  if (prune_height_ > 0) info["pruneheight"] = prune_height_;
  return info;
}

RpcReply FakeBitcoind::answer_block(const bj::array& params) {
  const Stored* block = find_block(text_of(params.at(0)));
  if (block == nullptr) return rpc_error(kInvalidAddressOrKey, "Block not found");
  if (block->height < prune_height_) return rpc_error(kMiscError, kPruned);
  if (params.size() > 1 && is_verbose(params))
    return rpc_error(kInvalidParameter, "only verbosity 0");
  return rpc_result(bj::string(to_hex(block->raw)));
}

RpcReply FakeBitcoind::answer_transaction(const bj::array& params) {
  const std::string id = text_of(params.at(0));
  for (const auto& [known, raw] : mempool_) {
    if (printed(known) != id) continue;
    const bj::string hex(to_hex(raw));
    return is_verbose(params) ? rpc_result(bj::object{{"txid", id}, {"hex", hex}})
                              : rpc_result(hex);
  }
  return rpc_error(kInvalidAddressOrKey,
                   "No such mempool transaction. Use -txindex or provide a block hash.");
}

RpcReply FakeBitcoind::answer_send(const bj::array& params) {
  const auto raw = from_hex(text_of(params.at(0)));
  chain::Block tx;
  const chain::Network network = chain::find_network("bitcoin", "regtest").value();
  if (!raw || !chain::decode_tx_into(tx, network, *raw))
    return rpc_error(kDeserializationError, "TX decode failed");
  const Hash256 id = tx.txs.front().id;
  const bool known = std::any_of(mempool_.begin(), mempool_.end(),
                                 [&](const auto& entry) { return entry.first == id; });
  if (!known) mempool_.emplace_back(id, *raw);
  return rpc_result(bj::string(printed(id)));
}

RpcReply FakeBitcoind::answer_rpc(const Request& request, Call& call) {
  boost::system::error_code error;
  const bj::value question = bj::parse(request.body, error);
  if (error) return rpc_error(-32700, "Parse error");
  const bj::array params = question.at("params").as_array();
  call.name = text_of(question.at("method"));
  if (!params.empty()) call.about = text_of(params[0]);
  std::lock_guard lock(mutex_);
  if (call.name == "getblockchaininfo") return rpc_result(chain_info());
  if (call.name == "getblockcount") return rpc_result(chain_.size() - 1);
  if (call.name == "getbestblockhash") return rpc_result(bj::string(printed(chain_.back())));
  if (call.name == "getblockhash") {
    const auto height = params.at(0).to_number<std::uint64_t>();
    return height < chain_.size() ? rpc_result(bj::string(printed(chain_[height])))
                                  : rpc_error(kInvalidParameter, "Block height out of range");
  }
  if (call.name == "getblock") return answer_block(params);
  if (call.name == "getrawmempool") {
    bj::array ids;
    for (const auto& [id, raw] : mempool_) ids.push_back(bj::string(printed(id)));
    return rpc_result(ids);
  }
  if (call.name == "getrawtransaction") return answer_transaction(params);
  if (call.name == "sendrawtransaction") return answer_send(params);
  if (call.name == "getzmqnotifications") return rpc_result(options_.zmq);
  return rpc_error(kMethodNotFound, "Method not found");
}

// "/rest/block/HASH.bin"
RpcReply FakeBitcoind::answer_rest(const std::string& target, Call& call) {
  if (!options_.rest || !target.starts_with("/rest/")) return not_found("Not Found");
  const std::size_t slash = target.find('/', 6), dot = target.rfind('.');
  call.name = "rest " + target.substr(6, std::min(slash, dot) - 6);
  if (slash < dot) call.about = target.substr(slash + 1, dot - slash - 1);
  std::lock_guard lock(mutex_);
  if (call.name == "rest chaininfo") return {.body = bj::serialize(chain_info())};
  if (call.name == "rest blockhashbyheight") {
    std::uint64_t height = 0;
    std::from_chars(call.about.data(), call.about.data() + call.about.size(), height);
    return height < chain_.size() ? binary(chain_[height].view())
                                  : not_found("Block height out of range");
  }
  if (call.name != "rest block") return not_found("Not Found");
  const Stored* block = find_block(call.about);
  if (block == nullptr) return not_found(call.about + " not found");
  if (block->height < prune_height_) return not_found(call.about + " not available (pruned data)");
  return binary(block->raw);
}

}  // namespace coffer::test
