#include "token/log/checkpoint.h"

#include "base/result.h"

namespace coffer::token {
namespace {

Result<Checkpoint> read_checkpoint(const sql::Rows& rows) {
  Checkpoint checkpoint;
  checkpoint.size = TRY(rows.get<std::uint64_t>(0));
  checkpoint.root = TRY(rows.get<Hash256>(1));
  checkpoint.at_ms = TRY(rows.get<std::int64_t>(2));
  checkpoint.signature = TRY(rows.get<crypto::Ed25519Signature>(3));
  return checkpoint;
}

Result<std::vector<Checkpoint>> read_all(Result<sql::Rows> answer) {
  sql::Rows rows = TRY(std::move(answer));
  std::vector<Checkpoint> all;
  while (TRY(rows.next())) all.push_back(TRY(read_checkpoint(rows)));
  return all;
}

std::optional<Checkpoint> first(std::vector<Checkpoint> all) {
  return all.empty() ? std::nullopt : std::optional(all.front());
}

}  // namespace

std::string signed_text(std::string_view community, const Checkpoint& checkpoint) {
  return fmt::format("coffer token checkpoint 1\n{}\n{}\n{}\n{}\n", community, checkpoint.size,
                     checkpoint.root.hex(), checkpoint.at_ms);
}

void sign(Checkpoint& checkpoint, std::string_view community, const crypto::Ed25519Key& key) {
  checkpoint.signature = key.sign(as_bytes(signed_text(community, checkpoint)));
}

bool is_signed_by(const crypto::Ed25519PublicKey& key, std::string_view community,
                  const Checkpoint& checkpoint) {
  return crypto::verify_ed25519(key, as_bytes(signed_text(community, checkpoint)),
                                checkpoint.signature);
}

Result<std::optional<Checkpoint>> find_newest_checkpoint(sql::Reader& sql,
                                                         const Community& community) {
  return first(
      TRY(read_all(sql.query(community.sql("SELECT size, root, at, signature FROM @checkpoints"
                                           " ORDER BY size DESC LIMIT 1")))));
}

Result<std::optional<Checkpoint>> find_checkpoint(sql::Reader& sql, const Community& community,
                                                  std::uint64_t size) {
  return first(TRY(read_all(
      sql.query(community.sql("SELECT size, root, at, signature FROM @checkpoints WHERE size = $1"),
                {size}))));
}

Result<std::vector<Checkpoint>> list_checkpoints(sql::Reader& sql, const Community& community,
                                                 std::uint64_t above, std::size_t count) {
  return read_all(sql.query(community.sql("SELECT size, root, at, signature FROM @checkpoints"
                                          " WHERE size > $1 ORDER BY size LIMIT $2"),
                            {above, count}));
}

Result<std::vector<Checkpoint>> list_checkpoints_below(sql::Reader& sql, const Community& community,
                                                       std::uint64_t below, std::size_t count) {
  return read_all(sql.query(community.sql("SELECT size, root, at, signature FROM @checkpoints"
                                          " WHERE size < $1 ORDER BY size DESC LIMIT $2"),
                            {below, count}));
}

}  // namespace coffer::token
