#include "api/readiness.h"

#include <algorithm>

#include "json/fields.h"

namespace coffer::api {
namespace {

Result<bool> follows_the_chain(const Status& status, std::string_view name) {
  if (std::ranges::find(status.consumers, name, &ConsumerStatus::name) != status.consumers.end())
    return true;
  for (const ModuleStatus& module : status.modules)
    if (module.name == name && module.json) return false;
  std::vector<std::string> names;
  names.reserve(status.consumers.size() + status.modules.size());
  for (const ConsumerStatus& consumer : status.consumers) names.push_back(consumer.name);
  for (const ModuleStatus& module : status.modules)
    if (module.json && std::ranges::find(names, module.name) == names.end())
      names.push_back(module.name);
  return fail(Code::kNotFound, "no consumer '{}' is running here; there are: {}", name,
              fmt::join(names, ", "));
}

}  // namespace

Result<Readiness> readiness_of(const Status& status, std::optional<std::string_view> consumer) {
  const bool with_chain = consumer ? TRY(follows_the_chain(status, *consumer)) : true;
  Readiness found{status.ready, "ready", status.not_ready_because};
  bool answers = true;
  if (consumer) found = {true, "ready", {}};
  for (const NotReady& one : status.not_ready) {
    const bool counts =
        !consumer || (one.consumer.empty() ? with_chain : one.consumer == *consumer);
    if (!counts) continue;
    answers = answers && one.answers;
    if (!consumer) continue;
    found.ready = false;
    found.reasons.push_back(one.reason);
  }
  if (!found.ready) found.state = answers ? "stale" : "unavailable";
  return found;
}

std::string readiness_json(const Status& status, const Readiness& readiness) {
  json::FieldsWriter writer;
  json::Writer& out = writer.out;
  out.begin_object().field("ready", readiness.ready).field("state", readiness.state);
  out.key("reasons");
  writer.write(readiness.reasons);
  out.key("halted").begin_array();
  for (const ConsumerStatus& consumer : status.consumers) {
    if (consumer.state != "halted") continue;
    out.begin_object().field("name", consumer.name).field("problem", consumer.problem);
    out.field("repair", consumer.repair).end_object();
  }
  out.end_array().end_object();
  return out.take();
}

}  // namespace coffer::api
