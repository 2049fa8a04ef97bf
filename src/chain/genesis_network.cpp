#include "chain/genesis_network.h"

#include <cmath>
#include <ctime>

#include "base/result.h"
#include "chain/genesis_file_impl.h"
#include "crypto/blake2b.h"

namespace coffer::chain {
namespace {

namespace fs = std::filesystem;

struct ShelleyGenesis {
  const char* network;
  const char* hash;  // Blake2b-256 of the file's bytes
};
constexpr ShelleyGenesis kShelleyGenesis[] = {
    {"mainnet", "1a3be38bcbb7911969283716ad7aa550250226b76a61fc51cc9a9a35d9276d81"},
    {"preview", "363498d1024f84bb39d3fa9593ce391483cb40d479b87233f868d6e57c3a400d"},
};

Result<std::uint64_t> number_at(const json::Value& document, std::string_view pointer) {
  const auto found = document.find_pointer(pointer);
  const auto number = found ? found->int64() : std::nullopt;
  if (number && *number >= 0) return static_cast<std::uint64_t>(*number);
  return fail(Code::kInvalidInput, "no number at {}; is it a genesis file?", pointer);
}

// "2022-10-25T00:00:00Z", with or without a fraction of a second, as Unix seconds.
Result<std::int64_t> time_at(const json::Value& document, const char* name) {
  const auto found = document.find(name);
  const auto text = found ? found->string() : std::nullopt;
  std::tm time{};
  if (text) {
    const char* rest = ::strptime(text->c_str(), "%Y-%m-%dT%H:%M:%S", &time);
    if (rest != nullptr && (*rest == 'Z' || *rest == '.' || *rest == '\0')) return ::timegm(&time);
  }
  return fail(Code::kInvalidInput, "no time at {}; is it a genesis file?", name);
}

// Seconds, which may be a fraction such as 0.1, in milliseconds.
Result<std::uint64_t> slot_ms_at(const json::Value& document) {
  const auto found = document.find("slotLength");
  const double seconds = found ? found->number().value_or(0) : 0;
  if (!(seconds >= 0.001 && seconds <= 1e6))
    return fail(Code::kInvalidInput, "no slotLength; is it a genesis file?");
  return static_cast<std::uint64_t>(std::llround(seconds * 1'000));
}

Result<> check_magic(const Network& network, const GenesisFile& file, std::string_view pointer) {
  const std::uint64_t magic = TRY_IN(file.path.string(), number_at(file.document, pointer));
  if (magic == network.cardano.magic) return {};
  return fail(Code::kUsage, "{} is of the network with magic {}, not of {} ({})",
              file.path.string(), magic, network.name, network.cardano.magic);
}

Hash256 canonical_hash(const json::Value& document) {
  return crypto::blake2b_256(as_bytes(document.serialize_sorted()));
}

}  // namespace

Result<Hash256> byron_genesis_hash(ByteView text) {
  return canonical_hash(TRY(parse_genesis(text)));
}

Result<> check_genesis_files(const Network& network, const fs::path& directory) {
  const auto differs = [&](const fs::path& path, const Hash256& hash) {
    return fail(Code::kUsage, "{} is not the genesis file of cardano {}: its hash is {}",
                path.string(), network.name, hash.hex());
  };
  if (const auto byron = TRY(load_genesis(directory / "byron-genesis.json"))) {
    TRY(check_magic(network, *byron, "/protocolConsts/protocolMagic"));
    const Hash256 hash = canonical_hash(byron->document);
    if (hash != network.genesis) return differs(byron->path, hash);
  }
  if (const auto shelley = TRY(load_genesis(directory / "shelley-genesis.json"))) {
    TRY(check_magic(network, *shelley, "/networkMagic"));
    const Hash256 hash = crypto::blake2b_256(shelley->text);
    for (const ShelleyGenesis& known : kShelleyGenesis)
      if (network.name == known.network && hash.hex() != known.hash)
        return differs(shelley->path, hash);
  }
  return {};
}

Result<Network> private_network(std::string_view name, const fs::path& directory) {
  const bool named_well =
      !name.empty() && name.size() <= 32 &&
      name.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_-") == std::string_view::npos;
  if (!named_well)
    return fail(Code::kUsage, "a network's name is 1 to 32 of a-z, 0-9, '_' and '-'");
  const fs::path path = directory / "shelley-genesis.json";
  const auto file = TRY(load_genesis(path));
  if (!file) return fail(Code::kNotFound, "{} is not there", path.string());
  Network network = private_network_of(name, crypto::blake2b_256(file->text), {});
  network.cardano.magic = TRY_IN(path.string(), number_at(file->document, "/networkMagic"));
  const auto id = file->document.find("networkId");
  network.cardano.network_id = id && id->string() == "Mainnet" ? 1 : 0;
  EraSummary era;
  era.start_unix_s = TRY_IN(path.string(), time_at(file->document, "systemStart"));
  era.slot_ms = TRY_IN(path.string(), slot_ms_at(file->document));
  era.epoch_slots = TRY_IN(path.string(), number_at(file->document, "/epochLength"));
  if (era.epoch_slots == 0) return fail(Code::kInvalidInput, "{}: epochLength is 0", path.string());
  network.cardano.eras = {era};
  if (const auto byron = TRY(load_genesis(directory / "byron-genesis.json")))
    TRY(check_magic(network, *byron, "/protocolConsts/protocolMagic"));
  return network;
}

}  // namespace coffer::chain
