// coffer token …: each prints its result on stdout and returns an error instead of printing it.
// All work beside a server. What is typed is checked before anything is changed.
#pragma once

#include <coffer/token/store.h>
#include "base/result.h"
#include "http/message.h"
#include "node/command.h"
#include "token/commands/open_ledger.h"
#include "token/json/verbs.h"

namespace coffer::token {

using node::Context;

// commands.cpp: all of them as data.
std::vector<cli::Command> token_commands();
std::vector<cli::Command> account_commands();    // accounts.cpp
std::vector<cli::Command> transfer_commands();   // transfers.cpp
std::vector<cli::Command> hold_commands();       // holds.cpp
std::vector<cli::Command> read_commands();       // reads.cpp
std::vector<cli::Command> integrity_commands();  // integrity.cpp
std::vector<cli::Command> log_commands();        // log.cpp
std::vector<cli::Command> access_commands();     // access.cpp
std::vector<cli::Command> import_commands();     // import.cpp
std::vector<cli::Command> exchange_commands();   // exchange.cpp

// One of them, without what it takes and does.
cli::Command token_command(std::vector<std::string> path, const char* summary,
                           const char* examples);
cli::Command token_group(std::string name, const char* summary);

// What a verb is done with.
struct TokenCommand {
  const Context& context;
  Store& store;
  const cli::Invocation& given;

  // A positional argument of the command itself.
  const std::string& argument(std::string_view name) const {
    return given.values.find(name)->second.back();
  }
  // Who acts, for the audit.
  Actor actor(std::string reason = {}) const { return {"cli", std::move(reason)}; }
};

// A command of a verb; `arguments` are typed first. The community is opened once all that is typed
// is read.
template <typename Request>
cli::Command token_verb(cli::Command base, std::vector<cli::Option> arguments,
                        node::Verb<Request> verb,
                        Result<> (*run)(const TokenCommand&, const Request&)) {
  base.options = std::move(arguments);
  return node::verb_command<Request>(std::move(base), std::move(verb),
                                     [run](const Context& context, const cli::Invocation& given,
                                           const Request& request) -> Result<> {
                                       const OpenLedger ledger =
                                           TRY(OpenLedger::open(context.config));
                                       return run({context, *ledger.store, given}, request);
                                     });
}

// A command that only reads.
struct TokenQuery {
  std::string name;         // a wallet, user, hold or transaction, if it takes one
  http::Fields query = {};  // count, cursor, filters, as on HTTP
};
using TokenQueryField = cli::Field<TokenQuery>;
TokenQueryField page_count_option();
TokenQueryField page_cursor_option();
TokenQueryField token_option(const std::string& name, std::string value, std::string help);
cli::Command token_query(cli::Command base, std::vector<TokenQueryField> fields,
                         Result<> (*run)(const Context&, const Store&, const TokenQuery&));

// Prints a result in the form that was asked for.
Result<> print_result(const Context& context, const std::string& json, const std::string& text);

// reads.cpp: replaces the parameter `name` by the id of the wallet that it names. Errors: those of
// find_party.
Result<> resolve_wallet(const Store& store, http::Fields& query, std::string_view name);

}  // namespace coffer::token
