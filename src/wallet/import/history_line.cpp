#include "wallet/import/history_line.h"

#include <coffer/chain/address.h>
#include "base/result.h"
#include "json/reader.h"

namespace coffer::wallet {
namespace {

// The fields of a line; each is asked for once, and what nobody asked for is an error.
class Fields {
 public:
  explicit Fields(json::Value object) : object_(std::move(object)) {}

  bool has(std::string_view name) const { return object_.find(name).has_value(); }

  Result<std::optional<std::string>> text(std::string_view name) {
    const auto value = take(name);
    if (!value) return std::nullopt;
    auto text = value->string();
    if (!text) return wrong(name, "text");
    return text;
  }
  Result<std::string> needed(std::string_view name) {
    auto value = TRY(text(name));
    if (!value) return fail(Code::kInvalidInput, "'{}' is missing", name);
    return *std::move(value);
  }
  Result<std::optional<std::uint64_t>> number(std::string_view name, std::uint64_t max) {
    const auto value = take(name);
    if (!value) return std::nullopt;
    const auto number = value->uint64();
    if (!number || *number > max) return wrong(name, fmt::format("a number from 0 to {}", max));
    return number;
  }
  Result<bool> flag(std::string_view name) {
    const auto value = take(name);
    if (!value) return false;
    const auto flag = value->boolean();
    if (!flag) return wrong(name, "true or false");
    return *flag;
  }
  Result<> nothing_else() const {
    for (const json::Member& field : object_.members())
      if (std::find(taken_.begin(), taken_.end(), field.name) == taken_.end())
        return fail(Code::kInvalidInput, "'{}' does not belong here", field.name);
    return {};
  }

 private:
  std::optional<json::Value> take(std::string_view name) {
    taken_.push_back(name);
    return object_.find(name);
  }
  static std::unexpected<Error> wrong(std::string_view name, std::string_view expected) {
    return fail(Code::kInvalidInput, "'{}' must be {}", name, expected);
  }

  const json::Value object_;
  std::vector<std::string_view> taken_;
};

constexpr std::uint64_t kMaxHeight = 0x7fffffff;
constexpr std::uint64_t kMaxTime = 1ull << 40;  // seconds

Result<HistoryLine> header(const chain::Network& network, Fields& fields) {
  const auto version = TRY(fields.number("coffer_history", 1'000'000));
  const std::string chain = TRY(fields.needed("chain"));
  const std::string name = TRY(fields.needed("network"));
  if (version != 1)
    return fail(Code::kInvalidInput, "version {} of the format is not known; this program reads 1",
                version.value_or(0));
  if (chain != network.chain_name() || name != network.name)
    return fail(Code::kConflict, "the file is of {} {}, the wallets are of {} {}", chain, name,
                network.chain_name(), network.name);
  return HistoryHeader{};
}

Result<HistoryLine> transaction(Fields& fields) {
  HistoryTx tx;
  const std::string hex = TRY(fields.needed("tx"));
  tx.raw = TRY_IN("'tx'", from_hex(hex));
  const auto status = TRY(fields.text("status"));
  const auto height = TRY(fields.number("height", kMaxHeight));
  if (status) tx.options.status = TRY(parse_status(*status));
  if (!height) {
    if (tx.options.status == TxStatus::kPending) tx.options.force = true;
    return tx;
  }
  BlockRef block;
  block.height = *height;
  const std::string hash = TRY(fields.needed("block"));
  block.hash = TRY_IN("'block'", chain::parse_display(chain::Family::kBitcoin, hash));
  block.time_s = static_cast<std::int64_t>(TRY(fields.number("block_time", kMaxTime)).value_or(0));
  block.index = static_cast<std::uint32_t>(TRY(fields.number("index", 10'000'000)).value_or(0));
  tx.options.block = block;
  tx.options.status = TxStatus::kPublished;
  return tx;
}

Result<ImportOptions> import_options(Fields& fields) {
  ImportOptions options;
  if (auto account = TRY(fields.text("account"))) options.account = *std::move(account);
  options.internal = TRY(fields.flag("internal"));
  if (const auto next = TRY(fields.number("next_index", 0x7fffffff)))
    options.next_index = static_cast<std::uint32_t>(*next);
  return options;
}

Result<HistoryLine> lease(Fields& fields) {
  HistoryLease lease;
  const std::string outpoint = TRY(fields.needed("lease"));
  const std::size_t mark = outpoint.find('#');
  if (mark == std::string::npos) return fail(Code::kInvalidInput, "'lease' must be TXID#INDEX");
  chain::Outpoint coin;
  coin.tx = TRY_IN("'lease'", chain::parse_display(chain::Family::kBitcoin,
                                                   std::string_view(outpoint).substr(0, mark)));
  const std::string index = outpoint.substr(mark + 1);
  if (index.empty() || index.size() > 9 ||
      index.find_first_not_of("0123456789") != std::string::npos)
    return fail(Code::kInvalidInput, "'lease' must be TXID#INDEX");
  coin.index = static_cast<std::uint32_t>(std::stoul(index));
  lease.request.coins = {coin};
  const std::string lock = TRY(fields.needed("lock_id"));
  const Bytes bytes = TRY_IN("'lock_id'", from_hex(lock));
  lease.request.lock_id = TRY_IN("'lock_id'", LockId::from_view(bytes));
  const auto duration = TRY(fields.number("for_ms", kMaxLeaseMs));
  lease.request.duration_ms = static_cast<std::int64_t>(duration.value_or(0));
  return lease;
}

Result<HistoryLine> parse_fields(const chain::Network& network, Fields& fields) {
  if (fields.has("coffer_history")) return header(network, fields);
  if (fields.has("tx")) return transaction(fields);
  if (fields.has("descriptor")) {
    HistoryDescriptor line;
    line.text = TRY(fields.needed("descriptor"));
    line.options = TRY(import_options(fields));
    return line;
  }
  if (fields.has("script") || fields.has("address")) {
    HistoryScript line;
    if (const auto hex = TRY(fields.text("script"))) {
      line.script = TRY_IN("'script'", from_hex(*hex));
    } else {
      const std::string address = TRY(fields.needed("address"));
      line.script = TRY_IN("'address'", chain::parse_address(network, address));
    }
    line.options = TRY(import_options(fields));
    return line;
  }
  if (fields.has("lease")) return lease(fields);
  if (fields.has("label")) {
    HistoryLabel line;
    line.label = TRY(fields.needed("label"));
    const std::string kind = TRY(fields.needed("kind"));
    const std::string ref = TRY(fields.needed("ref"));
    line.target = TRY(parse_label_target(network, kind, ref));
    return line;
  }
  return fail(
      Code::kInvalidInput,
      "the line has none of: coffer_history, descriptor, address, script, tx, lease, label");
}

}  // namespace

Result<HistoryLine> parse_history_line(const chain::Network& network, std::string_view text) {
  json::Value document = TRY(json::parse(text, {.max_depth = 2}));
  if (!document.is_object()) return fail(Code::kInvalidInput, "not an object of JSON");
  Fields fields(std::move(document));
  HistoryLine line = TRY(parse_fields(network, fields));
  TRY(fields.nothing_else());
  return line;
}

}  // namespace coffer::wallet
