// Proofs as JSON files, which a member keeps and checks off line: with nothing but the public key
// of the community, which he got from somebody he trusts. docs/formats/token_log.md has the fields.
#pragma once

#include "json/value.h"
#include "json/writer.h"
#include "token/log/log.h"

namespace coffer::token {

// Thread-safe, as all here.
std::string proof_json(const InclusionProof& proof);
std::string proof_json(const ConsistencyProof& proof);
void write_checkpoint(json::Writer& out, const Checkpoint& checkpoint);
// Errors: kInvalidInput naming the field.
Result<Checkpoint> read_checkpoint(const json::Value& value);

inline constexpr std::size_t kMaxProofBytes = 1u << 20;

// What who checks knows already; what he leaves open is reported and not compared.
struct ProofExpectations {
  std::optional<crypto::Ed25519PublicKey> public_key = {};
  std::optional<std::string> community = {};
  std::optional<Uuid> transaction = {};
};

// A proof that holds.
struct CheckedProof {
  std::string community;
  crypto::Ed25519PublicKey public_key{};  // that signed
  bool is_key_known = false;              // it is the one that was expected
  Checkpoint checkpoint;                  // the newer one
  // Of an inclusion.
  std::optional<std::uint64_t> position;
  std::optional<LogEntry> entry;
  std::optional<std::string> memo, metadata;  // with which the entry was made
  // Of a consistency.
  std::optional<Checkpoint> older;
};

// Errors: kInvalidInput: a field is missing or malformed, or the proof does not hold, and why.
Result<CheckedProof> check_proof(std::string_view json, const ProofExpectations& expected = {});

}  // namespace coffer::token
