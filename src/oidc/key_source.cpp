#include "oidc/key_source.h"

#include <arpa/inet.h>

#include <atomic>
#include <chrono>
#include <mutex>

#include "base/file.h"
#include "http/client.h"
#include "http/url.h"
#include "json/reader.h"
#include "oidc/key_set.h"

namespace coffer::oidc {
namespace {

constexpr std::string_view kDiscoveryPath = "/.well-known/openid-configuration";
constexpr std::size_t kMaxDocumentBytes = 1u << 20;
constexpr std::size_t kMaxUrlBytes = 2048;

class FileKeySource final : public KeySource {
 public:
  explicit FileKeySource(std::filesystem::path file) : file_(std::move(file)) {}
  Result<std::string> read() override {
    return std::string(as_text(TRY(read_file(file_, kMaxKeySetBytes))));
  }

 private:
  const std::filesystem::path file_;
};

bool is_loopback(const std::string& host) {
  in_addr v4;
  if (::inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  return host == "::1" || http::equal_ignoring_case(host, "localhost");
}

// An address that may be asked for keys: what comes from it unprotected could be anybody's.
Result<http::Url> parse_provider_url(std::string_view text) {
  if (text.size() > kMaxUrlBytes)
    return fail(Code::kInvalidInput, "an address of more than {} bytes", kMaxUrlBytes);
  http::Url url = TRY(http::parse_url(text));
  if (!url.tls && !is_loopback(url.host))
    return fail(Code::kInvalidInput, "http:// is for this machine only; use https://");
  return url;
}

class DiscoveryKeySource final : public KeySource {
 public:
  DiscoveryKeySource(DiscoveryOptions options, std::string url)
      : options_(std::move(options)), url_(std::move(url)) {}

  Result<std::string> read() override {
    const auto end =
        std::chrono::steady_clock::now() + std::chrono::milliseconds(options_.timeout_ms);
    const std::string document = TRY_IN(url_, fetch(url_, kMaxDocumentBytes, end));
    const std::string keys_url = TRY_IN(url_, read_document(document));
    return TRY_IN("the key set of " + options_.issuer, fetch(keys_url, kMaxKeySetBytes, end));
  }

  void cancel() override {
    const std::lock_guard lock(mutex_);
    cancelled_ = true;
    if (connection_ != nullptr) connection_->cancel();
  }

 private:
  // The address of the key set in a discovery document, which must be our issuer's own
  // (Discovery §4.3): another's keys would let another's users in.
  Result<std::string> read_document(const std::string& text) const {
    const auto document = json::parse(text, {.max_bytes = kMaxDocumentBytes, .max_depth = 16});
    if (!document || !document->is_object())
      return fail(Code::kCorrupt, "not a discovery document (a JSON object)");
    const auto issuer = document->find("issuer");
    if (!issuer || issuer->string() != options_.issuer)
      return fail(Code::kCorrupt, "the discovery document is of another issuer than {}",
                  options_.issuer);
    const auto keys = document->find("jwks_uri");
    auto url = keys ? keys->string() : std::nullopt;
    if (!url) return fail(Code::kCorrupt, "the discovery document names no 'jwks_uri'");
    const auto parsed = parse_provider_url(*url);
    // Also not from https to http on this machine: a document from outside does not choose what is
    // asked here.
    if (!parsed || (options_.issuer.starts_with("https://") && !parsed->tls))
      return fail(Code::kCorrupt, "'jwks_uri' of the discovery document is no https:// address");
    return *std::move(url);
  }

  Result<std::string> fetch(const std::string& url, std::size_t max_bytes,
                            std::chrono::steady_clock::time_point end) {
    http::ClientOptions options;
    options.timeout = std::chrono::ceil<std::chrono::milliseconds>(
        std::max(end - std::chrono::steady_clock::now(), std::chrono::nanoseconds(1)));
    options.headers.push_back({"Accept", "application/json"});
    options.ca_file = options_.ca_file;
    options.max_body_bytes = max_bytes;
    auto connection = TRY(http::ClientConnection::to(url, std::move(options)));
    const http::Url parsed = TRY(http::parse_url(url));
    set_connection(&connection);
    auto answer = connection.get(parsed.target);
    set_connection(nullptr);
    if (!answer) return fail(std::move(answer).error());
    if (answer->status != 200)
      return fail(Code::kUnavailable, "the answer is HTTP {}", answer->status);
    return std::string(answer->content());
  }

  void set_connection(http::ClientConnection* connection) {
    const std::lock_guard lock(mutex_);
    connection_ = connection;
    if (connection != nullptr && cancelled_) connection->cancel();
  }

  const DiscoveryOptions options_;
  const std::string url_;
  std::mutex mutex_;
  http::ClientConnection* connection_ = nullptr;  // of the read under way
  bool cancelled_ = false;
};

}  // namespace

std::unique_ptr<KeySource> file_key_source(std::filesystem::path file) {
  return std::make_unique<FileKeySource>(std::move(file));
}

Result<std::unique_ptr<KeySource>> discovery_key_source(DiscoveryOptions options) {
  const auto parsed = parse_provider_url(options.issuer);
  if (!parsed)
    return fail(Code::kUsage, "the issuer cannot be asked for its keys: {}",
                parsed.error().message);
  if (options.issuer.find_first_of("?#") != std::string::npos)
    return fail(Code::kUsage, "the address of an issuer has neither query nor fragment");
  std::string url = options.issuer;
  if (url.ends_with('/')) url.pop_back();  // Discovery §4
  url += kDiscoveryPath;
  return std::make_unique<DiscoveryKeySource>(std::move(options), std::move(url));
}

}  // namespace coffer::oidc
