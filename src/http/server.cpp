#include "http/server.h"

#include <sys/resource.h>

#include <algorithm>
#include <condition_variable>
#include <ctime>
#include <mutex>
#include <thread>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

#include <coffer/base/log.h>
#include "base/file.h"
#include "base/private_file.h"
#include "base/result.h"
#include "http/connection.h"
#include "http/local_acceptor.h"
#include "http/wire.h"

namespace coffer::http {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kOtherFiles = 1024;  // of databases and clients, beside the connections
constexpr std::uint64_t kMaxPemBytes = 1u << 20;
constexpr const char* kTls12Ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

Result<tcp::endpoint> parse_listen(const std::string& listen) {
  auto parsed = parse_host_port(listen);
  if (!parsed || !parsed->port)
    return fail(Code::kUsage,
                "cannot listen on '{}'; give address:port, e.g. 127.0.0.1:8080 or [::1]:8080",
                listen);
  if (parsed->host == "localhost") parsed->host = "127.0.0.1";
  error_code error;
  auto address = asio::ip::make_address(parsed->host, error);
  if (error)
    return fail(Code::kUsage, "cannot listen on '{}'; give the address as numbers, e.g. 127.0.0.1",
                listen);
  return tcp::endpoint(address, *parsed->port);
}

Result<TlsContext> load_tls(const TlsFiles& files) {
  Bytes cert = TRY_IN("TLS certificate", read_file_or_pipe(files.cert, kMaxPemBytes));
  Bytes key = TRY_IN("TLS key", read_private_file(files.key, {.max_bytes = kMaxPemBytes,
                                                              .group_may_read_roots = true}));
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  error_code error;
  context->set_options(asio::ssl::context::default_workarounds |
                           asio::ssl::context::no_compression | asio::ssl::context::single_dh_use,
                       error);
  ::SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  // Those of TLS 1.2 that TLS 1.3 kept: forward secret, authenticated encryption.
  if (::SSL_CTX_set_cipher_list(context->native_handle(), kTls12Ciphers) != 1)
    return fail(Code::kUnavailable, "OpenSSL has none of the ciphers {}", kTls12Ciphers);
  // Without this OpenSSL would ask for a passphrase on the terminal.
  context->set_password_callback([](std::size_t, auto) { return std::string(); }, error);
  context->use_certificate_chain(asio::buffer(cert), error);
  if (error)
    return fail(Code::kInvalidInput, "{} holds no PEM certificate: {}", files.cert.string(),
                error.message());
  context->use_private_key(asio::buffer(key), asio::ssl::context::pem, error);
  if (error)
    return fail(Code::kInvalidInput, "{} is not the unencrypted PEM key of {}: {}",
                files.key.string(), files.cert.string(), error.message());
  return context;
}

std::string to_text(const tcp::endpoint& endpoint) {
  std::string host = endpoint.address().to_string();
  return endpoint.address().is_v6() ? fmt::format("[{}]:{}", host, endpoint.port())
                                    : fmt::format("{}:{}", host, endpoint.port());
}

// Every connection is an open file, and many systems allow a process 1,024 unless it asks for more.
void allow_open_files(std::size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) return;
  limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
  ::setrlimit(RLIMIT_NOFILE, &limit);  // without it accept() says so
}

}  // namespace

Result<bool> is_loopback_address(const std::string& listen) {
  return TRY(parse_listen(listen)).address().is_loopback();
}

struct Server::Impl {
  Impl(Options options, Router router) : context(std::move(options), std::move(router)) {}

  Result<> open();
  void accept();
  void on_accept(error_code error, tcp::socket socket);
  void tick();
  void update_counts();
  void stop(milliseconds timeout);

  Context context;
  asio::executor_work_guard<asio::io_context::executor_type> work{context.io.get_executor()};
  tcp::acceptor acceptor{context.io};
  LocalAcceptor local{context};
  asio::steady_timer timer{context.io};
  milliseconds tick_every{250};
  std::string address;
  std::thread io_thread;

  std::mutex tls_mutex;
  TlsContext tls;  // under tls_mutex

  mutable std::mutex mutex;
  std::condition_variable changed;
  Counts counts;         // under mutex
  bool stopped = false;  // under stop_mutex
  std::mutex stop_mutex;
};

Result<> Server::Impl::open() {
  auto endpoint = TRY(parse_listen(context.options.listen));
  if (context.options.tls) tls = TRY(load_tls(*context.options.tls));
  auto failed = [&](error_code error) {
    return fail(errno_error(error.value(), "cannot listen on " + context.options.listen));
  };
  error_code error;
  acceptor.open(endpoint.protocol(), error);
  if (error) return failed(error);
  acceptor.set_option(tcp::acceptor::reuse_address(true), error);
  acceptor.bind(endpoint, error);
  if (error) return failed(error);
  acceptor.listen(asio::socket_base::max_listen_connections, error);
  if (error) return failed(error);
  auto bound = acceptor.local_endpoint(error);
  if (error) return failed(error);
  address = to_text(bound);
  if (!context.options.local_socket.empty()) TRY(local.open(context.options.local_socket));

  const Limits& limits = context.options.limits;
  allow_open_files(limits.connections + kOtherFiles);
  auto shortest = std::min({limits.request_time, limits.idle_time, limits.write_time,
                            limits.answer_time, limits.stream_keep_alive});
  tick_every = std::clamp(shortest / 4, milliseconds(5), milliseconds(250));
  context.on_closed = [this] { update_counts(); };
  accept();
  tick();
  io_thread = std::thread([this] { context.io.run(); });
  return {};
}

void Server::Impl::accept() {
  acceptor.async_accept([this](error_code error, tcp::socket socket) {
    if (error == asio::error::operation_aborted || !acceptor.is_open()) return;
    on_accept(error, std::move(socket));
  });
}

void Server::Impl::on_accept(error_code error, tcp::socket socket) {
  if (error) {
    // Out of descriptors, most likely: accepting again at once would only spin; tick() tries again.
    log::warn("cannot accept a connection", {{"problem", error.message()}});
    auto pause = std::make_shared<asio::steady_timer>(context.io, tick_every);
    pause->async_wait([this, pause](error_code) {
      if (acceptor.is_open()) accept();
    });
    return;
  }
  accept();
  TlsContext current;
  {
    std::lock_guard lock(tls_mutex);
    current = tls;
  }
  auto connection =
      std::make_shared<Connection>(context, peer_of(socket), std::move(socket), std::move(current));
  context.connections.take(connection);
  update_counts();
}

// One timer for all connections: far cheaper than one each, and late by a quarter at most.
void Server::Impl::tick() {
  context.date = http_date(std::time(nullptr));
  auto now = std::chrono::steady_clock::now();
  for (auto& connection : context.connections.all()) connection->tick(now);
  update_counts();
  timer.expires_after(tick_every);
  timer.async_wait([this](error_code error) {
    if (!error && work.owns_work()) tick();
  });
}

void Server::Impl::update_counts() {
  std::lock_guard lock(mutex);
  counts = {context.connections.size(), context.streams, 0, 0};
  changed.notify_all();
}

void Server::Impl::stop(milliseconds timeout) {
  std::lock_guard once(stop_mutex);
  if (stopped || !io_thread.joinable()) return;
  stopped = true;
  auto for_all = [this](auto action) {
    for (auto& connection : context.connections.all()) action(*connection);
  };
  auto begun = std::make_shared<bool>(false);
  asio::post(context.io, [this, for_all, begun] {
    context.stopping = true;
    error_code ignored;
    acceptor.close(ignored);
    local.close();
    for_all([](Connection& connection) { connection.begin_stop(); });
    std::lock_guard lock(mutex);
    *begun = true;
    counts = {context.connections.size(), context.streams, 0, 0};
    changed.notify_all();
  });
  {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, timeout, [&] { return *begun && counts.connections == 0; });
  }
  context.pending->close();
  asio::post(context.io, [this, for_all] {
    for_all([](Connection& connection) { connection.close(); });
    work.reset();
    timer.cancel();
  });
  context.pool.stop();
  for (auto& [name, pool] : context.pools) pool.stop();
  io_thread.join();
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Server::~Server() {
  impl_->stop(milliseconds(5000));
}

Result<std::unique_ptr<Server>> Server::start(Options options, Router router) {
  auto impl = std::make_unique<Impl>(std::move(options), std::move(router));
  TRY(impl->open());
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

const std::string& Server::address() const {
  return impl_->address;
}

std::string Server::url() const {
  return (impl_->context.options.tls ? "https://" : "http://") + impl_->address;
}

Result<> Server::reload_tls() {
  const auto& files = impl_->context.options.tls;
  if (!files) return fail(Code::kUsage, "this server has no TLS to reload");
  TlsContext loaded = TRY(load_tls(*files));
  std::lock_guard lock(impl_->tls_mutex);
  impl_->tls = std::move(loaded);
  return {};
}

void Server::stop(milliseconds timeout) {
  impl_->stop(timeout);
}

Server::Counts Server::counts() const {
  std::lock_guard lock(impl_->mutex);
  Counts counts = impl_->counts;
  counts.pending = impl_->context.pending->count();
  counts.body_bytes = impl_->context.bodies->taken();
  return counts;
}

}  // namespace coffer::http
