// Transactions that were pruned and that the chain brings again (W6). What was known of them then
// changes nothing. What has become this wallet's since, by an address that was imported later, is
// put in: new coins on a stub, and a stub as the spender of coins that were found after it went.
#include <unordered_set>

#include "base/check.h"
#include "base/result.h"
#include "wallet/lifecycle/tx_lifecycle_impl.h"
#include "wallet/store_impl.h"

namespace coffer::wallet {

Result<std::optional<TxLifecycle::PrunedTx>> TxLifecycle::find_pruned(const Hash256& hash) {
  const auto found = TRY(sql_.one<std::uint64_t, std::string>(
      "SELECT height, outputs FROM pruned_transactions WHERE wallet_id = $1 AND tx_hash = $2",
      {wallet_, hash}));
  if (!found) return std::nullopt;
  PrunedTx gone;
  gone.answer.tx = hash;
  gone.answer.status = TxStatus::kPublished;
  gone.answer.height = std::get<0>(*found);
  gone.outputs = std::get<1>(*found);
  return gone;
}

bool TxLifecycle::PrunedTx::had(const OwnedOutput& output) const {
  return outputs.find(fmt::format(",{},", output.index)) != std::string::npos;
}

Result<std::vector<TxLifecycle::Claim>> TxLifecycle::claims(const TxView& view) {
  std::vector<Claim> list;
  std::uint32_t at = 0;
  for (const chain::Input& input : view.inputs()) {
    Claim claim;
    claim.input = at++;
    claim.outpoint = input.outpoint();
    // What a stub spends, this one or another, is settled for good (W5).
    const auto found = TRY(sql_.one<std::uint64_t, std::uint64_t>(
        "SELECT u.id, u.amount FROM transactions p JOIN utxos u ON u.wallet_id = p.wallet_id"
        " AND u.tx_id = p.id LEFT JOIN transactions s ON s.wallet_id = u.wallet_id"
        " AND s.id = u.spent_by_tx_id WHERE p.wallet_id = $1 AND p.tx_hash = $2"
        " AND u.output_index = $3 AND (s.id IS NULL OR NOT s.is_stub)",
        {wallet_, claim.outpoint.tx, claim.outpoint.index}));
    if (!found) continue;
    claim.coin = std::get<0>(*found);
    claim.amount = std::get<1>(*found);
    list.push_back(claim);
  }
  return list;
}

Result<TxLifecycle::Row> TxLifecycle::insert_stub(const TxView& view, const BlockRef& block) {
  const auto id = TRY(sql_.value<std::uint64_t>(
      "INSERT INTO transactions (wallet_id, tx_hash, block_height, block_index, status,"
      " received_time, changed_at, received_height, is_coinbase, is_stub)"
      " VALUES ($1, $2, $3, $4, 'published', coffer_now(), coffer_now(), $3, $5, $6) RETURNING id",
      {wallet_, view.tx.id, block.height, block.index, view.tx.coinbase, true}));
  CHECK(id.has_value());
  Row row;
  row.id = *id;
  row.hash = view.tx.id;
  row.status = TxStatus::kPublished;
  row.height = block.height;
  row.coinbase = view.tx.coinbase;
  row.stub = true;
  return row;
}

Result<std::vector<Hash256>> TxLifecycle::spend_by_stub(const Row& stub,
                                                        std::span<const Claim> claims,
                                                        ConfirmedBy confirmed_by) {
  static const std::string rivals_statement = fmt::format(
      "SELECT {} FROM tx_inputs i CROSS JOIN transactions t WHERE i.prev_tx_hash = $2"
      " AND i.prev_output_index = $3 AND i.wallet_id = $1 AND t.wallet_id = i.wallet_id"
      " AND t.id = i.tx_id AND t.status IN ('pending', 'published') ORDER BY t.id",
      kRowColumns);
  std::vector<Loser> losers;
  std::unordered_set<std::uint64_t> known;
  std::uint64_t spent = 0;
  for (const Claim& claim : claims) {
    std::vector<Row> rivals =
        TRY(rows(rivals_statement, {wallet_, claim.outpoint.tx, claim.outpoint.index}));
    for (Row& rival : rivals) {
      if (rival.height && confirmed_by == ConfirmedBy::kUser)
        return fail(Code::kConflict, "{} has spent an input of the transaction and is confirmed",
                    to_display(rival.hash));
      if (!known.insert(rival.id).second) continue;
      losers.push_back({std::move(rival), TxStatus::kFailed, kDoubleSpentReason, true});
    }
    spent += claim.amount;
  }
  std::vector<Hash256> invalidated = TRY(invalidate(std::move(losers), &stub));
  for (const Claim& claim : claims)
    (void)TRY(
        sql_.execute("UPDATE utxos SET spent_by_tx_id = $3, spent_input_index = $4"
                     " WHERE wallet_id = $1 AND id = $2",
                     {wallet_, claim.coin, stub.id, claim.input}));
  // A stub has no inputs: what it spent is in the summary.
  (void)TRY(sql_.execute("UPDATE pruned_summary SET spent = spent + $2 WHERE wallet_id = $1",
                         {wallet_, spent}));
  return invalidated;
}

Result<Recorded> TxLifecycle::add_coins_of_pruned(const PrunedTx& gone, std::optional<Row> row,
                                                  const TxView& view,
                                                  std::span<const OwnedOutput> owned,
                                                  const BlockRef& block, ConfirmedBy confirmed_by) {
  Recorded answer = gone.answer;
  if (confirmed_by == ConfirmedBy::kUser && answer.height != block.height)
    return fail(Code::kConflict, "{} was confirmed at height {} and is pruned",
                to_display(answer.tx), *answer.height);
  std::vector<OwnedOutput> fresh;
  for (const OwnedOutput& output : owned)
    if (!gone.had(output)) fresh.push_back(output);
  const std::vector<Claim> claimed = TRY(claims(view));
  if (claimed.empty() && (fresh.empty() || row)) {
    if (row) answer.changed = TRY(add_coins(*row, view, fresh));
    return answer;
  }
  if (!row) {
    row = TRY(insert_stub(view, block));
    // It cannot be undone, wherever somebody said that it was.
    (void)TRY(sql_.execute(
        "UPDATE pruned_summary SET"
        " lowest_height = CASE WHEN $2 < lowest_height THEN $2 ELSE lowest_height END,"
        " highest_height = CASE WHEN $2 > highest_height THEN $2 ELSE highest_height END,"
        " fixed_height = CASE WHEN $2 > fixed_height THEN $2 ELSE fixed_height END"
        " WHERE wallet_id = $1",
        {wallet_, block.height}));
  }
  if (!claimed.empty()) answer.invalidated = TRY(spend_by_stub(*row, claimed, confirmed_by));
  (void)TRY(add_coins(*row, view, fresh));
  answer.changed = true;
  return answer;
}

}  // namespace coffer::wallet
