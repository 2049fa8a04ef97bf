// The commands that look into the UTXO state.
#include <cstdio>

#include "api/input.h"
#include "base/result.h"
#include "cli/output.h"
#include "json/writer.h"
#include "utxo/commands/commands.h"
#include "utxo/commands/reader.h"
#include "utxo/commands/view.h"
#include "utxo/json/input.h"
#include "utxo/json/output.h"

namespace coffer::utxo {
namespace {

std::string stats_json(const UtxoReader& reader, const utxo::Stats& stats) {
  json::Writer out;
  out.begin_object().field("store", utxo::to_string(stats.store));
  out.field("unspent", stats.unspent);
  out.field(amount_field(reader.network.family), decimal(stats.amount));
  out.field("mmr_leaves", stats.leaves).field("rollback_blocks", stats.rollback_blocks);
  out.field("deltas", stats.deltas);
  out.field("index_address_hash", reader.state->indexes_addresses());
  out.field("index_payment_credential", reader.state->indexes_credentials());
  write_state_at(out, reader.network.family, stats.at, stats.number);
  out.end_object();
  return out.take();
}

}  // namespace

Result<> run_utxo_get(const Context& context, const std::string& text) {
  const UtxoReader reader = TRY(UtxoReader::open(context.config));
  const chain::Outpoint outpoint =
      TRY(cli::as_usage_error(api::parse_outpoint(reader.network, text)));
  const auto found = TRY(reader.state->get(outpoint));
  if (!found)
    return fail(Code::kNotFound,
                "no output {}: it never was, or was spent longer ago than utxo.pruneDepth",
                chain::display(reader.network.family, outpoint));
  if (context.json)
    cli::print_line(utxo_json(reader.network, *found));
  else
    cli::print(render_utxo(reader.network, *found));
  return cli::finish_output();
}

Result<> run_utxo_page(const Context& context, const UtxoPageArguments& arguments) {
  const UtxoReader reader = TRY(UtxoReader::open(context.config));
  const utxo::PageRequest request = TRY(cli::as_usage_error(parse_page_request(arguments.query)));
  utxo::Page page;
  if (arguments.by_credential) {
    const auto credential =
        TRY(cli::as_usage_error(parse_credential(reader.network, arguments.owner)));
    page = TRY(cli::as_usage_error(reader.state->by_credential(credential, request)));
  } else {
    const Bytes address =
        TRY(cli::as_usage_error(api::parse_owner(reader.network, arguments.owner)));
    page = TRY(cli::as_usage_error(reader.state->by_address(address, request)));
  }
  if (context.json)
    cli::print_line(page_json(reader.network, page));
  else
    cli::print(render_page(reader.network, page));
  return cli::finish_output();
}

Result<> run_utxo_balance(const Context& context, const std::string& text) {
  const UtxoReader reader = TRY(UtxoReader::open(context.config));
  const Bytes address = TRY(cli::as_usage_error(api::parse_owner(reader.network, text)));
  // The database stands still for us, so the parts of a large balance add up.
  utxo::Balance balance = TRY(reader.state->balance(address));
  while (!balance.cursor.empty()) {
    const utxo::Balance more = TRY(reader.state->balance(address, balance.cursor));
    balance.amount += more.amount;
    for (const auto& [asset, quantity] : more.assets) balance.assets[asset] += quantity;
    balance.utxos += more.utxos;
    balance.cursor = more.cursor;
  }
  if (context.json)
    cli::print_line(balance_json(reader.network, address, balance));
  else
    cli::print(render_balance(reader.network, address, balance));
  return cli::finish_output();
}

Result<> run_utxo_stats(const Context& context) {
  const UtxoReader reader = TRY(UtxoReader::open(context.config));
  const utxo::Stats stats = TRY(reader.state->stats());
  if (context.json)
    cli::print_line(stats_json(reader, stats));
  else
    cli::print(render_utxo_stats(reader.network, stats));
  return cli::finish_output();
}

Result<> run_utxo_dump(const Context& context) {
  const UtxoReader reader = TRY(UtxoReader::open(context.config));
  TRY(reader.state->for_each([&](const utxo::Utxo& utxo) {
    if (context.json) {
      json::Writer out;
      write_utxo(out, reader.network, utxo);
      cli::print_line(out.take());
    } else {
      cli::print_line(utxo::dump_line(reader.network.family, utxo));
    }
    return std::ferror(stdout) == 0;
  }));
  return cli::finish_output();
}

Result<> run_utxo_digest(const Context& context) {
  const UtxoReader reader = TRY(UtxoReader::open(context.config));
  const utxo::Digest digest = TRY(utxo::digest(*reader.state, reader.network.family));
  const utxo::Stats stats = TRY(reader.state->stats());
  if (context.json) {
    json::Writer out;
    out.begin_object().field("count", digest.count).field("value", decimal(digest.amount));
    out.field("acc", digest.acc.hex());
    write_state_at(out, reader.network.family, stats.at, stats.number);
    out.end_object();
    cli::print_line(out.take());
  } else {
    cli::print(fmt::format("count  {}\nvalue  {} {}\nacc    {}\n", digest.count,
                           decimal(digest.amount), coin_unit(reader.network.family),
                           digest.acc.hex()));
  }
  return cli::finish_output();
}

Result<> run_utxo_root(const Context& context, std::optional<std::uint64_t> block) {
  const UtxoReader reader = TRY(UtxoReader::open(context.config));
  const auto number = block ? std::optional(BlockNumber(*block)) : std::nullopt;
  const utxo::Root root = TRY(reader.state->root(number));
  if (context.json)
    cli::print_line(root_json(reader.network, root));
  else
    cli::print(fmt::format("root    {}\nblock   {} {}\nleaves  {}\n", root.root.hex(),
                           root.number.value,
                           chain::display(reader.network.family, root.block_hash), root.leaves));
  return cli::finish_output();
}

}  // namespace coffer::utxo
