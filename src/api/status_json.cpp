#include "api/status_json.h"

#include <algorithm>
#include <cctype>

#include "base/result.h"
#include "json/fields.h"

namespace coffer::api {

// Each struct names its fields once; writing, reading and the schema go over the same list.
template <typename Visitor, json::FieldsOf<TipStatus> T>
void visit_fields(Visitor& v, T& tip) {
  v("ordinal", tip.ordinal);
  v("number", tip.number);
  v("slot", tip.slot);
  v("hash", tip.hash);
  v("time_unix_s", tip.time_unix_s);
}

template <typename Visitor, json::FieldsOf<ConsumerStatus> T>
void visit_fields(Visitor& v, T& consumer) {
  v("name", consumer.name);
  v("state", consumer.state);
  v("tip", consumer.tip);
  v("behind", consumer.behind);
  v("problem", consumer.problem);
  v("repair", consumer.repair);
}

template <typename Visitor, json::FieldsOf<NotReady> T>
void visit_fields(Visitor& v, T& not_ready) {
  v("consumer", not_ready.consumer);
  v("reason", not_ready.reason);
  v("answers", not_ready.answers);
}

template <typename Visitor, json::FieldsOf<TotalsStatus> T>
void visit_fields(Visitor& v, T& totals) {
  v("blocks", totals.blocks);
  v("transactions", totals.transactions);
  v("invalid_transactions", totals.invalid_transactions);
  v("inputs", totals.inputs);
  v("outputs", totals.outputs);
  v("bytes", totals.bytes);
  v("rollbacks", totals.rollbacks);
  v("digest", totals.digest);
}

// A member for each engine, under its name.
void visit_modules(json::FieldsWriter& v, const std::vector<ModuleStatus>& modules) {
  for (const ModuleStatus& module : modules)
    v.out.key(module.name).raw(module.json.value_or("null"));
}
// parse_status() and add_status_schemas() know the rest.
void visit_modules(json::FieldsReader&, const std::vector<ModuleStatus>&) {}
void visit_modules(json::FieldNames&, const std::vector<ModuleStatus>&) {}
void visit_modules(json::FieldsSchema&, const std::vector<ModuleStatus>&) {}

template <typename Visitor, json::FieldsOf<Status> T>
void visit_fields(Visitor& v, T& status) {
  v("version", status.version);
  v("chain", status.chain);
  v("network", status.network);
  v("data_dir", status.data_dir);
  v("source", status.source);
  v("source_state", status.source_state);
  v("source_problem", status.source_problem);
  v("started_unix_ms", status.started_unix_ms);
  v("uptime_ms", status.uptime_ms);
  v("tip", status.tip);
  v("source_tip_number", status.source_tip_number);
  v("behind", status.behind);
  v("rollback_window", status.rollback_window);
  v("ready", status.ready);
  v("not_ready_because", status.not_ready_because);
  v("not_ready", status.not_ready);
  v("consumers", status.consumers);
  v("totals", status.totals);
  visit_modules(v, status.modules);
  v("mempool_transactions", status.mempool_transactions);
  v("disk_bytes", status.disk_bytes);
}

std::string to_json(const Status& status) {
  return json::write_fields(status);
}

Result<Status> parse_status(std::string_view text) {
  const auto value = json::parse(text);
  if (!value) return fail(Code::kCorrupt, "not a status of Coffer: {}", value.error().message);
  Status status = TRY_IN("not a status of Coffer", json::read_fields<Status>(*value));
  const std::vector<std::string> known = json::names_of_fields<Status>();
  for (const json::Member& member : value->members()) {
    if (std::ranges::find(known, member.name) != known.end()) continue;
    if (!member.value.is_object() && !member.value.is_null()) continue;
    ModuleStatus& module = status.modules.emplace_back();
    module.name = member.name;
    if (member.value.is_object()) module.json = member.value.serialize();
  }
  return status;
}

namespace {

// "utxo": "UtxoStatus".
std::string schema_name(const ModuleSchema& module) {
  std::string name = module.name + "Status";
  name[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(name[0])));
  return name;
}

}  // namespace

void add_status_schemas(RouteTable& table, const std::vector<ModuleSchema>& modules) {
  table.add_schema("Tip", json::schema_of_fields<TipStatus>());
  table.add_schema("Consumer", json::schema_of_fields<ConsumerStatus>());
  table.add_schema("NotReady", json::schema_of_fields<NotReady>());
  table.add_schema("Totals", json::schema_of_fields<TotalsStatus>());
  for (const ModuleSchema& module : modules) table.add_schema(schema_name(module), module.json);
  table.add_schema("Status", json::schema_of_fields<Status>([&](json::FieldsSchema& status) {
                     for (const ModuleSchema& module : modules) {
                       status.names.push_back(module.name);
                       status.out.key(module.name).begin_object().key("oneOf").begin_array();
                       status.refer(schema_name(module));
                       status.out.raw(R"({"type":"null"})").end_array().end_object();
                     }
                   }));
  table.add_schema(
      "Readiness",
      R"({"type":"object","required":["ready","state","reasons","halted"],"properties":{"ready":)"
      R"({"type":"boolean"},"state":{"enum":["ready","stale","unavailable"],"description":)"
      R"("stale: it answers, from data that may be old; unavailable: requests fail"},"reasons":{)"
      R"("type":"array","items":{"type":"string"}},"halted":{"type":"array","items":{"type":)"
      R"("object","required":["name","problem","repair"],"properties":{"name":{"type":"string"},)"
      R"("problem":{"type":"string"},"repair":{"type":"string"}}}}}})");
  table.add_schema("Live",
                   R"({"type":"object","required":["live"],"properties":{"live":{"const":true}}})");
}

}  // namespace coffer::api
