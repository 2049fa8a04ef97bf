// One decoded block of either family: flat tables of views over the block's own bytes.
// Invariant: every view points into `raw`; a transaction's parts are consecutive rows of the
// tables. Decoding appends to the tables and allocates nothing per transaction.
#pragma once

#include <iosfwd>
#include <span>
#include <vector>

#include <coffer/base/bytes.h>
#include <coffer/base/strong.h>

namespace coffer::chain {

enum class Family : std::uint8_t { kBitcoin, kCardano };
std::ostream& operator<<(std::ostream& out, Family family);  // "Bitcoin", "Cardano": for tests

struct Outpoint {
  Hash256 tx{};
  std::uint32_t index = 0;
  friend auto operator<=>(const Outpoint&, const Outpoint&) = default;
};

struct OutpointHash {
  std::size_t operator()(const Outpoint& o) const {
    return HashOfHash{}(o.tx) ^ (o.index * 0x9e3779b97f4a7c15ull);
  }
};

// A block on some chain, or Origin, the place before the first block.
struct Point {
  Slot slot;
  Hash256 hash{};  // zeros at Origin
  static Point origin() { return {}; }
  bool is_origin() const { return hash.is_zero(); }
  friend bool operator==(const Point&, const Point&) = default;
};

struct Range {
  std::uint32_t begin = 0;
  std::uint32_t count = 0;
};

struct Input {
  const std::uint8_t* tx = nullptr;  // 32 bytes inside the block
  std::uint32_t index = 0;
  Outpoint outpoint() const { return {Hash256::from(tx), index}; }
};

struct Asset {
  const std::uint8_t* policy = nullptr;  // 28 bytes inside the block
  ByteView name;
  std::uint64_t quantity = 0;
};

struct MintedAsset {
  const std::uint8_t* policy = nullptr;
  ByteView name;
  std::int64_t quantity = 0;  // negative when burnt
};

struct Output {
  ByteView address;  // Bitcoin: scriptPubKey; Cardano: raw address bytes, even malformed ones
  Amount amount;
  Range assets;           // rows of Block::assets
  ByteView datum_hash;    // 32 bytes, or empty
  ByteView inline_datum;  // the datum's own CBOR, or empty
  ByteView script_ref;    // CBOR [language, script], or empty
  bool map_form = false;  // Cardano: written as a map (Babbage on), not as an array
};

inline constexpr std::uint32_t kNone = 0xffffffff;

struct Tx {
  Hash256 id{};   // zeros until hashed
  ByteView raw;   // Bitcoin: the whole transaction; Cardano: its body
  ByteView core;  // Bitcoin: input count through last output; what the id covers besides version
                  // and lock time
  ByteView witnesses;  // Cardano: the witness set
  ByteView auxiliary;  // Cardano: the auxiliary data, or empty
  Range inputs;        // rows of Block::inputs
  Range collateral;
  Range reference_inputs;
  Range outputs;                            // rows of Block::outputs
  Range minted;                             // rows of Block::minted
  std::uint32_t collateral_return = kNone;  // a row of Block::outputs
  Amount fee;                               // Cardano only; Bitcoin's follows from the coins spent
  Amount total_collateral;
  bool has_total_collateral = false;
  bool valid = true;  // false: phase-2 validation failed; collateral is spent instead
  bool coinbase = false;
  bool segwit = false;
};

struct Block {
  Block() = default;
  Block(const Block&) = delete;  // a copy's views would point into the original
  Block& operator=(const Block&) = delete;
  Block(Block&&) = default;  // moving a vector keeps its bytes in place
  Block& operator=(Block&&) = default;

  Family family = Family::kBitcoin;
  std::uint8_t era = 0;         // Cardano's era tag, 0 (epoch boundary) to 7 (Conway)
  bool epoch_boundary = false;  // shares its number with the block before it
  ByteView raw;                 // as given, with Cardano's [era, block] around it
  ByteView header;
  Hash256 hash{};      // zeros until hashed
  Hash256 prev{};      // zeros when the block has none
  BlockNumber number;  // on Bitcoin set when connected: the header does not tell
  Slot slot;
  std::uint64_t epoch = 0;
  std::int64_t time_unix_s = 0;

  std::vector<Tx> txs;
  std::vector<Input> inputs;
  std::vector<Output> outputs;
  std::vector<Asset> assets;
  std::vector<MintedAsset> minted;
  Bytes storage;  // what `raw` points into, when the block owns its bytes

  Point point() const { return {slot, hash}; }
  std::span<const Input> at(Range r, const std::vector<Input>& t) const {
    return {t.data() + r.begin, r.count};
  }
  std::span<const Input> inputs_of(const Tx& tx) const { return at(tx.inputs, inputs); }
  std::span<const Input> collateral_of(const Tx& tx) const { return at(tx.collateral, inputs); }
  std::span<const Input> reference_inputs_of(const Tx& tx) const {
    return at(tx.reference_inputs, inputs);
  }
  std::span<const Output> outputs_of(const Tx& tx) const {
    return {outputs.data() + tx.outputs.begin, tx.outputs.count};
  }
  std::span<const Asset> assets_of(const Output& output) const {
    return {assets.data() + output.assets.begin, output.assets.count};
  }
  std::span<const MintedAsset> minted_of(const Tx& tx) const {
    return {minted.data() + tx.minted.begin, tx.minted.count};
  }

  // What the transaction takes from the unspent set: inputs, none of a coinbase, collateral if
  // invalid.
  std::span<const Input> spent_by(const Tx& tx) const {
    if (tx.coinbase) return {};
    return tx.valid ? inputs_of(tx) : collateral_of(tx);
  }
  // What it adds: fn(index, output, is_collateral_return). An invalid transaction's collateral
  // return sits at the index after its regular outputs.
  template <typename Fn>
  void for_each_created(const Tx& tx, Fn fn) const {
    if (tx.valid) {
      for (std::uint32_t i = 0; i < tx.outputs.count; ++i)
        fn(i, outputs[tx.outputs.begin + i], false);
    } else if (tx.collateral_return != kNone) {
      fn(tx.outputs.count, outputs[tx.collateral_return], true);
    }
  }

  // Empties the tables but keeps their memory for the next block.
  void clear();
};

// Bitcoin prints hashes back to front, Cardano as they are.
std::string display(Family family, const Hash256& hash);
// "HASH#INDEX".
std::string display(Family family, const Outpoint& outpoint);
// Reads a hash as display() prints it, in digits of either case. Errors: kInvalidInput.
Result<Hash256> parse_display(Family family, std::string_view text);

}  // namespace coffer::chain
