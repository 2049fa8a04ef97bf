#include "wallet/addresses_impl.h"

#include "base/check.h"
#include "chain/script.h"
#include "crypto/sha256.h"
#include "wallet/ledger_impl.h"

namespace coffer::wallet {

Hash256 script_hash(ByteView script) {
  return crypto::sha256(script);
}

Result<std::uint64_t> account_id(sql::Transaction& sql, WalletId wallet, std::string_view name) {
  constexpr std::string_view kFind = "SELECT id FROM accounts WHERE wallet_id = $1 AND name = $2";
  if (const auto known = TRY(sql.value<std::uint64_t>(kFind, {wallet, name}))) return *known;
  if (name.empty() || name.size() > 100)
    return fail(Code::kInvalidInput, "the name of an account has 1 to 100 bytes");
  const auto made = TRY(sql.value<std::uint64_t>(
      "INSERT INTO accounts (wallet_id, name) VALUES ($1, $2) RETURNING id", {wallet, name}));
  CHECK(made.has_value());
  return *made;
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
      // gap.
      " ON CONFLICT (wallet_id, script_hash) DO UPDATE SET descriptor_id = excluded.descriptor_id,"
      " branch = excluded.branch, address_index = excluded.address_index"
      " WHERE addresses.descriptor_id IS NULL AND addresses.account_id = excluded.account_id"));
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

Result<std::optional<std::uint32_t>> last_used(sql::Transaction& sql, WalletId wallet,
                                               std::uint64_t descriptor_id, std::uint32_t from) {
  const auto last = TRY(sql.value<std::optional<std::uint32_t>>(
      "SELECT max(a.address_index) FROM addresses a WHERE a.wallet_id = $1"
      " AND a.descriptor_id = $2 AND a.address_index >= $3"
      " AND (a.given_out_at IS NOT NULL OR EXISTS ("
      "   SELECT 1 FROM utxos u WHERE u.wallet_id = a.wallet_id AND u.address_id = a.id))",
      {wallet, descriptor_id, from}));
  return last.value_or(std::nullopt);
}

Result<bool> use_index(sql::Transaction& sql, const chain::Network& network, WalletId wallet,
                       std::uint64_t descriptor_id, std::uint32_t index) {
  bool grew = false;
  for (std::optional<std::uint32_t> used = index; used;) {
    auto row = TRY(sql.one<std::uint64_t, std::uint64_t, std::uint32_t, std::string, std::uint32_t,
                           std::uint32_t, bool, std::uint32_t>(
        "SELECT d.id, d.account_id, d.branch, d.descriptor, d.next_index, d.derived_to,"
        " d.is_ranged, w.gap_limit FROM descriptors d JOIN wallets w ON w.id = d.wallet_id"
        " WHERE d.wallet_id = $1 AND d.id = $2",
        {wallet, descriptor_id}));
    if (!row || !std::get<6>(*row)) return false;
    DescriptorRow found{std::get<0>(*row), std::get<1>(*row), std::get<2>(*row),
                        std::get<3>(*row), std::get<4>(*row), std::get<5>(*row)};
    if (*used >= found.next_index)
      (void)TRY(
          sql.execute("UPDATE descriptors SET next_index = $3 WHERE wallet_id = $1 AND id = $2",
                      {wallet, descriptor_id, *used + 1}));
    const std::uint64_t wanted = std::uint64_t{*used} + 1 + std::get<7>(*row);
    const auto to = static_cast<std::uint32_t>(std::min<std::uint64_t>(wanted, kMaxIndex));
    const std::uint32_t from = found.derived_to;
    if (to <= from) break;
    if (TRY(derive_to(sql, network, wallet, found, to)) > 0) grew = true;
    // One that was imported by itself and is the descriptor's now may be in use already.
    used = TRY(last_used(sql, wallet, descriptor_id, from));
  }
  return grew;
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
          TRY(use_index(sql, network, wallet, *std::get<2>(*row), *std::get<3>(*row))))
        again = true;
    }
  }
  return owned;
}

}  // namespace coffer::wallet
