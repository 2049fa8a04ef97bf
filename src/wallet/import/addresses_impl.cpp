#include "wallet/import/addresses_impl.h"

#include "base/check.h"
#include "base/result.h"
#include "chain/script.h"
#include "crypto/sha256.h"
#include "sql/connection.h"
#include "wallet/descriptor/descriptor.h"
#include "wallet/lifecycle/tx_lifecycle_impl.h"

namespace coffer::wallet {

Hash256 script_hash(ByteView script) {
  return crypto::sha256(script);
}

Result<std::uint64_t> account_id(sql::Transaction& sql, WalletId wallet, std::string_view name) {
  constexpr std::string_view kFind = "SELECT id FROM accounts WHERE wallet_id = $1 AND name = $2";
  if (const auto known = TRY(sql.value<std::uint64_t>(kFind, {wallet, name}))) return *known;
  if (name.empty() || name.size() > 100)
    return fail(Code::kInvalidInput, "the name of an account has 1 to 100 bytes");
  const auto others =
      TRY(sql.value<std::uint64_t>("SELECT count(*) FROM accounts WHERE wallet_id = $1", {wallet}));
  if (others.value_or(0) >= kMaxListed)
    return fail(Code::kTooLarge, "a wallet has at most {} accounts", kMaxListed);
  const auto made = TRY(sql.value<std::uint64_t>(
      "INSERT INTO accounts (wallet_id, name) VALUES ($1, $2) RETURNING id", {wallet, name}));
  CHECK(made.has_value());
  return *made;
}

std::uint32_t scripts_at_index(std::string_view descriptor) {
  return descriptor.starts_with("combo(") ? 4 : 1;
}

Result<DescriptorRow> read_descriptor(const sql::Rows& rows) {
  DescriptorRow row;
  row.id = TRY(rows.get<std::uint64_t>(0));
  row.account_id = TRY(rows.get<std::uint64_t>(1));
  row.branch = TRY(rows.get<std::uint32_t>(2));
  row.text = TRY(rows.get<std::string>(3));
  row.next_index = TRY(rows.get<std::uint32_t>(4));
  row.derived_to = TRY(rows.get<std::uint32_t>(5));
  row.gap = TRY(rows.get<std::uint32_t>(6));
  return row;
}

Result<std::size_t> derive_to(sql::Transaction& sql, const chain::Network& network, WalletId wallet,
                              DescriptorRow& row, std::uint32_t to) {
  if (to <= row.derived_to) return std::size_t{0};
  if (to - row.derived_to > kMaxDerivedAtOnce)
    return fail(Code::kTooLarge, "at most {} addresses can be added at once", kMaxDerivedAtOnce);
  const Descriptor descriptor = TRY(parse_descriptor(network, row.text));
  auto batch = TRY(sql.batch(
      "INSERT INTO addresses (wallet_id, account_id, descriptor_id, branch, address_index,"
      " script_type, script_pub_key, script_hash) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)"
      // One that was imported by itself belongs to the descriptor now: a payment to it moves the
      // gap. Its account stays.
      " ON CONFLICT (wallet_id, script_hash) DO UPDATE SET descriptor_id = excluded.descriptor_id,"
      " branch = excluded.branch, address_index = excluded.address_index"
      " WHERE addresses.descriptor_id IS NULL"));
  for (std::uint32_t index = row.derived_to; index < to; ++index) {
    const std::vector<Bytes> scripts = TRY(descriptor.derive(index));
    for (const Bytes& script : scripts) {
      const Hash256 hash = script_hash(script);
      TRY(batch.add({wallet, row.account_id, row.id, row.branch, index,
                     chain::to_string(chain::output_type(script)), script, hash}));
    }
  }
  const std::int64_t added = TRY(batch.finish());
  row.derived_to = to;
  (void)TRY(sql.execute("UPDATE descriptors SET derived_to = $3 WHERE wallet_id = $1 AND id = $2",
                        {wallet, row.id, to}));
  return static_cast<std::size_t>(added);
}

Result<std::optional<WatchedScript>> find_script(sql::Transaction& sql, WalletId wallet,
                                                 ByteView script) {
  const auto row = TRY(sql.one<std::uint64_t, std::uint64_t, std::optional<std::uint64_t>,
                               std::optional<std::uint32_t>, std::optional<std::uint32_t>, bool,
                               std::int64_t, Bytes>(
      "SELECT a.id, a.account_id, a.descriptor_id, a.branch, a.address_index,"
      // Below next_index another program may have given it out.
      " coalesce(d.is_ranged, $3), CASE WHEN a.given_out_at IS NOT NULL"
      "   OR (d.is_ranged AND a.address_index < d.next_index) OR EXISTS ("
      "   SELECT 1 FROM utxos u WHERE u.wallet_id = a.wallet_id AND u.address_id = a.id)"
      "   THEN 1 ELSE 0 END, a.script_pub_key FROM addresses a LEFT JOIN descriptors d"
      " ON d.wallet_id = a.wallet_id AND d.id = a.descriptor_id"
      " WHERE a.wallet_id = $1 AND a.script_hash = $2",
      {wallet, script_hash(script), false}));
  if (!row || !equal(std::get<7>(*row), script)) return std::nullopt;
  WatchedScript found;
  found.id = std::get<0>(*row);
  found.account_id = std::get<1>(*row);
  found.descriptor_id = std::get<2>(*row);
  found.branch = std::get<3>(*row);
  found.index = std::get<4>(*row);
  found.is_ranged = std::get<5>(*row);
  found.in_use = std::get<6>(*row) != 0;
  return found;
}

namespace {

// The last index in use from here on of scripts that are not the descriptor's own: those of another
// ranged one stay there, one of a single descriptor is taken over and counts as in use.
Result<std::optional<std::uint32_t>> last_shared(sql::Transaction& sql,
                                                 const chain::Network& network, WalletId wallet,
                                                 const DescriptorRow& row, std::uint32_t from) {
  const Descriptor descriptor = TRY(parse_descriptor(network, row.text));
  std::optional<std::uint32_t> last;
  for (std::uint32_t index = from; index < row.derived_to; ++index) {
    const std::vector<Bytes> scripts = TRY(descriptor.derive(index));
    for (const Bytes& script : scripts) {
      const auto found = TRY(find_script(sql, wallet, script));
      if (!found || found->descriptor_id == row.id) continue;
      if (found->is_ranged && !found->in_use) continue;
      last = index;
      if (found->is_ranged) continue;
      (void)TRY(
          sql.execute("UPDATE addresses SET descriptor_id = $3, branch = $4,"
                      " address_index = $5, given_out_at = coalesce(given_out_at,"
                      " coffer_now()) WHERE wallet_id = $1 AND id = $2",
                      {wallet, found->id, row.id, row.branch, index}));
    }
  }
  return last;
}

}  // namespace

Result<std::optional<std::uint32_t>> last_used(sql::Transaction& sql, const chain::Network& network,
                                               WalletId wallet, const DescriptorRow& row,
                                               std::uint32_t from) {
  if (from >= row.derived_to) return std::nullopt;
  const auto own = TRY(sql.one<std::uint64_t, std::optional<std::uint32_t>>(
      "SELECT count(*), max(CASE WHEN a.given_out_at IS NOT NULL OR EXISTS ("
      "   SELECT 1 FROM utxos u WHERE u.wallet_id = a.wallet_id AND u.address_id = a.id)"
      "   THEN a.address_index END) FROM addresses a"
      " WHERE a.wallet_id = $1 AND a.descriptor_id = $2 AND a.address_index >= $3",
      {wallet, row.id, from}));
  CHECK(own.has_value());
  const auto [rows, last] = *own;
  const std::uint64_t scripts = std::uint64_t{row.derived_to - from} * scripts_at_index(row.text);
  if (rows == scripts) return last;
  const auto shared = TRY(last_shared(sql, network, wallet, row, from));
  return std::max(last, shared);
}

Result<std::size_t> move_on(sql::Transaction& sql, const chain::Network& network, WalletId wallet,
                            DescriptorRow& row, std::uint32_t index) {
  std::size_t added = 0;
  for (std::optional<std::uint32_t> used = index; used;) {
    if (*used >= row.next_index) {
      row.next_index = *used + 1;
      (void)TRY(
          sql.execute("UPDATE descriptors SET next_index = $3 WHERE wallet_id = $1 AND id = $2",
                      {wallet, row.id, row.next_index}));
    }
    const std::uint64_t wanted = std::uint64_t{*used} + 1 + row.gap;
    const auto to = static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, kMaxIndex));
    const std::uint32_t from = row.derived_to;
    if (to <= from) break;
    added += TRY(derive_to(sql, network, wallet, row, to));
    // What was there before the descriptor came so far may be in use already.
    used = TRY(last_used(sql, network, wallet, row, from));
  }
  return added;
}

Result<bool> use_script(sql::Transaction& sql, const chain::Network& network, WalletId wallet,
                        std::uint64_t descriptor_id, std::uint32_t index, ByteView script) {
  std::vector<DescriptorRow> moving;
  bool is_ranged = false;
  {
    // Beside its own descriptor those that still give out this index and have not all of its
    // scripts themselves: they share some with another. Two share a script at the same index only,
    // because it comes from the same keys.
    sql::Rows rows = TRY(sql.query(
        fmt::format("SELECT {}, d.is_ranged FROM descriptors d JOIN wallets w ON w.id = d.wallet_id"
                    " WHERE d.wallet_id = $1 AND (d.id = $2 OR (d.is_ranged AND d.next_index <= $3"
                    " AND d.derived_to > $3 AND (SELECT count(*) FROM addresses a"
                    "   WHERE a.wallet_id = d.wallet_id AND a.descriptor_id = d.id"
                    "   AND a.address_index = $3)"
                    " < CASE WHEN d.descriptor LIKE 'combo(%' THEN 4 ELSE 1 END)) ORDER BY d.id",
                    kDescriptorRowColumns),
        {wallet, descriptor_id, index}));
    while (TRY(rows.next())) {
      DescriptorRow row = TRY(read_descriptor(rows));
      if (row.id == descriptor_id) is_ranged = TRY(rows.get<bool>(7));
      moving.push_back(std::move(row));
    }
  }
  // The index of a single one is no place in a range.
  if (!is_ranged) return false;
  bool grew = false;
  for (DescriptorRow& row : moving) {
    if (row.id != descriptor_id) {
      const Descriptor other = TRY(parse_descriptor(network, row.text));
      const std::vector<Bytes> scripts = TRY(other.derive(index));
      const auto same = [&](const Bytes& one) { return equal(one, script); };
      if (std::none_of(scripts.begin(), scripts.end(), same)) continue;
    }
    if (TRY(move_on(sql, network, wallet, row, index)) > 0) grew = true;
  }
  return grew;
}

Result<bool> set_in_use(sql::Transaction& sql, const chain::Network& network, WalletId wallet,
                        const WatchedScript& found, ByteView script) {
  (void)TRY(
      sql.execute("UPDATE addresses SET given_out_at = coffer_now() WHERE wallet_id = $1"
                  " AND id = $2 AND given_out_at IS NULL",
                  {wallet, found.id}));
  if (!found.descriptor_id || !found.index) return false;
  return use_script(sql, network, wallet, *found.descriptor_id, *found.index, script);
}

Result<std::vector<OwnedOutput>> find_owned(sql::Transaction& sql, const chain::Network& network,
                                            WalletId wallet, const TxView& view) {
  std::vector<OwnedOutput> owned;
  for (bool again = true; again;) {
    again = false;
    owned.clear();
    std::uint32_t at = 0;
    for (const chain::Output& output : view.outputs()) {
      const std::uint32_t index = at++;
      if (output.address.empty()) continue;
      auto row = TRY(sql.one<std::uint64_t, std::uint64_t, std::optional<std::uint64_t>,
                             std::optional<std::uint32_t>, Bytes>(
          "SELECT id, account_id, descriptor_id, address_index, script_pub_key FROM addresses"
          " WHERE wallet_id = $1 AND script_hash = $2",
          {wallet, script_hash(output.address)}));
      if (!row || !equal(std::get<4>(*row), output.address)) continue;
      owned.push_back({index, std::get<0>(*row), std::get<1>(*row)});
      // What is new may own an output that was passed over.
      if (std::get<2>(*row) && std::get<3>(*row) &&
          TRY(use_script(sql, network, wallet, *std::get<2>(*row), *std::get<3>(*row),
                         output.address)))
        again = true;
    }
  }
  return owned;
}

}  // namespace coffer::wallet
