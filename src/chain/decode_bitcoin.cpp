// Bitcoin blocks and transactions, legacy and segwit.
#include <coffer/chain/decode.h>
#include "base/result.h"
#include "chain/bitcoin_limits.h"
#include "codec/wire.h"
#include "crypto/sha256.h"

namespace coffer::chain::detail {
namespace {

using codec::WireReader;

constexpr std::size_t kHeaderBytes = 80;
constexpr std::uint64_t kLeastInputBytes = 41, kLeastOutputBytes = 9, kLeastTxBytes = 60;
constexpr std::string_view kUncommitted = "block: witness data without a commitment to it";
constexpr std::uint8_t kCommitmentPrefix[] = {0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed};

void read_inputs(WireReader& reader, Block& block, Tx& tx) {
  const std::uint64_t count = reader.count(kLeastInputBytes, "more inputs than the input can hold");
  tx.inputs = {static_cast<std::uint32_t>(block.inputs.size()), static_cast<std::uint32_t>(count)};
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
    const std::uint8_t* hash = reader.bytes(32).data();
    const std::uint32_t index = reader.u32();
    reader.var_bytes();  // scriptSig
    reader.u32();        // sequence
    block.inputs.push_back({hash, index});
  }
}

void read_outputs(WireReader& reader, Block& block, Tx& tx) {
  const std::uint64_t count =
      reader.count(kLeastOutputBytes, "more outputs than the input can hold");
  tx.outputs = {static_cast<std::uint32_t>(block.outputs.size()),
                static_cast<std::uint32_t>(count)};
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) {
    const std::size_t start = reader.offset();
    Output& output = block.outputs.emplace_back();
    output.amount = Amount(reader.u64());
    output.address = reader.var_bytes();
    if (output.amount.value > kMaxMoney) reader.fail_at("an amount beyond all coins", start);
  }
}

void read_witness(WireReader& reader, std::uint32_t inputs) {
  for (std::uint32_t i = 0; i < inputs && reader.ok(); ++i) {
    const std::uint64_t items = reader.count(1, "more witness items than the input can hold");
    for (std::uint64_t k = 0; k < items && reader.ok(); ++k) reader.var_bytes();
  }
}

bool is_null_outpoint(const Input& input) {
  return input.index == 0xffffffff &&
         std::all_of(input.tx, input.tx + 32, [](auto b) { return b == 0; });
}

void read_tx(WireReader& reader, Block& block) {
  const std::size_t start = reader.offset();
  Tx& tx = block.txs.emplace_back();
  reader.u32();  // version
  tx.segwit = reader.peek(0) == 0 && reader.peek(1) == 1;
  if (tx.segwit) reader.bytes(2);
  const std::size_t core = reader.offset();
  read_inputs(reader, block, tx);
  read_outputs(reader, block, tx);
  tx.core = reader.ok() ? reader.since(core) : ByteView{};
  if (tx.inputs.count == 0 || tx.outputs.count == 0)
    reader.fail_at("a transaction without inputs or outputs", core);
  if (tx.segwit) read_witness(reader, tx.inputs.count);
  reader.u32();  // lock time
  if (!reader.ok()) return;
  tx.raw = reader.since(start);
  tx.coinbase = tx.inputs.count == 1 && is_null_outpoint(block.inputs[tx.inputs.begin]);
}

Hash256 tx_id(const Tx& tx) {
  if (!tx.segwit) return crypto::sha256d(tx.raw);
  crypto::Sha256 hasher;
  hasher.update(tx.raw.first(4)).update(tx.core).update(tx.raw.last(4));
  return hasher.finish_double();
}

// Folds `hashes` to their merkle root in place. `mutated` tells of two equal neighbours, by which a
// block could be given another transaction list with the same root (CVE-2012-2459).
Hash256 merkle_root(Bytes& hashes, bool& mutated) {
  std::size_t count = hashes.size() / 32;
  while (count > 1) {
    for (std::size_t i = 0; i + 1 < count; i += 2)
      if (std::memcmp(&hashes[i * 32], &hashes[(i + 1) * 32], 32) == 0) mutated = true;
    if (count % 2 != 0) {
      hashes.resize((count + 1) * 32);
      std::memcpy(&hashes[count * 32], &hashes[(count - 1) * 32], 32);
      ++count;
    }
    crypto::sha256d_pairs(hashes.data(), hashes.data(), count / 2);
    count /= 2;
    hashes.resize(count * 32);
  }
  return Hash256::from(hashes.data());
}

Result<> check_merkle_root(const Block& block) {
  thread_local Bytes hashes;
  hashes.clear();
  for (const Tx& tx : block.txs) append(hashes, tx.id.view());
  bool mutated = false;
  const Hash256 root = merkle_root(hashes, mutated);
  if (mutated)
    return fail(Code::kInvalidInput, "block: the same transaction twice in its merkle tree");
  if (!equal(root.view(), block.header.subspan(36, 32)))
    return fail(Code::kInvalidInput, "block: merkle root does not match its transactions");
  return {};
}

// The commitment is the last output of the coinbase that starts with the prefix; its nonce is the
// coinbase's only witness item.
Result<> check_witness_commitment(const Block& block) {
  const Tx& coinbase = block.txs.front();
  ByteView commitment;
  for (const Output& output : block.outputs_of(coinbase))
    if (output.address.size() >= 38 && equal(output.address.first(6), kCommitmentPrefix))
      commitment = output.address.subspan(6, 32);
  const bool any_segwit =
      std::any_of(block.txs.begin(), block.txs.end(), [](const Tx& tx) { return tx.segwit; });
  if (commitment.empty())
    return any_segwit ? fail(Code::kInvalidInput, "{}", kUncommitted) : Result<>{};
  // Before segwit a block may carry such bytes by accident; then nothing in it has a witness.
  if (!coinbase.segwit)
    return any_segwit ? fail(Code::kInvalidInput, "{}", kUncommitted) : Result<>{};
  // The coinbase's witness is one item of 32 bytes, right before the lock time.
  const ByteView nonce_item = coinbase.raw.last(4 + 34).first(34);
  const bool one_item = coinbase.raw.size() == 4 + 2 + coinbase.core.size() + 34 + 4;
  if (!one_item || nonce_item[0] != 1 || nonce_item[1] != 32)
    return fail(Code::kInvalidInput, "block: the coinbase's witness is not one item of 32 bytes");
  thread_local Bytes hashes;
  hashes.assign(32, 0);
  for (std::size_t i = 1; i < block.txs.size(); ++i) {
    const Tx& tx = block.txs[i];
    append(hashes, tx.segwit ? crypto::sha256d(tx.raw).view() : tx.id.view());
  }
  bool mutated = false;
  const Hash256 root = merkle_root(hashes, mutated);
  const ByteView nonce = nonce_item.subspan(2);
  crypto::Sha256 hasher;
  if (!equal(hasher.update(root.view()).update(nonce).finish_double().view(), commitment))
    return fail(Code::kInvalidInput, "block: witness commitment does not match its transactions");
  return {};
}

}  // namespace

Result<> decode_bitcoin(Block& block, ByteView raw, DecodeOptions options) {
  WireReader reader(raw);
  block.header = reader.bytes(kHeaderBytes);
  if (!reader.ok()) return fail(reader.fault().to_error("block header"));
  block.prev = Hash256::from(block.header.data() + 4);
  block.time_unix_s = load_le<std::uint32_t>(block.header.data() + 68);
  const std::uint64_t count =
      reader.count(kLeastTxBytes, "more transactions than the block can hold");
  if (reader.ok() && count == 0) reader.fail_at("a block without transactions", kHeaderBytes);
  block.txs.reserve(count);
  for (std::uint64_t i = 0; i < count && reader.ok(); ++i) read_tx(reader, block);
  if (reader.ok() && !reader.at_end())
    reader.fail_at("bytes after the last transaction", reader.offset());
  if (!reader.ok()) return fail(reader.fault().to_error("block"));
  for (std::size_t i = 0; i < block.txs.size(); ++i)
    if (block.txs[i].coinbase != (i == 0))
      return fail(Code::kInvalidInput, "block: transaction {} {} a coinbase", i,
                  i == 0 ? "is not" : "is");
  if (!options.hash) return {};
  block.hash = crypto::sha256d(block.header);
  for (Tx& tx : block.txs) tx.id = tx_id(tx);
  if (!options.verify) return {};
  TRY(check_merkle_root(block));
  return check_witness_commitment(block);
}

Result<> decode_bitcoin_tx(Block& block, ByteView raw, DecodeOptions options) {
  WireReader reader(raw);
  read_tx(reader, block);
  if (reader.ok() && !reader.at_end())
    reader.fail_at("bytes after the transaction", reader.offset());
  if (!reader.ok()) return fail(reader.fault().to_error("transaction"));
  if (options.hash) block.txs.front().id = tx_id(block.txs.front());
  return {};
}

}  // namespace coffer::chain::detail

namespace coffer::chain {

Result<> verify_merkle_root(const Block& block) {
  return detail::check_merkle_root(block);
}

Result<> verify_witness_commitment(const Block& block) {
  return detail::check_witness_commitment(block);
}

}  // namespace coffer::chain
