// The open connections of a server: whose they are, and which of them are idle. Internal to http.
// Invariant: a peer has at most its limit of connections, all together have at most theirs, and
// where there is no room the connection that is idle longest goes first. A few places more are kept
// for this machine, for short requests that the I/O thread answers itself: a probe of /health gets
// in however many connections there are. The Unix socket has places of its own.
#pragma once

#include <cstddef>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "http/server.h"

namespace coffer::http {

class Connection;

// Used from the I/O thread.
class ConnectionTable {
 public:
  enum class Kind {
    kCommon,
    kLocal,       // through the Unix socket: beside all limits of the port
    kReserved,    // only for what the I/O thread answers itself
    kTurnedAway,  // gets 503
    kRefused,     // not even that: never in the table
  };
  // What the table knows of a connection that is in it.
  struct Place {
    Kind kind = Kind::kCommon;
    bool is_idle = false;
    std::list<Connection*>::iterator among_idle = {}, among_idle_of_group = {};
  };

  explicit ConnectionTable(const Limits& limits) : limits_(limits) {}

  // Takes a connection that was just accepted, and starts it, turns it away or closes it. An idle
  // one may be closed to make room.
  void take(const std::shared_ptr<Connection>& connection);
  void remove(Connection& connection);
  // A request would lose nothing if the connection were closed now.
  void set_idle(Connection& connection, bool is_idle);

  std::size_t size() const { return connections_.size(); }
  // A copy: closing one changes the table.
  std::vector<std::shared_ptr<Connection>> all() const;

 private:
  struct Group {
    std::size_t connections = 0;  // kCommon
    std::list<Connection*> idle;  // those of them, the longest idle first
  };
  Kind make_room(const Connection& connection);
  static bool close_oldest(std::list<Connection*>& idle);

  const Limits& limits_;
  std::map<Connection*, std::shared_ptr<Connection>> connections_;
  std::map<std::string, Group, std::less<>> groups_;  // by peer_group()
  std::list<Connection*> idle_;                       // of all peers, the longest idle first
  std::size_t common_ = 0, local_ = 0, reserved_ = 0, turned_away_ = 0;
};

}  // namespace coffer::http
