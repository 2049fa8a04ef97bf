// Lines and digests by which two stores, or two programs, can be compared.
#include <coffer/utxo/state.h>
#include "base/result.h"
#include "crypto/blake2b.h"
#include "crypto/sha256.h"

namespace coffer::utxo {
namespace {

std::string hex(ByteView bytes) {
  return to_hex(bytes);
}

// By policy, then name.
std::string asset_list(const UtxoRecord& record) {
  std::vector<chain::Asset> assets = record.assets;
  std::sort(assets.begin(), assets.end(), [](const chain::Asset& a, const chain::Asset& b) {
    const int order = std::memcmp(a.policy, b.policy, Hash224::kSize);
    return order != 0 ? order < 0
                      : std::lexicographical_compare(a.name.begin(), a.name.end(), b.name.begin(),
                                                     b.name.end());
  });
  std::string list;
  for (const chain::Asset& asset : assets)
    list += fmt::format("{}{}.{}={}", list.empty() ? "" : ",", hex({asset.policy, Hash224::kSize}),
                        hex(asset.name), asset.quantity);
  return list;
}

Hash256 line_hash(chain::Family family, const Utxo& utxo) {
  const std::string line = dump_line(family, utxo);
  return crypto::sha256(as_bytes(line));
}

// Big-endian, modulo 2^256.
void add_to(Hash256& sum, const Hash256& term) {
  unsigned carry = 0;
  for (std::size_t i = Hash256::kSize; i-- > 0;) {
    const unsigned digit = sum[i] + term[i] + carry;
    sum[i] = static_cast<std::uint8_t>(digit);
    carry = digit >> 8;
  }
}

Hash256 negative(Hash256 value) {
  for (std::uint8_t& byte : value) byte = static_cast<std::uint8_t>(~byte);
  Hash256 one{};
  one.back() = 1;
  add_to(value, one);
  return value;
}

}  // namespace

std::string dump_line(chain::Family family, const Utxo& utxo) {
  const UtxoRecord& record = utxo.record;
  const std::string id = chain::display(family, utxo.outpoint.tx);
  if (family == chain::Family::kBitcoin)
    return fmt::format("{}:{}|{}|{}|{}|{}", id, utxo.outpoint.index, record.amount,
                       hex(record.address), record.number, record.coinbase ? 1 : 0);
  return fmt::format(
      "{}#{}|{}|{}|{}|{}|{}|{}", id, utxo.outpoint.index, hex(record.address), record.amount,
      asset_list(record), hex(record.datum_hash),
      record.inline_datum.empty() ? std::string() : crypto::blake2b_256(record.inline_datum).hex(),
      hex(record.script_hash));
}

void Digest::add(chain::Family family, const Utxo& utxo) {
  ++count;
  amount += utxo.record.amount.value;
  add_to(acc, line_hash(family, utxo));
}

void Digest::remove(chain::Family family, const Utxo& utxo) {
  --count;
  amount -= utxo.record.amount.value;
  add_to(acc, negative(line_hash(family, utxo)));
}

Result<Digest> digest(const UtxoState& state, chain::Family family) {
  Digest digest;
  TRY(state.for_each([&](const Utxo& utxo) {
    digest.add(family, utxo);
    return true;
  }));
  return digest;
}

}  // namespace coffer::utxo
