#include "wallet/sync/watch.h"
#include "base/result.h"
#include "sql/connection.h"

namespace coffer::wallet {
namespace {

std::uint64_t hash_of(ByteView script) {
  return std::hash<std::string_view>()(as_text(script)) | 1;  // never 0
}
std::uint64_t hash_of(const chain::Outpoint& outpoint) {
  return chain::OutpointHash()(outpoint) | 1;
}

}  // namespace

void HashSet64::insert(std::uint64_t hash) {
  if (2 * (used_ + 1) > slots_.size()) {
    std::vector<std::uint64_t> old(std::max<std::size_t>(1024, 2 * slots_.size()));
    old.swap(slots_);
    used_ = 0;
    for (const std::uint64_t kept : old)
      if (kept != 0) insert(kept);
  }
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = (hash * 0x9e3779b97f4a7c15ull >> 17) & mask;
  while (slots_[at] != 0) {
    if (slots_[at] == hash) return;
    at = (at + 1) & mask;
  }
  slots_[at] = hash;
  ++used_;
}

bool HashSet64::contains(std::uint64_t hash) const {
  if (slots_.empty()) return false;
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = (hash * 0x9e3779b97f4a7c15ull >> 17) & mask;
  for (; slots_[at] != 0; at = (at + 1) & mask)
    if (slots_[at] == hash) return true;
  return false;
}

bool WatchSet::may_own(ByteView script) const {
  return !script.empty() && scripts_.contains(hash_of(script));
}
bool WatchSet::may_name(const chain::Outpoint& outpoint) const {
  return outpoints_.contains(hash_of(outpoint));
}
void WatchSet::add_script(ByteView script) {
  scripts_.insert(hash_of(script));
}
void WatchSet::add_outpoint(const chain::Outpoint& outpoint) {
  outpoints_.insert(hash_of(outpoint));
}

bool WatchSet::may_touch(const TxView& view) const {
  if (outpoints_.size() != 0)
    for (const chain::Input& input : view.inputs())
      if (may_name(input.outpoint())) return true;
  for (const chain::Output& output : view.outputs())
    if (may_own(output.address)) return true;
  return false;
}

Result<WatchSet::Marks> WatchSet::newest(sql::Reader& sql) {
  const auto row = TRY(sql.one<std::int64_t, std::int64_t, std::int64_t, std::optional<Bytes>>(
      "SELECT coalesce((SELECT max(id) FROM addresses), 0),"
      " coalesce((SELECT max(id) FROM transactions), 0),"
      " coalesce((SELECT max(id) FROM utxos), 0), (SELECT position FROM sync_state)"));
  return Marks{std::get<0>(*row), std::get<1>(*row), std::get<2>(*row), std::get<3>(*row)};
}

Result<bool> WatchSet::is_stale(sql::Reader& sql) const {
  const Marks now = TRY(newest(sql));
  return !(now == kept_);
}

Result<> WatchSet::add_outpoints(sql::Transaction& sql, std::string_view text, sql::Params params) {
  sql::Rows rows = TRY(sql.stream(text, params));
  while (TRY(rows.next())) {
    chain::Outpoint outpoint;
    outpoint.tx = TRY(rows.get<Hash256>(0));
    outpoint.index = TRY(rows.get<std::uint32_t>(1));
    add_outpoint(outpoint);
  }
  return {};
}

Result<> WatchSet::refresh(sql::Transaction& sql) {
  const Marks now = TRY(newest(sql));
  if (now.position != marks_.position) {
    scripts_ = outpoints_ = {};
    marks_ = kept_ = {};
  }
  if (now.address > marks_.address) {
    sql::Rows rows =
        TRY(sql.stream("SELECT script_pub_key FROM addresses WHERE id > $1", {marks_.address}));
    while (TRY(rows.next())) add_script(TRY(rows.get<ByteView>(0)));
  }
  if (now.coin > marks_.coin)
    TRY(add_outpoints(sql,
                      "SELECT t.tx_hash, u.output_index FROM utxos u JOIN transactions t"
                      " ON t.wallet_id = u.wallet_id AND t.id = u.tx_id"
                      " WHERE u.id > $1 AND u.spent_by_tx_id IS NULL",
                      {marks_.coin}));
  if (now.transaction > marks_.transaction)
    for (const std::string_view which : {"t.block_height IS NULL", "t.user_confirmed"})
      TRY(add_outpoints(sql,
                        fmt::format("SELECT i.prev_tx_hash, i.prev_output_index FROM transactions t"
                                    " JOIN tx_inputs i ON i.wallet_id = t.wallet_id"
                                    " AND i.tx_id = t.id WHERE t.id > $1 AND {}",
                                    which),
                        {marks_.transaction}));
  marks_ = now;
  return {};
}

Result<> WatchSet::add_disconnected(sql::Transaction& sql, std::int64_t above_height) {
  return add_outpoints(sql,
                       "SELECT i.prev_tx_hash, i.prev_output_index FROM transactions t"
                       " JOIN tx_inputs i ON i.wallet_id = t.wallet_id AND i.tx_id = t.id"
                       " WHERE t.block_height > $1",
                       {above_height});
}

}  // namespace coffer::wallet
