// The commands of the UTXO state, as data.
#include "node/commands.h"
#include "utxo/commands/commands.h"

namespace coffer::utxo {
namespace {

using node::command;
using node::kStoreSettings;
using node::query_option;

constexpr const char* kUtxoExamples =
    "  coffer utxo stats                              how many, how much, up to which block\n"
    "  coffer utxo get TX#0                           one output, also for a while after it was "
    "spent\n"
    "  coffer utxo address ADDR --count 10            outputs of an address, oldest first\n"
    "  coffer utxo balance ADDR --json                what an address holds, as HTTP would say it\n"
    "  coffer utxo digest                             to compare two stores in one line\n"
    "  coffer utxo proof TX#0 > proof.json            that it is unspent, for somebody else to "
    "check\n"
    "  coffer utxo check-proof proof.json --root HEX  with nothing but a root\n"
    "  coffer utxo snapshot /backup/monday            a copy that needs hardly any room at first\n"
    "  coffer utxo rollback 1000                      back to the state after block 1,000\n";

// Most commands take one word.
struct UtxoWord {
  std::string text;
};
struct UtxoBlock {
  std::uint64_t number = 0;
};
struct UtxoAnyBlock {
  std::optional<std::uint64_t> number;  // nothing: the newest
};

constexpr const char* kAddressHelp = "Bech32, base58, or the raw bytes in hex";
constexpr const char* kCredentialHelp =
    "56 hex digits, or addr_vkh1…, addr_shared_vkh1… or script1…";

cli::Command utxo_command(const char* name, const char* summary, const char* examples) {
  return {
      .path = {"utxo", name}, .summary = summary, .examples = examples, .settings = kStoreSettings};
}

std::vector<cli::Field<UtxoPageArguments>> utxo_page_fields(const char* owner, const char* help) {
  using A = UtxoPageArguments;
  return {{owner, &A::owner, help},
          query_option<A>("--page", "N", "Which page, from 1 (default: 1)"),
          query_option<A>("--count", "N", "Outputs on a page, up to 100 (default: 100)"),
          query_option<A>("--order", "asc|desc", "Oldest or newest first (default: asc)"),
          query_option<A>("--cursor", "TEXT", "Go on where an earlier page ended"),
          query_option<A>("--asset", "UNIT",
                          "Only with this asset: policy and name in hex, or the policy alone"),
          query_option<A>("--from-slot", "N", "Made in this slot or later"),
          query_option<A>("--to-slot", "N", "Made in this slot or earlier")};
}

// An empty filter is none.
Result<> run_page(const Context& context, UtxoPageArguments page, bool by_credential) {
  std::erase_if(page.query, [](const http::Field& field) { return field.value.empty(); });
  page.by_credential = by_credential;
  return run_utxo_page(context, page);
}

std::vector<cli::Command> utxo_read_commands() {
  return {
      command<UtxoWord>(
          utxo_command("get", "Show one output, unspent or lately spent",
                       "  coffer utxo get TX#0\n"),
          {{"output", &UtxoWord::text, "TX#INDEX"}},
          [](const Context& c, const UtxoWord& a) { return run_utxo_get(c, a.text); }),
      command<UtxoPageArguments>(
          utxo_command("address", "List the outputs that an address holds",
                       "  coffer utxo address ADDR --count 10 --order desc\n"),
          utxo_page_fields("address", kAddressHelp),
          [](const Context& c, const UtxoPageArguments& a) { return run_page(c, a, false); }),
      command<UtxoPageArguments>(
          utxo_command("credential", "List the outputs that a payment credential holds (Cardano)",
                       "  coffer utxo credential addr_vkh1… --count 10\n"),
          utxo_page_fields("credential", kCredentialHelp),
          [](const Context& c, const UtxoPageArguments& a) { return run_page(c, a, true); }),
      command<UtxoWord>(
          utxo_command("balance", "Add up what an address holds, with all assets",
                       "  coffer utxo balance ADDR --json\n"),
          {{"address", &UtxoWord::text, kAddressHelp}},
          [](const Context& c, const UtxoWord& a) { return run_utxo_balance(c, a.text); }),
      command(utxo_command("stats", "Show how much is unspent, and what can be undone",
                           "  coffer utxo stats\n"),
              run_utxo_stats),
      command(utxo_command("dump", "Print every unspent output, a line each",
                           "  coffer utxo dump > outputs.txt\n"),
              run_utxo_dump),
      command(utxo_command("digest", "Print count, value and acc: equal sets have equal digests",
                           "  coffer utxo digest\n"),
              run_utxo_digest),
      command<UtxoAnyBlock>(
          utxo_command("root", "Print the root after a block (utxo.store = mmr)",
                       "  coffer utxo root 1000\n"),
          {{"block", &UtxoAnyBlock::number, "Its number (default: the newest)"}},
          [](const Context& c, const UtxoAnyBlock& a) { return run_utxo_root(c, a.number); }),
  };
}

std::vector<cli::Command> utxo_proof_commands() {
  using Check = CheckProofArguments;
  return {
      command<UtxoProofArguments>(
          utxo_command("proof", "Print a proof that an output is unspent (utxo.store = mmr)",
                       "  coffer utxo proof TX#0 > proof.json\n"),
          {{"output", &UtxoProofArguments::outpoint, "TX#INDEX"},
           {"--block", &UtxoProofArguments::block,
            "After the block of this number (default: the newest)"}},
          run_utxo_proof),
      command<Check>(
          {.path = {"utxo", "check-proof"},
           .summary = "Check a proof off line, against a root that you trust; needs no data",
           .examples = "  coffer utxo check-proof proof.json --root HEX\n"},
          {{"file", &Check::file, "What 'coffer utxo proof' printed"},
           {"--root",
            &Check::root,
            "The root, from somebody you trust",
            {.value = "HEX", .required = true}},
           {"--output", &Check::outpoint, "The output that it must be of", {.value = "TX#INDEX"}}},
          run_utxo_check_proof),
  };
}

std::vector<cli::Command> utxo_tool_commands() {
  return {
      command(utxo_command("verify", "Check every record, index entry and delta against the others",
                           "  coffer utxo verify\n"),
              run_utxo_verify),
      command<UtxoBlock>(
          utxo_command("rollback", "Undo blocks; the next start applies them again",
                       "  coffer utxo rollback 1000\n"),
          {{"block", &UtxoBlock::number, "The number of the last block that stays"}},
          [](const Context& c, const UtxoBlock& a) { return run_utxo_rollback(c, a.number); }),
      command(utxo_command("rebuild", "Empty the UTXO state; the next start fills it again",
                           "  coffer utxo rebuild\n"),
              [](const Context& c) { return node::run_rebuild(c, "utxo"); }),
      command<UtxoWord>(
          utxo_command("snapshot", "Copy the whole database into a new directory",
                       "  coffer utxo snapshot /backup/monday\n"),
          {{"directory", &UtxoWord::text, "Where to; must not exist"}},
          [](const Context& c, const UtxoWord& a) { return run_utxo_snapshot(c, a.text); }),
      command<UtxoWord>(
          utxo_command("restore", "Begin an empty --data directory with a snapshot",
                       "  coffer utxo restore /backup/monday --data /srv/new\n"),
          {{"directory", &UtxoWord::text, "What 'coffer utxo snapshot' made"}},
          [](const Context& c, const UtxoWord& a) { return run_utxo_restore(c, a.text); }),
  };
}

cli::Command bench_utxo() {
  using A = BenchUtxoArguments;
  return command<A>(
      {.path = {"bench", "utxo"},
       .summary = "Measure building, following and reading the UTXO state",
       .examples = "  coffer bench utxo --only-sync\n",
       .settings = {"chain", "network", "devnet.", "log."}},
      {{"--file",
        &A::file,
        "A chain of blocks, from its first (default: simulated)",
        {.value = "FILE"}},
       {"--window",
        &A::window,
        "Blocks that can be undone, and are kept",
        {.show_default = true, .range = {1, 100'000}}},
       {"--only-sync", &A::only_sync, "Measure only the first sync and its ratio to raw writes"}},
      run_bench_utxo);
}

}  // namespace

std::vector<cli::Command> utxo_commands() {
  std::vector<cli::Command> all = {
      {.path = {"utxo"},
       .summary = "Ask what is unspent, by output, address and credential; check and copy it",
       .examples = kUtxoExamples,
       .notes = "Reading commands may run beside a daemon."}};
  for (const auto& list : {utxo_read_commands(), utxo_proof_commands(), utxo_tool_commands()})
    all.insert(all.end(), list.begin(), list.end());
  all.push_back(node::bench_group());
  all.push_back(bench_utxo());
  return all;
}

}  // namespace coffer::utxo
