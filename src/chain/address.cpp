#include <coffer/chain/address.h>

#include "base/result.h"
#include "chain/script.h"
#include "codec/cbor_reader.h"
#include "crypto/base58.h"
#include "crypto/bech32.h"
#include "crypto/crc32.h"

namespace coffer::chain {
namespace {

constexpr std::size_t kHash = 28;

// ---- Bitcoin ----

Bytes p2pkh_script(ByteView hash) {
  Bytes script = {0x76, 0xa9, 0x14};
  append(script, hash);
  script.insert(script.end(), {0x88, 0xac});
  return script;
}

Bytes p2sh_script(ByteView hash) {
  Bytes script = {0xa9, 0x14};
  append(script, hash);
  script.push_back(0x87);
  return script;
}

std::optional<std::string> bitcoin_text(const BitcoinParams& params, ByteView script) {
  auto base58 = [](std::uint8_t prefix, ByteView hash) -> std::optional<std::string> {
    Bytes payload = {prefix};
    append(payload, hash);
    auto text = crypto::base58check_encode(payload);
    return text ? std::optional(std::move(*text)) : std::nullopt;
  };
  switch (output_type(script)) {
    case OutputType::kP2pkh: return base58(params.p2pkh_prefix, script.subspan(3, 20));
    case OutputType::kP2sh: return base58(params.p2sh_prefix, script.subspan(2, 20));
    default: break;
  }
  const auto witness = witness_program(script);
  if (!witness) return std::nullopt;
  auto text = crypto::encode_segwit(params.segwit_hrp, witness->version, witness->program);
  return text ? std::optional(std::move(*text))
              : std::nullopt;  // a version 0 of another length has none
}

bool looks_like_segwit(const BitcoinParams& params, std::string_view text) {
  const std::size_t length = params.segwit_hrp.size();
  if (text.size() <= length || text[length] != '1') return false;
  return std::equal(
      params.segwit_hrp.begin(), params.segwit_hrp.end(), text.begin(),
      [](char a, char b) { return a == std::tolower(static_cast<unsigned char>(b)); });
}

Result<Bytes> parse_bitcoin(const Network& network, std::string_view text) {
  const BitcoinParams& params = network.bitcoin;
  if (looks_like_segwit(params, text)) {
    const auto address = TRY(crypto::decode_segwit(text));
    Bytes script = {static_cast<std::uint8_t>(address.version == 0 ? 0 : 0x50 + address.version),
                    static_cast<std::uint8_t>(address.program.size())};
    append(script, address.program);
    return script;
  }
  if (crypto::decode_segwit(text))
    return fail(Code::kInvalidInput, "an address of another network than {}", network.name);
  const Bytes payload = TRY(crypto::base58check_decode(text));
  if (payload.size() != 21)
    return fail(Code::kInvalidInput, "an address of {} bytes instead of 21", payload.size());
  const ByteView hash = ByteView(payload).subspan(1);
  if (payload[0] == params.p2pkh_prefix) return p2pkh_script(hash);
  if (payload[0] == params.p2sh_prefix) return p2sh_script(hash);
  return fail(Code::kInvalidInput, "an address of another network than {}", network.name);
}

// ---- Cardano ----

enum class CardanoForm : std::uint8_t { kMalformed, kByron, kBase, kPointer, kEnterprise, kReward };

// Three numbers of seven bits a byte, the last byte of each below 128, and nothing after.
bool is_pointer(ByteView rest) {
  int numbers = 0;
  std::size_t length = 0;
  for (const std::uint8_t byte : rest) {
    if (++length > 10) return false;
    if ((byte & 0x80) == 0) ++numbers, length = 0;
    if (numbers > 3) return false;
  }
  return numbers == 3 && length == 0;
}

// [tag 24 bytes, crc-32 of them]
bool is_byron(ByteView raw) {
  codec::CborReader reader(raw);
  auto pair = reader.begin_fixed(2);
  if (!reader.try_tag(24)) return false;
  const ByteView payload = reader.read_bytes();
  const std::uint64_t crc = reader.read_uint();
  reader.end_fixed(pair);
  return reader.ok() && reader.at_end() && crc == crypto::crc32(payload);
}

CardanoForm form_of(ByteView raw) {
  if (raw.empty()) return CardanoForm::kMalformed;
  const std::uint8_t type = raw[0] >> 4;
  if (type <= 3) return raw.size() == 1 + 2 * kHash ? CardanoForm::kBase : CardanoForm::kMalformed;
  if (type <= 5)
    return raw.size() > 1 + kHash && is_pointer(raw.subspan(1 + kHash)) ? CardanoForm::kPointer
                                                                        : CardanoForm::kMalformed;
  if (type <= 7)
    return raw.size() == 1 + kHash ? CardanoForm::kEnterprise : CardanoForm::kMalformed;
  if (type == 8) return is_byron(raw) ? CardanoForm::kByron : CardanoForm::kMalformed;
  if (type >= 14) return raw.size() == 1 + kHash ? CardanoForm::kReward : CardanoForm::kMalformed;
  return CardanoForm::kMalformed;
}

std::string shelley_hrp(ByteView raw) {
  std::string hrp = form_of(raw) == CardanoForm::kReward ? "stake" : "addr";
  if ((raw[0] & 15) != 1) hrp += "_test";
  return hrp;
}

std::optional<std::string> cardano_text(ByteView raw) {
  const CardanoForm form = form_of(raw);
  if (form == CardanoForm::kMalformed) return std::nullopt;
  auto text = form == CardanoForm::kByron
                  ? crypto::base58_encode(raw)
                  : crypto::bech32_encode(crypto::Bech32Variant::kBech32, shelley_hrp(raw),
                                          crypto::to_base32(raw), crypto::kMaxBech32Cardano);
  return text ? std::optional(std::move(*text)) : std::nullopt;
}

Result<Bytes> parse_cardano(const Network& network, std::string_view text) {
  if (!text.starts_with("addr") && !text.starts_with("stake")) {
    Bytes raw = TRY(crypto::base58_decode(text));
    if (form_of(raw) != CardanoForm::kByron)
      return fail(Code::kInvalidInput, "neither a Shelley nor a Byron address");
    return raw;
  }
  const crypto::Bech32 decoded = TRY(crypto::bech32_decode(text, crypto::kMaxBech32Cardano));
  if (decoded.variant != crypto::Bech32Variant::kBech32)
    return fail(Code::kInvalidInput, "a Bech32m checksum where Cardano uses Bech32");
  Bytes raw = TRY(crypto::from_base32(decoded.data));
  const CardanoForm form = form_of(raw);
  if (form == CardanoForm::kMalformed || form == CardanoForm::kByron ||
      shelley_hrp(raw) != decoded.hrp)
    return fail(Code::kInvalidInput, "the address's bytes do not fit its prefix {}", decoded.hrp);
  if ((raw[0] & 15) != network.cardano.network_id)
    return fail(Code::kInvalidInput, "an address of another network than {}", network.name);
  return raw;
}

}  // namespace

std::optional<std::string> address_text(const Network& network, ByteView raw) {
  return network.family == Family::kBitcoin ? bitcoin_text(network.bitcoin, raw)
                                            : cardano_text(raw);
}

Result<Bytes> parse_address(const Network& network, std::string_view text) {
  return network.family == Family::kBitcoin ? parse_bitcoin(network, text)
                                            : parse_cardano(network, text);
}

Credentials credentials_of(ByteView raw) {
  Credentials found;
  const CardanoForm form = form_of(raw);
  if (form == CardanoForm::kMalformed || form == CardanoForm::kByron) return found;
  const std::uint8_t type = raw[0] >> 4;
  const Credential first{Hash224::from(raw.data() + 1), (type & 1) != 0};
  if (form == CardanoForm::kReward) {
    found.stake = first;
    return found;
  }
  found.payment = first;
  if (form == CardanoForm::kBase)
    found.stake = Credential{Hash224::from(raw.data() + 1 + kHash), (type & 2) != 0};
  return found;
}

Bytes stake_address(const Network& network, const Credential& stake) {
  Bytes raw = {
      static_cast<std::uint8_t>((stake.is_script ? 0xf0 : 0xe0) | network.cardano.network_id)};
  append(raw, stake.hash.view());
  return raw;
}

}  // namespace coffer::chain
