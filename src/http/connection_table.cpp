#include "http/connection_table.h"

#include <algorithm>

#include "http/connection.h"

namespace coffer::http {
namespace {

constexpr std::size_t kLocalAtOnce = 128;
constexpr std::size_t kReservedAtOnce = 16;
constexpr std::size_t kTurnAwayAtOnce = 64;

}  // namespace

bool ConnectionTable::close_oldest(std::list<Connection*>& idle) {
  if (idle.empty()) return false;
  idle.front()->close();  // which removes it
  return true;
}

ConnectionTable::Kind ConnectionTable::make_room(const Connection& connection) {
  if (connection.peer().is_local) return local_ < kLocalAtOnce ? Kind::kLocal : Kind::kRefused;
  const bool is_loopback = connection.peer().is_loopback;
  const std::size_t of_one =
      is_loopback ? limits_.loopback_connections : limits_.connections_per_address;
  const auto known = groups_.find(connection.peer().group);
  const bool group_has_room = known == groups_.end() || known->second.connections < of_one ||
                              close_oldest(known->second.idle);
  if (group_has_room && (common_ < limits_.connections || close_oldest(idle_)))
    return Kind::kCommon;
  if (is_loopback && reserved_ < kReservedAtOnce) return Kind::kReserved;
  return turned_away_ < kTurnAwayAtOnce ? Kind::kTurnedAway : Kind::kRefused;
}

void ConnectionTable::take(const std::shared_ptr<Connection>& connection) {
  const Kind kind = make_room(*connection);
  if (kind == Kind::kRefused) return;
  connection->place().kind = kind;
  connections_.emplace(connection.get(), connection);
  if (kind == Kind::kTurnedAway) {
    ++turned_away_;
    return connection->turn_away();
  }
  if (kind == Kind::kReserved) {
    ++reserved_;
  } else if (kind == Kind::kLocal) {
    ++local_;
  } else {
    ++common_;
    ++groups_[connection->peer().group].connections;
  }
  connection->start();
}

void ConnectionTable::remove(Connection& connection) {
  const auto found = connections_.find(&connection);
  if (found == connections_.end()) return;
  set_idle(connection, false);
  const Place& place = connection.place();
  if (place.kind == Kind::kReserved) --reserved_;
  if (place.kind == Kind::kLocal) --local_;
  if (place.kind == Kind::kTurnedAway) --turned_away_;
  if (place.kind == Kind::kCommon) {
    --common_;
    const auto group = groups_.find(connection.peer().group);
    if (--group->second.connections == 0) groups_.erase(group);
  }
  connections_.erase(found);
}

void ConnectionTable::set_idle(Connection& connection, bool is_idle) {
  Place& place = connection.place();
  if (place.kind != Kind::kCommon || !connections_.contains(&connection)) return;
  Group& group = groups_[connection.peer().group];
  if (place.is_idle) {
    idle_.erase(place.among_idle);
    group.idle.erase(place.among_idle_of_group);
  }
  place.is_idle = is_idle;
  if (!is_idle) return;
  place.among_idle = idle_.insert(idle_.end(), &connection);
  place.among_idle_of_group = group.idle.insert(group.idle.end(), &connection);
}

std::vector<std::shared_ptr<Connection>> ConnectionTable::all() const {
  std::vector<std::shared_ptr<Connection>> copy;
  copy.reserve(connections_.size());
  for (const auto& [key, connection] : connections_) copy.push_back(connection);
  return copy;
}

}  // namespace coffer::http
