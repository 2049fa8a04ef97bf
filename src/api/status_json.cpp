#include "api/status_json.h"

#include "json/reader.h"
#include "json/writer.h"

namespace coffer::api {
namespace {

// Each struct names its fields once; writing, reading and the schema go over the same list.
template <typename Visitor>
void visit(Visitor& v, auto& tip)
  requires std::same_as<std::remove_cvref_t<decltype(tip)>, TipStatus>
{
  v("ordinal", tip.ordinal);
  v("number", tip.number);
  v("slot", tip.slot);
  v("hash", tip.hash);
  v("time_unix_s", tip.time_unix_s);
}

template <typename Visitor>
void visit(Visitor& v, auto& consumer)
  requires std::same_as<std::remove_cvref_t<decltype(consumer)>, ConsumerStatus>
{
  v("name", consumer.name);
  v("state", consumer.state);
  v("tip", consumer.tip);
  v("behind", consumer.behind);
  v("problem", consumer.problem);
  v("repair", consumer.repair);
}

template <typename Visitor>
void visit(Visitor& v, auto& totals)
  requires std::same_as<std::remove_cvref_t<decltype(totals)>, TotalsStatus>
{
  v("blocks", totals.blocks);
  v("transactions", totals.transactions);
  v("invalid_transactions", totals.invalid_transactions);
  v("inputs", totals.inputs);
  v("outputs", totals.outputs);
  v("bytes", totals.bytes);
  v("rollbacks", totals.rollbacks);
  v("digest", totals.digest);
}

template <typename Visitor>
void visit(Visitor& v, auto& utxo)
  requires std::same_as<std::remove_cvref_t<decltype(utxo)>, UtxoStatus>
{
  v("store", utxo.store);
  v("unspent", utxo.unspent);
  v("coin", utxo.coin);
  v("unit", utxo.unit);
  v("addresses", utxo.addresses);
  v("rollback_blocks", utxo.rollback_blocks);
  v("missing_inputs", utxo.missing_inputs);
}

template <typename Visitor>
void visit(Visitor& v, auto& wallet)
  requires std::same_as<std::remove_cvref_t<decltype(wallet)>, WalletStatus>
{
  v("wallets", wallet.wallets);
  v("tip_height", wallet.tip_height);
  v("problem", wallet.problem);
}

template <typename Visitor>
void visit(Visitor& v, auto& status)
  requires std::same_as<std::remove_cvref_t<decltype(status)>, Status>
{
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
  v("consumers", status.consumers);
  v("totals", status.totals);
  v("utxo", status.utxo);
  v("wallet", status.wallet);
  v("mempool_transactions", status.mempool_transactions);
  v("disk_bytes", status.disk_bytes);
}

template <typename T>
concept Scalar = std::integral<T> || std::same_as<T, std::string>;

struct Writer {
  json::Writer out;

  template <typename T>
  void operator()(std::string_view key, const T& value) {
    out.key(key);
    write(value);
  }
  template <Scalar T>
  void write(const T& value) {
    out.value(value);
  }
  template <typename T>
  void write(const std::optional<T>& value) {
    if (value)
      write(*value);
    else
      out.null();
  }
  template <typename T>
  void write(const std::vector<T>& values) {
    out.begin_array();
    for (const T& value : values) write(value);
    out.end_array();
  }
  template <typename T>
    requires(!Scalar<T>)
  void write(const T& object) {
    out.begin_object();
    visit(*this, object);
    out.end_object();
  }
};

// Stops at the first field that is missing or of another type, and names it in `fault`.
struct Reader {
  json::Value object;
  std::string& fault;

  template <typename T>
  void operator()(std::string_view key, T& value) {
    if (!fault.empty()) return;
    const auto found = object.find(key);
    if (!found)
      fault = fmt::format("{} is missing", key);
    else if (!read(*found, value) && fault.empty())
      fault = fmt::format("{} is of another type", key);
  }
  bool read(const json::Value& from, std::string& to) { return take(from.string(), to); }
  bool read(const json::Value& from, bool& to) { return take(from.boolean(), to); }
  template <std::signed_integral T>
  bool read(const json::Value& from, T& to) {
    return take(from.int64(), to);
  }
  template <std::unsigned_integral T>
  bool read(const json::Value& from, T& to) {
    return take(from.uint64(), to);
  }
  template <typename T>
  bool read(const json::Value& from, std::optional<T>& to) {
    to.reset();
    return from.is_null() || read(from, to.emplace());
  }
  template <typename T>
  bool read(const json::Value& from, std::vector<T>& to) {
    if (!from.is_array()) return false;
    for (const json::Value& item : from.elements())
      if (!read(item, to.emplace_back())) return false;
    return true;
  }
  template <typename T>
    requires(!Scalar<T>)
  bool read(const json::Value& from, T& to) {
    if (!from.is_object()) return false;
    Reader inner{from, fault};
    visit(inner, to);
    return fault.empty();
  }

  template <typename From, typename T>
  static bool take(std::optional<From> from, T& to) {
    if (!from) return false;
    if constexpr (std::integral<T> && !std::same_as<T, bool>)
      if (!std::in_range<T>(*from)) return false;
    to = static_cast<T>(*std::move(from));
    return true;
  }
};

struct SchemaWriter {
  json::Writer out;
  std::vector<std::string> names;

  template <typename T>
  void operator()(std::string_view key, const T& value) {
    names.emplace_back(key);
    out.key(key);
    describe(value);
  }
  void describe(const std::string&) { out.raw(R"({"type":"string"})"); }
  void describe(bool) { out.raw(R"({"type":"boolean"})"); }
  template <std::integral T>
  void describe(T) {
    out.raw(R"({"type":"integer","format":"int64"})");
  }
  template <typename T>
  void describe(const std::optional<T>&) {
    out.begin_object().key("oneOf").begin_array();
    describe(T{});
    out.raw(R"({"type":"null"})").end_array().end_object();
  }
  template <typename T>
  void describe(const std::vector<T>&) {
    out.begin_object().field("type", "array").key("items");
    describe(T{});
    out.end_object();
  }
  void describe(const TipStatus&) { refer("Tip"); }
  void describe(const ConsumerStatus&) { refer("Consumer"); }
  void describe(const TotalsStatus&) { refer("Totals"); }
  void describe(const UtxoStatus&) { refer("UtxoStatus"); }
  void describe(const WalletStatus&) { refer("WalletStatus"); }
  void refer(std::string_view schema) {
    out.raw(fmt::format(R"({{"$ref":"#/components/schemas/{}"}})", schema));
  }
};

template <typename T>
std::string schema_of() {
  SchemaWriter writer;
  writer.out.begin_object().field("type", "object").key("properties").begin_object();
  T empty;
  visit(writer, empty);
  writer.out.end_object().key("required").begin_array();
  for (const std::string& required : writer.names) writer.out.value(required);
  writer.out.end_array().end_object();
  return writer.out.take();
}

}  // namespace

std::string to_json(const Status& status) {
  Writer writer;
  writer.write(status);
  return writer.out.take();
}

Result<Status> parse_status(std::string_view text) {
  const auto value = json::parse(text);
  if (!value) return fail(Code::kCorrupt, "not a status of Coffer: {}", value.error().message);
  Status status;
  std::string fault;
  if (!Reader{*value, fault}.read(*value, status))
    return fail(Code::kCorrupt, "not a status of Coffer: {}", fault.empty() ? "no object" : fault);
  return status;
}

std::string readiness_json(const Status& status) {
  Writer writer;
  json::Writer& out = writer.out;
  out.begin_object().field("ready", status.ready).key("reasons");
  writer.write(status.not_ready_because);
  out.key("halted").begin_array();
  for (const ConsumerStatus& consumer : status.consumers) {
    if (consumer.state != "halted") continue;
    out.begin_object().field("name", consumer.name).field("problem", consumer.problem);
    out.field("repair", consumer.repair).end_object();
  }
  out.end_array().end_object();
  return out.take();
}

void add_status_schemas(RouteTable& table) {
  table.add_schema("Tip", schema_of<TipStatus>());
  table.add_schema("Consumer", schema_of<ConsumerStatus>());
  table.add_schema("Totals", schema_of<TotalsStatus>());
  table.add_schema("UtxoStatus", schema_of<UtxoStatus>());
  table.add_schema("WalletStatus", schema_of<WalletStatus>());
  table.add_schema("Status", schema_of<Status>());
  table.add_schema(
      "Readiness",
      R"({"type":"object","required":["ready","reasons","halted"],"properties":{"ready":{"type":)"
      R"("boolean"},"reasons":{"type":"array","items":{"type":"string"}},"halted":{"type":"array",)"
      R"("items":{"type":"object","required":["name","problem","repair"],"properties":{"name":)"
      R"({"type":"string"},"problem":{"type":"string"},"repair":{"type":"string"}}}}}})");
  table.add_schema("Live",
                   R"({"type":"object","required":["live"],"properties":{"live":{"const":true}}})");
}

}  // namespace coffer::api
