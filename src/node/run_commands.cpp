// The commands that run or look at a store.
#include <signal.h>
#include <unistd.h>

#include <cstdio>

#include <coffer/base/log.h>
#include <coffer/version.h>
#include "api/auth.h"
#include "api/readiness.h"
#include "api/status_json.h"
#include "base/file.h"
#include "base/result.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "config/keys.h"
#include "http/client.h"
#include "node/commands.h"
#include "node/daemon.h"
#include "node/database.h"
#include "node/node.h"
#include "node/sql_store.h"
#include "node/status_view.h"

namespace coffer::node {
namespace {

namespace fs = std::filesystem;

// Blocks the signals in every thread made from now on; wait() takes them one by one. Those that
// somebody may send by mistake end nothing.
class Signals {
 public:
  Signals() {
    for (int number : {SIGPIPE, SIGUSR2}) ::signal(number, SIG_IGN);
    sigemptyset(&set_);
    for (int number : {SIGINT, SIGTERM, SIGHUP, kWake}) sigaddset(&set_, number);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }
  int wait() const {
    int number = 0;
    sigwait(&set_, &number);
    return number;
  }
  // Ends a wait() from another thread. The signal may come from elsewhere, too: look whether there
  // is a reason.
  static void wake() { ::kill(::getpid(), kWake); }

  static constexpr int kWake = SIGUSR1;

 private:
  sigset_t set_;
};

void announce(const Context& context, const Node& node, bool demo) {
  const config::Config& config = context.config;
  if (context.json) {
    std::printf("{\"url\":\"%s\",\"pid\":%d}\n", node.url().c_str(), ::getpid());
  } else {
    std::printf("coffer %s %s\n", std::string(kVersion).c_str(),
                demo ? "with a simulated chain" : "serving");
    std::printf("  page    %s/\n", node.url().c_str());
    std::printf("  chain   %s %s, data in %s\n", config.chain.c_str(), config.network.c_str(),
                config.data_dir.c_str());
    std::printf("  status  %s status --data %s\n", context.program.c_str(),
                config.data_dir.c_str());
    std::printf("  stop    Ctrl-C; the next start continues from there\n");
  }
  std::fflush(stdout);
}

// Nothing if no process serves this directory. Errors: those of ask_daemon.
Result<std::optional<api::Status>> daemon_status(const config::Config& config) {
  const auto answer = TRY(ask_daemon(config, {.target = "/api/v1/status"}));
  if (!answer) return std::nullopt;
  return TRY(api::parse_status(answer->content()));
}

}  // namespace

Result<> run_serve(const Context& context, bool demo) {
  Signals signals;
  config::Config config = context.config;
  if (demo) {
    config.network = config.source = "devnet";
    for (const Module* module : modules())
      if (module->demo_settings != nullptr) module->demo_settings(config);
  }
  auto node = TRY(Node::open(config, {.paced = true}, system_clock()));
  TRY(node->serve());
  announce({config, context.json, context.program}, *node, demo);
  Result<> followed;
  std::thread follower([&] {
    followed = node->follow();
    if (followed) return;
    // A store that failed is opened anew by whoever starts us again; a source that cannot be
    // followed is no reason to stop answering (E14).
    if (node->store_failed()) return Signals::wake();
    log::error("following has stopped; queries are answered from stored data",
               {{"problem", followed.error().message},
                {"next", "see 'coffer status', remove the cause and restart"}});
  });
  for (;;) {
    const int signal = signals.wait();
    if (signal == SIGINT || signal == SIGTERM || node->store_failed()) break;
    if (signal != SIGHUP) continue;
    if (auto reloaded = node->reload(); !reloaded)
      log::error("reload failed; the old settings remain in use",
                 {{"problem", reloaded.error().message}});
    else
      log::info("reloaded");
  }
  node->stop();
  follower.join();
  const bool store_failed = node->store_failed();
  node.reset();
  if (!followed && store_failed) return followed;
  if (!context.json) std::printf("stopped\n");
  return {};
}

Result<> run_sync(const Context& context, std::optional<std::uint64_t> to_height) {
  if (context.config.source == "devnet" && !to_height)
    return fail(Code::kUsage, "a simulated chain has no end; add --to HEIGHT, e.g. --to 1000");
  Signals signals;
  const Clock& clock = system_clock();
  cli::ProgressBar bar({.label = "syncing", .unit = "blocks", .total = {}}, clock,
                       cli::stderr_output());
  if (to_height) bar.set_total(*to_height + 1);
  NodeOptions options;
  options.stop_height = to_height;
  options.one_shot = true;
  options.log_rollbacks = false;  // they would tear the progress line apart
  options.on_connected = [&](const chainstate::HeaderInfo& tip) {
    bar.update(tip.number.value + 1);
  };
  auto node = TRY(Node::open(context.config, options, clock));
  Result<> followed;
  std::atomic<bool> done{false};
  std::thread follower([&] {
    followed = node->follow();
    done = true;
    Signals::wake();
  });
  bool interrupted = false;
  while (!done) {
    const int signal = signals.wait();
    if (signal == SIGINT || signal == SIGTERM) {
      interrupted = true;
      node->stop();
    }
  }
  follower.join();
  bar.finish();
  TRY(followed);
  const api::Status status = node->status();
  if (context.json)
    cli::print_line(api::to_json(status));
  else
    cli::print(sync_summary(status));
  if (interrupted)
    return fail(Code::kCancelled, "stopped before the end; run the same command again to continue");
  return {};
}

Result<> run_status(const Context& context) {
  std::optional<api::Status> status = TRY(daemon_status(context.config));
  const bool running = status.has_value();
  if (!running) {
    const bool has_chain = TRY(file_exists(fs::path(context.config.data_dir) / "db"));
    if (!has_chain)
      for (const SqlDatabase& one : TRY(find_sql_databases(context.config)))
        if (!one.where.path.empty() && TRY(file_exists(one.where.path)))
          return fail(
              Code::kNotFound,
              "{} holds only {}, no blocks yet; see 'coffer help {}', or start 'coffer serve'",
              context.config.data_dir, one.store().content, one.module->name);
    if (!has_chain)
      return fail(Code::kNotFound,
                  "there are no data in {}; start with 'coffer demo', or name another directory "
                  "with --data",
                  context.config.data_dir);
    auto node = TRY(Node::open(context.config, {.read_only = true}, system_clock()));
    status = node->status();
  }
  if (context.json)
    cli::print_line(api::to_json(*status));
  else
    cli::print(render_status(*status, running, system_clock().unix_ms()));
  return {};
}

Result<> run_status_check(const Context& context, const std::string& consumer) {
  const auto answer = daemon_status(context.config);
  if (!answer) return fail(Code::kUnavailable, "cannot be reached: {}", answer.error().message);
  if (!*answer)
    return fail(Code::kUnavailable,
                "cannot be reached: no coffer is running on {}; start it with 'coffer serve'",
                context.config.data_dir);
  const api::Readiness found = TRY(api::readiness_of(
      **answer, consumer.empty() ? std::nullopt : std::optional<std::string_view>(consumer)));
  if (context.json)
    cli::print_line(api::readiness_json(**answer, found));
  else if (found.ready)
    cli::print_line("ready");
  if (found.ready) return {};
  return fail(Code::kConflict, "not ready: {}{}", fmt::join(found.reasons, "; "),
              found.state == "stale" ? " (it answers from what it has)" : "");
}

Result<> run_rebuild(const Context& context, const std::string& consumer) {
  TRY(rebuild_consumer(context.config, consumer));
  if (context.json)
    std::printf("{\"rebuilt\":\"%s\"}\n", consumer.c_str());
  else
    std::printf("%s is empty; the next start fills it again from the source\n", consumer.c_str());
  return {};
}

Result<> run_settings(const Context& context) {
  cli::print(context.json ? config::config_json(context.config) + "\n"
                          : config::config_help(context.config));
  return {};
}

Result<> run_version(const cli::Invocation& given) {
  const char* format = given.json ? "{\"version\":\"%s\"}\n" : "coffer %s\n";
  std::printf(format, std::string(kVersion).c_str());
  return {};
}

}  // namespace coffer::node
