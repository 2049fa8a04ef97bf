#include <coffer/chain/genesis.h>
#include "base/file.h"
#include "base/result.h"
#include "chain/genesis_file_impl.h"

namespace coffer::chain {

Result<json::Value> parse_genesis(ByteView text) {
  if (text.size() > kMaxGenesisBytes)
    return fail(Code::kTooLarge, "a genesis file of {} bytes", text.size());
  json::Value value = TRY(json::parse(as_text(text), {.max_bytes = kMaxGenesisBytes}));
  if (!value.is_object()) return fail(Code::kInvalidInput, "not a JSON object");
  return value;
}

Result<std::optional<GenesisFile>> load_genesis(const std::filesystem::path& path) {
  auto text = read_file(path, kMaxGenesisBytes);
  if (!text && text.error().code == Code::kNotFound) return std::nullopt;
  if (!text) return fail(std::move(text).error());
  json::Value document = TRY_IN(path.string(), parse_genesis(*text));
  return GenesisFile{path, std::move(*text), std::move(document)};
}

}  // namespace coffer::chain
