#include "token/log/log.h"

#include <algorithm>

#include "base/result.h"
#include "json/reader.h"
#include "mmr/mountain_range.h"
#include "token/log/key.h"
#include "token/log/nodes.h"
#include "token/reasons.h"

namespace coffer::token {
namespace {

constexpr sql::TransactionOptions kOneMoment = {.access = sql::Access::kRead,
                                                .isolation = sql::Isolation::kRepeatableRead};

Result<Checkpoint> get_checkpoint(sql::Reader& sql, const Community& community,
                                  std::optional<std::uint64_t> size) {
  auto checkpoint =
      TRY(size ? find_checkpoint(sql, community, *size) : find_newest_checkpoint(sql, community));
  if (checkpoint) return *checkpoint;
  if (size)
    return fail(Code::kNotFound, "the log of '{}' has no checkpoint of size {}", community.name(),
                *size);
  return fail(Code::kNotFound, "the log of '{}' has no checkpoint yet", community.name());
}

Result<crypto::Ed25519PublicKey> get_public_key(sql::Reader& sql, const Community& community) {
  const auto key = TRY(find_public_key(sql, community));
  if (!key)
    return fail(Code::kNotFound, "the log of '{}' has no key; run: coffer token init",
                community.name());
  return *key;
}

// Where an entry stands. Errors: transaction_not_found, not_logged_yet.
Result<std::uint64_t> find_position(sql::Reader& sql, const Community& community, const Uuid& id) {
  const auto position = TRY(sql.value<std::uint64_t>(
      community.sql("SELECT position FROM @log_leaves WHERE id = $1::uuid"), {community.id(id)}));
  if (position) return *position;
  const auto waits = TRY(sql.value<std::int64_t>(
      community.sql("SELECT at FROM @log_outbox WHERE id = $1::uuid"), {community.id(id)}));
  if (waits)
    return fail(refusal("not_logged_yet", fmt::format("{} is committed and not in the log yet; try "
                                                      "again in some seconds",
                                                      to_string(id))));
  return fail(refusal("transaction_not_found",
                      fmt::format("'{}' has no transaction {}", community.name(), to_string(id))));
}

// Runs a computation on an MMR of the log twice: first to see which nodes it asks for, then with
// those.
template <typename Compute>
Result<std::vector<mmr::Digest>> with_nodes(sql::Reader& sql, const Community& community,
                                            std::uint64_t size, const Compute& compute) {
  NodeRecorder recorder;
  mmr::MountainRange dry(recorder, mmr::kLogTags, size);
  TRY(compute(dry));
  LogNodes nodes;
  TRY(nodes.load(sql, community, recorder.positions));
  mmr::MountainRange range(nodes, mmr::kLogTags, size);
  return compute(range);
}

Result<> add_details(sql::Reader& sql, const Community& community, const Uuid& id,
                     InclusionProof& proof) {
  using Text = std::optional<std::string>;
  using Salt = std::optional<DetailSalt>;
  const auto row = TRY(sql.one<Text, Salt, Text, Salt>(
      community.sql("SELECT memo, memo_salt, metadata, metadata_salt FROM @transaction_details"
                    " WHERE transaction_id = $1::uuid"),
      {community.id(id)}));
  if (!row) return {};
  const auto& [memo, memo_salt, metadata, metadata_salt] = *row;
  if (memo && memo_salt) proof.memo = {*memo, *memo_salt};
  if (metadata && metadata_salt) proof.metadata = {*metadata, *metadata_salt};
  return {};
}

Result<LogStatus> read_status(sql::Reader& sql, const Community& community) {
  LogStatus status;
  const auto head = TRY(sql.one<std::uint64_t, Hash256, std::int64_t>(
      community.sql("SELECT size, root, @now FROM @log_head")));
  if (!head) return fail(Code::kCorrupt, "log_head of '{}' has no row", community.name());
  std::tie(status.size, status.root, status.now_ms) = *head;
  const auto outbox = TRY(sql.one<std::uint64_t, std::optional<std::int64_t>>(
      community.sql("SELECT count(*), min(at) FROM @log_outbox")));
  if (outbox) std::tie(status.unlogged, status.oldest_unlogged_at_ms) = *outbox;
  status.checkpoint = TRY(find_newest_checkpoint(sql, community));
  status.public_key = TRY(find_public_key(sql, community));
  return status;
}

}  // namespace

Result<LogStatus> Log::status() const {
  return community_.database().run_transaction(
      [&](sql::Transaction& sql) { return read_status(sql, community_); }, kOneMoment);
}

Result<Page<Checkpoint>> Log::checkpoints(const PageOptions& page) const {
  if (page.count == 0 || page.count > kMaxPage)
    return fail(Code::kInvalidInput, "count: {}; expected 1 to {}", page.count, kMaxPage);
  std::uint64_t below = std::uint64_t{1} << 62;
  if (!page.cursor.empty()) {
    const auto size = json::parse(page.cursor);
    const auto number = size ? size->uint64() : std::nullopt;
    if (!number || *number > below)
      return fail(Code::kInvalidInput, "cursor: not one of this list; start without a cursor");
    below = *number;
  }
  auto connection = TRY(community_.database().acquire());
  Page<Checkpoint> found;
  found.items = TRY(list_checkpoints_below(connection, community_, below, page.count + 1));
  if (found.items.size() > page.count) {
    found.items.pop_back();
    found.cursor = std::to_string(found.items.back().size);
  }
  return found;
}

Result<Checkpoint> Log::checkpoint(std::optional<std::uint64_t> size) const {
  auto connection = TRY(community_.database().acquire());
  return get_checkpoint(connection, community_, size);
}

Result<std::vector<PlacedEntry>> Log::entries(std::uint64_t from, std::size_t count) const {
  return community_.database().run_transaction(
      [&](sql::Transaction& sql) {
        return read_entries(sql, community_, from, std::min(count, kMaxPage));
      },
      kOneMoment);
}

Result<InclusionProof> Log::prove(const Uuid& id, std::optional<std::uint64_t> size) const {
  const auto body = [&](sql::Transaction& sql) -> Result<InclusionProof> {
    InclusionProof proof;
    proof.community = community_.name();
    proof.position = TRY(find_position(sql, community_, id));
    auto checkpoint = get_checkpoint(sql, community_, size);
    if (!checkpoint && (size || checkpoint.error().code != Code::kNotFound))
      return fail(std::move(checkpoint).error());
    if (!checkpoint || checkpoint->size <= proof.position)
      return fail(refusal(
          "not_logged_yet",
          fmt::format("{} is entry {} of the log, and {}", to_string(id), proof.position,
                      checkpoint ? fmt::format("the checkpoint has size {}", checkpoint->size)
                                 : "there is no checkpoint yet")));
    proof.checkpoint = *checkpoint;
    proof.public_key = TRY(get_public_key(sql, community_));
    const auto entries = TRY(read_entries(sql, community_, proof.position, 1));
    if (entries.size() != 1 || entries[0].position != proof.position)
      return fail(Code::kCorrupt, "the log of '{}' lacks entry {}", community_.name(),
                  proof.position);
    proof.entry = to_text(entries[0].entry);
    proof.path =
        TRY(with_nodes(sql, community_, proof.checkpoint.size,
                       [&](mmr::MountainRange& range) { return range.path(proof.position); }));
    if (!mmr::check_inclusion(proof.checkpoint.state(), proof.position,
                              leaf_hash(proof.position, proof.entry), proof.path, hash_bytes))
      return fail(
          Code::kCorrupt,
          "{} is not what was put into the log of '{}' as entry {}; run: coffer token check",
          to_string(id), community_.name(), proof.position);
    TRY(add_details(sql, community_, id, proof));
    return proof;
  };
  return community_.database().run_transaction(body, kOneMoment);
}

Result<ConsistencyProof> Log::prove_consistency(std::uint64_t older_size,
                                                std::optional<std::uint64_t> newer_size) const {
  const auto body = [&](sql::Transaction& sql) -> Result<ConsistencyProof> {
    ConsistencyProof proof;
    proof.community = community_.name();
    proof.older = TRY(get_checkpoint(sql, community_, older_size));
    proof.newer = TRY(get_checkpoint(sql, community_, newer_size));
    if (proof.older.size > proof.newer.size)
      return fail(Code::kInvalidInput, "the older size {} is above the newer size {}",
                  proof.older.size, proof.newer.size);
    proof.public_key = TRY(get_public_key(sql, community_));
    proof.hashes =
        TRY(with_nodes(sql, community_, proof.newer.size, [&](mmr::MountainRange& range) {
          return range.consistency_proof(proof.older.size);
        }));
    if (!mmr::check_consistency(proof.older.state(), proof.newer.state(), proof.hashes, hash_bytes))
      return fail(Code::kCorrupt, "the log of '{}' did not only grow from size {} to {}",
                  community_.name(), proof.older.size, proof.newer.size);
    return proof;
  };
  return community_.database().run_transaction(body, kOneMoment);
}

}  // namespace coffer::token
