#include <coffer/chain/genesis.h>

#include <openssl/evp.h>

#include <charconv>

#include "base/check.h"
#include "base/result.h"
#include "chain/genesis_file_impl.h"
#include "codec/cbor_reader.h"
#include "codec/cbor_writer.h"
#include "crypto/base58.h"
#include "crypto/blake2b.h"
#include "crypto/crc32.h"

namespace coffer::chain {
namespace {

using codec::CborReader;
using codec::CborWriter;

constexpr std::uint64_t kMainnetMagic = 764824073;
constexpr std::uint64_t kEncodedCborTag = 24;
constexpr std::uint64_t kRedeemType = 2;
constexpr std::uint64_t kMagicAttribute = 2;
constexpr std::size_t kPublicKeyBytes = 32;

Hash256 sha3_256(ByteView data) {
  Hash256 hash;
  unsigned size = 0;
  CHECK(::EVP_Digest(data.data(), data.size(), hash.data(), &size, ::EVP_sha3_256(), nullptr) == 1);
  CHECK(size == hash.size());
  return hash;
}

// The object under a name; nothing if there is none.
Result<std::optional<json::Value>> section(const json::Value& file, std::string_view name) {
  auto value = file.find(name);
  if (value && !value->is_object()) return fail(Code::kInvalidInput, "{} is not an object", name);
  return value;
}

// Byron writes amounts as text, Shelley as numbers.
Result<Amount> amount(const json::Value& value) {
  if (const auto number = value.uint64()) return Amount(*number);
  if (const auto text = value.string()) {
    std::uint64_t number = 0;
    const char* end = text->data() + text->size();
    const auto parsed = std::from_chars(text->data(), end, number);
    if (parsed.ec == std::errc{} && parsed.ptr == end && !text->empty()) return Amount(number);
  }
  return fail(Code::kInvalidInput, "{} is not an amount", value.serialize());
}

int base64url_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  return c == '-' ? 62 : c == '_' ? 63 : -1;
}

// 32 bytes as 43 characters and an optional padding.
Result<Bytes> decode_key(std::string_view text) {
  if (text.ends_with('=')) text.remove_suffix(1);
  Bytes key;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text) {
    const int value = base64url_value(c);
    if (value < 0) return fail(Code::kInvalidInput, "not base64url");
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    held += 6;
    if (held < 8) continue;
    held -= 8;
    key.push_back(static_cast<std::uint8_t>(bits >> held));
  }
  const bool stray_bits = (bits & ((1u << held) - 1)) != 0;
  if (text.size() != 43 || key.size() != kPublicKeyBytes || stray_bits)
    return fail(Code::kInvalidInput, "not a key of {} bytes", kPublicKeyBytes);
  return key;
}

GenesisUtxo utxo(Bytes address, Amount value, GenesisKind kind) {
  const Hash256 id = crypto::blake2b_256(address);
  return {{id, 0}, std::move(address), value, kind};
}

// Reads the entries of a section; `address_of` makes an address from an entry's name.
template <typename AddressOf>
Result<> read_entries(std::vector<GenesisUtxo>& to, const json::Value& file, std::string_view name,
                      GenesisKind kind, AddressOf address_of) {
  const auto entries = TRY(section(file, name));
  if (!entries) return {};
  for (const json::Member& entry : entries->members()) {
    const auto context = [&] { return fmt::format("{}, entry {}", name, entry.name); };
    Bytes address = TRY_IN(context(), address_of(entry.name));
    const Amount value = TRY_IN(context(), amount(entry.value));
    to.push_back(utxo(std::move(address), value, kind));
  }
  return {};
}

Result<> put_in_order(std::vector<GenesisUtxo>& utxos) {
  std::sort(utxos.begin(), utxos.end(),
            [](const auto& a, const auto& b) { return a.outpoint < b.outpoint; });
  const auto twice =
      std::adjacent_find(utxos.begin(), utxos.end(),
                         [](const auto& a, const auto& b) { return a.outpoint == b.outpoint; });
  if (twice != utxos.end())
    return fail(Code::kInvalidInput, "address {} stands there twice", to_hex(twice->address));
  return {};
}

}  // namespace

Bytes redeem_address(ByteView public_key, std::uint64_t network_magic) {
  CHECK(public_key.size() == kPublicKeyBytes);
  Bytes attributes;
  if (network_magic == kMainnetMagic) {
    CborWriter(attributes).map(0);
  } else {
    Bytes magic;
    CborWriter(magic).uint(network_magic);
    CborWriter(attributes).map(1).uint(kMagicAttribute).bytes(magic);
  }
  Bytes spending;  // what may spend it: [type, [type, key], attributes]
  CborWriter(spending).array(3).uint(kRedeemType).array(2).uint(kRedeemType).bytes(public_key);
  CborWriter(spending).raw(attributes);
  const Hash224 root = crypto::blake2b_224(sha3_256(spending).view());
  Bytes payload;
  CborWriter(payload).array(3).bytes(root.view()).raw(attributes).uint(kRedeemType);
  Bytes address;
  CborWriter(address).array(2).tag(kEncodedCborTag).bytes(payload).uint(crypto::crc32(payload));
  return address;
}

bool is_redeem_address(ByteView address) {
  CborReader reader(address);
  auto outer = reader.begin_fixed(2);
  if (!reader.try_tag(kEncodedCborTag)) return false;
  const ByteView payload = reader.read_bytes();
  reader.read_uint();
  reader.end_fixed(outer);
  CborReader inner(payload);
  auto fields = inner.begin_fixed(3);
  inner.read_bytes(28);
  inner.skip();
  const std::uint64_t type = inner.read_uint();
  inner.end_fixed(fields);
  return reader.ok() && reader.at_end() && inner.ok() && type == kRedeemType;
}

namespace {

Result<std::vector<GenesisUtxo>> byron_utxos(const json::Value& file) {
  const auto constants = TRY(section(file, "protocolConsts"));
  const auto magic = constants ? constants->find("protocolMagic") : std::nullopt;
  if (!magic) return fail(Code::kInvalidInput, "no protocolConsts.protocolMagic");
  const std::uint64_t network_magic = TRY_IN("protocolMagic", amount(*magic)).value;
  std::vector<GenesisUtxo> utxos;
  const auto redeem = [&](std::string_view key) -> Result<Bytes> {
    return redeem_address(TRY(decode_key(key)), network_magic);
  };
  TRY(read_entries(utxos, file, "avvmDistr", GenesisKind::kRedeem, redeem));
  TRY(read_entries(utxos, file, "nonAvvmBalances", GenesisKind::kByronBalance,
                   [](std::string_view address) { return crypto::base58_decode(address); }));
  TRY(put_in_order(utxos));
  return utxos;
}

Result<std::vector<GenesisUtxo>> shelley_utxos(const json::Value& file) {
  std::vector<GenesisUtxo> utxos;
  TRY(read_entries(utxos, file, "initialFunds", GenesisKind::kShelleyFunds,
                   [](std::string_view address) { return from_hex(address); }));
  TRY(put_in_order(utxos));
  return utxos;
}

}  // namespace

Result<std::vector<GenesisUtxo>> byron_genesis_utxos(ByteView text) {
  return byron_utxos(TRY(parse_genesis(text)));
}

Result<std::vector<GenesisUtxo>> shelley_genesis_utxos(ByteView text) {
  return shelley_utxos(TRY(parse_genesis(text)));
}

Result<std::vector<GenesisUtxo>> load_genesis_utxos(const std::filesystem::path& directory) {
  const auto byron = directory / "byron-genesis.json", shelley = directory / "shelley-genesis.json";
  const auto byron_file = TRY(load_genesis(byron)), shelley_file = TRY(load_genesis(shelley));
  if (!byron_file && !shelley_file)
    return fail(Code::kNotFound, "neither {} nor {} is there", byron.string(), shelley.string());
  std::vector<GenesisUtxo> utxos;
  if (byron_file) utxos = TRY_IN(byron.string(), byron_utxos(byron_file->document));
  if (shelley_file) {
    auto more = TRY_IN(shelley.string(), shelley_utxos(shelley_file->document));
    utxos.insert(utxos.end(), std::make_move_iterator(more.begin()),
                 std::make_move_iterator(more.end()));
  }
  TRY(put_in_order(utxos));
  return utxos;
}

}  // namespace coffer::chain
