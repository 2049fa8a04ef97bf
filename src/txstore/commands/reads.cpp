// The commands that look into the transaction store.
#include <cstdio>

#include "api/input.h"
#include "base/result.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/table.h"
#include "crypto/sha256.h"
#include "json/writer.h"
#include "txstore/commands/commands.h"
#include "txstore/commands/open_store.h"
#include "txstore/commands/view.h"
#include "txstore/json/explain.h"
#include "txstore/json/input.h"
#include "txstore/json/output.h"

namespace coffer::txstore {
namespace {

// What is not stored has three answers: on stdout as JSON if that is wanted, and as the error.
Result<> answer_absent(const Context& context, const OpenStore& opened, const Hash256& id) {
  const Absence absence = TRY(opened.store->absence(id));
  if (context.json) cli::print_line(absence_json(*opened.store, id, absence));
  TRY(cli::finish_output());
  return fail(Code::kNotFound, "{}",
              absence_text(opened.network.family, id, absence, opened.store->tip()));
}

Result<> print_either(const Context& context, const std::string& json, const std::string& text) {
  cli::print(context.json ? json + "\n" : text);
  return cli::finish_output();
}

// Big-endian, modulo 2^256.
void add_hash(Hash256& sum, const Hash256& term) {
  unsigned carry = 0;
  for (std::size_t i = Hash256::kSize; i-- > 0;) {
    const unsigned digit = sum[i] + term[i] + carry;
    sum[i] = static_cast<std::uint8_t>(digit);
    carry = digit >> 8;
  }
}

}  // namespace

Result<> run_tx_get(const Context& context, const TxGetArguments& arguments) {
  const OpenStore opened = TRY(OpenStore::open(context.config));
  const Hash256 id = TRY(cli::as_usage_error(parse_tx_id(opened.network, arguments.tx)));
  const auto detail = read_detail(*opened.store, opened.block_at, id,
                                  {arguments.outputs_from, arguments.outputs_count});
  if (!detail && detail.error().code == Code::kNotFound) return answer_absent(context, opened, id);
  if (!detail) return fail(detail.error());
  if (!arguments.raw)
    return print_either(context, tx_json(opened.network, *detail),
                        render_tx(opened.network, *detail));
  if (detail->body.raw.empty())
    return fail(Code::kNotFound,
                "transaction {} has no bytes: it is known from the genesis files only",
                chain::display(opened.network.family, id));
  return print_either(context, raw_json(opened.network, id, detail->body.raw),
                      to_hex(detail->body.raw) + "\n");
}

Result<> run_tx_explain(const Context& context, const std::string& tx) {
  const OpenStore opened = TRY(OpenStore::open(context.config));
  const Hash256 id = TRY(cli::as_usage_error(parse_tx_id(opened.network, tx)));
  const auto found = opened.store->explain(id);
  if (!found && found.error().code == Code::kNotFound) return answer_absent(context, opened, id);
  if (!found) return fail(found.error());
  return print_either(context, retention_json(*opened.store, *found),
                      render_explanation(*opened.store, *found));
}

Result<> run_tx_list(const Context& context, const TxListArguments& arguments) {
  const int chosen =
      int{arguments.unmined} + int{arguments.conflicting} + int{!arguments.kept.empty()};
  if (chosen != 1)
    return fail(Code::kUsage,
                "say which to list: one of --unmined, --conflicting and --kept REASON");
  if (arguments.older_than && !arguments.unmined)
    return fail(Code::kUsage, "--older-than is for --unmined");
  Store::ListRequest request;
  request.unmined = arguments.unmined;
  request.conflicting = arguments.conflicting;
  request.older_than = arguments.older_than;
  request.count = arguments.count;
  request.cursor = arguments.cursor;
  if (!arguments.kept.empty())
    request.kept = TRY(cli::as_usage_error(parse_keep_reason(arguments.kept)));
  const OpenStore opened = TRY(OpenStore::open(context.config));
  const Store::ListPage page = TRY(cli::as_usage_error(opened.store->list(request)));
  return print_either(context, list_json(opened.network.family, page),
                      render_list(opened.network.family, page));
}

Result<> run_tx_dump(const Context& context) {
  const OpenStore opened = TRY(OpenStore::open(context.config));
  TRY(opened.store->for_each([&](const StoredTx& tx) -> Result<bool> {
    if (context.json) {
      json::Writer out;
      write_stored_tx(out, opened.network.family, tx);
      cli::print_line(out.take());
    } else {
      cli::print_line(dump_line(opened.network.family, tx));
    }
    return std::ferror(stdout) == 0;
  }));
  return cli::finish_output();
}

Result<> run_tx_digest(const Context& context) {
  const OpenStore opened = TRY(OpenStore::open(context.config));
  std::uint64_t count = 0;
  Hash256 acc{};
  const Tip tip = TRY(opened.store->for_each([&](const StoredTx& tx) -> Result<bool> {
    ++count;
    add_hash(acc, crypto::sha256(as_bytes(dump_line(opened.network.family, tx))));
    return true;
  }));
  json::Writer out;
  out.begin_object().field("count", count).field("acc", acc.hex()).key("tip_height");
  if (const auto height = tip.position.tip_height())
    out.value(*height);
  else
    out.null();
  out.end_object();
  return print_either(context, out.take(), fmt::format("count  {}\nacc    {}\n", count, acc.hex()));
}

Result<> run_tx_stats(const Context& context) {
  const OpenStore opened = TRY(OpenStore::open(context.config));
  const Stats stats = TRY(opened.store->stats());
  return print_either(context, stats_json(opened.backend, *opened.store, stats),
                      render_stats(opened.backend, *opened.store, stats));
}

Result<> run_tx_verify(const Context& context) {
  const OpenStore opened = TRY(OpenStore::open(context.config));
  cli::ProgressBar bar({.label = "verifying", .unit = "records", .total = {}}, system_clock(),
                       cli::stderr_output());
  std::uint64_t before = 0, last = 0;
  std::string stage;
  const Store::Verified found =
      TRY(opened.store->verify([&](std::string_view what, std::uint64_t done) {
        if (what != stage) stage = what, before += last;
        last = done;
        bar.update(before + done);
      }));
  bar.update(std::max(before + last, found.records));
  bar.finish();
  const std::pair<const char*, std::uint64_t> rows[] = {{"records", found.records},
                                                        {"entries", found.entries},
                                                        {"due", found.due},
                                                        {"unmined", found.unmined},
                                                        {"blocks", found.blocks}};
  json::Writer out;
  out.begin_object().field("ok", true);
  cli::Table table({{"records"}, {"checked", cli::Align::kRight}});
  for (const auto& [name, count] : rows) {
    out.field(name, count);
    table.add_row({name, cli::with_thousands(count)});
  }
  out.end_object();
  return print_either(context, out.take(), table.render() + "all of it fits together\n");
}

}  // namespace coffer::txstore
