#include "txstore/commands/view.h"

#include <coffer/chain/address.h>
#include "base/result.h"
#include "cli/table.h"
#include "txstore/json/explain.h"

namespace coffer::txstore {
namespace {

using chain::Family;
using cli::with_thousands;

std::string row_line(std::string_view name, const std::string& value) {
  return fmt::format("{:<14}{}\n", name, value);
}

std::string amount_text(const std::optional<Amount>& amount) {
  return amount ? with_thousands(amount->value) : std::string("unknown");
}

std::string state_text(const StoredTx& tx) {
  std::string text(to_string(tx.state));
  if (tx.genesis) text += ", from the genesis files";
  if (tx.coinbase) text += ", coinbase";
  if (!tx.valid) text += ", failed phase 2";
  if (tx.locked) text += ", locked";
  return text;
}

std::string tip_text(Family family, const Tip& tip) {
  if (tip.position.at_origin) return "none yet";
  return fmt::format("{} {}", with_thousands(tip.height()),
                     chain::display(family, tip.position.point.hash));
}

std::string spent_text(Family family, const StoredOutput& output) {
  if (output.unspendable) return "nobody can spend it";
  if (output.removed) return "removed by a rule of the ledger";
  std::string text = "unspent";
  if (output.spent)
    text = fmt::format("spent by {}, input {}{}", chain::display(family, output.spender),
                       output.spender_input, output.final ? ", final" : "");
  if (output.frozen) text += ", frozen";
  if (output.spendable_at) text += fmt::format(", free from height {}", *output.spendable_at);
  return text;
}

std::string owner_of(const chain::Network& network, const chain::Output* output) {
  if (output == nullptr) return "";
  if (auto text = chain::address_text(network, output->address)) return *std::move(text);
  return to_hex(output->address);
}

std::string inputs_table(Family family, const TxDetail& detail) {
  cli::Table table({{"input", cli::Align::kRight},
                    {"spends"},
                    {std::string(coin_unit(family)), cli::Align::kRight}});
  std::uint32_t index = 0;
  for (const StoredInput& input : detail.body.inputs)
    table.add_row({std::to_string(index++), chain::display(family, input.outpoint),
                   amount_text(input.amount)});
  return detail.body.inputs.empty() ? "" : "\n" + table.render();
}

std::string outputs_table(const chain::Network& network, const TxDetail& detail) {
  cli::Table table({{"output", cli::Align::kRight},
                    {std::string(coin_unit(network.family)), cli::Align::kRight},
                    {"owner"},
                    {"state"}});
  std::uint32_t index = detail.outputs_from;
  for (const StoredOutput& output : detail.outputs) {
    table.add_row({std::to_string(index), with_thousands(output.amount.value),
                   owner_of(network, detail.decoded_output(index)),
                   spent_text(network.family, output)});
    ++index;
  }
  return detail.outputs.empty() ? "" : "\n" + table.render();
}

std::string kept_line(const std::vector<KeptCount>& kept) {
  std::vector<std::string> parts;
  parts.reserve(kept.size());
  for (const KeptCount& one : kept)
    parts.push_back(fmt::format("{} {}", with_thousands(one.count), one.reason));
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

std::string optional_height(const std::optional<std::uint64_t>& height) {
  return height ? with_thousands(*height) : std::string();
}

}  // namespace

std::string render_tx(const chain::Network& network, const TxDetail& detail) {
  const Family family = network.family;
  const StoredTx& tx = detail.tx;
  std::string out = row_line("transaction", chain::display(family, tx.id));
  out += row_line("state", state_text(tx));
  if (const auto height = detail.height()) {
    const std::string hash =
        detail.block_hash ? " " + chain::display(family, *detail.block_hash) : std::string();
    out += row_line("block", with_thousands(*height) + hash);
    out += row_line("confirmations", with_thousands(detail.confirmations()));
  }
  for (const MinedIn& in : tx.blocks)
    if (!in.on_longest_chain)
      out += row_line("also in", fmt::format("a block at height {} of another branch",
                                             with_thousands(in.block.height)));
  if (tx.unmined_since) out += row_line("unmined since", with_thousands(*tx.unmined_since));
  if (!detail.body.raw.empty())
    out += row_line("size", fmt::format("{} bytes", with_thousands(detail.body.raw.size())));
  if (detail.body.fee)
    out += row_line("fee", fmt::format("{} {}", amount_text(detail.body.fee), coin_unit(family)));
  out += row_line("outputs",
                  fmt::format("{} unspent, {} spent, {} in all", with_thousands(tx.unspent()),
                              with_thousands(tx.spent), with_thousands(tx.outputs)));
  if (tx.preserve_until)
    out += row_line("preserved", "until height " + with_thousands(*tx.preserve_until));
  if (tx.delete_at_height)
    out += row_line("may go", "from height " + with_thousands(*tx.delete_at_height) + " on");
  out += inputs_table(family, detail) + outputs_table(network, detail);
  if (const auto next = detail.next_output())
    out += fmt::format("more with --outputs-from {}\n", *next);
  return out;
}

std::string render_explanation(const Store& store, const Explanation& found) {
  const Family family = store.network().family;
  const Tip tip = store.tip();
  std::string out = row_line("transaction", chain::display(family, found.tx.id));
  out += row_line("state", state_text(found.tx));
  out += row_line(found.verdict.is_deletable() ? "deletable" : "kept because",
                  keep_text(family, found, tip));
  out += row_line("reason", std::string(to_string(keep_reason(found))));
  if (found.child) {
    std::string state =
        found.child_state ? std::string(to_string(*found.child_state)) : std::string("not stored");
    if (found.child_height) state += fmt::format(" at height {}", *found.child_height);
    out += row_line("child", chain::display(family, *found.child));
    out += row_line("child is", state);
  }
  if (const auto earliest = earliest_height(found, tip, store.options()))
    out +=
        row_line("can go", "from height " + with_thousands(*earliest) + " on, if nothing changes");
  else
    out += row_line("can go", "not by the passing of blocks alone");
  if (found.tx.due_at)
    out += row_line("next look", "at height " + with_thousands(*found.tx.due_at));
  out += row_line("tip", tip_text(family, tip));
  return out + row_line("final height",
                        tip.final_height < 0
                            ? "none yet"
                            : with_thousands(static_cast<std::uint64_t>(tip.final_height)));
}

std::string render_list(Family family, const Store::ListPage& page) {
  cli::Table table({{"transaction"},
                    {"state"},
                    {"height", cli::Align::kRight},
                    {"unspent", cli::Align::kRight},
                    {"spent", cli::Align::kRight},
                    {"since", cli::Align::kRight},
                    {"may go", cli::Align::kRight},
                    {"kept"}});
  for (const StoredTx& tx : page.txs)
    table.add_row(
        {chain::display(family, tx.id), std::string(to_string(tx.state)),
         optional_height(tx.highest_height()), with_thousands(tx.unspent()),
         with_thousands(tx.spent), optional_height(tx.unmined_since),
         optional_height(tx.delete_at_height),
         tx.kept == retention::Reason::kDeletable ? "" : std::string(to_string(tx.kept))});
  std::string out = page.txs.empty() ? "no such transactions\n" : table.render();
  if (!page.cursor.empty()) out += fmt::format("more with --cursor {}\n", page.cursor);
  return out;
}

std::string render_stats(std::string_view backend, const Store& store, const Stats& stats) {
  const StatusReport report = status_report(backend, store.options().window, stats);
  std::string out = row_line("block", tip_text(store.network().family, stats.tip));
  out += row_line("backend", report.backend);
  out += row_line("transactions", fmt::format("{} ({})", with_thousands(report.records),
                                              cli::human_bytes(report.bytes)));
  out += row_line("unmined", with_thousands(report.unmined));
  out += row_line("conflicting", with_thousands(report.conflicting));
  out += row_line("final entries", with_thousands(report.final_entries));
  out += row_line(
      "deleted",
      with_thousands(static_cast<std::uint64_t>(std::max<std::int64_t>(stats.counts.deleted, 0))));
  out += row_line("due but kept", kept_line(report.kept));
  if (!report.kept.empty())
    out += row_line("oldest", cli::counted(stats.oldest_overdue, "block") + " overdue");
  out += row_line("window", cli::counted(report.window, "block"));
  out += row_line("final height",
                  report.final_height ? with_thousands(*report.final_height) : "none yet");
  if (report.first_block)
    out += row_line("began at", "block " + with_thousands(*report.first_block));
  if (report.damaged)
    out += row_line("damaged", fmt::format("{} had no stored parent; run 'coffer tx rebuild'",
                                           cli::counted(report.parent_missing, "input of blocks",
                                                        "inputs of blocks")));
  return out;
}

std::string render_pruned(const PruneReport& report) {
  const std::uint64_t all = report.deleted + report.deleted_conflicting;
  std::string out = fmt::format(
      "{} {}{}; {} kept\n", cli::counted(all, "transaction"),
      report.dry_run ? "would be deleted" : "deleted",
      report.deleted_conflicting == 0
          ? std::string()
          : fmt::format(", {} of them conflicting", with_thousands(report.deleted_conflicting)),
      with_thousands(report.kept));
  for (const KeptCount& one : report.kept_by)
    out += row_line("  " + one.reason, with_thousands(one.count));
  return out;
}

std::string render_mark(const MarkReport& report) {
  const bool again = report.outcome == to_string(Outcome::kUnchanged);
  if (report.operation == "preserve")
    return fmt::format("{} is kept until height {}{}\n", report.tx_hash,
                       with_thousands(report.until_height.value_or(0)), again ? ", as before" : "");
  return fmt::format("{}#{} is {}frozen{}\n", report.tx_hash, report.output_index.value_or(0),
                     report.operation == "unfreeze" ? "no longer " : "",
                     again ? ", as before" : "");
}

}  // namespace coffer::txstore
