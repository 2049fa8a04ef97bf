#include "node/status_view.h"

#include <fmt/format.h>

#include "base/result.h"
#include "cli/table.h"
#include "json/reader.h"
#include "node/module.h"

namespace coffer::node {
namespace {

std::string age(std::int64_t unix_s, std::int64_t now_unix_ms) {
  const std::int64_t ms = now_unix_ms - unix_s * 1000;
  return ms < 0 ? "in the future" : cli::human_duration_ms(static_cast<std::uint64_t>(ms)) + " ago";
}

std::string tip_text(const std::optional<api::TipStatus>& tip) {
  return tip ? fmt::format("{} {}", cli::with_thousands(tip->number), tip->hash.substr(0, 16))
             : "none";
}

}  // namespace

std::string render_status(const api::Status& s, bool running, std::int64_t now_unix_ms) {
  std::string out;
  auto line = [&](std::string_view name, const std::string& value) {
    out += fmt::format("{:<10}{}\n", name, cli::printable(value));
  };
  line("coffer",
       s.version +
           (running ? fmt::format(", running for {}",
                                  cli::human_duration_ms(static_cast<std::uint64_t>(s.uptime_ms)))
                    : ", not running"));
  line("chain", s.chain + " " + s.network);
  line("data", fmt::format("{} ({})", s.data_dir, cli::human_bytes(s.disk_bytes)));
  if (running) {
    line("source", fmt::format("{}, {}", s.source, s.source_state));
    if (!s.source_problem.empty()) line("", s.source_problem);
  }
  if (s.tip)
    line("tip", fmt::format("{} {} ({})", cli::with_thousands(s.tip->number), s.tip->hash,
                            age(s.tip->time_unix_s, now_unix_ms)));
  else
    line("tip", "none yet");
  if (running) {
    line("behind", s.behind == 0 ? "no" : fmt::format("{} blocks", cli::with_thousands(s.behind)));
    const bool answers = std::ranges::all_of(s.not_ready, &api::NotReady::answers);
    line("ready", s.ready ? "yes" : answers ? "no, it answers from what it has" : "no");
    for (const std::string& reason : s.not_ready_because) line("", reason);
  }
  line("totals",
       fmt::format("{} blocks, {} transactions, {} inputs, {} outputs, {}",
                   cli::with_thousands(s.totals.blocks), cli::with_thousands(s.totals.transactions),
                   cli::with_thousands(s.totals.inputs), cli::with_thousands(s.totals.outputs),
                   cli::human_bytes(s.totals.bytes)));
  for (const api::ModuleStatus& status : s.modules) {
    const Module* module = find_module(status.name);
    const auto value = json::parse(status.json.value_or(""));
    if (module == nullptr || module->status_lines == nullptr || !value) continue;
    for (const StatusLine& one : module->status_lines(*value)) line(one.label, one.text);
  }
  line("digest", s.totals.digest);
  out += "\n";
  cli::Table table({{"consumer"}, {"state"}, {"tip"}, {"behind", cli::Align::kRight}});
  for (const api::ConsumerStatus& c : s.consumers)
    table.add_row({c.name, running || c.state == "halted" ? c.state : "stored", tip_text(c.tip),
                   cli::with_thousands(c.behind)});
  out += table.render();
  for (const api::ConsumerStatus& c : s.consumers)
    if (!c.problem.empty())
      out += fmt::format("{}: {}; {}\n", c.name, cli::printable(c.problem), c.repair);
  return out;
}

std::string sync_summary(const api::Status& s) {
  return fmt::format("tip     {}\ntotals  {} transactions, {} outputs in {} blocks\ndigest  {}\n",
                     tip_text(s.tip), cli::with_thousands(s.totals.transactions),
                     cli::with_thousands(s.totals.outputs), cli::with_thousands(s.totals.blocks),
                     s.totals.digest);
}

}  // namespace coffer::node
