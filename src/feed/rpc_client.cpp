#include "feed/rpc_client.h"

#include <boost/json.hpp>
#include <mutex>

#include "base/file.h"
#include "base/limits.h"
#include "crypto/sha256.h"
#include "http/client.h"

namespace coffer::feed {
namespace {

namespace json = boost::json;

// A block in hex, or the ids of a mempool with hundreds of thousands of transactions.
constexpr std::size_t kMaxAnswerBytes = 64u << 20;
constexpr int kWarmingUp = -28;

std::string base64(std::string_view text) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < text.size(); i += 3) {
    std::uint32_t word = 0;
    for (std::size_t k = 0; k < 3; ++k)
      word = (word << 8) | (i + k < text.size() ? static_cast<unsigned char>(text[i + k]) : 0u);
    for (std::size_t k = 0; k < 4; ++k)
      out += i + k > text.size() ? '=' : kDigits[(word >> (18 - 6 * k)) & 63];
  }
  return out;
}

std::unexpected<Error> unavailable(std::string message) {
  return fail(Error{Code::kUnavailable, true, std::move(message)});
}

std::unexpected<Error> garbled(std::string_view method) {
  return fail(
      Error{Code::kCorrupt, true, fmt::format("the node's answer to {} makes no sense", method)});
}

Result<Hash256> hash_of(const json::value& value, std::string_view method) {
  if (!value.is_string()) return garbled(method);
  const auto bytes = from_hex(std::string_view(value.get_string()));
  if (!bytes || bytes->size() != Hash256::kSize) return garbled(method);
  return reversed(Hash256::from(bytes->data()));
}

std::string printed(const Hash256& hash) {
  return chain::display(chain::Family::kBitcoin, hash);
}

}  // namespace

struct RpcClient::Impl {
  RpcEndpoint endpoint;
  int timeout_ms;
  std::optional<http::Connection> connection = {};
  bool authorized = false;
  std::mutex mutex = {};  // guards that there is a connection, between cancel() and the caller
  bool cancelled = false;

  Result<> open() {
    std::lock_guard lock(mutex);
    if (cancelled) return fail(Code::kCancelled, "stopping");
    if (connection) return {};
    http::ClientOptions options;
    options.timeout = std::chrono::milliseconds(timeout_ms);
    options.max_body_bytes = kMaxAnswerBytes;
    connection = TRY(http::Connection::to(endpoint.url, std::move(options)));
    return {};
  }

  Result<> authorize() {
    std::string secret = endpoint.user_password;
    if (!endpoint.cookie.empty()) {
      auto file = read_file(endpoint.cookie, 4096);
      if (!file) return unavailable("the node's cookie: " + file.error().message);
      secret = as_text(*file);
      while (!secret.empty() && (secret.back() == '\n' || secret.back() == '\r')) secret.pop_back();
    }
    http::Fields headers = {{"Content-Type", "application/json"}};
    if (!secret.empty()) headers.push_back({"Authorization", "Basic " + base64(secret)});
    connection->set_headers(std::move(headers));
    authorized = true;
    return {};
  }

  Result<http::Response> post(const std::string& body) {
    TRY(open());
    if (!authorized) TRY(authorize());
    auto answer = connection->post(body);
    if (!answer && answer.error().code != Code::kCancelled)
      return unavailable(answer.error().message);
    return answer;
  }

  // The member "result". An error that the node reports is kInvalidInput with its words.
  Result<json::value> call(std::string_view method, json::array params) {
    const std::string body = json::serialize(
        json::object{{"jsonrpc", "1.0"}, {"id", 1}, {"method", method}, {"params", params}});
    http::Response answer = TRY(post(body));
    if (answer.status == 401 && !endpoint.cookie.empty()) {  // a restarted node has a new cookie
      TRY(authorize());
      answer = TRY(post(body));
    }
    if (answer.status == 401 || answer.status == 403)
      return fail(Error{Code::kUnauthorized, !endpoint.cookie.empty(),
                        "the node refuses the user and password, or this machine"});
    boost::system::error_code error;
    json::value document = json::parse(answer.content(), error);
    json::object* object = error ? nullptr : document.if_object();
    if (object == nullptr && answer.status != 200)
      return unavailable(fmt::format("the node answers {} with status {}", method, answer.status));
    if (object == nullptr) return garbled(method);
    if (const json::value* problem = object->if_contains("error"); problem && !problem->is_null())
      return refused(*problem, method);
    json::value* result = object->if_contains("result");
    if (result == nullptr) return garbled(method);
    return std::move(*result);
  }

  static std::unexpected<Error> refused(const json::value& problem, std::string_view method) {
    std::string words = "no reason given";
    std::int64_t code = 0;
    if (const json::object* object = problem.if_object()) {
      if (const json::value* text = object->if_contains("message"); text && text->is_string())
        words = std::string(text->get_string());
      if (const json::value* number = object->if_contains("code"); number && number->is_int64())
        code = number->get_int64();
    }
    std::replace_if(words.begin(), words.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
    if (code == kWarmingUp) return unavailable("the node is starting up: " + words);
    return fail(Error{Code::kInvalidInput, false,
                      fmt::format("the node refuses {}: {}", method, words.substr(0, 500))});
  }
};

bool is_block(ByteView raw, const Hash256& hash) {
  constexpr std::size_t kHeaderBytes = 80;
  return raw.size() > kHeaderBytes && raw.size() <= limits::kMaxBlockBytes &&
         crypto::sha256d(raw.first(kHeaderBytes)) == hash;
}

RpcClient::RpcClient(RpcEndpoint endpoint, int timeout_ms)
    : impl_(new Impl{std::move(endpoint), timeout_ms}) {}
RpcClient::~RpcClient() = default;

void RpcClient::cancel() {
  std::lock_guard lock(impl_->mutex);
  impl_->cancelled = true;
  if (impl_->connection) impl_->connection->cancel();
}

Result<RpcTip> RpcClient::tip() {
  constexpr std::string_view kMethod = "getblockchaininfo";
  const json::value answer = TRY(impl_->call(kMethod, {}));
  const json::object* info = answer.if_object();
  const json::value* blocks = info ? info->if_contains("blocks") : nullptr;
  const json::value* hash = info ? info->if_contains("bestblockhash") : nullptr;
  if (blocks == nullptr || hash == nullptr || !blocks->is_int64() || blocks->get_int64() < 0)
    return garbled(kMethod);
  return RpcTip{static_cast<std::uint64_t>(blocks->get_int64()), TRY(hash_of(*hash, kMethod))};
}

Result<std::optional<Hash256>> RpcClient::block_hash(std::uint64_t height) {
  constexpr std::string_view kMethod = "getblockhash";
  auto answer = impl_->call(kMethod, {height});
  if (!answer && answer.error().code == Code::kInvalidInput) return std::nullopt;
  if (!answer) return fail(std::move(answer).error());
  return TRY(hash_of(*answer, kMethod));
}

Result<Bytes> RpcClient::block(const Hash256& hash) {
  constexpr std::string_view kMethod = "getblock";
  // Core takes a number or a boolean here, bcoin only the latter.
  auto answer = impl_->call(kMethod, {printed(hash), false});
  if (!answer && answer.error().code == Code::kInvalidInput)
    return fail(Error{Code::kNotFound, true, std::move(answer).error().message});
  if (!answer) return fail(std::move(answer).error());
  if (!answer->is_string() || answer->get_string().size() > 2 * limits::kMaxBlockBytes)
    return garbled(kMethod);
  auto raw = from_hex(std::string_view(answer->get_string()));
  if (!raw || !is_block(*raw, hash)) return garbled(kMethod);
  return raw;
}

Result<std::vector<Hash256>> RpcClient::mempool() {
  constexpr std::string_view kMethod = "getrawmempool";
  const json::value answer = TRY(impl_->call(kMethod, {}));
  if (!answer.is_array()) return garbled(kMethod);
  std::vector<Hash256> ids;
  ids.reserve(answer.get_array().size());
  for (const json::value& id : answer.get_array()) ids.push_back(TRY(hash_of(id, kMethod)));
  return ids;
}

Result<std::optional<Bytes>> RpcClient::transaction(const Hash256& id) {
  constexpr std::string_view kMethod = "getrawtransaction";
  auto answer = impl_->call(kMethod, {printed(id), false});
  if (!answer && answer.error().code == Code::kInvalidInput) return std::nullopt;
  if (!answer) return fail(std::move(answer).error());
  if (!answer->is_string()) return garbled(kMethod);
  auto raw = from_hex(std::string_view(answer->get_string()));
  if (!raw) return garbled(kMethod);
  return std::move(*raw);
}

Result<std::optional<Bytes>> RpcClient::unmined(const Hash256& id) {
  constexpr std::string_view kMethod = "getrawtransaction";
  auto answer = impl_->call(kMethod, {printed(id), true});
  if (!answer && answer.error().code == Code::kInvalidInput) return std::nullopt;
  if (!answer) return fail(std::move(answer).error());
  const json::object* tx = answer->if_object();
  const json::value* hex = tx ? tx->if_contains("hex") : nullptr;
  if (hex == nullptr || !hex->is_string()) return garbled(kMethod);
  // Core leaves it out where bcoin says null.
  if (const json::value* block = tx->if_contains("blockhash"); block && !block->is_null())
    return std::nullopt;
  auto raw = from_hex(std::string_view(hex->get_string()));
  if (!raw) return garbled(kMethod);
  return std::move(*raw);
}

Result<std::vector<ZmqOffer>> RpcClient::zmq_offers() {
  auto answer = impl_->call("getzmqnotifications", {});
  // Core's -rpcwhitelist answers 403 to a question that this user may not ask.
  if (!answer && answer.error().code != Code::kInvalidInput &&
      answer.error().code != Code::kUnauthorized)
    return fail(std::move(answer).error());
  std::vector<ZmqOffer> offers;
  const json::array* list = answer ? answer->if_array() : nullptr;
  if (list == nullptr) return offers;
  constexpr std::string_view kPublished = "pub";
  for (const json::value& entry : *list) {
    const json::object* object = entry.if_object();
    const json::value* type = object ? object->if_contains("type") : nullptr;
    const json::value* address = object ? object->if_contains("address") : nullptr;
    if (!type || !address || !type->is_string() || !address->is_string()) continue;
    const std::string_view name = type->get_string();
    if (!name.starts_with(kPublished)) continue;
    offers.push_back(
        {std::string(name.substr(kPublished.size())), std::string(address->get_string())});
  }
  return offers;
}

Result<Hash256> RpcClient::send_transaction(ByteView raw) {
  constexpr std::string_view kMethod = "sendrawtransaction";
  return hash_of(TRY(impl_->call(kMethod, {to_hex(raw)})), kMethod);
}

}  // namespace coffer::feed
