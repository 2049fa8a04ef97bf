// What is unspent, for this address, and can you prove it: the reading side, for API and command
// line. Every call reads under one snapshot, so its answer is the state after one block.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include <coffer/bus/event.h>
#include <coffer/mmr/check.h>
#include <coffer/utxo/delta.h>
#include <coffer/utxo/options.h>
#include <coffer/utxo/record.h>

namespace coffer::kv {
class Snapshot;
}

namespace coffer::utxo {

struct Tip;

// Moving one keeps the bytes in place, so the views stay good.
struct Utxo {
  Utxo() = default;
  Utxo(Utxo&&) = default;
  Utxo& operator=(Utxo&&) = default;

  chain::Outpoint outpoint;
  Bytes stored;
  UtxoRecord record;  // views into `stored`
};

struct SpentInfo {
  Hash256 by{};  // zeros where a rule of the ledger removed the output
  Slot slot;
  BlockNumber number;
  Hash256 block_hash{};
  std::int64_t time_unix_s = 0;
  std::optional<std::uint64_t> epoch;
};

struct UtxoLookup {
  Utxo utxo;
  std::optional<SpentInfo> spent;  // set: no longer there, but still remembered
};

struct AssetFilter {
  Hash224 policy{};
  std::optional<Bytes> name;  // nothing: any asset of the policy
};

struct PageRequest {
  std::uint64_t page = 1;     // from 1; ignored with a cursor
  std::uint64_t count = 100;  // 1 to 100
  bool descending = false;
  std::string cursor;  // of an earlier page; empty: from the beginning
  std::optional<AssetFilter> asset;
  std::optional<Slot> from_slot, to_slot;  // both inclusive
};

struct Page {
  std::vector<Utxo> utxos;
  // Where to go on; empty at the end. A page may hold fewer than asked for and still have one: a
  // request looks at a bounded number of entries (E11).
  std::string cursor;
  bus::Position at;
  BlockNumber number;  // of the block at that position
};

using AssetId = std::pair<Hash224, Bytes>;

struct Balance {
  U128 amount = 0;
  std::map<AssetId, U128> assets;
  std::uint64_t utxos = 0;
  std::string
      cursor;  // set if there was more than one request may look at: sums so far, go on here
  bus::Position at;
  BlockNumber number;
};

struct Root {
  Hash256 root{};
  std::uint64_t leaves = 0;
  BlockNumber number;
  Hash256 block_hash{};
};

struct Stats {
  bus::Position at;
  BlockNumber number;
  StoreType store = StoreType::kClassic;
  std::uint64_t unspent = 0;
  U128 amount = 0;
  std::uint64_t leaves = 0;           // mmr
  std::uint64_t deltas = 0;           // blocks whose changes are kept
  std::uint64_t rollback_blocks = 0;  // of them, that can be undone now
  // Since the process started.
  std::uint64_t created = 0, spent = 0, pruned = 0, reversed = 0, missing_inputs = 0,
                unspendable = 0;
};

// Thread-safe. Errors of all reads: kCorrupt, kUnavailable.
class UtxoState {
 public:
  // Made by open_state(), and by a Store for its own data.
  struct Impl;
  explicit UtxoState(std::unique_ptr<const Impl> impl);
  ~UtxoState();

  StoreType type() const;
  bool indexes_addresses() const;
  bool indexes_credentials() const;

  // Nothing if it was never there, or is no longer remembered.
  Result<std::optional<UtxoLookup>> get(const chain::Outpoint& outpoint) const;
  // By raw address bytes (a scriptPubKey on Bitcoin), or by payment credential. An address without
  // outputs is an empty page. Cost: one seek and the entries of the page (with a page number: of
  // the pages before it, too). Errors: kInvalidInput (count, cursor), kConflict without the
  // index.
  Result<Page> by_address(ByteView address, const PageRequest& request) const;
  Result<Page> by_credential(const Hash224& credential, const PageRequest& request) const;
  Result<Balance> balance(ByteView address, std::string_view cursor = {}) const;

  // What the block of this number did. Errors: kNotFound beyond the tip or the window.
  // `stored` owns what the delta's views point into.
  Result<BlockDelta> delta(BlockNumber number, Bytes& stored) const;

  // After the block of this number, or the newest. Errors: kConflict on classic, kNotFound.
  Result<Root> root(std::optional<BlockNumber> number = {}) const;
  // A proof that the output was unspent after that block, for mmr::check(). Cost: a read a level;
  // before the newest block also the deltas since.
  // Errors: as root(); kNotFound if it was not unspent then.
  Result<mmr::UnspentProof> prove(const chain::Outpoint& outpoint,
                                  std::optional<BlockNumber> number = {}) const;

  Result<Stats> stats() const;
  // Distinct addresses with unspent outputs; asks `go_on` every few thousand of them.
  // Cost: one seek an address, so not for every request. Errors: kCancelled.
  Result<std::uint64_t> count_addresses(const std::function<bool()>& go_on = [] {
    return true;
  }) const;

  // Every unspent output in key order, under one snapshot; false from `each` ends it early.
  Result<bus::Position> for_each(const std::function<bool(const Utxo&)>& each) const;

 private:
  struct Walk;
  Result<Page> page(const Walk& walk, const PageRequest& request) const;
  Result<> page_under(const kv::Snapshot& snapshot, const Walk& walk, const PageRequest& request,
                      Page& page) const;
  // The records at these entries, in order; those not of the owner are left out.
  Result<std::vector<Utxo>> load(const kv::Snapshot& snapshot, const Walk& walk,
                                 std::span<const Bytes> entries) const;
  Result<Walk> address_walk(ByteView address) const;
  Result<std::pair<Ordinal, BlockDelta>> find_delta(const Tip& tip, BlockNumber number,
                                                    const kv::Snapshot& snapshot,
                                                    Bytes& stored) const;
  Result<> needs_mmr() const;

  const std::unique_ptr<const Impl> impl_;
};

// The line that describes an output in `coffer utxo dump`, as shared by independent
// implementations: see docs/formats/utxo.md.
std::string dump_line(chain::Family family, const Utxo& utxo);

// Count, value and acc: the sum of SHA-256 over the dump lines as 256-bit numbers, modulo 2^256.
struct Digest {
  std::uint64_t count = 0;
  U128 amount = 0;
  Hash256 acc{};  // big-endian
  friend bool operator==(const Digest&, const Digest&) = default;

  void add(chain::Family family, const Utxo& utxo);
  void remove(chain::Family family, const Utxo& utxo);
};
Result<Digest> digest(const UtxoState& state, chain::Family family);

}  // namespace coffer::utxo
