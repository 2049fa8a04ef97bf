// The commands of the UTXO state, as data.
#include "node/commands.h"
#include "node/audited.h"
#include "utxo/commands/commands.h"

namespace coffer::utxo {
namespace {

using node::command;
using node::kStoreSettings;
using node::query_option;

constexpr const char* kUtxoExamples =
    "  coffer utxo stats                              show number and value of the outputs\n"
    "  coffer utxo get TX#0                           show one output, unspent or recently "
    "spent\n"
    "  coffer utxo address ADDR --count 10            list outputs of an address, oldest first\n"
    "  coffer utxo balance ADDR --json                add up an address, as JSON\n"
    "  coffer utxo digest                             print a line to compare two stores by\n"
    "  coffer utxo proof TX#0 > proof.json            prove that it is unspent, for somebody "
    "else\n"
    "  coffer utxo check-proof proof.json --root HEX  check a proof; needs only a root\n"
    "  coffer utxo snapshot /backup/monday            copy the database, mostly as hard links\n"
    "  coffer utxo rollback 1000                      undo all blocks after block 1,000\n";

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
          query_option<A>("--page", "N", "Page number, from 1 (default: 1)"),
          query_option<A>("--count", "N", "Outputs per page, up to 100 (default: 100)"),
          query_option<A>("--order", "asc|desc", "Oldest or newest first (default: asc)"),
          query_option<A>("--cursor", "TEXT", "Continue where an earlier page ended"),
          query_option<A>(
              "--asset", "UNIT",
              "Only outputs with this asset: policy id and name in hex, or the policy id alone"),
          query_option<A>("--from-slot", "N", "Only outputs created in this slot or later"),
          query_option<A>("--to-slot", "N", "Only outputs created in this slot or earlier")};
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
          utxo_command("get", "Show one output, unspent or recently spent",
                       "  coffer utxo get TX#0\n"),
          {{"output", &UtxoWord::text, "TX#INDEX"}},
          [](const Context& c, const UtxoWord& a) { return run_utxo_get(c, a.text); }),
      command<UtxoPageArguments>(
          utxo_command("address", "List the unspent outputs of an address",
                       "  coffer utxo address ADDR --count 10 --order desc\n"),
          utxo_page_fields("address", kAddressHelp),
          [](const Context& c, const UtxoPageArguments& a) { return run_page(c, a, false); }),
      command<UtxoPageArguments>(
          utxo_command("credential", "List the unspent outputs of a payment credential (Cardano)",
                       "  coffer utxo credential addr_vkh1… --count 10\n"),
          utxo_page_fields("credential", kCredentialHelp),
          [](const Context& c, const UtxoPageArguments& a) { return run_page(c, a, true); }),
      command<UtxoWord>(
          utxo_command("balance", "Show the balance of an address, with all assets",
                       "  coffer utxo balance ADDR --json\n"),
          {{"address", &UtxoWord::text, kAddressHelp}},
          [](const Context& c, const UtxoWord& a) { return run_utxo_balance(c, a.text); }),
      command(
          utxo_command("stats",
                       "Show number and value of unspent outputs, and how far a rollback can go",
                       "  coffer utxo stats\n"),
          run_utxo_stats),
      command(utxo_command("dump", "Print every unspent output, one per line",
                           "  coffer utxo dump > outputs.txt\n"),
              run_utxo_dump),
      command(utxo_command("digest", "Print count, value and acc: equal sets have equal digests",
                           "  coffer utxo digest\n"),
              run_utxo_digest),
      command<UtxoAnyBlock>(
          utxo_command("root", "Print the MMR root after a block (utxo.store = mmr)",
                       "  coffer utxo root 1000\n"),
          {{"block", &UtxoAnyBlock::number, "Number of the block (default: the newest)"}},
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
            "Number of the block after which it is unspent (default: the newest)"}},
          run_utxo_proof),
      command<Check>(
          {.path = {"utxo", "check-proof"},
           .summary = "Check a proof offline against a root that you trust; needs no data",
           .examples = "  coffer utxo check-proof proof.json --root HEX\n"},
          {{"file", &Check::file, "File with the output of 'coffer utxo proof'"},
           {"--root",
            &Check::root,
            "MMR root from somebody you trust",
            {.value = "HEX", .required = true}},
           {"--output",
            &Check::outpoint,
            "Output that the proof must be about",
            {.value = "TX#INDEX"}}},
          run_utxo_check_proof),
  };
}

std::vector<cli::Command> utxo_tool_commands() {
  return {
      command(utxo_command("verify", "Check every record, index entry and delta against the others",
                           "  coffer utxo verify\n"),
              run_utxo_verify),
      node::audited(
          command<UtxoBlock>(
              utxo_command("rollback",
                           "Roll back to a block; the next start applies later blocks again",
                           "  coffer utxo rollback 1000\n"),
              {{"block", &UtxoBlock::number, "Number of the last block to keep"}},
              [](const Context& c, const UtxoBlock& a) { return run_utxo_rollback(c, a.number); }),
          {"block"}),
      node::audited(
          command(utxo_command("rebuild", "Delete the UTXO state; the next start builds it again",
                               "  coffer utxo rebuild\n"),
                  [](const Context& c) { return node::run_rebuild(c, "utxo"); }),
          {}),
      node::audited(
          command<UtxoWord>(
              utxo_command("snapshot", "Copy the whole database into a new directory",
                           "  coffer utxo snapshot /backup/monday\n"),
              {{"directory", &UtxoWord::text, "Directory to create; must not exist"}},
              [](const Context& c, const UtxoWord& a) { return run_utxo_snapshot(c, a.text); }),
          {"directory"}),
      node::audited(
          command<UtxoWord>(
              utxo_command("restore", "Copy a snapshot into an empty --data directory",
                           "  coffer utxo restore /backup/monday --data /srv/new\n"),
              {{"directory", &UtxoWord::text, "Directory that 'coffer utxo snapshot' created"}},
              [](const Context& c, const UtxoWord& a) { return run_utxo_restore(c, a.text); }),
          {"directory"}),
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
        "Block file of a chain from its first block on (default: simulated)",
        {.value = "FILE"}},
       {"--window",
        &A::window,
        "Number of blocks that can be rolled back",
        {.show_default = true, .range = {1, 100'000}}},
       {"--only-sync", &A::only_sync, "Measure only the first sync and its ratio to raw writes"}},
      run_bench_utxo);
}

}  // namespace

std::vector<cli::Command> utxo_commands() {
  std::vector<cli::Command> all = {{.path = {"utxo"},
                                    .summary = "Query, verify and copy the set of unspent outputs",
                                    .examples = kUtxoExamples,
                                    .notes = "Commands that only read can run beside a daemon."}};
  for (const auto& list : {utxo_read_commands(), utxo_proof_commands(), utxo_tool_commands()})
    all.insert(all.end(), list.begin(), list.end());
  all.push_back(node::bench_group());
  all.push_back(bench_utxo());
  return all;
}

}  // namespace coffer::utxo
