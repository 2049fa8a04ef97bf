#include <coffer/utxo/delta.h>

#include "base/result.h"
#include "codec/cbor_reader.h"
#include "codec/cbor_writer.h"

namespace coffer::utxo {
namespace {

enum DeltaKey : std::uint64_t {
  kDeltaNumber = 0,
  kDeltaSlot = 1,
  kDeltaHash = 2,
  kDeltaCreated = 3,
  kDeltaSpent = 4,
  kDeltaFlags = 5,
  kDeltaTxFlags = 6,
  kDeltaMmr = 7,
  kDeltaTransient = 8,
  kDeltaReplaced = 9,
  kDeltaEraBefore = 10,
  kDeltaNumberBefore = 11,
};

class DeltaWriter {
 public:
  explicit DeltaWriter(Bytes& out) : cbor_(out) {}

  void outpoint(const chain::Outpoint& outpoint) {
    cbor_.array(2).bytes(outpoint.tx.view()).uint(outpoint.index);
  }
  void entries(const std::vector<DeltaEntry>& entries, bool spent) {
    cbor_.array(entries.size());
    for (const DeltaEntry& entry : entries) {
      const bool whole = !entry.record.empty();
      cbor_.map(!whole ? 1 : spent ? 3 : 2).uint(0);
      outpoint(entry.outpoint);
      if (whole) cbor_.uint(1).raw(entry.record);
      if (whole && spent) cbor_.uint(2).bytes(entry.by.view());
    }
  }
  void flags(const BlockDelta& delta) {
    cbor_.uint(kDeltaFlags).map(1).uint(0).boolean(!delta.tx_flags.empty());
    if (delta.tx_flags.empty()) return;
    cbor_.uint(kDeltaTxFlags).array(delta.tx_flags.size());
    for (const TxFlag& flag : delta.tx_flags) {
      cbor_.map(3).uint(0).bytes(flag.tx.view());
      cbor_.uint(1).boolean(flag.invalid).uint(2).boolean(flag.had_collateral_return);
    }
  }
  void mmr(const MmrDelta& mmr) {
    cbor_.uint(kDeltaMmr).map(4).uint(0).array(2).uint(mmr.first_leaf).uint(mmr.leaves);
    cbor_.uint(1).array(mmr.spent.size());
    for (std::uint64_t leaf : mmr.spent) cbor_.uint(leaf);
    cbor_.uint(2).array(mmr.peaks.size());
    for (const Hash256& peak : mmr.peaks) cbor_.bytes(peak.view());
    cbor_.uint(3).bytes(mmr.root.view());
  }
  void replaced(const std::vector<Replaced>& replaced) {
    cbor_.uint(kDeltaReplaced).array(replaced.size());
    for (const Replaced& old : replaced) {
      cbor_.map(1 + (old.record.empty() ? 0 : 1) + (old.spent.empty() ? 0 : 1)).uint(0);
      outpoint(old.outpoint);
      if (!old.record.empty()) cbor_.uint(1).raw(old.record);
      if (!old.spent.empty()) cbor_.uint(2).raw(old.spent);
    }
  }
  codec::CborWriter& cbor() { return cbor_; }

 private:
  codec::CborWriter cbor_;
};

class DeltaReader {
 public:
  explicit DeltaReader(ByteView data) : cbor(data) {}

  Hash256 hash() {
    const ByteView bytes = cbor.read_bytes(Hash256::kSize);
    return cbor.ok() ? Hash256::from(bytes.data()) : Hash256{};
  }
  chain::Outpoint outpoint() {
    auto items = cbor.begin_fixed(2);
    chain::Outpoint outpoint;
    outpoint.tx = hash();
    const std::uint64_t index = cbor.read_uint();
    if (index > 0xffffffff) cbor.fail_here("an output index beyond 32 bits");
    outpoint.index = static_cast<std::uint32_t>(index);
    cbor.end_fixed(items);
    return outpoint;
  }
  void entries(std::vector<DeltaEntry>& entries) {
    for (auto items = cbor.begin_array(); cbor.next(items);) {
      DeltaEntry entry;
      for (auto fields = cbor.begin_map(); cbor.next(fields);) {
        switch (cbor.read_uint()) {
          case 0: entry.outpoint = outpoint(); break;
          case 1: entry.record = cbor.skip(); break;
          case 2: entry.by = hash(); break;
          default: cbor.skip();
        }
      }
      entries.push_back(entry);
    }
  }
  void tx_flags(std::vector<TxFlag>& flags) {
    for (auto items = cbor.begin_array(); cbor.next(items);) {
      TxFlag flag;
      for (auto fields = cbor.begin_map(); cbor.next(fields);) {
        switch (cbor.read_uint()) {
          case 0: flag.tx = hash(); break;
          case 1: flag.invalid = cbor.read_bool(); break;
          case 2: flag.had_collateral_return = cbor.read_bool(); break;
          default: cbor.skip();
        }
      }
      flags.push_back(flag);
    }
  }
  MmrDelta mmr() {
    MmrDelta mmr;
    for (auto fields = cbor.begin_map(); cbor.next(fields);) {
      switch (cbor.read_uint()) {
        case 0: {
          auto range = cbor.begin_fixed(2);
          mmr.first_leaf = cbor.read_uint();
          mmr.leaves = cbor.read_uint();
          cbor.end_fixed(range);
          break;
        }
        case 1:
          for (auto items = cbor.begin_array(); cbor.next(items);)
            mmr.spent.push_back(cbor.read_uint());
          break;
        case 2:
          for (auto items = cbor.begin_array(); cbor.next(items);) mmr.peaks.push_back(hash());
          break;
        case 3: mmr.root = hash(); break;
        default: cbor.skip();
      }
    }
    return mmr;
  }
  void replaced(std::vector<Replaced>& replaced) {
    for (auto items = cbor.begin_array(); cbor.next(items);) {
      Replaced old;
      for (auto fields = cbor.begin_map(); cbor.next(fields);) {
        switch (cbor.read_uint()) {
          case 0: old.outpoint = outpoint(); break;
          case 1: old.record = cbor.skip(); break;
          case 2: old.spent = cbor.skip(); break;
          default: cbor.skip();
        }
      }
      replaced.push_back(old);
    }
  }

  codec::CborReader cbor;
};

}  // namespace

void encode_delta(Bytes& out, const BlockDelta& delta) {
  DeltaWriter writer(out);
  writer.cbor().map(6 + (delta.tx_flags.empty() ? 0 : 1) + (delta.mmr ? 1 : 0) +
                    (delta.transient.empty() ? 0 : 1) + (delta.replaced.empty() ? 0 : 1) +
                    (delta.era_before ? 1 : 0) + (delta.number_before ? 1 : 0));
  writer.cbor().uint(kDeltaNumber).uint(delta.number.value);
  writer.cbor().uint(kDeltaSlot).uint(delta.slot.value);
  writer.cbor().uint(kDeltaHash).bytes(delta.hash.view());
  writer.cbor().uint(kDeltaCreated);
  writer.entries(delta.created, false);
  writer.cbor().uint(kDeltaSpent);
  writer.entries(delta.spent, true);
  writer.flags(delta);
  if (delta.mmr) writer.mmr(*delta.mmr);
  if (!delta.transient.empty()) {
    writer.cbor().uint(kDeltaTransient).array(delta.transient.size());
    for (const chain::Outpoint& outpoint : delta.transient) writer.outpoint(outpoint);
  }
  if (!delta.replaced.empty()) writer.replaced(delta.replaced);
  if (delta.era_before) writer.cbor().uint(kDeltaEraBefore).uint(*delta.era_before);
  if (delta.number_before) writer.cbor().uint(kDeltaNumberBefore).uint(delta.number_before->value);
}

Result<BlockDelta> decode_delta(ByteView stored) {
  DeltaReader reader(stored);
  codec::CborReader& cbor = reader.cbor;
  BlockDelta delta;
  for (auto items = cbor.begin_map(); cbor.next(items);) {
    switch (cbor.read_uint()) {
      case kDeltaNumber: delta.number = BlockNumber(cbor.read_uint()); break;
      case kDeltaSlot: delta.slot = Slot(cbor.read_uint()); break;
      case kDeltaHash: delta.hash = reader.hash(); break;
      case kDeltaCreated: reader.entries(delta.created); break;
      case kDeltaSpent: reader.entries(delta.spent); break;
      case kDeltaTxFlags: reader.tx_flags(delta.tx_flags); break;
      case kDeltaMmr: delta.mmr = reader.mmr(); break;
      case kDeltaTransient:
        for (auto outs = cbor.begin_array(); cbor.next(outs);)
          delta.transient.push_back(reader.outpoint());
        break;
      case kDeltaReplaced: reader.replaced(delta.replaced); break;
      case kDeltaEraBefore: delta.era_before = static_cast<std::uint8_t>(cbor.read_uint()); break;
      case kDeltaNumberBefore: delta.number_before = BlockNumber(cbor.read_uint()); break;
      default: cbor.skip();
    }
  }
  if (!cbor.ok() || !cbor.at_end())
    return fail(Code::kCorrupt, "a stored delta cannot be read: {} at byte {}",
                cbor.ok() ? "trailing bytes" : cbor.fault().what, cbor.offset());
  return delta;
}

Result<BlockNumber> number_of_delta(ByteView stored) {
  codec::CborReader reader(stored);
  auto items = reader.begin_map();
  if (!reader.next(items) || reader.read_uint() != kDeltaNumber)
    return fail(Code::kCorrupt, "a stored delta does not begin with its number");
  const BlockNumber number(reader.read_uint());
  if (!reader.ok()) return fail(Code::kCorrupt, "a stored delta cannot be read");
  return number;
}

}  // namespace coffer::utxo
