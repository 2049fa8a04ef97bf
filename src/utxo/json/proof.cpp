#include "utxo/json/proof.h"

#include "base/result.h"
#include "crypto/blake2b.h"
#include "json/reader.h"
#include "json/writer.h"
#include "utxo/keys.h"

namespace coffer::utxo {
namespace {

constexpr std::size_t kMaxPath = 128;  // hashes; no range of 2^62 leaves needs more

Hash256 to_hash(const mmr::Digest& digest) {
  return Hash256::from(digest.data());
}

void write_path(json::Writer& out, std::string_view key, const std::vector<mmr::Digest>& path) {
  out.key(key).begin_array();
  for (const mmr::Digest& hash : path) out.value(to_hex(hash));
  out.end_array();
}

// Reads fields of one object; every error names the field.
struct FieldReader {
  json::Value object;

  Result<json::Value> field(std::string_view name) const {
    auto value = object.find(name);
    if (!value) return fail(Code::kInvalidInput, "the proof has no {}", name);
    return *std::move(value);
  }
  Result<std::uint64_t> number(std::string_view name) const {
    const auto whole = TRY(field(name)).whole_number();
    if (!whole) return fail(Code::kInvalidInput, "the proof's {} is not a whole number", name);
    return *whole;
  }
  Result<std::string> text(std::string_view name) const {
    auto text = TRY(field(name)).string();
    if (!text) return fail(Code::kInvalidInput, "the proof's {} is no text", name);
    return *std::move(text);
  }
  Result<Bytes> bytes(std::string_view name) const {
    const std::string hex = TRY(text(name));
    return TRY_IN(fmt::format("the proof's {}", name), from_hex(hex));
  }
  Result<std::vector<mmr::Digest>> path(std::string_view name) const {
    const json::Value value = TRY(field(name));
    if (!value.is_array() || value.size() > kMaxPath)
      return fail(Code::kInvalidInput, "the proof's {} is not a list of hashes", name);
    std::vector<mmr::Digest> hashes;
    for (const json::Value& item : value.elements()) {
      auto raw = from_hex(item.string().value_or(""));
      mmr::Digest& hash = hashes.emplace_back();
      if (!raw || raw->size() != hash.size())
        return fail(Code::kInvalidInput, "the proof's {} holds what is not a hash", name);
      std::copy(raw->begin(), raw->end(), hash.begin());
    }
    return hashes;
  }
  template <std::size_t N>
  Result<> exactly(std::string_view name, std::array<std::uint8_t, N>& to) const {
    const Bytes raw = TRY(bytes(name));
    if (raw.size() != N)
      return fail(Code::kInvalidInput, "the proof's {} has {} bytes instead of {}", name,
                  raw.size(), N);
    std::copy(raw.begin(), raw.end(), to.begin());
    return {};
  }
};

// Who reads the readable fields must not be told another output than the one that is proved.
Result<> readable_fields_agree(const FieldReader& from, ReadProof& read) {
  if (read.proof.outpoint.size() != utxo::outpoint_bytes(chain::Family::kBitcoin) &&
      read.proof.outpoint.size() != utxo::outpoint_bytes(chain::Family::kCardano))
    return fail(Code::kInvalidInput, "the proof's outpoint has {} bytes",
                read.proof.outpoint.size());
  read.family = read.proof.outpoint.size() == utxo::outpoint_bytes(chain::Family::kBitcoin)
                    ? chain::Family::kBitcoin
                    : chain::Family::kCardano;
  read.outpoint = utxo::read_outpoint(read.family, read.proof.outpoint.data());
  if (TRY(from.text("tx_hash")) != chain::display(read.family, read.outpoint.tx) ||
      TRY(from.number("output_index")) != read.outpoint.index)
    return fail(Code::kInvalidInput, "tx_hash and output_index are not those of the outpoint");
  return {};
}

}  // namespace

std::string proof_json(chain::Family family, const mmr::UnspentProof& proof) {
  const chain::Outpoint outpoint = utxo::read_outpoint(family, proof.outpoint.data());
  json::Writer out;
  out.begin_object().field("tx_hash", chain::display(family, outpoint.tx));
  out.field("output_index", outpoint.index);
  out.field("block", proof.block_number).field("block_number", proof.block_number);
  out.field("block_hash", chain::display(family, to_hash(proof.block_hash)));
  out.field("size", proof.size).field("position", proof.position);
  out.field("outpoint", to_hex(proof.outpoint)).field("record", to_hex(proof.record));
  write_path(out, "leaf_path", proof.leaf_path);
  out.field("chunk", to_hex(proof.chunk));
  write_path(out, "chunk_path", proof.chunk_path);
  out.end_object();
  return out.take();
}

void add_proof_schema(api::RouteTable& table) {
  table.add_schema(
      "UnspentProof",
      R"({"type":"object","description":"Checked off line, see docs/formats/mmr.md","required":)"
      R"(["tx_hash","output_index","block","block_number","block_hash","size","position",)"
      R"("outpoint","record","leaf_path","chunk","chunk_path"],"properties":{)"
      R"("tx_hash":{"type":"string"},"output_index":{"type":"integer"},)"
      R"("block":{"type":"integer"},"block_number":{"type":"integer"},)"
      R"("block_hash":{"type":"string"},"size":{"type":"integer"},"position":{"type":"integer"},)"
      R"("outpoint":{"type":"string"},"record":{"type":"string"},)"
      R"("leaf_path":{"type":"array","items":{"type":"string"}},"chunk":{"type":"string"},)"
      R"("chunk_path":{"type":"array","items":{"type":"string"}}}})");
}

Result<ReadProof> parse_proof(std::string_view text) {
  const auto document = json::parse(text, {.max_depth = 4});
  if (!document || !document->is_object())
    return fail(Code::kInvalidInput, "not a proof: no JSON object");
  const FieldReader from{*document};
  ReadProof read;
  mmr::UnspentProof& proof = read.proof;
  proof.block_number = TRY(from.number("block_number"));
  proof.size = TRY(from.number("size"));
  proof.position = TRY(from.number("position"));
  proof.outpoint = TRY(from.bytes("outpoint"));
  proof.record = TRY(from.bytes("record"));
  proof.leaf_path = TRY(from.path("leaf_path"));
  TRY(from.exactly("chunk", proof.chunk));
  proof.chunk_path = TRY(from.path("chunk_path"));
  TRY(readable_fields_agree(from, read));
  TRY(from.exactly("block_hash", proof.block_hash));
  if (read.family == chain::Family::kBitcoin)
    std::reverse(proof.block_hash.begin(), proof.block_hash.end());
  return read;
}

Result<> check_proof(const mmr::UnspentProof& proof, const Hash256& root) {
  const auto hash = [](const std::uint8_t* data, std::size_t size) -> mmr::Digest {
    return crypto::blake2b_256({data, size});
  };
  if (const char* fault = mmr::find_fault(proof, root, hash))
    return fail(Code::kInvalidInput, "the proof does not hold: {}", fault);
  return {};
}

}  // namespace coffer::utxo
