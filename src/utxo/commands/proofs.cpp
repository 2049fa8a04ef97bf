// Proofs on the command line: made from the store, checked with nothing but a root.
#include "api/input.h"
#include "base/file.h"
#include "base/result.h"
#include "cli/output.h"
#include "json/writer.h"
#include "utxo/commands/commands.h"
#include "utxo/commands/reader.h"
#include "utxo/commands/view.h"
#include "utxo/json/output.h"
#include "utxo/json/proof.h"

namespace coffer::utxo {
namespace {

constexpr std::uint64_t kMaxProofBytes = 32u << 20;

Result<Hash256> parse_root(const std::string& text) {
  const auto bytes = from_hex(text);
  if (!bytes || bytes->size() != Hash256::kSize)
    return fail(Code::kUsage, "--root: expected 64 hex digits");
  return Hash256::from(bytes->data());
}

// The record of a proof is what somebody else wrote.
Result<utxo::UtxoRecord> record_of(const ReadProof& read) {
  auto record = utxo::decode_record(read.proof.record);
  if (!record)
    return fail(Code::kInvalidInput, "the proof holds, but its record cannot be read: {}",
                record.error().message);
  return record;
}

}  // namespace

Result<> run_utxo_proof(const Context& context, const UtxoProofArguments& arguments) {
  const UtxoReader reader = TRY(UtxoReader::open(context.config));
  const auto outpoint =
      TRY(cli::as_usage_error(api::parse_outpoint(reader.network, arguments.outpoint)));
  const auto number = arguments.block ? std::optional(BlockNumber(*arguments.block)) : std::nullopt;
  const auto proof = TRY(reader.state->prove(outpoint, number));
  cli::print_line(proof_json(reader.network.family, proof));
  return cli::finish_output();
}

Result<> run_utxo_check_proof(const Context& context, const CheckProofArguments& arguments) {
  const Hash256 root = TRY(parse_root(arguments.root));
  const Bytes text = TRY(read_file_or_pipe(arguments.file, kMaxProofBytes));
  const ReadProof read = TRY_IN(arguments.file, parse_proof(as_text(text)));
  const std::string output = chain::display(read.family, read.outpoint);
  if (!arguments.outpoint.empty()) {
    chain::Network family_only;
    family_only.family = read.family;
    if (TRY(cli::as_usage_error(api::parse_outpoint(family_only, arguments.outpoint))) !=
        read.outpoint)
      return fail(Code::kInvalidInput, "the proof is of another output: {}", output);
  }
  TRY_IN(arguments.file, check_proof(read.proof, root));
  const utxo::UtxoRecord record = TRY_IN(arguments.file, record_of(read));
  const std::string coin = std::to_string(record.amount.value);
  const std::string block_hash =
      chain::display(read.family, Hash256::from(read.proof.block_hash.data()));
  if (context.json) {
    json::Writer out;
    out.begin_object().field("valid", true);
    out.field("tx_hash", chain::display(read.family, read.outpoint.tx));
    out.field("output_index", read.outpoint.index).field(amount_field(read.family), coin);
    out.field("address", to_hex(record.address)).field("block", read.proof.block_number);
    out.field("block_hash", block_hash).field("root", root.hex()).end_object();
    cli::print_line(out.take());
  } else {
    cli::print(fmt::format(
        "valid     under this root the output is unspent\noutput    {}\nvalue     {} {}\naddress   "
        "{}\nblock     {} {}, says the proof; the root must be the one published for it\n",
        output, coin, coin_unit(read.family), to_hex(record.address), read.proof.block_number,
        block_hash));
  }
  return cli::finish_output();
}

}  // namespace coffer::utxo
