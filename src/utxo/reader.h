// The reading side over the columns; see state.h. Thread-safe: it holds no state of its own but the
// counters of a writer in the same process, if there is one.
#pragma once

#include "chain/network.h"
#include "utxo/columns.h"
#include "utxo/meta.h"
#include "utxo/state.h"

namespace coffer::utxo {

class Reader final : public UtxoState {
 public:
  Reader(const kv::Database& db, const chain::Network& network, const Columns& columns,
         const Shape& shape, std::function<void(Stats&)> add_counters = nullptr);

  StoreType type() const override { return shape_.store; }
  bool indexes_addresses() const override { return shape_.index_address; }
  bool indexes_credentials() const override { return shape_.index_credential; }

  Result<std::optional<Found>> get(const chain::Outpoint& outpoint) const override;
  Result<Page> by_address(ByteView address, const PageRequest& request) const override;
  Result<Page> by_credential(const Hash224& credential, const PageRequest& request) const override;
  Result<Balance> balance(ByteView address, std::string_view cursor) const override;
  Result<BlockDelta> delta(BlockNumber number, Bytes& stored) const override;
  Result<Root> root(std::optional<BlockNumber> number) const override;
  Result<mmr::UnspentProof> prove(const chain::Outpoint& outpoint,
                                  std::optional<BlockNumber> number) const override;
  Result<Stats> stats() const override;
  Result<std::uint64_t> count_addresses(const std::function<bool()>& go_on) const override;
  Result<bus::Position> for_each(const std::function<bool(const Utxo&)>& each) const override;

 private:
  // One walk over the entries of an owner.
  struct Walk {
    kv::Column column;
    Hash224 owner{};
    // Whether the record is really the owner's (U11).
    std::function<bool(const UtxoRecord&)> owns;
  };
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

  const kv::Database& db_;
  const chain::Network network_;
  const Columns columns_;
  const Shape shape_;
  const std::function<void(Stats&)> add_counters_;
};

// Decodes a stored output. Errors: kCorrupt.
Result<Utxo> make_utxo(const chain::Outpoint& outpoint, ByteView stored);

}  // namespace coffer::utxo
