// Server-Sent Events and TLS over real sockets.
#include <gtest/gtest.h>
#include <openssl/ssl.h>

#include <atomic>
#include <mutex>

#include "base/file.h"
#include "base/temp_dir.h"
#include "http/client.h"
#include "http/server.h"
#include "http/test_certificate.h"
#include "http/test_util.h"

namespace coffer::http {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Keeps the streams that clients open at /events.
struct Streams {
  std::mutex mutex;
  std::vector<std::shared_ptr<EventStream>> open;
  std::atomic<int> closed = 0;

  Router router() {
    Router router;
    router.add_stream(
        "/events",
        [this](const Request& request,
               const std::shared_ptr<EventStream>& stream) -> std::optional<Response> {
          if (request.query_param("refuse")) return problem(503, "unavailable", "full");
          stream->on_close([this] { ++closed; });
          std::lock_guard lock(mutex);
          open.push_back(stream);
          return std::nullopt;
        });
    return router;
  }
  std::shared_ptr<EventStream> wait_for(std::size_t n) {
    EXPECT_TRUE(eventually([&] {
      std::lock_guard lock(mutex);
      return open.size() >= n;
    }));
    std::lock_guard lock(mutex);
    return open.at(n - 1);
  }
};

TEST(Stream, DeliversFramesAndKeepAlives) {
  Streams streams;
  Options options = any_port();
  options.limits.stream_keep_alive = milliseconds(50);
  auto server = std::move(*Server::start(std::move(options), streams.router()));
  RawClient client(server->address());
  client.send(get_request("/events"));
  auto stream = streams.wait_for(1);
  EXPECT_TRUE(stream->send("data: one\n\n"));
  const std::string head = client.read_until("data: one\n\n");
  EXPECT_NE(head.find("text/event-stream"), std::string::npos);
  EXPECT_NE(head.find("X-Accel-Buffering: no"), std::string::npos);
  EXPECT_NE(client.read_until(": keep-alive\n\n").find("keep-alive"), std::string::npos);
  EXPECT_TRUE(stream->send("data: two\n\n"));
  client.read_until("data: two\n\n");
  EXPECT_EQ(server->counts().streams, 1u);
  stream->send("data: last\n\n");
  stream->close();
  EXPECT_NE(client.read_all().find("data: last\n\n"), std::string::npos);
  EXPECT_TRUE(eventually([&] { return streams.closed == 1; }));
  EXPECT_FALSE(stream->send("data: late\n\n"));
}

TEST(Stream, CanBeRefusedAndHeaded) {
  Streams streams;
  auto server = std::move(*Server::start(any_port(), streams.router()));
  EXPECT_EQ(get(server->url() + "/events?refuse")->status, 503);
  EXPECT_EQ(request(Method::kHead, server->url() + "/events")->status, 200);
  EXPECT_TRUE(streams.open.empty());
}

TEST(Stream, NoticesAClientThatLeaves) {
  Streams streams;
  auto server = std::move(*Server::start(any_port(), streams.router()));
  RawClient client(server->address());
  client.send(get_request("/events"));
  auto stream = streams.wait_for(1);
  client.read_until("\r\n\r\n");
  client.close();
  EXPECT_TRUE(eventually([&] { return streams.closed == 1; }));
  EXPECT_TRUE(stream->closed());
  EXPECT_EQ(server->counts().streams, 0u);
  std::atomic<bool> called = false;
  stream->on_close([&] { called = true; });
  EXPECT_TRUE(called);
}

TEST(Stream, DropsASlowClient) {
  Streams streams;
  Options options = any_port();
  options.limits.stream_buffer_bytes = 64u << 10;
  auto server = std::move(*Server::start(std::move(options), streams.router()));
  RawClient client(server->address(), 4096);
  client.send(get_request("/events"));
  auto stream = streams.wait_for(1);
  std::string frame = "data: " + std::string(4000, 'x') + "\n\n";
  std::size_t sent = 0;
  while (stream->send(frame) && sent < (64u << 20)) sent += frame.size();
  EXPECT_LT(sent, 64u << 20);
  EXPECT_TRUE(eventually([&] { return streams.closed == 1; }));
  EXPECT_LE(stream->buffered(), 64u << 10);
}

TEST(Stream, ReaderThatWaitsForDrainedIsNeverDropped) {
  Streams streams;
  Options options = any_port();
  options.limits.stream_buffer_bytes = 8u << 10;
  auto server = std::move(*Server::start(std::move(options), streams.router()));
  RawClient client(server->address());
  client.send(get_request("/events"));
  auto stream = streams.wait_for(1);
  std::atomic<int> n = 0;
  std::string frame = "data: " + std::string(4000, 'x') + "\n\n";
  stream->on_drained([&, weak = std::weak_ptr(stream)] {
    auto self = weak.lock();
    if (self && ++n <= 1000)
      self->send(frame);
    else if (self)
      self->close();
  });
  stream->send(frame);
  EXPECT_EQ(count(client.read_all(), "data: "), 1001u);
  server->stop(seconds(5));
}

TEST(Stream, EndsWhenTheServerStopsAndMayOutliveIt) {
  Streams streams;
  auto server = std::move(*Server::start(any_port(), streams.router()));
  RawClient client(server->address());
  client.send(get_request("/events"));
  auto stream = streams.wait_for(1);
  stream->send("data: x\n\n");
  client.read_until("data: x");
  server->stop(seconds(10));
  EXPECT_EQ(streams.closed, 1);
  client.read_all();
  EXPECT_TRUE(client.closed_by_server());
  server.reset();
  EXPECT_FALSE(stream->send("data: y\n\n"));
  stream->close();
}

TEST(Tls, ServesAndReloadsItsCertificate) {
  TempDir dir;
  Options options = any_port();
  options.tls = make_certificate(dir.path(), "first");
  std::filesystem::copy_file(options.tls->cert, dir.path() / "first.pem");
  Streams streams;
  Router router = streams.router();
  router.add(Method::kGet, "/hi", [](const Request&) { return text_response("secret"); });
  auto started = Server::start(options, std::move(router));
  ASSERT_TRUE(started) << started.error().message;
  auto& server = *started;
  ClientOptions trusts_first;
  trusts_first.ca_file = dir.path() / "first.pem";
  auto answer = get(server->url() + "/hi", trusts_first);
  ASSERT_TRUE(answer) << answer.error().message;
  EXPECT_EQ(answer->body, "secret");
  EXPECT_EQ(find_header(answer->headers, "Strict-Transport-Security"), "max-age=31536000");
  EXPECT_EQ(get(server->url() + "/hi").error().code, Code::kUnavailable);  // nobody vouches for it

  RawClient plain(server->address());
  plain.send(get_request("/hi"));
  EXPECT_EQ(plain.read_all().find("secret"), std::string::npos);

  ASSERT_TRUE(write_file_atomically(options.tls->key, as_bytes("not a key"), {.mode = 0600}));
  auto refused = server->reload_tls();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kInvalidInput);
  EXPECT_TRUE(get(server->url() + "/hi", trusts_first));  // the old one still serves

  make_certificate(dir.path(), "second");
  ASSERT_TRUE(server->reload_tls());
  EXPECT_FALSE(get(server->url() + "/hi", trusts_first));
  ClientOptions trusts_second;
  trusts_second.ca_file = options.tls->cert;
  EXPECT_TRUE(get(server->url() + "/hi", trusts_second));
}

// Whether a client that offers only this cipher of TLS 1.2 gets through.
bool handshakes(const std::string& address, const char* cipher) {
  const std::unique_ptr<SSL_CTX, void (*)(SSL_CTX*)> context(SSL_CTX_new(TLS_client_method()),
                                                             SSL_CTX_free);
  SSL_CTX_set_max_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_security_level(context.get(), 0);
  if (SSL_CTX_set_cipher_list(context.get(), cipher) != 1) return false;
  const std::unique_ptr<BIO, void (*)(BIO*)> bio(BIO_new_ssl_connect(context.get()), BIO_free_all);
  BIO_set_conn_hostname(bio.get(), address.c_str());
  return BIO_do_handshake(bio.get()) == 1;
}

TEST(Tls, OnlyForwardSecretAuthenticatedCiphers) {
  const TempDir dir;
  Options options = any_port();
  options.tls = make_certificate(dir.path(), "name");
  const auto server = serve(std::move(options));
  for (const char* good : {"ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384",
                           "ECDHE-ECDSA-CHACHA20-POLY1305"})
    EXPECT_TRUE(handshakes(server->address(), good)) << good;
  for (const char* bad : {"ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA384",
                          "ECDHE-ECDSA-AES128-CCM", "ECDHE-ECDSA-CAMELLIA128-SHA256"})
    EXPECT_FALSE(handshakes(server->address(), bad)) << bad;
}

TEST(Tls, KeyThatOthersCanReadIsRefused) {
  const TempDir dir;
  Options options = any_port();
  options.tls = make_certificate(dir.path(), "name");
  std::filesystem::permissions(options.tls->key, std::filesystem::perms::others_read,
                               std::filesystem::perm_options::add);
  const auto refused = Server::start(options, Router());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Code::kForbidden);
  EXPECT_NE(refused.error().message.find("chmod"), std::string::npos);
}

TEST(Tls, RefusesMissingAndWrongFiles) {
  TempDir dir;
  Options options = any_port();
  options.tls = TlsFiles{dir.path() / "none.pem", dir.path() / "none.key"};
  EXPECT_EQ(Server::start(options, Router()).error().code, Code::kNotFound);
  options.tls = make_certificate(dir.path(), "a");
  TempDir other;
  options.tls->key = make_certificate(other.path(), "b").key;
  EXPECT_EQ(Server::start(options, Router()).error().code, Code::kInvalidInput);
}

}  // namespace
}  // namespace coffer::http
