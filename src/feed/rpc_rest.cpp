#include "feed/rpc_rest.h"

#include <mutex>

#include "base/limits.h"
#include "base/result.h"
#include "http/client.h"
#include "json/text.h"

namespace coffer::feed {

struct RestClient::Impl {
  const std::string url;
  int timeout_ms;
  bool blocks, heights;  // still asked for
  std::optional<http::ClientConnection> connection = {};
  std::mutex mutex = {};  // guards that there is a connection, between cancel() and the caller
  bool cancelled = false;

  // The body of an answer with status 200.
  std::optional<std::string> get(const std::string& target) {
    {
      std::lock_guard lock(mutex);
      if (cancelled) return std::nullopt;
      if (!connection) {
        http::ClientOptions options;
        options.timeout = std::chrono::milliseconds(timeout_ms);
        options.max_body_bytes = limits::kMaxBlockBytes;
        auto made = http::ClientConnection::to(url, std::move(options));
        if (!made) return std::nullopt;
        connection.emplace(std::move(*made));
      }
    }
    auto answer = connection->get(target);
    if (!answer || answer->status != 200) return std::nullopt;
    return std::move(answer->body);
  }
};

RestClient::RestClient(const RpcEndpoint& endpoint, int timeout_ms, bool offered)
    : impl_(new Impl{endpoint.url, timeout_ms, offered, offered}) {}
RestClient::~RestClient() = default;

void RestClient::cancel() {
  std::lock_guard lock(impl_->mutex);
  impl_->cancelled = true;
  if (impl_->connection) impl_->connection->cancel();
}

bool RestClient::offers() {
  const auto body = impl_->get("/rest/chaininfo.json");
  const auto document = body ? json::Text::parse(*body) : std::nullopt;
  const bool offered = document && document->is_object();
  impl_->blocks = impl_->heights = offered;
  return offered;
}

std::optional<Hash256> RestClient::block_hash(std::uint64_t height) {
  if (!impl_->heights) return std::nullopt;
  const auto body = impl_->get(fmt::format("/rest/blockhashbyheight/{}.bin", height));
  impl_->heights = body && body->size() == Hash256::kSize;
  if (!impl_->heights) return std::nullopt;
  return Hash256::from(as_bytes(*body).data());
}

std::optional<Bytes> RestClient::block(const Hash256& hash) {
  if (!impl_->blocks) return std::nullopt;
  const auto body =
      impl_->get(fmt::format("/rest/block/{}.bin", chain::display(chain::Family::kBitcoin, hash)));
  impl_->blocks = body && is_block(as_bytes(*body), hash);
  if (!impl_->blocks) return std::nullopt;
  const ByteView raw = as_bytes(*body);
  return Bytes(raw.begin(), raw.end());
}

}  // namespace coffer::feed
