// The community that a command works on. A running server beside it is fine.
#pragma once

#include <memory>

#include <coffer/token/store.h>
#include "config/config.h"
#include "token/json/verbs.h"

namespace coffer::token {

struct OpenLedger {
  std::unique_ptr<sql::Database> database;
  std::unique_ptr<Store> store;

  // The one of the settings. Errors: kNotFound if there is none, naming `coffer token init`; those
  // of sql::Database::open and Store::open.
  static Result<OpenLedger> open(const config::Config& config);
  // The same, but makes it if it is missing, and its file's directory.
  static Result<OpenLedger> make(const config::Config& config);
};

// Who has a wallet, as it was named.
struct Party {
  Uuid wallet{};
  std::string name;  // of the owner, else the wallet's id
  std::optional<Uuid> user = {};
};
// By the id of the wallet or of its owner, or by a name that only one owner has. Errors: kNotFound,
// kConflict if there are several, both naming the next step.
Result<Party> find_party(const Store& store, const WalletName& name);
Result<Party> find_party(const Store& store, const std::string& name);
// A user by id or by a name that only one has, deleted ones too. Errors: as above.
Result<User> find_user(const Store& store, const std::string& name);
// By name, or the only one if the name is empty. Errors: as above.
Result<SystemAccount> find_account(const Store& store, const std::string& name);

}  // namespace coffer::token
