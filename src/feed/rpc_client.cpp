#include "feed/rpc_client.h"

#include <mutex>

#include "base/file.h"
#include "base/limits.h"
#include "base/result.h"
#include "crypto/sha256.h"
#include "feed/block_file.h"
#include "http/client.h"
#include "json/writer.h"

namespace coffer::feed {
namespace {

// A block in hex, or the ids of a mempool with hundreds of thousands of transactions.
constexpr std::size_t kMaxAnswerBytes = 64u << 20;

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

std::string printed(const Hash256& hash) {
  return chain::display(chain::Family::kBitcoin, hash);
}

}  // namespace

struct RpcClient::Impl {
  RpcEndpoint endpoint;
  int timeout_ms;
  std::optional<http::ClientConnection> connection = {};
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
    connection = TRY(http::ClientConnection::to(endpoint.url, std::move(options)));
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

  // An error that the node reports is kInvalidInput with its words.
  template <typename... Params>
  Result<RpcAnswer> call(std::string_view method, const Params&... params) {
    json::Writer request;
    request.begin_object().field("jsonrpc", "1.0").field("id", 1).field("method", method);
    request.key("params").begin_array();
    (request.value(params), ...);
    request.end_array().end_object();
    const std::string body = request.take();
    http::Response answer = TRY(post(body));
    if (answer.status == 401 && !endpoint.cookie.empty()) {  // a restarted node has a new cookie
      TRY(authorize());
      answer = TRY(post(body));
    }
    if (answer.status == 401 || answer.status == 403)
      return fail(Error{Code::kUnauthorized, !endpoint.cookie.empty(),
                        "the node refuses the user and password, or this machine"});
    return RpcAnswer::read(std::move(answer.body), answer.status, method);
  }
};

bool is_block(ByteView raw, const Hash256& hash) {
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
  const RpcAnswer answer = TRY(impl_->call("getblockchaininfo"));
  return answer.tip();
}

Result<std::optional<Hash256>> RpcClient::block_hash(std::uint64_t height) {
  const auto answer = impl_->call("getblockhash", height);
  if (!answer && answer.error().code == Code::kInvalidInput) return std::nullopt;
  if (!answer) return fail(answer.error());
  return TRY(answer->hash());
}

Result<Bytes> RpcClient::block(const Hash256& hash) {
  // Core takes a number or a boolean here, bcoin only the latter.
  const auto answer = impl_->call("getblock", printed(hash), false);
  if (!answer && answer.error().code == Code::kInvalidInput)
    return fail(Error{Code::kNotFound, true, answer.error().message});
  if (!answer) return fail(answer.error());
  Bytes raw = TRY(answer->bytes());
  if (!is_block(raw, hash))
    return fail(Error{Code::kCorrupt, true,
                      fmt::format("the node's answer to getblock is not block {}", printed(hash))});
  return raw;
}

Result<std::vector<Hash256>> RpcClient::mempool() {
  const RpcAnswer answer = TRY(impl_->call("getrawmempool"));
  return answer.hashes();
}

Result<std::optional<Bytes>> RpcClient::transaction(const Hash256& id) {
  const auto answer = impl_->call("getrawtransaction", printed(id), false);
  if (!answer && answer.error().code == Code::kInvalidInput) return std::nullopt;
  if (!answer) return fail(answer.error());
  return TRY(answer->bytes());
}

Result<std::optional<Bytes>> RpcClient::unmined(const Hash256& id) {
  const auto answer = impl_->call("getrawtransaction", printed(id), true);
  if (!answer && answer.error().code == Code::kInvalidInput) return std::nullopt;
  if (!answer) return fail(answer.error());
  return answer->unmined();
}

Result<std::vector<ZmqOffer>> RpcClient::zmq_offers() {
  const auto answer = impl_->call("getzmqnotifications");
  if (answer) return answer->zmq_offers();
  // Core's -rpcwhitelist answers 403 to a question that this user may not ask.
  if (answer.error().code == Code::kInvalidInput || answer.error().code == Code::kUnauthorized)
    return std::vector<ZmqOffer>();
  return fail(answer.error());
}

Result<Hash256> RpcClient::send_transaction(ByteView raw) {
  const RpcAnswer answer = TRY(impl_->call("sendrawtransaction", to_hex(raw)));
  return answer.hash();
}

}  // namespace coffer::feed
