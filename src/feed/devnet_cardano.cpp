// Cardano blocks in Babbage and Conway CBOR. Keys, proofs and signatures are filler of the right
// lengths: nothing here signs, and Coffer does not check consensus.
#include "base/check.h"
#include "codec/cbor_writer.h"
#include "crypto/blake2b.h"
#include "feed/devnet_flavour.h"

namespace coffer::feed {
namespace {

using codec::CborWriter;

enum CardanoKind : std::uint8_t {
  kKey,
  kKeyWithStake,
  kScriptDatumHash,
  kScriptInlineDatum,
  kKeyWithScriptRef
};

constexpr std::uint64_t kBabbage = 6, kConway = 7;
constexpr std::uint64_t kFirstConwayBlock = 60;
constexpr std::uint32_t kGenesisOwners = 20;
constexpr std::uint64_t kGenesisLovelace = 2'000'000'000'000'000;

// `length` bytes that depend on the arguments alone.
Bytes filler(std::string_view purpose, std::uint64_t number, std::size_t length) {
  Bytes seed, out;
  append(seed, as_bytes(purpose));
  append_be64(seed, number);
  Hash256 block = crypto::blake2b_256(seed);
  while (out.size() < length) {
    append(out, block.view());
    block = crypto::blake2b_256(block.view());
  }
  out.resize(length);
  return out;
}

Bytes address_of(const DevCoin& coin) {
  const bool script = coin.kind == kScriptDatumHash || coin.kind == kScriptInlineDatum;
  Bytes address;
  address.push_back(script ? 0x70 : coin.kind == kKeyWithStake ? 0x00 : 0x60);
  append(address, filler(script ? "script" : "key", coin.owner, 28));
  if (coin.kind == kKeyWithStake) append(address, filler("stake", coin.owner, 28));
  return address;
}

// A datum of the shape contracts use: constructor 0 of a number and bytes.
Bytes datum_of(const DevCoin& coin) {
  Bytes out;
  CborWriter writer(out);
  writer.tag(121).begin_indefinite_array().uint(coin.value).bytes(filler("datum", coin.owner, 20));
  writer.end_indefinite();
  return out;
}

Bytes script_of(std::uint32_t owner) {
  Bytes out;
  CborWriter(out).array(2).uint(2).bytes(filler("plutus", owner % 5, 120));  // [2, plutus v2]
  return out;
}

void write_assets(CborWriter& writer, const std::vector<DevAsset>& assets) {
  // Assets of one policy stand together; the simulation gives each policy one asset a coin.
  writer.map(assets.size());
  for (const DevAsset& asset : assets)
    writer.bytes(asset.policy.view()).map(1).bytes(asset.name).uint(asset.quantity);
}

void write_value(CborWriter& writer, const DevCoin& coin) {
  if (coin.assets.empty()) {
    writer.uint(coin.value);
    return;
  }
  writer.array(2).uint(coin.value);
  write_assets(writer, coin.assets);
}

void write_output(CborWriter& writer, const DevCoin& coin) {
  if (coin.kind == kKey || coin.kind == kScriptDatumHash) {  // the older form
    const Bytes datum = datum_of(coin);
    writer.array(coin.kind == kKey ? 2 : 3).bytes(address_of(coin));
    write_value(writer, coin);
    if (coin.kind == kScriptDatumHash) writer.bytes(crypto::blake2b_256(datum).view());
    return;
  }
  writer.map(coin.kind == kKeyWithStake ? 2 : 3).uint(0).bytes(address_of(coin)).uint(1);
  write_value(writer, coin);
  if (coin.kind == kScriptInlineDatum)
    writer.uint(2).array(2).uint(1).tag(24).bytes(datum_of(coin));
  if (coin.kind == kKeyWithScriptRef) writer.uint(3).tag(24).bytes(script_of(coin.owner));
}

void write_inputs(CborWriter& writer, const std::vector<chain::Outpoint>& inputs, bool as_set) {
  if (as_set) writer.tag(258);
  writer.array(inputs.size());
  for (const auto& input : inputs) writer.array(2).bytes(input.tx.view()).uint(input.index);
}

std::vector<chain::Outpoint> outpoints(const std::vector<DevCoin>& coins) {
  std::vector<chain::Outpoint> out;
  out.reserve(coins.size());
  for (const DevCoin& coin : coins) out.push_back(coin.outpoint);
  return out;
}

Bytes write_body(const TxPlan& plan, bool as_set) {
  Bytes out;
  CborWriter writer(out);
  std::size_t fields = 3;
  fields += plan.mint.empty() ? 0 : 1;
  fields += plan.collateral.empty() ? 0 : 2;
  fields += plan.collateral_return ? 1 : 0;
  fields += plan.reference_inputs.empty() ? 0 : 1;
  writer.map(fields).uint(0);
  write_inputs(writer, outpoints(plan.inputs), as_set);
  writer.uint(1).array(plan.outputs.size());
  for (const DevCoin& coin : plan.outputs) write_output(writer, coin);
  writer.uint(2).uint(plan.fee);
  if (!plan.mint.empty()) {
    writer.uint(9).map(plan.mint.size());
    for (const DevMint& mint : plan.mint) {
      const auto quantity = static_cast<std::int64_t>(mint.asset.quantity);
      writer.bytes(mint.asset.policy.view()).map(1).bytes(mint.asset.name);
      writer.integer(mint.burn ? -quantity : quantity);
    }
  }
  if (!plan.collateral.empty()) {
    writer.uint(13);
    write_inputs(writer, outpoints(plan.collateral), as_set);
    std::uint64_t total = 0;
    for (const DevCoin& coin : plan.collateral) total += coin.value;
    if (plan.collateral_return) {
      writer.uint(16);
      write_output(writer, *plan.collateral_return);
      total -= plan.collateral_return->value;
    }
    writer.uint(17).uint(total);
  }
  if (!plan.reference_inputs.empty()) {
    writer.uint(18);
    write_inputs(writer, plan.reference_inputs, as_set);
  }
  return out;
}

class CardanoFlavour final : public DevnetFlavour {
 public:
  std::vector<DevCoin> genesis_coins() const override {
    std::vector<DevCoin> coins;
    for (std::uint32_t owner = 0; owner < kGenesisOwners; ++owner) {
      DevCoin coin{.value = kGenesisLovelace, .owner = owner, .kind = kKey};
      coin.outpoint = {crypto::blake2b_256(address_of(coin)), 0};
      coins.push_back(std::move(coin));
    }
    return coins;
  }
  std::vector<chain::GenesisUtxo> genesis_utxos() const override {
    std::vector<chain::GenesisUtxo> utxos;
    for (const DevCoin& coin : genesis_coins())
      utxos.push_back(
          {coin.outpoint, address_of(coin), Amount(coin.value), chain::GenesisKind::kShelleyFunds});
    std::sort(utxos.begin(), utxos.end(),
              [](const auto& a, const auto& b) { return a.outpoint < b.outpoint; });
    return utxos;
  }
  std::optional<BuiltBlock> genesis_block() const override { return std::nullopt; }
  std::uint8_t random_kind(Rng& rng) const override {
    return static_cast<std::uint8_t>(rng.below(5));
  }
  bool has_mempool_replacement() const override { return false; }
  bool has_assets() const override { return true; }
  std::uint64_t fee(Rng& rng) const override { return 170'000 + rng.below(100'000); }
  std::uint64_t least_value() const override { return 1'000'000; }

  DevTx build(const TxPlan& plan, Rng& rng) const override {
    DevTx tx;
    tx.fee = plan.fee;
    tx.valid = plan.valid;
    tx.body = write_body(plan, rng.one_in(2));
    tx.id = crypto::blake2b_256(tx.body);
    CborWriter witnesses(tx.witnesses);
    witnesses.map(1).uint(0).array(1).array(2);
    witnesses.bytes(filler("vkey", plan.inputs.front().owner, 32)).bytes(filler("sig", tx.fee, 64));
    CborWriter(tx.wire).array(4).raw(tx.body).raw(tx.witnesses).boolean(tx.valid).null();
    tx.spends = outpoints(plan.valid ? plan.inputs : plan.collateral);
    const auto count = static_cast<std::uint32_t>(plan.outputs.size());
    if (plan.valid) {
      for (std::uint32_t i = 0; i < count; ++i)
        tx.creates.push_back(created(plan.outputs[i], tx.id, i));
    } else if (plan.collateral_return) {
      tx.creates.push_back(created(*plan.collateral_return, tx.id, count));
    }
    return tx;
  }

  BuiltBlock build_block(const BlockPlan& plan) const override {
    Bytes bodies, witnesses, auxiliary, invalid;
    std::vector<std::uint64_t> invalid_indexes;
    CborWriter bodies_writer(bodies), witnesses_writer(witnesses), invalid_writer(invalid);
    bodies_writer.array(plan.txs.size());
    witnesses_writer.array(plan.txs.size());
    for (std::size_t i = 0; i < plan.txs.size(); ++i) {
      bodies_writer.raw(plan.txs[i]->body);
      witnesses_writer.raw(plan.txs[i]->witnesses);
      if (!plan.txs[i]->valid) invalid_indexes.push_back(i);
    }
    // Now and then a transaction carries metadata, keyed by its index.
    const bool metadata = !plan.txs.empty() && plan.height % 7 == 0;
    CborWriter auxiliary_writer(auxiliary);
    auxiliary_writer.map(metadata ? 1 : 0);
    if (metadata)
      auxiliary_writer.uint(0).tag(259).map(1).uint(0).map(1).uint(674).text("coffer devnet");
    invalid_writer.array(invalid_indexes.size());
    for (std::uint64_t index : invalid_indexes) invalid_writer.uint(index);

    crypto::Blake2b256 body_hash;
    for (const Bytes* part : {&bodies, &witnesses, &auxiliary, &invalid})
      body_hash.update(crypto::blake2b_256(*part).view());
    const std::size_t body_size =
        bodies.size() + witnesses.size() + auxiliary.size() + invalid.size();
    const Bytes header = write_header(plan, body_size, body_hash.finish());
    BuiltBlock block;
    block.hash = crypto::blake2b_256(header);
    CborWriter(block.raw)
        .array(2)
        .uint(plan.height < kFirstConwayBlock ? kBabbage : kConway)
        .array(5)
        .raw(header)
        .raw(bodies)
        .raw(witnesses)
        .raw(auxiliary)
        .raw(invalid);
    return block;
  }

 private:
  static DevCoin created(DevCoin coin, const Hash256& tx, std::uint32_t index) {
    coin.outpoint = {tx, index};
    return coin;
  }

  static Bytes write_header(const BlockPlan& plan, std::size_t body_size,
                            const Hash256& body_hash) {
    Bytes out;
    CborWriter writer(out);
    writer.array(2).array(10).uint(plan.height).uint(plan.slot);
    if (plan.height == 0)
      writer.null();
    else
      writer.bytes(plan.prev.view());
    writer.bytes(filler("pool", plan.owner, 32)).bytes(filler("vrf", plan.owner, 32));
    writer.array(2)
        .bytes(filler("vrf output", plan.nonce, 64))
        .bytes(filler("vrf proof", plan.nonce, 80));
    writer.uint(body_size).bytes(body_hash.view());
    writer.array(4)
        .bytes(filler("hot", plan.owner, 32))
        .uint(0)
        .uint(0)
        .bytes(filler("cert", plan.owner, 64));
    writer.array(2).uint(plan.height < kFirstConwayBlock ? 8 : 9).uint(0);
    writer.bytes(filler("kes", plan.nonce, 448));
    return out;
  }
};

}  // namespace

std::unique_ptr<DevnetFlavour> make_cardano_flavour() {
  return std::make_unique<CardanoFlavour>();
}

}  // namespace coffer::feed
