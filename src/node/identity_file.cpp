#include "node/identity_file.h"

#include "base/file.h"
#include "base/result.h"

namespace coffer::node {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kIdentityFile = "identity";
constexpr std::uint64_t kMaxIdentityBytes = 64u << 10;

std::string text_of(const chainstate::Identity& identity) {
  return fmt::format("{} {}\n{}\n", identity.chain, identity.network,
                     to_hex(chainstate::encode_identity(identity)));
}

Result<chainstate::Identity> parse(std::string_view text) {
  const std::size_t first = text.find('\n');
  const std::size_t second = first == text.npos ? text.npos : text.find('\n', first + 1);
  if (second == text.npos) return fail(Code::kCorrupt, "it is cut off");
  const auto bytes = from_hex(text.substr(first + 1, second - first - 1));
  if (!bytes) return fail(Code::kCorrupt, "its second line is not hex");
  return chainstate::decode_identity(*bytes);
}

}  // namespace

Result<std::optional<chainstate::Identity>> read_identity_file(const fs::path& data_dir) {
  const fs::path file = data_dir / kIdentityFile;
  if (!TRY(file_exists(file))) return std::nullopt;
  const Bytes text = TRY(read_file(file, kMaxIdentityBytes));
  auto identity = parse(as_text(text));
  if (!identity)
    return fail(Code::kCorrupt, "{} is damaged; delete it, and the next start writes it again",
                file.string());
  return *std::move(identity);
}

Result<> update_identity_file(const fs::path& data_dir,
                              const std::optional<chainstate::Identity>& identity) {
  const fs::path file = data_dir / kIdentityFile;
  if (!identity) {
    std::error_code error;
    fs::remove(file, error);
    return error ? fail(errno_error(error.value(), "cannot remove " + file.string())) : Result<>{};
  }
  const std::string text = text_of(*identity);
  if (const auto there = read_file(file, kMaxIdentityBytes); there && as_text(*there) == text)
    return {};
  return write_file_atomically(file, as_bytes(text));
}

}  // namespace coffer::node
