// Bitcoin blocks that a regtest node accepts. Coins are locked by hashes of "<n> OP_DROP OP_1",
// which anyone can spend without a signature, so no key is needed and each n is an address of its
// own.
#include "base/check.h"
#include "chain/bitcoin_limits.h"
#include "codec/wire.h"
#include "crypto/hash160.h"
#include "crypto/sha256.h"
#include "feed/devnet_flavour.h"

namespace coffer::feed {
namespace {

using codec::append_compact_size;
using codec::append_var_bytes;

enum BitcoinKind : std::uint8_t { kP2wsh, kP2sh, kP2shP2wsh };

constexpr std::uint32_t kTxVersion = 2, kSequence = 0xfffffffd, kBits = 0x207fffff;
constexpr std::uint64_t kSubsidy = 50'0000'0000, kHalving = 150;

// The block that every regtest node starts with.
constexpr std::string_view kGenesis =
    "0100000000000000000000000000000000000000000000000000000000000000000000003ba3edfd7a7b12b27ac72c"
    "3e"
    "67768f617fc81bc3888a51323a9fb8aa4b1e5e4adae5494dffff7f2002000000010100000001000000000000000000"
    "00"
    "00000000000000000000000000000000000000000000ffffffff4d04ffff001d0104455468652054696d6573203033"
    "2f"
    "4a616e2f32303039204368616e63656c6c6f72206f6e206272696e6b206f66207365636f6e64206261696c6f757420"
    "66"
    "6f722062616e6b73ffffffff0100f2052a01000000434104678afdb0fe5548271967f1a67130b7105cd6a828e03909"
    "a6"
    "7962e0ea1f61deb649f6bc3f4cef38c4f35504e51ec112de5c384df7ba0b8d578a4c702b6bf11d5fac00000000";

Bytes inner_script(std::uint32_t owner) {
  Bytes script = {0x04};
  append_le(script, owner);
  script.push_back(0x75);  // OP_DROP
  script.push_back(0x51);  // OP_1
  return script;
}

Bytes witness_program(std::uint32_t owner) {
  Bytes program = {0x00, 0x20};
  append(program, crypto::sha256(inner_script(owner)).view());
  return program;
}

Bytes p2sh(ByteView redeem) {
  Bytes script = {0xa9, 0x14};
  append(script, crypto::hash160(redeem).view());
  script.push_back(0x87);
  return script;
}

Bytes script_pub_key(const DevCoin& coin) {
  switch (coin.kind) {
    case kP2sh: return p2sh(inner_script(coin.owner));
    case kP2shP2wsh: return p2sh(witness_program(coin.owner));
    default: return witness_program(coin.owner);
  }
}

Bytes script_sig(const DevCoin& coin) {
  Bytes script;
  if (coin.kind == kP2sh) append_var_bytes(script, inner_script(coin.owner));
  if (coin.kind == kP2shP2wsh) append_var_bytes(script, witness_program(coin.owner));
  return script;
}

bool has_witness(const DevCoin& coin) {
  return coin.kind != kP2sh;
}

// An output that nobody here can spend again: every type a wallet meets.
void append_foreign_output(Bytes& out, Rng& rng) {
  Bytes script;
  auto random = [&](std::size_t count) {
    Bytes bytes(count);
    rng.fill(bytes);
    append(script, bytes);
  };
  auto literal = [&](std::initializer_list<std::uint8_t> bytes) { append(script, Bytes(bytes)); };
  std::uint64_t value = 600;
  switch (rng.below(6)) {
    case 0:
      literal({0x76, 0xa9, 0x14});
      random(20);
      literal({0x88, 0xac});
      break;  // p2pkh
    case 1:
      literal({0x00, 0x14});
      random(20);
      break;  // p2wpkh
    case 2:
      literal({0x51, 0x20});
      random(32);
      break;  // p2tr
    case 3:
      literal({0x21, 0x02});
      random(32);
      literal({0xac});
      break;                                           // p2pk
    case 4: literal({0x51, 0x02, 0x4e, 0x73}); break;  // p2a
    default:
      literal({0x6a, 0x10});
      random(16);
      value = 0;  // op_return
  }
  append_le(out, value);
  append_var_bytes(out, script);
}

struct Encoded {
  Bytes raw;
  Hash256 id{};
};

// version, core, witness for each input, lock time
Encoded assemble(ByteView core, const std::vector<Bytes>& witness_items) {
  bool segwit = false;
  for (const Bytes& item : witness_items) segwit = segwit || !item.empty();
  Encoded tx;
  append_le(tx.raw, kTxVersion);
  if (segwit) append(tx.raw, Bytes{0, 1});
  append(tx.raw, core);
  if (segwit) {
    for (const Bytes& item : witness_items) {
      append_compact_size(tx.raw, item.empty() ? 0 : 1);
      if (!item.empty()) append_var_bytes(tx.raw, item);
    }
  }
  append_le<std::uint32_t>(tx.raw, 0);
  crypto::Sha256 hasher;
  const Bytes version = {2, 0, 0, 0}, lock_time = {0, 0, 0, 0};
  tx.id = hasher.update(version).update(core).update(lock_time).finish_double();
  return tx;
}

Hash256 merkle_root(std::vector<Hash256> hashes) {
  while (hashes.size() > 1) {
    if (hashes.size() % 2 != 0) hashes.push_back(hashes.back());
    for (std::size_t i = 0; i < hashes.size() / 2; ++i) {
      crypto::Sha256 hasher;
      hashes[i] =
          hasher.update(hashes[2 * i].view()).update(hashes[2 * i + 1].view()).finish_double();
    }
    hashes.resize(hashes.size() / 2);
  }
  return hashes[0];
}

// BIP 34: the height as a minimal script number, then bytes that make the coinbase unique.
Bytes coinbase_script(std::uint64_t height, std::uint64_t nonce) {
  Bytes script;
  if (height <= 16) {
    script.push_back(static_cast<std::uint8_t>(height == 0 ? 0 : 0x50 + height));
  } else {
    Bytes number;
    for (std::uint64_t rest = height; rest > 0; rest >>= 8)
      number.push_back(static_cast<std::uint8_t>(rest));
    if (number.back() & 0x80) number.push_back(0);
    append_var_bytes(script, number);
  }
  script.push_back(8);
  append_le(script, nonce);
  return script;
}

class BitcoinFlavour final : public DevnetFlavour {
 public:
  std::vector<DevCoin> genesis_coins() const override { return {}; }
  std::vector<chain::GenesisUtxo> genesis_utxos() const override { return {}; }

  std::optional<BuiltBlock> genesis_block() const override {
    BuiltBlock block;
    block.raw = from_hex(kGenesis).value();
    block.hash = crypto::sha256d(ByteView(block.raw).first(80));
    return block;
  }

  std::uint8_t random_kind(Rng& rng) const override {
    const std::uint64_t roll = rng.below(10);
    return roll < 7 ? kP2wsh : roll < 9 ? kP2sh : kP2shP2wsh;
  }
  bool has_mempool_replacement() const override { return true; }
  bool has_assets() const override { return false; }
  std::uint64_t fee(Rng& rng) const override { return 200 + rng.below(2000); }
  std::uint64_t least_value() const override { return 1000; }

  DevTx build(const TxPlan& plan, Rng& rng) const override {
    DevTx tx;
    tx.fee = plan.fee;
    Bytes core;
    std::vector<Bytes> witness;
    append_compact_size(core, plan.inputs.size());
    for (const DevCoin& coin : plan.inputs) {
      append(core, coin.outpoint.tx.view());
      append_le(core, coin.outpoint.index);
      append_var_bytes(core, script_sig(coin));
      append_le(core, kSequence);
      witness.push_back(has_witness(coin) ? inner_script(coin.owner) : Bytes());
      tx.spends.push_back(coin.outpoint);
    }
    // Now and then somebody else is paid too, out of the first output.
    const bool foreign = rng.one_in(8) && plan.outputs.front().value > 600 + least_value();
    Bytes foreign_output;
    if (foreign) append_foreign_output(foreign_output, rng);
    const std::uint64_t foreign_value = foreign ? load_le<std::uint64_t>(foreign_output.data()) : 0;
    append_compact_size(core, plan.outputs.size() + (foreign ? 1 : 0));
    for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
      DevCoin coin = plan.outputs[i];
      if (i == 0) coin.value -= foreign_value;
      coin.outpoint.index = static_cast<std::uint32_t>(i);
      append_le(core, coin.value);
      append_var_bytes(core, script_pub_key(coin));
      tx.creates.push_back(std::move(coin));
    }
    append(core, foreign_output);
    Encoded encoded = assemble(core, witness);
    tx.id = encoded.id;
    tx.wire = std::move(encoded.raw);
    for (DevCoin& coin : tx.creates) coin.outpoint.tx = tx.id;
    return tx;
  }

  BuiltBlock build_block(const BlockPlan& plan) const override {
    std::vector<Hash256> ids(1), witness_ids(1);  // the coinbase counts as zeros among the latter
    std::uint64_t reward = plan.height / kHalving < 64 ? kSubsidy >> (plan.height / kHalving) : 0;
    for (const DevTxPtr& tx : plan.txs) {
      ids.push_back(tx->id);
      witness_ids.push_back(crypto::sha256d(tx->wire));
      reward += tx->fee;
    }
    BuiltBlock block;
    DevCoin coin{.value = reward,
                 .owner = plan.owner,
                 .kind = kP2wsh,
                 .mature_height = plan.height + chain::kCoinbaseMaturity};
    Encoded coinbase = build_coinbase(plan, coin, merkle_root(std::move(witness_ids)));
    coin.outpoint = {coinbase.id, 0};
    ids[0] = coinbase.id;
    append_header(block, plan, merkle_root(std::move(ids)));
    append_compact_size(block.raw, plan.txs.size() + 1);
    append(block.raw, coinbase.raw);
    for (const DevTxPtr& tx : plan.txs) append(block.raw, tx->wire);
    block.coinbase.push_back(std::move(coin));
    return block;
  }

 private:
  static Encoded build_coinbase(const BlockPlan& plan, const DevCoin& coin,
                                const Hash256& witness_root) {
    const Bytes reserved(32, 0);
    crypto::Sha256 hasher;
    const Hash256 commitment = hasher.update(witness_root.view()).update(reserved).finish_double();
    Bytes core;
    append_compact_size(core, 1);
    append(core, reserved);
    append_le<std::uint32_t>(core, 0xffffffff);
    append_var_bytes(core, coinbase_script(plan.height, plan.nonce));
    append_le<std::uint32_t>(core, 0xffffffff);
    append_compact_size(core, 2);
    append_le(core, coin.value);
    append_var_bytes(core, script_pub_key(coin));
    append_le<std::uint64_t>(core, 0);
    Bytes commitment_script = {0x6a, 0x24, 0xaa, 0x21, 0xa9, 0xed};
    append(commitment_script, commitment.view());
    append_var_bytes(core, commitment_script);
    return assemble(core, {reserved});
  }

  // Tries nonces until the hash is below regtest's target: two on average.
  static void append_header(BuiltBlock& block, const BlockPlan& plan, const Hash256& merkle) {
    append_le<std::uint32_t>(block.raw, 0x20000000);
    append(block.raw, plan.prev.view());
    append(block.raw, merkle.view());
    append_le(block.raw, static_cast<std::uint32_t>(plan.unix_s));
    append_le(block.raw, kBits);
    append_le<std::uint32_t>(block.raw, 0);
    for (std::uint32_t nonce = 0;; ++nonce) {
      store_le(block.raw.data() + 76, nonce);
      block.hash = crypto::sha256d(block.raw);
      if (block.hash[31] < 0x7f) return;
    }
  }
};

}  // namespace

std::unique_ptr<DevnetFlavour> make_bitcoin_flavour() {
  return std::make_unique<BitcoinFlavour>();
}

}  // namespace coffer::feed
