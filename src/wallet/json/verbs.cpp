#include "wallet/json/verbs.h"

#include <coffer/chain/address.h>
#include "api/input.h"
#include "base/file.h"
#include "base/result.h"
#include "wallet/json/input.h"

namespace coffer::wallet {
namespace {

using namespace json::schema;
namespace kind = node::kind;
using node::required;
using node::typed;
using node::ValueKind;
using node::Verb;

constexpr std::uint64_t kMaxRawText = 16u << 20;  // a block's worth of hex
constexpr cli::Range kHeights = {0, kMaxHeight};
constexpr cli::Range kIndexes = {0, 0x7fffffff};  // of a descriptor, or in a block

ValueKind<LockId> lock_id() {
  return kind::parsed<LockId>(parse_lock_id, kHash, "HEX");
}

// The wallet has Bitcoin's outputs only, which are written alike on all of its networks.
const chain::Network& network_of_outputs() {
  static const chain::Network network = chain::find_network("bitcoin", "mainnet").value();
  return network;
}

Result<chain::Outpoint> outpoint_of(const json::Value& item) {
  const auto at = TRY(json::ObjectReader::of(item, {"tx_hash", "output_index"}));
  const std::string tx = TRY(at.text("tx_hash"));
  const auto index = TRY(at.whole_if("output_index", 0, 0xffffffff));
  if (!index) return fail(Code::kInvalidInput, "output_index: missing");
  return api::parse_outpoint(network_of_outputs(), tx, std::to_string(*index));
}

// [{"tx_hash": …, "output_index": …}, …] in a body, TX#INDEX on the command line.
ValueKind<std::vector<chain::Outpoint>> outpoints() {
  using Outpoints = std::vector<chain::Outpoint>;
  constexpr const char* kElement = R"({"tx_hash": "…", "output_index": 0})";
  const std::string at =
      object_of({{"tx_hash", kHash}, {"output_index", kWhole}}, {"tx_hash", "output_index"}, true);
  ValueKind<Outpoints> kind{list_of(at), fmt::format("a list of {}", kElement), {}, {}, {}};
  kind.option.kind = cli::Kind::kList;
  kind.from_body = [](const json::ObjectReader& body,
                      std::string_view name) -> Result<std::optional<Outpoints>> {
    if (!body.find(name)) return std::nullopt;
    Outpoints found;
    for (const json::Value& item : TRY(body.list(name, kElement, kMaxLeasedAtOnce)))
      found.push_back(TRY_IN(fmt::format("{}[{}]", name, found.size()), outpoint_of(item)));
    return found;
  };
  kind.from_words = [](const cli::Words& words) -> Result<Outpoints> {
    Outpoints found;
    for (const std::string& word : words)
      found.push_back(TRY(cli::as_usage_error(api::parse_outpoint(network_of_outputs(), word))));
    return found;
  };
  return kind;
}

// Hex; on the command line also @FILE, or - for standard input. What a file holds is data; what was
// typed is usage.
ValueKind<Bytes> raw_transaction() {
  auto kind = kind::parsed<Bytes>(parse_raw_tx, kHex);
  kind.from_words = [](const cli::Words& words) -> Result<Bytes> {
    const std::string& given = words.back();
    if (given != "-" && !given.starts_with("@")) return cli::as_usage_error(parse_raw_tx(given));
    const Bytes text = TRY(given == "-" ? read_standard_input(kMaxRawText)
                                        : read_file_or_pipe(given.substr(1), kMaxRawText));
    return parse_raw_tx(as_text(text));
  };
  return kind;
}

ValueKind<TxStatus> recorded_status() {
  auto kind = kind::parsed<TxStatus>(
      [](std::string_view text) -> Result<TxStatus> {
        return TRY_IN("status", parse_status(text));
      },
      R"({"type":"string","enum":["pending","published"],"default":"published"})", "STATUS");
  kind.option.choices = {"pending", "published"};
  return kind;
}

Verb<Store::NewWallet> create_verb() {
  using R = Store::NewWallet;
  return Verb<R>{"NewWallet"}
      .add("name", kind::text(), &R::name, required("name", "Up to 100 characters"))
      .add("birthday_height", kind::whole(kHeights), &R::birthday_height,
           typed("--birthday", "Look at no block before this height", "HEIGHT"))
      .add("gap_limit", kind::whole({1, 100'000}), &R::gap_limit,  // as the table says
           typed("--gap-limit", "Watch so many unused addresses ahead"));
}

// The account that an import belongs to, and whether it is for change.
template <typename R>
Verb<R> with_account(Verb<R> verb) {
  return verb
      .add("account", kind::text(), &R::account,
           typed("--account", "The account that it belongs to", "NAME", R().account))
      .add("internal", kind::flag(), &R::internal, typed("--internal", "It is for change"));
}

Verb<ImportDescriptor> import_descriptor_verb() {
  using R = ImportDescriptor;
  return with_account(
             Verb<R>{"ImportDescriptor"}.add(
                 "descriptor", kind::text(), &R::descriptor,
                 required("descriptor", "Public keys only; a checksum is checked if it is there")))
      .add("next_index", kind::whole(kIndexes), &R::next_index,
           typed("--next-index", "The first index that was not given out yet"))
      .add("watch_to", kind::whole(kIndexes), &R::watch_to,
           typed("--watch-to", "Watch at least so many scripts, whatever the gap limit says"));
}

Verb<ImportScripts> import_scripts_verb() {
  using R = ImportScripts;
  Verb<R> verb{.schema = "ImportScript", .one_of = {{"address", "script"}}};
  verb.add("address", kind::texts(), &R::addresses, typed("address", "One or more addresses"))
      .add("script", kind::texts(kHex), &R::scripts,
           typed("script", "One or more scripts, in hex"));
  return with_account(std::move(verb));
}

Verb<NewAddress> new_address_verb() {
  using R = NewAddress;
  return Verb<R>{"NewAddress"}
      .add("account", kind::text(), &R::account,
           typed("--account", "Of this account", "NAME", R().account))
      .add("internal", kind::flag(), &R::internal, typed("--change", "An address for change"));
}

Result<> put_block_together(RecordTransaction& record) {
  if (!record.height && !record.block_index && !record.block_hash) return {};
  if (!record.height || !record.block_index || !record.block_hash)
    return fail(Code::kInvalidInput,
                "a block is named by its height, its hash and the transaction's index in it: give "
                "all three or none");
  record.block =
      BlockRef{*record.height, *record.block_hash, record.block_time_s, *record.block_index};
  return {};
}

Verb<RecordTransaction> record_verb() {
  using R = RecordTransaction;
  const auto hash = [](std::string_view text) { return parse_hash("block", text); };
  return Verb<R>{.schema = "RecordTransaction", .check = put_block_together}
      .add("raw", raw_transaction(), &R::raw,
           required("transaction", "Hex, @FILE, or - for standard input"))
      .add("status", recorded_status(), &R::status,
           typed("--status", "pending (not broadcast yet) or published (default: published)"))
      .add("height", kind::whole(kHeights), &R::height,
           typed("--height", "Confirmed in the block of this height"))
      .add("block_hash", kind::parsed<Hash256>(hash, kHash, "HASH"), &R::block_hash,
           typed("--block", "The block's hash"))
      .add("block_index", kind::whole(kIndexes), &R::block_index,
           typed("--index", "The transaction's place in it, from 0"))
      .add("block_time", kind::whole({0, 1ull << 40}), &R::block_time_s,
           typed("--time", "The block's time, in seconds since 1970", "SECONDS"))
      .add("bump", kind::flag(), &R::bump,
           typed("--bump", "Pending: it may spend what an unconfirmed transaction spends"))
      .add("lock_id", lock_id(), &R::lock_id,
           typed("--lock-id", "Pending: it may spend coins leased under this lock id"))
      .add("force", kind::flag(), &R::force,
           typed("--force", "Pending: it may spend leased coins and immature coinbase outputs"));
}

template <typename R>
Verb<R> with_coins(Verb<R> verb) {
  return verb.add("coins", outpoints(), &R::coins,
                  {.name = "output",
                   .help = "TX#INDEX, one or more; all of them or none",
                   .required = verb.one_of.fields.empty()});
}
template <typename R>
Verb<R> with_lock_id(Verb<R> verb) {
  return verb.add("lock_id", lock_id(), &R::lock_id,
                  required("--lock-id", "Who holds them: 32 bytes of your choice"));
}
template <typename R>
Verb<R> with_duration(Verb<R> verb, const char* help = "How long: 30s, 10m, 2h, 1d") {
  return verb.add("duration_ms", kind::duration({1, std::uint64_t{kMaxLeaseMs}}), &R::duration_ms,
                  required("--for", help));
}

Verb<LeaseSelection> select_verb() {
  using R = LeaseSelection;
  const std::string orders = R"({"type":"string","enum":["oldest","newest","largest","smallest"]})";
  const auto amount = kind::parsed<std::uint64_t>(parse_payment, kAmount);
  return with_duration(
             with_lock_id(Verb<R>{"SelectCoins"}.add(
                 "amount", amount, &R::amount,
                 required("amount", "In satoshi; coins that the lock id holds already count"))))
      .add("order", kind::parsed<CoinOrder>(parse_order, orders, "ORDER"), &R::order,
           typed("--order", "largest, smallest, oldest or newest first", "", "largest"))
      .add("account", kind::text(), &R::account, typed("--account", "Only of this account", "NAME"))
      .add("chain_pending", kind::flag(), &R::chain_pending,
           typed("--chain-pending", "Unconfirmed and pending ones as well"));
}

Verb<ReleaseCoins> release_verb() {
  using R = ReleaseCoins;
  Verb<R> verb{
      .schema = "ReleaseCoins",
      .one_of = {{"coins", "all"}, "name the outputs to release, or give --all; not both"}};
  return with_lock_id(with_coins(std::move(verb)))
      .add("all", kind::flag(), &R::all,
           typed("--all", "Everything that this lock id holds in the wallet"));
}

Verb<SetLabel> label_verb() {
  using R = SetLabel;
  const std::string kinds = R"({"type":"string","enum":["tx","address","output"]})";
  return Verb<R>{"Label"}
      .add("kind", kind::text(kinds), &R::kind, required("kind", "tx, address or output"))
      .add("ref", kind::text(), &R::ref, required("ref", "A txid, an address, or TX#INDEX"))
      .add("label", kind::text(), &R::label,
           required("text", "The label; an empty one removes it"));
}

Verb<PruneOptions> prune_verb() {
  using R = PruneOptions;
  return Verb<R>{"PruneWallet"}
      .add("dry_run", kind::flag(), &R::dry_run,
           typed("--dry-run", "Only print what would be deleted"))
      .add("invalid_older_than_ms", kind::duration({0, 1ull << 50}), &R::invalid_older_than_ms,
           typed("--invalid-older-than",
                 "Also delete replaced, failed and orphaned ones of this age"))
      // Cannot be typed: the command goes on until nothing is left.
      .add("limit", kind::whole({1, 100'000}), &R::limit);
}

Verb<Rescan> rescan_verb() {
  return Verb<Rescan>{"Rescan"}.add(
      "from_height", kind::whole(kHeights), &Rescan::from_height,
      typed("--from", "The first height (default: the wallet's birthday)", "HEIGHT"));
}

}  // namespace

const Verbs& verbs() {
  static const Verbs all = {
      .create = create_verb(),
      .import_descriptor = import_descriptor_verb(),
      .import_scripts = import_scripts_verb(),
      .new_address = new_address_verb(),
      .record = record_verb(),
      .lease = with_duration(with_lock_id(with_coins(Verb<LeaseRequest>{"LeaseCoins"}))),
      .renew = with_duration(with_lock_id(with_coins(Verb<LeaseRequest>{"LeaseCoins"})),
                             "How long from now: 30s, 10m, 2h, 1d"),
      .select = select_verb(),
      .release = release_verb(),
      .label = label_verb(),
      .prune = prune_verb(),
      .rescan = rescan_verb(),
  };
  return all;
}

Result<std::vector<Bytes>> parse_scripts(const chain::Network& network,
                                         const ImportScripts& import) {
  std::vector<Bytes> scripts;
  scripts.reserve(import.addresses.size() + import.scripts.size());
  for (const std::string& text : import.addresses)
    scripts.push_back(TRY_IN(fmt::format("address '{}'", std::string_view(text).substr(0, 100)),
                             chain::parse_address(network, text)));
  for (const std::string& text : import.scripts) scripts.push_back(TRY(parse_script(text)));
  return scripts;
}

}  // namespace coffer::wallet
