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

-- Before and after are brought together by grouping and every table is asked by its keys: the plan is made once, perhaps for one row,
-- and must do for a hundred thousand.
CREATE FUNCTION balance_of_transactions() RETURNS trigger LANGUAGE plpgsql
SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off AS $$
BEGIN
  WITH changed AS MATERIALIZED (
    SELECT wallet_id, id, max(was) AS was, max(is_now) AS is_now
      FROM (SELECT wallet_id, id, tx_standing(status, block_height) AS was, NULL AS is_now FROM old_rows
            UNION ALL
            SELECT wallet_id, id, NULL, tx_standing(status, block_height) FROM new_rows) sides
     GROUP BY wallet_id, id
    HAVING max(was) <> max(is_now)
  ), touched AS (
    -- the coins that it made, and those that it spends if it was or becomes pending
    SELECT wallet_id, id, tx_id, spent_by_tx_id, account_id, address_id, amount, max(maker_was) AS maker_was,
           max(maker_is) AS maker_is, max(spender_was) AS spender_was, max(spender_is) AS spender_is
      FROM (SELECT made.*, c.was AS maker_was, c.is_now AS maker_is, NULL AS spender_was, NULL AS spender_is
              FROM changed c
             CROSS JOIN LATERAL (SELECT * FROM utxos u WHERE u.wallet_id = c.wallet_id AND u.tx_id = c.id OFFSET 0) made
            UNION ALL
            SELECT spent.*, NULL, NULL, c.was, c.is_now
              FROM changed c
             CROSS JOIN LATERAL (SELECT * FROM utxos u WHERE u.wallet_id = c.wallet_id AND u.spent_by_tx_id = c.id OFFSET 0) spent
             WHERE 'pending' IN (c.was, c.is_now)) coins
     GROUP BY wallet_id, id, tx_id, spent_by_tx_id, account_id, address_id, amount
  ), moves AS (
    SELECT u.wallet_id, u.account_id, line.address_id, side.kind, sum(side.sign) AS coins, sum(side.sign * u.amount) AS amount
      FROM touched u
      LEFT JOIN LATERAL (SELECT tx_standing(t.status, t.block_height) AS standing FROM transactions t
                          WHERE t.wallet_id = u.wallet_id AND t.id = u.tx_id OFFSET 0) maker ON u.maker_was IS NULL
      LEFT JOIN LATERAL (SELECT tx_standing(s.status, s.block_height) AS standing FROM transactions s
                          WHERE s.wallet_id = u.wallet_id AND s.id = u.spent_by_tx_id OFFSET 0) spender ON u.spender_was IS NULL
     CROSS JOIN LATERAL (VALUES
           (-1, coin_kind(COALESCE(u.maker_was, maker.standing), u.spent_by_tx_id, COALESCE(u.spender_was, spender.standing))),
           (1, coin_kind(COALESCE(u.maker_is, maker.standing), u.spent_by_tx_id, COALESCE(u.spender_is, spender.standing)))
         ) side (sign, kind)
     CROSS JOIN LATERAL (VALUES (0::BIGINT), (u.address_id)) line (address_id)
     WHERE side.kind IS NOT NULL
     GROUP BY u.wallet_id, u.account_id, line.address_id, side.kind
    HAVING sum(side.sign) <> 0 OR sum(side.sign * u.amount) <> 0
  ), known AS (
    UPDATE balance_summary b SET coins = b.coins + m.coins, amount = b.amount + m.amount FROM moves m
     WHERE b.wallet_id = m.wallet_id AND b.address_id = m.address_id AND b.account_id = m.account_id AND b.kind = m.kind
    RETURNING b.wallet_id, b.account_id, b.address_id, b.kind
  )
  INSERT INTO balance_summary AS b (wallet_id, account_id, address_id, kind, coins, amount)
    SELECT wallet_id, account_id, address_id, kind, sum(coins), sum(amount)
      FROM (SELECT wallet_id, account_id, address_id, kind, coins, amount, FALSE AS is_known FROM moves
            UNION ALL
            SELECT wallet_id, account_id, address_id, kind, 0, 0, TRUE FROM known) lines
     GROUP BY wallet_id, account_id, address_id, kind
    HAVING NOT bool_or(is_known)
    ON CONFLICT (wallet_id, address_id, account_id, kind)
      DO UPDATE SET coins = b.coins + excluded.coins, amount = b.amount + excluded.amount;
  RETURN NULL;
END $$;
CREATE TRIGGER trg_balance_of_transactions AFTER UPDATE ON transactions
  REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION balance_of_transactions();
