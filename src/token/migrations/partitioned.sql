-- transactions in monthly partitions (T8), for PostgreSQL only: coffer token init --partition-by-month applies this text after 0001, in
-- the same way, while the community is empty. What differs from 002's plain table:
--
--   The key is (id, created_at), since a key must hold the column that divides. transaction_ids keeps an id from being used twice (23505)
--   and is what our tables refer to; ON CONFLICT (id) is not possible on transactions, so look an id up in transaction_ids first.
--   Statement triggers of the parent do not fire for an INSERT into a partition or a TRUNCATE of it, so every partition has its own.
--   There is no default partition: ensure_transaction_partitions() is to be called at start and daily, and makes months ahead. The first
--   partition reaches back without limit.

DO $$
BEGIN
  IF EXISTS (SELECT FROM transactions) THEN
    RAISE EXCEPTION 'Only an empty community can be partitioned';
  END IF;
END $$;

-- The views over transactions come back below as they were. Foreign keys to it go with it.
CREATE TABLE saved_views AS
  SELECT v.name, v.kind, pg_get_viewdef(v.name::regclass) AS definition, v.ord
    FROM (VALUES ('wallet_consistency', 'VIEW', 1), ('supply', 'VIEW', 2), ('v_balance_consistency', 'VIEW', 3),
                 ('token_statistics', 'MATERIALIZED VIEW', 4)) AS v (name, kind, ord);
DROP TABLE transactions CASCADE;

CREATE TABLE transactions (
  id               UUID NOT NULL,
  from_wallet_id   UUID NOT NULL,
  to_wallet_id     UUID NOT NULL,
  amount           BIGINT NOT NULL,
  transaction_type INTEGER NOT NULL,
  created_at       BIGINT NOT NULL,
  PRIMARY KEY (id, created_at),
  CONSTRAINT amount_positive CHECK (amount > 0),
  CONSTRAINT transaction_type_valid CHECK (transaction_type >= 1 AND transaction_type < 100),
  CONSTRAINT created_at_positive CHECK (created_at > 0),
  CONSTRAINT fk_from_wallet FOREIGN KEY (from_wallet_id) REFERENCES wallets (id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT fk_to_wallet FOREIGN KEY (to_wallet_id) REFERENCES wallets (id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED
) PARTITION BY RANGE (created_at);
CREATE INDEX idx_transactions_created_at ON transactions (created_at DESC);
CREATE INDEX idx_transactions_transaction_type ON transactions (transaction_type, created_at DESC);
CREATE INDEX idx_transactions_self_transfer ON transactions (from_wallet_id, to_wallet_id) WHERE from_wallet_id = to_wallet_id;
CREATE INDEX idx_transactions_from_wallet ON transactions (from_wallet_id, created_at DESC, id DESC);
CREATE INDEX idx_transactions_to_wallet ON transactions (to_wallet_id, created_at DESC, id DESC);
COMMENT ON TABLE transactions IS 'All token transactions including issuance, distribution, and transfers (immutable), by month';

-- Every id that a transaction has, and the month to look in.
CREATE TABLE transaction_ids (
  id         UUID   NOT NULL PRIMARY KEY,
  created_at BIGINT NOT NULL
);
CREATE TRIGGER only_triggers BEFORE INSERT ON transaction_ids FOR EACH STATEMENT EXECUTE FUNCTION prevent_direct_write();
CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON transaction_ids FOR EACH ROW
  EXECUTE FUNCTION refuse_statement('TK020', 'Rows of transaction_ids never change');
CREATE TRIGGER prevent_truncate BEFORE TRUNCATE ON transaction_ids FOR EACH STATEMENT
  EXECUTE FUNCTION refuse_statement('TK025', 'TRUNCATE of transaction_ids is refused');
ALTER TABLE holds ADD CONSTRAINT fk_capture_transaction FOREIGN KEY (capture_transaction_id) REFERENCES transaction_ids (id)
  DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE reversals ADD CONSTRAINT fk_reversed_transaction FOREIGN KEY (transaction_id) REFERENCES transaction_ids (id)
  DEFERRABLE INITIALLY DEFERRED;
ALTER TABLE reversals ADD CONSTRAINT fk_reversal_transaction FOREIGN KEY (reversal_id) REFERENCES transaction_ids (id)
  DEFERRABLE INITIALLY DEFERRED;

CREATE FUNCTION record_transaction_ids() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '@schema@', pg_temp AS $$
DECLARE
  ids UUID[];
  created BIGINT[];
BEGIN
  SELECT array_agg(r.id), array_agg(r.created_at) INTO ids, created FROM new_rows r;
  INSERT INTO transaction_ids (id, created_at) SELECT k.id, k.created_at FROM unnest(ids, created) AS k (id, created_at);
  RETURN NULL;
END $$;

-- Row triggers are inherited by partitions; those of statements are not.
CREATE TRIGGER prevent_transaction_update BEFORE UPDATE ON transactions FOR EACH ROW EXECUTE FUNCTION prevent_transaction_modification();
CREATE TRIGGER prevent_transaction_delete BEFORE DELETE ON transactions FOR EACH ROW EXECUTE FUNCTION prevent_transaction_modification();
CREATE FUNCTION add_transaction_triggers(relation REGCLASS) RETURNS void LANGUAGE plpgsql SET search_path = '@schema@', pg_temp AS $$
BEGIN
  EXECUTE format('
    CREATE TRIGGER prevent_truncate BEFORE TRUNCATE ON %1$s FOR EACH STATEMENT
      EXECUTE FUNCTION refuse_statement(''TK025'', ''TRUNCATE of transactions is refused'');
    CREATE TRIGGER check_transaction_balance BEFORE INSERT ON %1$s FOR EACH STATEMENT EXECUTE FUNCTION validate_transaction_balance();
    CREATE TRIGGER record_transaction_ids AFTER INSERT ON %1$s REFERENCING NEW TABLE AS new_rows
      FOR EACH STATEMENT EXECUTE FUNCTION record_transaction_ids();
    CREATE TRIGGER update_balances_after_transaction AFTER INSERT ON %1$s REFERENCING NEW TABLE AS new_rows
      FOR EACH STATEMENT EXECUTE FUNCTION update_wallet_balances()', relation);
END $$;
DO $$
BEGIN
  PERFORM add_transaction_triggers('transactions');
END $$;

-- Makes the partitions up to so many months after the current one, transactions_YYYY_MM in UTC, and returns how many were missing. The lock
-- lets one caller at a time look; without missing months nothing else is locked.
CREATE FUNCTION ensure_transaction_partitions(months_ahead INTEGER DEFAULT 3) RETURNS INTEGER
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '@schema@', pg_temp AS $$
DECLARE
  this_month TIMESTAMP := date_trunc('month', unix_to_timestamp(coffer_now()) AT TIME ZONE 'UTC');
  last_month TIMESTAMP;  -- the youngest there is
  month TIMESTAMP;
  name TEXT;
  made INTEGER := 0;
BEGIN
  IF months_ahead NOT BETWEEN 0 AND 120 THEN
    RAISE EXCEPTION 'Between 0 and 120 months ahead' USING ERRCODE = '22023';
  END IF;
  PERFORM pg_advisory_xact_lock(hashtextextended('token partitions of @schema@', 0));
  SELECT max(to_timestamp(right(c.relname, 7), 'YYYY_MM') AT TIME ZONE current_setting('TimeZone')) INTO last_month
    FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE i.inhparent = 'transactions'::regclass;
  FOR month IN SELECT generate_series(coalesce(last_month + interval '1 month', this_month),
                                      this_month + make_interval(months => months_ahead), interval '1 month') LOOP
    name := 'transactions_' || to_char(month, 'YYYY_MM');
    EXECUTE format('CREATE TABLE %I PARTITION OF transactions FOR VALUES FROM (%s) TO (%s)', name,
      CASE WHEN last_month IS NULL AND made = 0 THEN 'MINVALUE' ELSE timestamp_to_unix(month AT TIME ZONE 'UTC')::text END,
      timestamp_to_unix((month + interval '1 month') AT TIME ZONE 'UTC'));
    EXECUTE format('ALTER TABLE %I SET (autovacuum_enabled = on, autovacuum_vacuum_insert_scale_factor = 0.1)', name);
    PERFORM add_transaction_triggers(name::regclass);
    made := made + 1;
  END LOOP;
  RETURN made;
END $$;
REVOKE EXECUTE ON FUNCTION ensure_transaction_partitions(INTEGER), add_transaction_triggers(REGCLASS) FROM PUBLIC;

DO $$
DECLARE
  v RECORD;
BEGIN
  PERFORM ensure_transaction_partitions();
  FOR v IN SELECT * FROM saved_views ORDER BY ord LOOP
    EXECUTE format('CREATE %s %I AS %s', v.kind, v.name, v.definition);
  END LOOP;
END $$;
CREATE UNIQUE INDEX ON token_statistics (updated_at);
DROP TABLE saved_views;
INSERT INTO settings (key, value) VALUES ('partition_by', 'month');
