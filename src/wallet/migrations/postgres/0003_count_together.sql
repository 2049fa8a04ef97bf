-- The coins of all transactions that a statement changes are counted together: a rollback of a hundred blocks changed one line of the
-- summary once for every coin, and within a transaction each change of a line walks over all earlier ones.

DROP TRIGGER trg_b_balance_before ON transactions;
DROP TRIGGER trg_b_balance_after ON transactions;
DROP FUNCTION balance_of_transaction();

-- All of a transaction that the balance asks for: as what its coins count, or why they do not.
CREATE FUNCTION tx_standing(status TEXT, block_height BIGINT) RETURNS TEXT LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN status <> 'published' THEN status WHEN block_height IS NULL THEN 'unconfirmed' ELSE 'confirmed' END
$$;

-- The kind of a coin from the standings of its maker and its spender, as coin_kinds has it.
CREATE FUNCTION coin_kind(maker TEXT, spent_by BIGINT, spender TEXT) RETURNS TEXT LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE WHEN maker IN ('confirmed', 'unconfirmed') THEN
           CASE WHEN spent_by IS NULL THEN maker WHEN spender = 'pending' THEN 'locked' END
         END
$$;

-- A wallet at a time, with every table asked for rows of that wallet only, so that a node of a cluster can do it by itself; and by keys,
-- because the plans are made once, perhaps for one row, and must do for a hundred thousand.
CREATE FUNCTION balance_of_transactions() RETURNS trigger LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off
SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  changed RECORD;  -- of a wallet: its transactions, their standings before and after
  moves RECORD;    -- what its lines of the summary gain or lose
  lines BIGINT;
BEGIN
  FOR changed IN
    SELECT wallet_id, array_agg(id) AS ids, array_agg(was) AS was, array_agg(is_now) AS is_now
      FROM (SELECT wallet_id, id, max(was) AS was, max(is_now) AS is_now
              FROM (SELECT wallet_id, id, tx_standing(status, block_height) AS was, NULL AS is_now FROM old_rows
                    UNION ALL
                    SELECT wallet_id, id, NULL, tx_standing(status, block_height) FROM new_rows) sides
             GROUP BY wallet_id, id
            HAVING max(was) <> max(is_now)) txs
     GROUP BY wallet_id
  LOOP
    WITH txs AS MATERIALIZED (
      SELECT * FROM unnest(changed.ids, changed.was, changed.is_now) AS tx (id, was, is_now)
    ), touched AS (
      -- the coins that they made, and those that they spend if they were or become pending
      SELECT id, tx_id, spent_by_tx_id, account_id, address_id, amount, max(maker_was) AS maker_was,
             max(maker_is) AS maker_is, max(spender_was) AS spender_was, max(spender_is) AS spender_is
        FROM (SELECT made.*, tx.was AS maker_was, tx.is_now AS maker_is, NULL AS spender_was, NULL AS spender_is
                FROM txs tx
               CROSS JOIN LATERAL (SELECT * FROM utxos u WHERE u.wallet_id = changed.wallet_id AND u.tx_id = tx.id OFFSET 0) made
              UNION ALL
              SELECT spent.*, NULL, NULL, tx.was, tx.is_now
                FROM txs tx
               CROSS JOIN LATERAL (SELECT * FROM utxos u WHERE u.wallet_id = changed.wallet_id AND u.spent_by_tx_id = tx.id OFFSET 0) spent
               WHERE 'pending' IN (tx.was, tx.is_now)) coins
       GROUP BY id, tx_id, spent_by_tx_id, account_id, address_id, amount
    ), sums AS (
      SELECT u.account_id, line.address_id, side.kind, sum(side.sign) AS coins, sum(side.sign * u.amount) AS amount
        FROM touched u
        LEFT JOIN LATERAL (SELECT tx_standing(t.status, t.block_height) AS standing FROM transactions t
                            WHERE t.wallet_id = changed.wallet_id AND t.id = u.tx_id OFFSET 0) maker ON u.maker_was IS NULL
        LEFT JOIN LATERAL (SELECT tx_standing(s.status, s.block_height) AS standing FROM transactions s
                            WHERE s.wallet_id = changed.wallet_id AND s.id = u.spent_by_tx_id OFFSET 0) spender ON u.spender_was IS NULL
       CROSS JOIN LATERAL (VALUES
             (-1, coin_kind(COALESCE(u.maker_was, maker.standing), u.spent_by_tx_id, COALESCE(u.spender_was, spender.standing))),
             (1, coin_kind(COALESCE(u.maker_is, maker.standing), u.spent_by_tx_id, COALESCE(u.spender_is, spender.standing)))
           ) side (sign, kind)
       CROSS JOIN LATERAL (VALUES (0::BIGINT), (u.address_id)) line (address_id)
       WHERE side.kind IS NOT NULL
       GROUP BY u.account_id, line.address_id, side.kind
      HAVING sum(side.sign) <> 0 OR sum(side.sign * u.amount) <> 0
    )
    SELECT array_agg(account_id) AS accounts, array_agg(address_id) AS addresses, array_agg(kind) AS kinds,
           array_agg(coins::BIGINT) AS coins, array_agg(amount::BIGINT) AS amounts INTO moves FROM sums;
    CONTINUE WHEN moves.accounts IS NULL;

    UPDATE balance_summary b SET coins = b.coins + m.coins, amount = b.amount + m.amount
      FROM unnest(moves.accounts, moves.addresses, moves.kinds, moves.coins, moves.amounts) AS m (account_id, address_id, kind, coins, amount)
     WHERE b.wallet_id = changed.wallet_id AND b.address_id = m.address_id AND b.account_id = m.account_id AND b.kind = m.kind;
    GET DIAGNOSTICS lines = ROW_COUNT;
    CONTINUE WHEN lines = cardinality(moves.accounts);

    INSERT INTO balance_summary (wallet_id, account_id, address_id, kind, coins, amount)
      SELECT changed.wallet_id, m.account_id, m.address_id, m.kind, m.coins, m.amount
        FROM unnest(moves.accounts, moves.addresses, moves.kinds, moves.coins, moves.amounts) AS m (account_id, address_id, kind, coins, amount)
       WHERE NOT EXISTS (SELECT 1 FROM balance_summary b WHERE b.wallet_id = changed.wallet_id AND b.address_id = m.address_id
                            AND b.account_id = m.account_id AND b.kind = m.kind);
  END LOOP;
  RETURN NULL;
END $$;
CREATE TRIGGER trg_balance_of_transactions AFTER UPDATE ON transactions
  REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION balance_of_transactions();
