// The commands of the transaction store, as data.
#include "txstore/commands/commands.h"
#include "node/audited.h"
#include "node/verb.h"

namespace coffer::txstore {
namespace {

using node::command;

constexpr const char* kTxExamples =
    "  coffer tx get TXID                             show a transaction and who spent it\n"
    "  coffer tx explain TXID                         tell why it is still stored\n"
    "  coffer tx list --kept child_unmined            list what is kept because of an unmined "
    "child\n"
    "  coffer tx stats                                show how much is stored, and how far it is\n"
    "  coffer tx digest                               print a line to compare two stores by\n"
    "  coffer tx prune --dry-run                      tell what would be deleted now\n"
    "  coffer tx preserve TXID --until 850000         keep a transaction until a height\n"
    "  coffer tx freeze TXID#0                        let no unmined transaction spend an output\n";

constexpr const char* kTxHelp = "Its id: 64 hex digits";
constexpr const char* kOutputHelp = "TXID#INDEX";

struct TxWord {
  std::string text;
};
struct RebuildTxs {
  bool yes = false;
};

cli::Command tx_command(const char* name, const char* summary, const char* examples,
                        const std::vector<std::string>& more = {}) {
  cli::Command base{.path = {"tx", name}, .summary = summary, .examples = examples};
  base.settings = node::kStoreSettings;
  base.settings.insert(base.settings.end(), {"txstore.", "chainstate."});
  base.settings.insert(base.settings.end(), more.begin(), more.end());
  return base;
}

cli::Command list_command() {
  using A = TxListArguments;
  return command<A>(
      tx_command("list", "List unmined, conflicting or kept transactions, a page at a time",
                 "  coffer tx list --unmined --older-than 850000\n"
                 "  coffer tx list --conflicting --count 20\n"
                 "  coffer tx list --kept child_not_final --json\n"),
      {{"--unmined", &A::unmined, "Those that no block of the longest chain has"},
       {"--conflicting", &A::conflicting, "Those that conflict with the chain"},
       {"--kept",
        &A::kept,
        "Those whose time has come but are kept for this reason",
        {.value = "REASON", .choices = keep_reasons()}},
       {"--older-than",
        &A::older_than,
        "With --unmined: unmined since this height or longer",
        {.value = "HEIGHT"}},
       {"--count",
        &A::count,
        "Transactions per page",
        {.value = "N", .show_default = true, .range = {1, 1'000}}},
       {"--cursor", &A::cursor, "Continue where an earlier page ended", {.value = "TEXT"}}},
      run_tx_list);
}

std::vector<cli::Command> tx_read_commands() {
  using Get = TxGetArguments;
  return {
      command<Get>(
          tx_command("get", "Show a transaction: fee, amounts of inputs, who spent each output",
                     "  coffer tx get TXID\n"
                     "  coffer tx get TXID --raw > tx.hex\n"
                     "  coffer tx get TXID --outputs-from 1000 --json\n"),
          {{"transaction", &Get::tx, kTxHelp},
           {"--raw", &Get::raw, "Print only its bytes, in hex"},
           {"--outputs-from", &Get::outputs_from, "First output to show", {.value = "N"}},
           {"--outputs-count",
            &Get::outputs_count,
            "Most outputs to show",
            {.value = "N", .show_default = true, .range = {1, kMostOutputs}}}},
          run_tx_get),
      command<TxWord>(
          tx_command("explain", "Tell why a transaction is still stored, and when it can go",
                     "  coffer tx explain TXID\n"),
          {{"transaction", &TxWord::text, kTxHelp}},
          [](const Context& c, const TxWord& a) { return run_tx_explain(c, a.text); }),
      list_command(),
      command(tx_command("dump", "Print every stored transaction, one per line, by id",
                         "  coffer tx dump > transactions.txt\n"),
              run_tx_dump),
      command(tx_command("digest", "Print count and acc: equal stores have equal digests",
                         "  coffer tx digest\n"),
              run_tx_digest),
      command(tx_command("stats", "Show how much is stored, what is kept and how far it is",
                         "  coffer tx stats\n"),
              run_tx_stats),
      command(tx_command("verify", "Check every record, count and index against the others",
                         "  coffer tx verify\n"),
              run_tx_verify),
  };
}

cli::Command preserve_command() {
  cli::Command base =
      tx_command("preserve", "Keep a transaction until the tip has a height, even if it is spent",
                 "  coffer tx preserve TXID --until 850000\n");
  base.options = {node::required("transaction", kTxHelp)};
  return node::verb_command<PreserveTx>(
      std::move(base), preserve_verb(),
      [](const Context& context, const cli::Invocation& given, const PreserveTx& wanted) {
        return run_tx_preserve(context, given.values.at("transaction").back(), wanted);
      });
}

std::vector<cli::Command> tx_change_commands() {
  return {
      node::verb_command<PruneTxs>(
          tx_command("prune", "Delete now what the rule of safe deletion allows",
                     "  coffer tx prune --dry-run\n"
                     "  coffer tx prune\n"),
          prune_verb(),
          [](const Context& context, const cli::Invocation&, const PruneTxs& wanted) {
            return run_tx_prune(context, wanted);
          }),
      preserve_command(),
      command<TxWord>(
          tx_command("freeze", "Freeze an unspent output: no unmined transaction can spend it",
                     "  coffer tx freeze TXID#0\n"),
          {{"output", &TxWord::text, kOutputHelp}},
          [](const Context& c, const TxWord& a) { return run_tx_freeze(c, a.text, true); }),
      command<TxWord>(
          tx_command("unfreeze", "Let an output be spent again", "  coffer tx unfreeze TXID#0\n"),
          {{"output", &TxWord::text, kOutputHelp}},
          [](const Context& c, const TxWord& a) { return run_tx_freeze(c, a.text, false); }),
      command<RebuildTxs>(
          tx_command("rebuild",
                     "Empty the store, but for what people did; the next start fills it again",
                     "  coffer tx rebuild --source "
                     "'rpc:http://127.0.0.1:8332?cookie=/srv/bitcoin/.cookie'\n"
                     "  coffer tx rebuild --yes\n",
                     {"source"}),
          {{"--yes", &RebuildTxs::yes, "Also if the source cannot give all blocks again"}},
          [](const Context& c, const RebuildTxs& a) { return run_tx_rebuild(c, a.yes); }),
  };
}

cli::Command bench_txstore() {
  using A = BenchTxArguments;
  return command<A>(
      {.path = {"bench", "txstore"},
       .summary = "Measure building, following and pruning the transaction store",
       .examples = "  coffer bench txstore --only-sync\n",
       .settings = {"chain", "network", "devnet.", "log."}},
      {{"--file",
        &A::file,
        "Block file of a chain from its first block on (default: simulated)",
        {.value = "FILE"}},
       {"--blocks",
        &A::blocks,
        "Number of simulated blocks",
        {.show_default = true, .range = {1, 100'000}}},
       {"--only-sync", &A::only_sync, "Measure only the first sync and its ratio to raw writes"},
       {"--sql",
        &A::sql_store,
        "An empty SQL database to measure as well, together with --sql-playback",
        {.value = "LOCATION"}},
       {"--sql-playback",
        &A::sql_playback,
        "A second empty one, to which the same statements are sent without the store's logic",
        {.value = "LOCATION"}}},
      run_bench_txstore);
}

}  // namespace

std::vector<cli::Command> txstore_commands() {
  std::vector<cli::Command> all = {
      {.path = {"tx"},
       .summary = "Query, explain and prune the transactions that still matter",
       .examples = kTxExamples,
       .notes = "Commands that only read can run beside a daemon; the others ask it to do the "
                "work."}};
  for (const auto& list :
       {tx_read_commands(), node::audited(tx_change_commands(), {"transaction", "output", "--until",
                                                                 "--dry-run", "--yes"})})
    all.insert(all.end(), list.begin(), list.end());
  all.push_back(node::bench_group());
  all.push_back(bench_txstore());
  return all;
}

}  // namespace coffer::txstore
