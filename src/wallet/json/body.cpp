#include "wallet/json/body.h"

#include <coffer/chain/address.h>
#include "api/input.h"
#include "base/result.h"
#include "json/reader.h"
#include "wallet/json/input.h"

namespace coffer::wallet {
namespace {

constexpr std::uint64_t kMaxIndex = 0x7fffffff;  // of a descriptor, or in a block
constexpr std::uint64_t kMaxGapLimit = 100'000;  // as the table says
constexpr std::uint64_t kMaxTime = 1ull << 40;

Result<std::optional<std::uint32_t>> index_if(const json::ObjectReader& body,
                                              std::string_view name) {
  const auto number = TRY(body.whole_if(name, 0, kMaxIndex));
  if (!number) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

Result<wallet::LockId> lock_id(const json::ObjectReader& body) {
  const std::string text = TRY(body.text("lock_id"));
  return parse_lock_id(text);
}

Result<std::int64_t> duration_ms(const json::ObjectReader& body) {
  const auto duration = TRY(body.whole_if("duration_ms", 1, wallet::kMaxLeaseMs));
  if (!duration) return fail(Code::kInvalidInput, "duration_ms: missing; how long to lease");
  return static_cast<std::int64_t>(*duration);
}

// [{"tx_hash": …, "output_index": …}, …]
Result<std::vector<chain::Outpoint>> outpoints(const chain::Network& network,
                                               const json::ObjectReader& body,
                                               std::string_view name) {
  const auto items =
      TRY(body.list(name, R"({"tx_hash": "…", "output_index": 0})", wallet::kMaxLeasedAtOnce));
  std::vector<chain::Outpoint> found;
  for (const json::Value& item : items) {
    const auto one = [&]() -> Result<chain::Outpoint> {
      const auto at = TRY(json::ObjectReader::of(item, {"tx_hash", "output_index"}));
      const std::string tx = TRY(at.text("tx_hash"));
      const auto index = TRY(at.whole_if("output_index", 0, 0xffffffff));
      if (!index) return fail(Code::kInvalidInput, "output_index: missing");
      return api::parse_outpoint(network, tx, std::to_string(*index));
    };
    found.push_back(TRY_IN(fmt::format("{}[{}]", name, found.size()), one()));
  }
  return found;
}

}  // namespace

Result<wallet::Store::NewWallet> parse_new_wallet(std::string_view text) {
  const auto body = TRY(json::ObjectReader::parse(text, {"name", "birthday_height", "gap_limit"}));
  wallet::Store::NewWallet wallet;
  wallet.name = TRY(body.text("name"));
  const auto birthday = TRY(body.whole_if("birthday_height", 0, kMaxHeight));
  wallet.birthday_height = birthday.value_or(0);
  if (const auto gap = TRY(body.whole_if("gap_limit", 1, kMaxGapLimit)))
    wallet.gap_limit = static_cast<std::uint32_t>(*gap);
  return wallet;
}

Result<DescriptorBody> parse_descriptor_body(std::string_view text) {
  const auto body = TRY(json::ObjectReader::parse(
      text, {"descriptor", "account", "internal", "next_index", "watch_to"}));
  DescriptorBody import;
  import.text = TRY(body.text("descriptor"));
  auto account = TRY(body.text_if("account"));
  if (account) import.options.account = *std::move(account);
  import.options.internal = TRY(body.flag("internal"));
  import.options.next_index = TRY(index_if(body, "next_index"));
  import.options.watch_to = TRY(index_if(body, "watch_to"));
  return import;
}

Result<ScriptBody> parse_script_body(const chain::Network& network, std::string_view text) {
  const auto body =
      TRY(json::ObjectReader::parse(text, {"address", "script", "account", "internal"}));
  const auto address = TRY(body.text_if("address"));
  const auto script = TRY(body.text_if("script"));
  if (address.has_value() == script.has_value())
    return fail(Code::kInvalidInput, "address or script: give one of them");
  ScriptBody import;
  import.script = address ? TRY_IN("address", chain::parse_address(network, *address))
                          : TRY(parse_script(*script));
  auto account = TRY(body.text_if("account"));
  if (account) import.options.account = *std::move(account);
  import.options.internal = TRY(body.flag("internal"));
  return import;
}

Result<AddressBody> parse_address_body(std::string_view text) {
  const auto body = TRY(json::ObjectReader::parse(text, {"account", "internal"}));
  AddressBody wanted;
  auto account = TRY(body.text_if("account"));
  if (account) wanted.account = *std::move(account);
  wanted.internal = TRY(body.flag("internal"));
  return wanted;
}

Result<std::optional<wallet::BlockRef>> block_of(const BlockParts& parts) {
  if (!parts.height && !parts.index && !parts.hash) return std::nullopt;
  if (!parts.height || !parts.index || !parts.hash)
    return fail(Code::kInvalidInput,
                "a block is named by its height, its hash and the transaction's index in it: give "
                "all three or none");
  wallet::BlockRef block;
  block.height = *parts.height;
  block.hash = TRY(parse_hash("block", *parts.hash));
  block.index = static_cast<std::uint32_t>(*parts.index);
  block.time_s = parts.time_s;
  return block;
}

Result<RecordBody> parse_record_body(std::string_view text) {
  const auto body =
      TRY(json::ObjectReader::parse(text, {"raw", "status", "height", "block_hash", "block_index",
                                           "block_time", "bump", "lock_id", "force"}));
  RecordBody record;
  const std::string raw = TRY(body.text("raw"));
  record.raw = TRY(parse_raw_tx(raw));
  if (const auto status = TRY(body.text_if("status")))
    record.options.status = TRY_IN("status", wallet::parse_status(*status));
  BlockParts parts;
  parts.height = TRY(body.whole_if("height", 0, kMaxHeight));
  parts.hash = TRY(body.text_if("block_hash"));
  parts.index = TRY(body.whole_if("block_index", 0, kMaxIndex));
  const auto time = TRY(body.whole_if("block_time", 0, kMaxTime));
  parts.time_s = static_cast<std::int64_t>(time.value_or(0));
  record.options.block = TRY(block_of(parts));
  record.options.bump = TRY(body.flag("bump"));
  if (const auto id = TRY(body.text_if("lock_id")))
    record.options.lock_id = TRY(parse_lock_id(*id));
  record.options.force = TRY(body.flag("force"));
  return record;
}

Result<wallet::LeaseRequest> parse_lease_body(const chain::Network& network,
                                              std::string_view text) {
  const auto body = TRY(json::ObjectReader::parse(text, {"coins", "lock_id", "duration_ms"}));
  wallet::LeaseRequest request;
  request.coins = TRY(outpoints(network, body, "coins"));
  request.lock_id = TRY(lock_id(body));
  request.duration_ms = TRY(duration_ms(body));
  return request;
}

Result<wallet::LeaseSelection> parse_selection_body(std::string_view text) {
  const auto body = TRY(json::ObjectReader::parse(
      text, {"amount", "lock_id", "duration_ms", "account", "order", "chain_pending"}));
  wallet::LeaseSelection selection;
  const std::string amount = TRY(body.text("amount"));
  selection.amount = TRY(parse_payment(amount));
  selection.lock_id = TRY(lock_id(body));
  selection.duration_ms = TRY(duration_ms(body));
  selection.account = TRY(body.text_if("account"));
  if (const auto order = TRY(body.text_if("order"))) selection.order = TRY(parse_order(*order));
  selection.chain_pending = TRY(body.flag("chain_pending"));
  return selection;
}

Result<ReleaseBody> parse_release_body(const chain::Network& network, std::string_view text) {
  const auto body = TRY(json::ObjectReader::parse(text, {"coins", "all", "lock_id"}));
  ReleaseBody release;
  release.lock_id = TRY(lock_id(body));
  release.all = TRY(body.flag("all"));
  if (release.all && body.find("coins"))
    return fail(Code::kInvalidInput, "coins and all: give one of them");
  if (!release.all) release.coins = TRY(outpoints(network, body, "coins"));
  return release;
}

Result<LabelBody> parse_label_body(const chain::Network& network, std::string_view text) {
  const auto body = TRY(json::ObjectReader::parse(text, {"kind", "ref", "label"}));
  const std::string kind = TRY(body.text("kind"));
  const std::string ref = TRY(body.text("ref"));
  LabelTarget target = TRY(parse_label_target(network, kind, ref));
  return LabelBody{std::move(target.kind), std::move(target.ref), TRY(body.text("label"))};
}

Result<wallet::PruneOptions> parse_prune_body(std::string_view text) {
  const auto body =
      TRY(json::ObjectReader::parse(text, {"dry_run", "invalid_older_than_ms", "limit"}));
  constexpr std::uint64_t kLongest = 1ull << 50;
  wallet::PruneOptions options;
  options.dry_run = TRY(body.flag("dry_run"));
  if (const auto age = TRY(body.whole_if("invalid_older_than_ms", 0, kLongest)))
    options.invalid_older_than_ms = static_cast<std::int64_t>(*age);
  const auto limit = TRY(body.whole_if("limit", 1, 100'000));
  options.limit = limit.value_or(options.limit);
  return options;
}

Result<std::optional<std::uint64_t>> parse_rescan_body(std::string_view text) {
  const auto body = TRY(json::ObjectReader::parse(text, {"from_height"}));
  return body.whole_if("from_height", 0, 0x7fffffff);
}

Result<> parse_no_body(std::string_view text) {
  (void)TRY(json::ObjectReader::parse(text, {}));
  return {};
}

}  // namespace coffer::wallet
