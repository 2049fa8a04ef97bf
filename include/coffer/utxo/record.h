// The stored form of an output, and of a spent one: CBOR maps with integer keys
// (docs/formats/utxo.md). What follows from the address (its credentials) is not stored.
// Invariant: encoding is canonical, so equal facts are equal bytes.
#pragma once

#include <optional>
#include <vector>

#include <coffer/chain/block.h>

namespace coffer::utxo {

// An output as the chain made it: views into the bytes it was read from.
struct UtxoRecord {
  ByteView address;  // Bitcoin: scriptPubKey (U14)
  Amount amount;
  std::vector<chain::Asset> assets;
  ByteView datum_hash;    // 32 bytes or empty
  ByteView inline_datum;  // or empty
  ByteView script_ref;    // CBOR [language, script] or empty
  ByteView script_hash;   // 28 bytes or empty: of script_ref
  bool collateral_return = false;
  Slot slot;
  BlockNumber number;
  ByteView block_hash;                 // 32 bytes; empty for outputs of the genesis files
  std::optional<std::uint64_t> epoch;  // Cardano
  std::int64_t time_unix_s = 0;
  bool coinbase = false;              // Bitcoin
  std::optional<std::uint64_t> leaf;  // index in the accumulator; only with the mmr store
};

// Where an output came from: the same for all of a block.
struct CreationBlock {
  chain::Family family = chain::Family::kBitcoin;
  Slot slot;
  BlockNumber number;
  ByteView block_hash;
  std::uint64_t epoch = 0;
  std::int64_t time_unix_s = 0;

  static CreationBlock of(const chain::Block& block) {
    return {block.family,      block.slot,  block.number,
            block.hash.view(), block.epoch, block.time_unix_s};
  }
};

// Appends the record. `leaf` becomes key 17, which is no fact of the chain.
void encode_record(Bytes& out, const CreationBlock& creation, const chain::Output& output,
                   std::span<const chain::Asset> assets, bool collateral_return, bool coinbase,
                   std::optional<std::uint64_t> leaf);
// Errors: kCorrupt.
Result<UtxoRecord> decode_record(ByteView stored);

// The little that moving an output needs, at a fraction of the cost of decoding it whole.
struct RecordHead {
  ByteView address;
  Amount amount;
  Slot slot;
  std::optional<std::uint64_t> leaf;
};
Result<RecordHead> decode_head(ByteView stored);

// The record without key 17: what the accumulator commits to. Errors: kCorrupt.
Result<Bytes> chain_facts(ByteView stored);

struct SpentRecord {
  Hash256 by{};  // the spending transaction; zeros where a rule of the ledger removed the output
  Slot slot;
  BlockNumber number;
  Hash256 block_hash{};
  std::int64_t time_unix_s = 0;
  std::optional<std::uint64_t> epoch;
  ByteView before;  // the UtxoRecord
};
void encode_spent(Bytes& out, const Hash256& by, const CreationBlock& where, ByteView before);
// Errors: kCorrupt.
Result<SpentRecord> decode_spent(ByteView stored);

}  // namespace coffer::utxo
