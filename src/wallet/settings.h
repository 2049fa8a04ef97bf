// The settings of wallets, wallet.*.
#pragma once

#include <span>

#include "config/keys.h"

namespace coffer::wallet {

struct Settings {
  bool enabled = true;
  std::string database;  // empty: wallet.db in the data directory; may hold a password
  std::uint64_t max_connections = 8;
  std::uint64_t gap_limit = 20;
};

std::span<const config::Key> settings();

}  // namespace coffer::wallet
