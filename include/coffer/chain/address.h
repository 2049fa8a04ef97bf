// Addresses: raw bytes as they are on the chain, and their text for people. The raw bytes are what
// is stored and compared; text is made and read here only.
#pragma once

#include <optional>

#include <coffer/chain/network.h>

namespace coffer::chain {

// Thread-safe all; linear in their input (base58: quadratic, bounded).

// Bitcoin: the address of a scriptPubKey. Cardano: bech32 for Shelley addresses, base58 for
// Byron's. Nothing where there is no text form: bare scripts, malformed addresses; show those as
// hex.
std::optional<std::string> address_text(const Network& network, ByteView raw);

// The raw bytes (a scriptPubKey on Bitcoin) that a text stands for.
// Errors: kInvalidInput saying what is wrong; an address of another network is one of them.
Result<Bytes> parse_address(const Network& network, std::string_view text);

// Cardano: who may spend, and whose stake it is.
struct Credential {
  Hash224 hash{};
  bool is_script = false;
  friend bool operator==(const Credential&, const Credential&) = default;
};
struct Credentials {
  std::optional<Credential> payment;
  std::optional<Credential> stake;
};
// Both absent for Byron and malformed addresses; a pointer address has no stake credential.
Credentials credentials_of(ByteView cardano_address);

// The reward address of a stake credential: one header byte and the hash.
Bytes stake_address(const Network& network, const Credential& stake);

}  // namespace coffer::chain
