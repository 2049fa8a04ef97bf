#include <coffer/chain/network.h>

#include "base/result.h"
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
  network.first_block = network.genesis;
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
  const char* first_block;  // null: whatever the simulation makes
  std::uint64_t magic;
  std::uint8_t network_id;
  std::vector<EraSummary> eras;
};

const std::vector<CardanoRow>& cardano_rows() {
  static const std::vector<CardanoRow> rows = {
      {"mainnet",
       "5f20df933584822601f9e3f8c024eb5eb252fe8cefb24d1317dc3d432e940ebb",
       "89d9b5a5b8ddc8d7e5a6795e9774d97faf1efea59b2caf7eaf9f8c5b32059df4",
       764824073,
       1,
       {{0, 0, 1506203091, 20'000, 21'600}, {4'492'800, 208, 1596059091, 1'000, 432'000}}},
      {"preprod",
       "d4b8de7a11d929a323373cbab6c1a9bdc931beffff11db111cf9d57356ee1937",
       "9ad7ff320c9cf74e0f5ee78d22a85ce42bb0a487d0506bf60cfb5a91ea4497d2",
       1,
       0,
       {{0, 0, 1654041600, 20'000, 21'600}, {86'400, 4, 1655769600, 1'000, 432'000}}},
      {"preview",
       "83de1d7302569ad56cf9139a41e2e11346d4cb4a31c00142557b6ab3fa550761",
       "268ae601af8f9214804735910a3301881fbe0eec9936db7d1fb9fc39e93d1e37",
       2,
       0,
       {{0, 0, 1666656000, 1'000, 86'400}}},
      {"devnet",
       "0000000000000000000000000000000000000000000000000000000000000000",
       nullptr,
       42,
       0,
       {{0, 0, 1700000000, 1'000, 7'200}}},
  };
  return rows;
}

Network cardano(const CardanoRow& row) {
  Network network;
  network.family = Family::kCardano;
  network.name = row.name;
  network.genesis = hash_of(row.genesis);
  if (row.first_block != nullptr) network.first_block = hash_of(row.first_block);
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

bool begins_a_chain(const Network& network, const Block& block) {
  if (block.prev.is_zero()) return true;
  // Byron's first block names the hash of its genesis file as the block before it.
  return block.family == Family::kCardano &&
         (block.prev == network.genesis || (block.epoch_boundary && block.epoch == 0));
}

std::string network_of_first_block(Family family, const Hash256& hash) {
  if (family == Family::kBitcoin) {
    for (const BitcoinRow& row : kBitcoin)
      if (reversed(hash_of(row.genesis)) == hash) return fmt::format("bitcoin {}", row.name);
    return {};
  }
  for (const CardanoRow& row : cardano_rows())
    if (row.first_block != nullptr &&
        (hash_of(row.first_block) == hash || hash_of(row.genesis) == hash))
      return fmt::format("cardano {}", row.name);
  return {};
}

Result<> check_first_block(const Network& network, const Block& block) {
  if (network.first_block && block.hash == *network.first_block) return {};
  const std::string hash = display(network.family, block.hash);
  const std::string whose = network_of_first_block(network.family, block.hash);
  if (!whose.empty())
    return fail(Code::kConflict, "block {} is the first of {}, not of {} {}; give --network {}",
                hash, whose, network.chain_name(), network.name, whose.substr(whose.find(' ') + 1));
  if (network.first_block)
    return fail(Code::kConflict,
                "block {} is not the first of {} {}, which is {}; choose another --network or "
                "--source",
                hash, network.chain_name(), network.name,
                display(network.family, *network.first_block));
  // A network without a known first block begins in Shelley or later.
  if (block.prev.is_zero() && (network.family == Family::kBitcoin || block.era > 1)) return {};
  return fail(Code::kConflict,
              "block {} does not begin {} {}: a private network's first block has no predecessor "
              "and is of Shelley or a later era",
              hash, network.chain_name(), network.name);
}

std::string_view network_of_magic(ByteView magic) {
  for (const BitcoinRow& row : kBitcoin)
    if (equal(magic, row.magic)) return row.name;
  return {};
}

Result<> check_magic(const Network& network, ByteView data, std::string_view what) {
  if (network.family != Family::kBitcoin || data.size() < 4) return {};
  const std::string_view other = network_of_magic(data.first(4));
  if (other.empty() || equal(data.first(4), network.bitcoin.magic)) return {};
  return fail(Code::kConflict, "{} holds blocks of bitcoin {}, not of {}; give --network {}", what,
              other, network.name, other);
}

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
  return era.start_unix_s + static_cast<std::int64_t>(slots * era.slot_ms / 1'000);
}

Network private_network_of(std::string_view name, const Hash256& genesis, CardanoParams params) {
  Network network;
  network.family = Family::kCardano;
  network.name = name;
  network.genesis = genesis;
  network.rollback_window = kCardanoWindow;
  network.cardano = std::move(params);
  return network;
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
