#include "token/log/proof_file.h"

#include <algorithm>

#include "base/result.h"
#include "json/reader.h"

namespace coffer::token {
namespace {

constexpr std::string_view kInclusion = "coffer-token-inclusion-1";
constexpr std::string_view kConsistency = "coffer-token-consistency-1";
constexpr std::size_t kMaxHashes = 192;  // no log of 2^62 entries needs more

void write_hashes(json::Writer& out, std::string_view key, const std::vector<mmr::Digest>& hashes) {
  out.key(key).begin_array();
  for (const mmr::Digest& hash : hashes) out.value(to_hex(hash));
  out.end_array();
}

void write_detail(json::Writer& out, const std::string& name,
                  const std::optional<DetailProof>& detail) {
  if (detail) out.field(name, detail->text).field(name + "_salt", detail->salt.hex());
}

// Reads fields of one object; every error names the field.
struct FieldReader {
  json::Value object;

  Result<json::Value> field(std::string_view name) const {
    auto value = object.find(name);
    if (!value) return fail(Code::kInvalidInput, "{} is missing", name);
    return *std::move(value);
  }
  Result<std::uint64_t> number(std::string_view name) const {
    const auto number = TRY(field(name)).uint64();
    if (!number) return fail(Code::kInvalidInput, "{} is not a whole number", name);
    return *number;
  }
  Result<std::int64_t> time(std::string_view name) const {
    const auto number = TRY(field(name)).int64();
    if (!number) return fail(Code::kInvalidInput, "{} is not a whole number", name);
    return *number;
  }
  Result<std::string> text(std::string_view name) const {
    auto text = TRY(field(name)).string();
    if (!text) return fail(Code::kInvalidInput, "{} is no text", name);
    return *std::move(text);
  }
  template <typename Bytes>
  Result<Bytes> bytes(std::string_view name) const {
    const auto raw = from_hex(TRY(text(name)));
    if (!raw || raw->size() != Bytes::kSize)
      return fail(Code::kInvalidInput, "{} is not {} hex digits", name, 2 * Bytes::kSize);
    return Bytes::from(raw->data());
  }
  Result<std::vector<mmr::Digest>> hashes(std::string_view name) const {
    const json::Value list = TRY(field(name));
    if (!list.is_array() || list.size() > kMaxHashes)
      return fail(Code::kInvalidInput, "{} is not a list of at most {} hashes", name, kMaxHashes);
    std::vector<mmr::Digest> hashes;
    for (const json::Value& item : list.elements()) {
      const auto raw = from_hex(item.string().value_or(""));
      mmr::Digest& hash = hashes.emplace_back();
      if (!raw || raw->size() != hash.size())
        return fail(Code::kInvalidInput, "{} holds what is not 64 hex digits", name);
      std::ranges::copy(*raw, hash.begin());
    }
    return hashes;
  }
};

std::unexpected<Error> does_not_hold(std::string_view why) {
  return fail(Code::kInvalidInput, "the proof does not hold: {}", why);
}

Result<Checkpoint> signed_checkpoint(const FieldReader& from, std::string_view name,
                                     const CheckedProof& proof) {
  const json::Value value = TRY(from.field(name));
  const Checkpoint checkpoint = TRY_IN(name, read_checkpoint(value));
  if (!is_signed_by(proof.public_key, proof.community, checkpoint))
    return does_not_hold(
        fmt::format("the signature of the checkpoint of size {} is not one of the key {}",
                    checkpoint.size, proof.public_key.hex()));
  return checkpoint;
}

// What is not checked must not stand beside what is.
Result<> check_names(const json::Value& object, std::initializer_list<std::string_view> known) {
  for (const json::Member& member : object.members())
    if (std::ranges::find(known, member.name) == known.end())
      return fail(Code::kInvalidInput, "{} is no field of a proof", member.name.substr(0, 40));
  return {};
}

// The text of a memo or metadata, if the file has it, is the one that the entry has as a hash.
Result<std::optional<std::string>> check_detail(const FieldReader& from, const std::string& name,
                                                const std::optional<Hash256>& hash) {
  if (!from.object.find(name) && !from.object.find(name + "_salt")) return std::nullopt;
  std::string text = TRY(from.text(name));
  const auto salt = TRY(from.bytes<DetailSalt>(name + "_salt"));
  if (!hash || hash_detail(salt, text) != *hash)
    return does_not_hold("the entry was made with another " + name);
  return std::optional(std::move(text));
}

Result<> check_inclusion_file(const FieldReader& from, const ProofExpectations& expected,
                              CheckedProof& proof) {
  TRY(check_names(from.object,
                  {"format", "community", "public_key", "checkpoint", "position", "entry", "path",
                   "memo", "memo_salt", "metadata", "metadata_salt"}));
  proof.checkpoint = TRY(signed_checkpoint(from, "checkpoint", proof));
  proof.position = TRY(from.number("position"));
  const std::string text = TRY(from.text("entry"));
  const auto path = TRY(from.hashes("path"));
  if (*proof.position >= proof.checkpoint.size)
    return does_not_hold("the log of the checkpoint has no such entry");
  if (const char* fault =
          mmr::find_inclusion_fault(proof.checkpoint.state(), *proof.position,
                                    leaf_hash(*proof.position, text), path, hash_bytes))
    return does_not_hold(fault);
  proof.entry = TRY(parse_log_entry(text));
  const LogEntry& entry = *proof.entry;
  if (expected.transaction && entry.id != *expected.transaction)
    return does_not_hold("it is of " + to_string(entry.id));
  proof.memo = TRY(check_detail(from, "memo", entry.transaction.memo_hash));
  proof.metadata = TRY(check_detail(from, "metadata", entry.transaction.metadata_hash));
  return {};
}

Result<> check_consistency_file(const FieldReader& from, const ProofExpectations& expected,
                                CheckedProof& proof) {
  TRY(check_names(from.object, {"format", "community", "public_key", "older", "newer", "hashes"}));
  if (expected.transaction) return does_not_hold("it is not of a transaction");
  proof.older = TRY(signed_checkpoint(from, "older", proof));
  proof.checkpoint = TRY(signed_checkpoint(from, "newer", proof));
  const auto hashes = TRY(from.hashes("hashes"));
  if (const char* fault = mmr::find_consistency_fault(proof.older->state(),
                                                      proof.checkpoint.state(), hashes, hash_bytes))
    return does_not_hold(fault);
  return {};
}

}  // namespace

void write_checkpoint(json::Writer& out, const Checkpoint& checkpoint) {
  out.begin_object().field("at", checkpoint.at_ms).field("root", checkpoint.root.hex());
  out.field("signature", checkpoint.signature.hex()).field("size", checkpoint.size).end_object();
}

Result<Checkpoint> read_checkpoint(const json::Value& value) {
  if (!value.is_object()) return fail(Code::kInvalidInput, "not a checkpoint: no object");
  const FieldReader from{value};
  Checkpoint checkpoint;
  checkpoint.at_ms = TRY(from.time("at"));
  checkpoint.root = TRY(from.bytes<Hash256>("root"));
  checkpoint.signature = TRY(from.bytes<crypto::Ed25519Signature>("signature"));
  checkpoint.size = TRY(from.number("size"));
  return checkpoint;
}

std::string proof_json(const InclusionProof& proof) {
  json::Writer out;
  out.begin_object().field("format", kInclusion).field("community", proof.community);
  out.field("public_key", proof.public_key.hex());
  out.key("checkpoint");
  write_checkpoint(out, proof.checkpoint);
  out.field("position", proof.position).field("entry", proof.entry);
  write_hashes(out, "path", proof.path);
  write_detail(out, "memo", proof.memo);
  write_detail(out, "metadata", proof.metadata);
  return out.end_object().take();
}

std::string proof_json(const ConsistencyProof& proof) {
  json::Writer out;
  out.begin_object().field("format", kConsistency).field("community", proof.community);
  out.field("public_key", proof.public_key.hex());
  out.key("older");
  write_checkpoint(out, proof.older);
  out.key("newer");
  write_checkpoint(out, proof.newer);
  write_hashes(out, "hashes", proof.hashes);
  return out.end_object().take();
}

Result<CheckedProof> check_proof(std::string_view json, const ProofExpectations& expected) {
  const auto document = json::parse(json, {.max_bytes = kMaxProofBytes, .max_depth = 4});
  if (!document || !document->is_object())
    return fail(Code::kInvalidInput, "not a proof of a token log: no JSON object");
  const FieldReader from{*document};
  const std::string format = TRY(from.text("format"));
  if (format != kInclusion && format != kConsistency)
    return fail(Code::kInvalidInput, "not a proof of a token log: format is neither {} nor {}",
                kInclusion, kConsistency);
  CheckedProof proof;
  proof.community = TRY(from.text("community"));
  if (expected.community && proof.community != *expected.community)
    return does_not_hold("it is of the community '" + proof.community + "'");
  const auto key = TRY(from.bytes<crypto::Ed25519PublicKey>("public_key"));
  if (expected.public_key && key != *expected.public_key)
    return does_not_hold("it names another public key: " + key.hex());
  proof.public_key = key;
  proof.is_key_known = expected.public_key.has_value();
  TRY(format == kInclusion ? check_inclusion_file(from, expected, proof)
                           : check_consistency_file(from, expected, proof));
  return proof;
}

}  // namespace coffer::token
