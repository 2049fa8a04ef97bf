#include "node/database_probe.h"

#include <coffer/base/log.h>
#include "base/result.h"

namespace coffer::node {
namespace {

constexpr std::chrono::seconds kProbePause(3);

}  // namespace

DatabaseProbe::DatabaseProbe(std::string_view module, List list, const sql::StopSignal& stop)
    : module_(module),
      list_(std::move(list)),
      stop_(stop),
      task_([this](const auto& go_on) { ask_all(go_on); }, [](auto) { return kProbePause; }) {}

void DatabaseProbe::ask_all(const std::function<bool()>& go_on) {
  std::vector<std::string> problems;
  for (const sql::Database* const database : list_()) {
    if (!go_on() || stop_.is_requested()) return;
    const auto answer = probes_.try_emplace(database, database->options()).first->second.ask();
    if (!answer)
      problems.push_back(
          fmt::format("{}: its database does not answer: {}", module_, answer.error().message));
  }
  std::lock_guard lock(mutex_);
  if (problems != problems_) {
    for (const std::string& problem : problems)
      log::warn("database does not answer", {{"problem", problem}});
    if (problems.empty()) log::info("database answers again", {{"module", module_}});
  }
  problems_ = std::move(problems);
}

std::vector<std::string> DatabaseProbe::problems() const {
  std::lock_guard lock(mutex_);
  return problems_;
}

}  // namespace coffer::node
