#include "chain/genesis_network.h"

#include <boost/json.hpp>
#include <cmath>
#include <ctime>

#include "base/file.h"
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

Result<boost::json::value> parse(ByteView text) {
  boost::system::error_code error;
  boost::json::value value = boost::json::parse(as_text(text), error);
  if (error) return fail(Code::kInvalidInput, "not JSON: {}", error.message());
  if (!value.is_object()) return fail(Code::kInvalidInput, "not a JSON object");
  return value;
}

// Depth is bounded by the parser.
void write_canonical(std::string& out, const boost::json::value& value) {
  if (const auto* object = value.if_object()) {
    std::vector<const boost::json::key_value_pair*> pairs;
    for (const auto& pair : *object) pairs.push_back(&pair);
    std::sort(pairs.begin(), pairs.end(),
              [](const auto* a, const auto* b) { return a->key() < b->key(); });
    out += '{';
    for (const auto* pair : pairs) {
      if (out.back() != '{') out += ',';
      out += boost::json::serialize(boost::json::string(pair->key())) + ":";
      write_canonical(out, pair->value());
    }
    out += '}';
  } else if (const auto* array = value.if_array()) {
    out += '[';
    for (const boost::json::value& item : *array) {
      if (out.back() != '[') out += ',';
      write_canonical(out, item);
    }
    out += ']';
  } else {
    out += boost::json::serialize(value);
  }
}

Result<std::uint64_t> number_at(const boost::json::value& document, std::string_view pointer) {
  boost::system::error_code error;
  const boost::json::value* found = document.find_pointer(pointer, error);
  if (found != nullptr && found->is_int64() && found->as_int64() >= 0)
    return static_cast<std::uint64_t>(found->as_int64());
  return fail(Code::kInvalidInput, "no number at {}; is it a genesis file?", pointer);
}

// "2022-10-25T00:00:00Z", with or without a fraction of a second, as Unix seconds.
Result<std::int64_t> time_at(const boost::json::object& document, const char* name) {
  const boost::json::value* found = document.if_contains(name);
  std::tm time{};
  if (found != nullptr && found->is_string()) {
    const char* rest = ::strptime(found->as_string().c_str(), "%Y-%m-%dT%H:%M:%S", &time);
    if (rest != nullptr && (*rest == 'Z' || *rest == '.' || *rest == '\0')) return ::timegm(&time);
  }
  return fail(Code::kInvalidInput, "no time at {}; is it a genesis file?", name);
}

// Seconds, which may be a fraction such as 0.1, in milliseconds.
Result<std::uint64_t> slot_ms_at(const boost::json::object& document) {
  const boost::json::value* found = document.if_contains("slotLength");
  double seconds = 0;
  if (found != nullptr && found->is_number()) seconds = found->to_number<double>();
  if (!(seconds >= 0.001 && seconds <= 1e6))
    return fail(Code::kInvalidInput, "no slotLength; is it a genesis file?");
  return static_cast<std::uint64_t>(std::llround(seconds * 1'000));
}

struct GenesisFile {
  fs::path path;
  Bytes text;
  boost::json::value document;
};

// Nothing if it is not there.
Result<std::optional<GenesisFile>> load(const fs::path& path) {
  auto text = read_file(path, kMaxGenesisBytes);
  if (!text && text.error().code == Code::kNotFound) return std::nullopt;
  if (!text) return fail(std::move(text).error());
  boost::json::value document = TRY_IN(path.string(), parse(*text));
  return GenesisFile{path, std::move(*text), std::move(document)};
}

Result<> check_magic(const Network& network, const GenesisFile& file, std::string_view pointer) {
  const std::uint64_t magic = TRY_IN(file.path.string(), number_at(file.document, pointer));
  if (magic == network.cardano.magic) return {};
  return fail(Code::kUsage, "{} is of the network with magic {}, not of {} ({})",
              file.path.string(), magic, network.name, network.cardano.magic);
}

}  // namespace

Result<Hash256> byron_genesis_hash(ByteView text) {
  if (text.size() > kMaxGenesisBytes)
    return fail(Code::kTooLarge, "a genesis file of {} bytes", text.size());
  std::string canonical;
  write_canonical(canonical, TRY(parse(text)));
  return crypto::blake2b_256(as_bytes(canonical));
}

Result<> check_genesis_files(const Network& network, const fs::path& directory) {
  const auto differs = [&](const fs::path& path, const Hash256& hash) {
    return fail(Code::kUsage, "{} is not the genesis file of cardano {}: its hash is {}",
                path.string(), network.name, hash.hex());
  };
  if (const auto byron = TRY(load(directory / "byron-genesis.json"))) {
    TRY(check_magic(network, *byron, "/protocolConsts/protocolMagic"));
    const Hash256 hash = TRY_IN(byron->path.string(), byron_genesis_hash(byron->text));
    if (hash != network.genesis) return differs(byron->path, hash);
  }
  if (const auto shelley = TRY(load(directory / "shelley-genesis.json"))) {
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
  const auto file = TRY(load(path));
  if (!file) return fail(Code::kNotFound, "{} is not there", path.string());
  const boost::json::object& fields = file->document.as_object();
  Network network = private_network_of(name, crypto::blake2b_256(file->text), {});
  network.cardano.magic = TRY_IN(path.string(), number_at(file->document, "/networkMagic"));
  const boost::json::value* id = fields.if_contains("networkId");
  network.cardano.network_id = id != nullptr && *id == "Mainnet" ? 1 : 0;
  EraSummary era;
  era.start_unix_s = TRY_IN(path.string(), time_at(fields, "systemStart"));
  era.slot_ms = TRY_IN(path.string(), slot_ms_at(fields));
  era.epoch_slots = TRY_IN(path.string(), number_at(file->document, "/epochLength"));
  if (era.epoch_slots == 0) return fail(Code::kInvalidInput, "{}: epochLength is 0", path.string());
  network.cardano.eras = {era};
  if (const auto byron = TRY(load(directory / "byron-genesis.json")))
    TRY(check_magic(network, *byron, "/protocolConsts/protocolMagic"));
  return network;
}

}  // namespace coffer::chain
