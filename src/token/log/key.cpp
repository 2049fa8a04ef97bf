#include "token/log/key.h"

#include <coffer/base/log.h>
#include "base/file.h"
#include "base/private_file.h"
#include "base/result.h"

namespace coffer::token {
namespace {

constexpr const char* kSettingsKey = "log_public_key";

Result<std::optional<crypto::Ed25519Key>> read_key_file(const std::filesystem::path& path) {
  const auto data = read_private_file(path);
  if (!data && data.error().code == Code::kNotFound) return std::nullopt;
  if (!data) return fail(data.error());
  std::string_view text = as_text(*data);
  while (text.ends_with('\n')) text.remove_suffix(1);
  const auto seed = from_hex(text);
  auto key =
      seed ? crypto::Ed25519Key::from_seed(*seed) : Result<crypto::Ed25519Key>(fail(seed.error()));
  if (!key)
    return fail(Code::kCorrupt, "{} holds no key of 64 hex digits; restore it from a backup",
                path.string());
  return std::optional(*std::move(key));
}

Result<> expect_same(const crypto::Ed25519Key& key, const crypto::Ed25519PublicKey& published,
                     const Community& community, const std::filesystem::path& path) {
  if (key.public_key() == published) return {};
  return fail(Code::kConflict,
              "{} holds another key than the one that signs the log of '{}' (public key {}); put "
              "the file of that key there",
              path.string(), community.name(), published.hex());
}

}  // namespace

std::filesystem::path log_key_file(const std::filesystem::path& data_dir,
                                   std::string_view community) {
  return data_dir / fmt::format("token-{}.key", community);
}

Result<std::optional<crypto::Ed25519PublicKey>> find_public_key(sql::Reader& sql,
                                                                const Community& community) {
  const auto hex = TRY(sql.value<std::string>(
      community.sql("SELECT value FROM @settings WHERE key = $1"), {kSettingsKey}));
  if (!hex) return std::nullopt;
  const auto bytes = from_hex(*hex);
  const auto key = bytes ? crypto::Ed25519PublicKey::from_view(*bytes)
                         : Result<crypto::Ed25519PublicKey>(fail(bytes.error()));
  if (!key)
    return fail(Code::kCorrupt, "the setting {} of '{}' is no key of 64 hex digits", kSettingsKey,
                community.name());
  return *key;
}

Result<std::optional<crypto::Ed25519Key>> open_log_key(const Community& community,
                                                       const std::filesystem::path& data_dir) {
  const auto path = log_key_file(data_dir, community.name());
  auto key = TRY(read_key_file(path));
  if (!key) return std::nullopt;
  auto connection = TRY(community.database().acquire());
  const auto published = TRY(find_public_key(connection, community));
  if (!published)
    return fail(Code::kConflict, "the key of {} is not that of '{}' yet; run: coffer token init",
                path.string(), community.name());
  TRY(expect_same(*key, *published, community, path));
  return key;
}

Result<crypto::Ed25519PublicKey> init_log_key(const Community& community,
                                              const std::filesystem::path& data_dir) {
  const auto path = log_key_file(data_dir, community.name());
  return community.database().run_transaction(
      [&](sql::Transaction& sql) -> Result<crypto::Ed25519PublicKey> {
        // Of two that begin at once one waits here; SQLite has one writer anyway.
        TRY(sql.query(community.is_sqlite()
                          ? "SELECT size FROM log_head"
                          : community.sql("SELECT size FROM @log_head FOR UPDATE")));
        auto key = TRY(read_key_file(path));
        const auto published = TRY(find_public_key(sql, community));
        if (published && !key)
          return fail(Code::kConflict,
                      "the log of '{}' is signed with the public key {}, whose file {} is missing; "
                      "copy it from the host where the community was made, or from a backup",
                      community.name(), published->hex(), path.string());
        if (published) {
          TRY(expect_same(*key, *published, community, path));
          return *published;
        }
        if (!key) {
          // The file first: a public key without its file could never sign anything.
          key.emplace(crypto::Ed25519Key::generate());
          TRY(write_file_atomically(path, as_bytes(to_hex(key->seed()) + "\n"), {.mode = 0600}));
          log::info("made the key of a token log", {{"file", path.string()}});
        }
        (void)TRY(sql.execute(community.sql("INSERT INTO @settings (key, value) VALUES ($1, $2)"),
                              {kSettingsKey, key->public_key().hex()}));
        return key->public_key();
      });
}

}  // namespace coffer::token
