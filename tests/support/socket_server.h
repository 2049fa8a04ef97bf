// For tests: a server on a real socket (TCP on loopback, or a Unix socket) with a thread for every
// connection. Every wait has a deadline, ends when the other side closes, and ends at stop().
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <coffer/base/bytes.h>

namespace coffer::test {

// One connection, as its serving thread sees it. Not thread-safe, but for wake() and shut_down().
class Stream {
 public:
  explicit Stream(int fd);
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  // Appends what there is, at least one byte. False: closed by either side.
  bool read_some(std::string& to);
  // False: closed by either side, or nobody took it for 60 seconds.
  bool write_all(std::string_view data);
  bool write_all(ByteView data) { return write_all(as_text(data)); }
  // False: closed by either side before the time was over.
  bool pause_ms(int time_ms);
  // Until wake(). False: closed by either side.
  bool wait_for_wake();
  // Until either side closes.
  void wait_for_close();

  void wake();
  void shut_down();

 private:
  enum class Event { kReady, kWoken, kTimeout, kClosed };
  Event wait(short events, int timeout_ms);

  const int fd_;
  const int wake_fd_;
  std::atomic<bool> closed_{false};
};

class SocketServer {
 public:
  // `serve` is called in the connection's own thread; the connection ends with it.
  using Serve = std::function<void(Stream&)>;

  // On any free port of 127.0.0.1.
  explicit SocketServer(Serve serve);
  // On a Unix socket, which is made here.
  SocketServer(std::string path, Serve serve);
  ~SocketServer();
  SocketServer(const SocketServer&) = delete;
  SocketServer& operator=(const SocketServer&) = delete;

  int port() const { return port_; }

  // Thread-safe.
  // Closes what is connected. While it refuses, nobody else can take the address.
  void refuse_connections(bool refuse);
  void close_connections();
  // Wakes every connection that waits for it.
  void wake_all();
  // How many were accepted so far.
  std::size_t accepted() const { return accepted_; }
  // Closes everything and waits for the threads. Also done by the destructor.
  void stop();

 private:
  struct Connection {
    explicit Connection(int fd) : stream(fd) {}
    Stream stream;
    std::atomic<bool> done{false};
    std::thread thread;
  };
  void bind_socket();
  void listen_and_accept();
  void stop_accepting();
  void accept_loop();

  const Serve serve_;
  const std::string path_;  // empty: TCP
  int port_ = 0;
  int listener_ = -1;
  int stop_fd_ = -1;
  std::thread acceptor_;
  std::mutex control_mutex_;  // one of refuse_connections() and stop() at a time
  std::mutex mutex_;          // guards connections_
  std::list<Connection> connections_;
  std::atomic<std::size_t> accepted_{0};
};

}  // namespace coffer::test
