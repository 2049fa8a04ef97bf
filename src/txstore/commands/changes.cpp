// The commands that change the transaction store: by the daemon of the directory, or directly.
#include "api/input.h"
#include "base/result.h"
#include "cli/output.h"
#include "json/reader.h"
#include "json/writer.h"
#include "node/daemon.h"
#include "txstore/commands/commands.h"
#include "txstore/commands/open_store.h"
#include "txstore/commands/view.h"
#include "txstore/json/reports.h"

namespace coffer::txstore {
namespace {

// Its report; nothing if no process serves this directory.
template <typename Report>
Result<std::optional<Report>> ask_for(const Context& context, const std::string& route,
                                      const std::string& body) {
  node::DaemonRequest request;
  request.method = http::Method::kPost;
  request.target = "/api/v1/txs" + route;
  request.body = body;
  request.timeout = std::chrono::minutes(5);
  const auto answer = TRY(node::ask_daemon(context.config, request));
  if (!answer) return std::nullopt;
  const auto value = TRY(json::parse(answer->content()));
  return TRY(json::read_fields<Report>(value));
}

template <typename Report>
Result<> print_report(const Context& context, const Report& report, const std::string& text) {
  cli::print(context.json ? json::write_fields(report) + "\n" : text);
  return cli::finish_output();
}

// The network that tells how ids are written; changes nothing.
Result<chain::Network> stored_network(const Context& context) {
  return TRY(OpenStore::open(context.config)).network;
}

void add_report(PruneReport& sum, const PruneReport& step) {
  sum.looked_at += step.looked_at;
  sum.deleted += step.deleted;
  sum.deleted_conflicting += step.deleted_conflicting;
  sum.kept += step.kept;
  sum.expired += step.expired;
  sum.children_read += step.children_read;
  sum.marked_final += step.marked_final;
  for (const KeptCount& one : step.kept_by) {
    const auto same = std::ranges::find(sum.kept_by, one.reason, &KeptCount::reason);
    if (same == sum.kept_by.end())
      sum.kept_by.push_back(one);
    else
      same->count += one.count;
  }
  sum.done = step.done;
}

// A daemon bounds what one request does: it is asked until nothing more is due.
Result<std::optional<PruneReport>> prune_by_daemon(const Context& context, const PruneTxs& wanted) {
  json::Writer body;
  body.begin_object().field("dry_run", wanted.dry_run).end_object();
  const std::string text = body.take();
  std::optional<PruneReport> sum = TRY(ask_for<PruneReport>(context, "/prune", text));
  while (sum && !sum->done && !wanted.dry_run) {
    const auto more = TRY(ask_for<PruneReport>(context, "/prune", text));
    if (!more) return fail(Code::kUnavailable, "the daemon stopped; run the command again");
    add_report(*sum, *more);
  }
  return sum;
}

}  // namespace

Result<> run_tx_prune(const Context& context, const PruneTxs& wanted) {
  std::optional<PruneReport> report = TRY(prune_by_daemon(context, wanted));
  if (!report) {
    const OpenStore opened = TRY(
        OpenStore::open(context.config, wanted.dry_run ? OpenFor::kReading : OpenFor::kWriting));
    report = prune_report(TRY(opened.store->prune(wanted.dry_run)), wanted.dry_run);
  }
  return print_report(context, *report, render_pruned(*report));
}

Result<> run_tx_preserve(const Context& context, const std::string& tx, const PreserveTx& wanted) {
  const chain::Network network = TRY(stored_network(context));
  const Hash256 id = TRY(cli::as_usage_error(parse_tx_id(network, tx)));
  json::Writer body;
  body.begin_object().field("until_height", wanted.until_height).end_object();
  auto report = TRY(ask_for<MarkReport>(
      context, fmt::format("/{}/preserve", chain::display(network.family, id)), body.take()));
  if (!report) {
    const OpenStore opened = TRY(OpenStore::open(context.config, OpenFor::kWriting));
    report = TRY(preserve_tx(*opened.store, id, wanted.until_height));
  }
  return print_report(context, *report, render_mark(*report));
}

Result<> run_tx_freeze(const Context& context, const std::string& text, bool frozen) {
  const chain::Network network = TRY(stored_network(context));
  const chain::Outpoint output = TRY(cli::as_usage_error(api::parse_outpoint(network, text)));
  const std::string route =
      fmt::format("/{}/outputs/{}/{}", chain::display(network.family, output.tx), output.index,
                  frozen ? "freeze" : "unfreeze");
  auto report = TRY(ask_for<MarkReport>(context, route, "{}"));
  if (!report) {
    const OpenStore opened = TRY(OpenStore::open(context.config, OpenFor::kWriting));
    report =
        TRY(frozen ? freeze_output(*opened.store, output) : unfreeze_output(*opened.store, output));
  }
  return print_report(context, *report, render_mark(*report));
}

}  // namespace coffer::txstore
