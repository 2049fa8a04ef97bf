// The key that signs the checkpoints of a community: a file token-COMMUNITY.key in the data
// directory, and its public half in the community's settings. Made once, by init; the community
// keeps it for ever, so the file belongs into the backup.
#pragma once

#include <filesystem>
#include <optional>

#include <coffer/token/store.h>
#include "crypto/ed25519.h"
#include "token/community.h"

namespace coffer::token {

std::filesystem::path log_key_file(const std::filesystem::path& data_dir,
                                   std::string_view community);

// For init: makes the key if the community has none, and publishes it. Doing it again changes
// nothing. Errors: kConflict if the community has another key than the file, or has one and the
// file is missing; those of open_log_key().
Result<crypto::Ed25519PublicKey> init_log_key(const Community& community,
                                              const std::filesystem::path& data_dir);

// For serve: nothing if the file is missing; the log goes on without new checkpoints then. Errors:
// kForbidden if others may read the file, kCorrupt if it holds no key, kConflict if it holds
// another one than the community's.
Result<std::optional<crypto::Ed25519Key>> open_log_key(const Community& community,
                                                       const std::filesystem::path& data_dir);

// As the community's settings have it; nothing before init_log_key(). Errors: kCorrupt.
Result<std::optional<crypto::Ed25519PublicKey>> find_public_key(sql::Reader& sql,
                                                                const Community& community);

}  // namespace coffer::token
