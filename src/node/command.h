// For the files that declare commands as tables: a command gets its settings as a Context, and its
// arguments as a struct that its table of fields filled.
#pragma once

#include "base/result.h"
#include "cli/command.h"
#include "config/config.h"
#include "http/message.h"

namespace coffer::node {

// Everything a command is given besides its own arguments.
struct Context {
  config::Config config;
  bool json = false;               // machine-readable output on stdout
  std::string program = "coffer";  // as it was called, for hints to type
};

// The settings of file, environment and flags; the log is set up by them. Errors: those of
// load_config.
Result<Context> make_context(const cli::Invocation& given);

// What a command needs to find a store.
inline const std::vector<std::string> kStoreSettings = {"data_dir", "log."};

// `coffer bench`, below which every engine puts its own; it stands before them in a list.
cli::Command bench_group();

// Completes a command that takes no arguments.
cli::Command command(cli::Command base, std::function<Result<>(const Context&)> run);

// Completes a command with a table of its arguments.
template <typename Arguments>
cli::Command command(cli::Command base, std::vector<cli::Field<Arguments>> fields,
                     std::function<Result<>(const Context&, const Arguments&)> run) {
  for (const cli::Field<Arguments>& field : fields) base.options.push_back(field.option);
  base.run = [fields = std::move(fields),
              run = std::move(run)](const cli::Invocation& given) -> Result<> {
    const Context context = TRY(make_context(given));
    return run(context, cli::read_fields(fields, given));
  };
  return base;
}

// An option that becomes a parameter as on HTTP, "--min-amount" min_amount, in the member `query`
// of Arguments. One that is given counts even if it is empty: without its filter a list would show
// too much.
template <typename Arguments>
cli::Field<Arguments> query_option(const std::string& name, std::string value, std::string help) {
  std::string parameter = name.substr(2);
  std::replace(parameter.begin(), parameter.end(), '-', '_');
  return {cli::Option{.name = name, .help = std::move(help), .value = std::move(value)},
          [parameter](Arguments& to, const cli::Words& words) {
            to.query.push_back({parameter, words.back()});
          }};
}

// A flag that sets such a parameter to a value.
template <typename Arguments>
cli::Field<Arguments> query_flag(std::string name, http::Field parameter, std::string help,
                                 std::string excludes = {}) {
  return {cli::Option{.name = std::move(name),
                      .help = std::move(help),
                      .kind = cli::Kind::kFlag,
                      .excludes = std::move(excludes)},
          [parameter = std::move(parameter)](Arguments& to, const cli::Words& words) {
            if (words.back() == "true") to.query.push_back(parameter);
          }};
}

}  // namespace coffer::node
