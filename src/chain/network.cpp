#include "chain/network.h"

#include "crypto/bip32.h"

namespace coffer::chain {
namespace {

constexpr std::uint64_t kBitcoinWindow = 288, kCardanoWindow = 2160;

Hash256 hash_of(std::string_view hex) {
  return Hash256::from(from_hex(hex).value().data());
}

struct BitcoinRow {
  const char* name;
  const char* genesis;  // as printed
  std::uint8_t magic[4];
  std::uint8_t p2pkh, p2sh;
  const char* hrp;
  std::uint32_t xpub;
  std::uint64_t halving;
};

constexpr const char* kRegtestGenesis =
    "0f9188f13cb7b2c71f2a335e3a4fc328bf5beb436012afca590b1a11466e2206";
constexpr BitcoinRow kBitcoin[] = {
    {"mainnet",
     "000000000019d6689c085ae165831e934ff763ae46a2a6c172b3f1b60a8ce26f",
     {0xf9, 0xbe, 0xb4, 0xd9},
     0,
     5,
     "bc",
     crypto::kXpubVersion,
     210'000},
    {"testnet",
     "000000000933ea01ad0ee984209779baaec3ced90fa3f408719526f8d77f4943",
     {0x0b, 0x11, 0x09, 0x07},
     111,
     196,
     "tb",
     crypto::kTpubVersion,
     210'000},
    {"testnet4",
     "00000000da84f2bafbbc53dee25a72ae507ff4914b867c565be350b0da8bf043",
     {0x1c, 0x16, 0x3f, 0x28},
     111,
     196,
     "tb",
     crypto::kTpubVersion,
     210'000},
    {"signet",
     "00000008819873e925422c1ff0f99f7cc9bbb232af63a077a480a3633bee1ef6",
     {0x0a, 0x03, 0xcf, 0x40},
     111,
     196,
     "tb",
     crypto::kTpubVersion,
     210'000},
    {"regtest",
     kRegtestGenesis,
     {0xfa, 0xbf, 0xb5, 0xda},
     111,
     196,
     "bcrt",
     crypto::kTpubVersion,
     150},
    // A simulated chain follows the rules of regtest, so that a regtest node accepts its blocks.
    {"devnet",
     kRegtestGenesis,
     {0xfa, 0xbf, 0xb5, 0xda},
     111,
     196,
     "bcrt",
     crypto::kTpubVersion,
     150},
};

Network bitcoin(const BitcoinRow& row) {
  Network network;
  network.family = Family::kBitcoin;
  network.name = row.name;
  network.genesis = reversed(hash_of(row.genesis));
  network.rollback_window = kBitcoinWindow;
  std::copy(std::begin(row.magic), std::end(row.magic), network.bitcoin.magic);
  network.bitcoin.p2pkh_prefix = row.p2pkh;
  network.bitcoin.p2sh_prefix = row.p2sh;
  network.bitcoin.segwit_hrp = row.hrp;
  network.bitcoin.xpub_version = row.xpub;
  network.bitcoin.halving_blocks = row.halving;
  return network;
}

struct CardanoRow {
  const char* name;
  const char* genesis;
  std::uint64_t magic;
  std::uint8_t network_id;
  std::vector<EraSummary> eras;
};

const std::vector<CardanoRow>& cardano_rows() {
  static const std::vector<CardanoRow> rows = {
      {"mainnet",
       "5f20df933584822601f9e3f8c024eb5eb252fe8cefb24d1317dc3d432e940ebb",
       764824073,
       1,
       {{0, 0, 1506203091, 20, 21'600}, {4'492'800, 208, 1596059091, 1, 432'000}}},
      {"preprod",
       "d4b8de7a11d929a323373cbab6c1a9bdc931beffff11db111cf9d57356ee1937",
       1,
       0,
       {{0, 0, 1654041600, 20, 21'600}, {86'400, 4, 1655769600, 1, 432'000}}},
      {"preview",
       "83de1d7302569ad56cf9139a41e2e11346d4cb4a31c00142557b6ab3fa550761",
       2,
       0,
       {{0, 0, 1666656000, 1, 86'400}}},
      {"devnet",
       "0000000000000000000000000000000000000000000000000000000000000000",
       42,
       0,
       {{0, 0, 1700000000, 1, 7'200}}},
  };
  return rows;
}

Network cardano(const CardanoRow& row) {
  Network network;
  network.family = Family::kCardano;
  network.name = row.name;
  network.genesis = hash_of(row.genesis);
  network.rollback_window = kCardanoWindow;
  network.cardano = {row.magic, row.network_id, row.eras};
  return network;
}

const EraSummary& era_of(const std::vector<EraSummary>& eras, Slot slot) {
  std::size_t at = eras.size() - 1;
  while (at > 0 && eras[at].first_slot > slot.value) --at;
  return eras[at];
}

}  // namespace

std::uint64_t Network::epoch_of(Slot slot) const {
  if (cardano.eras.empty()) return 0;
  const EraSummary& era = era_of(cardano.eras, slot);
  return era.first_epoch + (slot.value - era.first_slot) / era.epoch_slots;
}

std::int64_t Network::time_of(Slot slot) const {
  if (cardano.eras.empty()) return 0;
  const EraSummary& era = era_of(cardano.eras, slot);
  // A slot beyond any clock comes from garbage: its time saturates instead of overflowing.
  const std::uint64_t slots = std::min<std::uint64_t>(slot.value - era.first_slot, 1ull << 40);
  return era.start_unix_s + static_cast<std::int64_t>(slots * era.slot_seconds);
}

Result<Network> find_network(std::string_view chain, std::string_view name) {
  std::string known;
  auto note = [&](const char* row_name) {
    known += (known.empty() ? "" : ", ") + std::string(row_name);
  };
  if (chain == "bitcoin") {
    for (const BitcoinRow& row : kBitcoin) {
      if (row.name == name) return bitcoin(row);
      note(row.name);
    }
  } else if (chain == "cardano") {
    for (const CardanoRow& row : cardano_rows()) {
      if (row.name == name) return cardano(row);
      note(row.name);
    }
  } else {
    return fail(Code::kUsage, "no chain '{}'; use bitcoin or cardano", chain);
  }
  return fail(Code::kUsage, "no {} network '{}'; use one of {}", chain, name, known);
}

}  // namespace coffer::chain
