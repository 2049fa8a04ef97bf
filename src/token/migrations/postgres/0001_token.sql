-- The community token ledger (002). docs/formats/token.md describes every table. A community is a schema (T11): the runner has set the
-- search path to it and writes its name where a function must carry it. Times are milliseconds since 1970 on the database's clock
-- (coffer_now()) unless an application supplied them; amounts are whole tokens; ids are UUIDs made by the application. No sequences.
--
-- Money has one door: INSERT INTO transactions. The trigger update_balances_after_transaction, "the mover", judges the rows of a
-- statement in the order in which they were inserted, moves the balances, and writes wallet_entries and log_outbox (T1).
--
-- Every refusal has an SQLSTATE of its own. SQLite raises the same code as the first word of the message.
--
--   TK001  created_at is more than 24 hours ahead of the database's clock
--   TK002  Sender wallet not found                           TK006  Recipient wallet not found
--   TK003  Sender wallet is frozen                           TK007  Recipient wallet is frozen
--   TK004  Sender wallet belongs to a deleted user           TK008  Recipient wallet belongs to a deleted user
--   TK005  a self-transfer (issuance) by a wallet that no system account owns
--   TK009  Insufficient balance                              TK010  Insufficient balance: the rest is held
--   TK011  total issuance would pass 2^63-1                  TK012  the recipient's balance would pass 2^63-1
--   TK013  above the wallet's limit per transfer             TK014  above the wallet's limit per day
--          (a transfer that breaks several rules gets the lowest of these codes, on both engines)
--   TK015  SQLite only: the id, or another unique value, is taken (PostgreSQL: 23505)
--   TK020  the row never changes: transactions, audit, the log and what else is append-only
--   TK021  a balance written by anything but the mover, or a wallet inserted with one
--   TK022  a table that only triggers write (wallet_entries, wallet_holds, wallet_events, issuance, log_outbox)
--   TK023  an id or wallet_id that would change
--   TK024  DELETE of a wallet that has an owner or history, of a user with history, of a system account, of a hold
--   TK025  TRUNCATE
--   TK026  the mover is disabled, so no transaction may be inserted
--   TK030  the wallet already has an owner                   TK031  the wallet to be owned does not exist
--   TK032  a frozen wallet cannot become a system wallet     TK033  System wallets cannot be frozen
--   TK034  deleted_at of a deleted user may only become NULL
--   TK040  the wallet has 1,000 open holds                   TK041  the hold does not allow this change
--   TK042  the hold has expired, or has not expired yet
--   TK050  a reversal or its original does not exist         TK051  the reversal is not the original with its wallets swapped
--   TK052  an issuance cannot be reversed                    TK053  a reversal cannot be reversed, nor a reversed transfer reverse another
--   TK054  the transaction is already in the log: too late for details or a reversal
--   TK060  details can only be erased, once                  TK061  an API key can only be used and revoked
--   TK070  an outbox row may only leave into the log         TK071  a leaf that is not in the outbox, or a gap
--   TK072  log_head and log_leaves differ                    TK073  a checkpoint of a size that the log does not have

-- 002's helpers of time. They carry the search path because pg_restore fills token_statistics without one.

CREATE FUNCTION unix_to_timestamp(unix_ms BIGINT) RETURNS TIMESTAMP WITH TIME ZONE LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN to_timestamp(unix_ms / 1000.0);
END $$;
CREATE FUNCTION timestamp_to_unix(ts TIMESTAMP WITH TIME ZONE) RETURNS BIGINT LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN (extract(epoch FROM ts) * 1000)::BIGINT;
END $$;
CREATE FUNCTION current_unix_ms() RETURNS BIGINT LANGUAGE plpgsql VOLATILE SET search_path = '@schema@', pg_temp AS $$
BEGIN
  RETURN coffer_now();
END $$;
COMMENT ON FUNCTION unix_to_timestamp(BIGINT) IS 'Convert Unix timestamp (ms) to TIMESTAMPTZ for readability';
COMMENT ON FUNCTION timestamp_to_unix(TIMESTAMP WITH TIME ZONE) IS 'Convert TIMESTAMPTZ to Unix timestamp (ms)';
COMMENT ON FUNCTION current_unix_ms() IS 'Get current time as Unix timestamp (ms)';

-- The tables of 002, in an order in which they can be made.

CREATE TABLE wallets (
  id         UUID PRIMARY KEY,
  balance    BIGINT NOT NULL DEFAULT 0,
  is_frozen  BOOLEAN NOT NULL DEFAULT FALSE,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  CONSTRAINT balance_non_negative CHECK (balance >= 0),
  CONSTRAINT created_at_positive CHECK (created_at > 0),
  CONSTRAINT updated_at_after_created CHECK (updated_at >= created_at)
);
ALTER TABLE wallets SET (
  fillfactor = 80,  -- room for a new version on the same page
  autovacuum_vacuum_scale_factor = 0.05,
  autovacuum_analyze_scale_factor = 0.02,
  autovacuum_vacuum_cost_limit = 1000
);
COMMENT ON TABLE wallets IS 'Token wallets - conceptually independent entities referenced by users/system_accounts';
COMMENT ON COLUMN wallets.id IS 'Primary key (UUID v4)';
COMMENT ON COLUMN wallets.balance IS 'Current token balance (integer, no decimals)';
COMMENT ON COLUMN wallets.is_frozen IS 'Frozen wallets cannot send/receive tokens (system wallets cannot be frozen - enforced by trigger)';
COMMENT ON COLUMN wallets.created_at IS 'Unix timestamp in milliseconds';
COMMENT ON COLUMN wallets.updated_at IS 'Unix timestamp in milliseconds';

CREATE TABLE users (
  id         UUID PRIMARY KEY,
  wallet_id  UUID NOT NULL UNIQUE,
  username   VARCHAR(255) NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  deleted_at BIGINT,
  CONSTRAINT username_not_empty CHECK (LENGTH(TRIM(username)) > 0),
  CONSTRAINT username_valid_chars CHECK (username ~ '^[a-zA-Z0-9_-]+$'),
  CONSTRAINT username_length CHECK (LENGTH(username) BETWEEN 3 AND 255),
  CONSTRAINT created_at_positive CHECK (created_at > 0),
  CONSTRAINT updated_at_after_created CHECK (updated_at >= created_at),
  CONSTRAINT deleted_at_after_created CHECK (deleted_at IS NULL OR deleted_at >= created_at),
  CONSTRAINT fk_wallet FOREIGN KEY (wallet_id) REFERENCES wallets (id) ON DELETE RESTRICT
);
CREATE INDEX idx_users_wallet_id ON users (wallet_id);
CREATE INDEX idx_users_deleted_at ON users (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX idx_users_username ON users (username COLLATE "C", id);  -- lists and searches of the API
COMMENT ON TABLE users IS 'Regular user identity (excludes system accounts for clean migration to external ID providers)';
COMMENT ON COLUMN users.id IS 'Primary key (UUID v4 for regular users)';
COMMENT ON COLUMN users.wallet_id IS 'Reference to owned wallet (one-to-one relationship)';
COMMENT ON COLUMN users.username IS
  'Display name (3-255 chars, alphanumeric + underscore/hyphen, not unique - users identified by external OAuth ID)';
COMMENT ON COLUMN users.created_at IS 'Unix timestamp in milliseconds';
COMMENT ON COLUMN users.updated_at IS 'Unix timestamp in milliseconds';
COMMENT ON COLUMN users.deleted_at IS 'Soft delete Unix timestamp in milliseconds (NULL = active)';

CREATE TABLE system_accounts (
  id         UUID PRIMARY KEY,
  wallet_id  UUID NOT NULL UNIQUE,
  name       VARCHAR(255) NOT NULL UNIQUE,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  CONSTRAINT name_not_empty CHECK (LENGTH(TRIM(name)) > 0),
  CONSTRAINT name_valid_chars CHECK (name ~ '^[a-z0-9_]+$'),
  CONSTRAINT name_length CHECK (LENGTH(name) BETWEEN 3 AND 255),
  CONSTRAINT created_at_positive CHECK (created_at > 0),
  CONSTRAINT updated_at_after_created CHECK (updated_at >= created_at),
  CONSTRAINT fk_wallet FOREIGN KEY (wallet_id) REFERENCES wallets (id) ON DELETE RESTRICT
);
CREATE INDEX idx_system_accounts_wallet_id ON system_accounts (wallet_id);
COMMENT ON TABLE system_accounts IS 'System accounts with token issuance authority (separated from users for migration flexibility)';
COMMENT ON COLUMN system_accounts.id IS 'Primary key (UUID v4)';
COMMENT ON COLUMN system_accounts.wallet_id IS 'Reference to owned wallet (one-to-one relationship)';
COMMENT ON COLUMN system_accounts.name IS
  'Unique identifier (lowercase alphanumeric + underscore only, e.g., system_account_communitytoken)';
COMMENT ON COLUMN system_accounts.created_at IS 'Unix timestamp in milliseconds';
COMMENT ON COLUMN system_accounts.updated_at IS 'Unix timestamp in milliseconds';

CREATE TABLE transactions (
  id               UUID PRIMARY KEY,
  from_wallet_id   UUID NOT NULL,
  to_wallet_id     UUID NOT NULL,
  amount           BIGINT NOT NULL,
  transaction_type INTEGER NOT NULL,
  created_at       BIGINT NOT NULL,
  CONSTRAINT amount_positive CHECK (amount > 0),
  CONSTRAINT transaction_type_valid CHECK (transaction_type >= 1 AND transaction_type < 100),
  CONSTRAINT created_at_positive CHECK (created_at > 0),
  CONSTRAINT fk_from_wallet FOREIGN KEY (from_wallet_id) REFERENCES wallets (id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT fk_to_wallet FOREIGN KEY (to_wallet_id) REFERENCES wallets (id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED
);
CREATE INDEX idx_transactions_created_at ON transactions (created_at DESC);
CREATE INDEX idx_transactions_transaction_type ON transactions (transaction_type, created_at DESC);
CREATE INDEX idx_transactions_self_transfer ON transactions (from_wallet_id, to_wallet_id) WHERE from_wallet_id = to_wallet_id;
-- The history of one wallet, by side (T7).
CREATE INDEX idx_transactions_from_wallet ON transactions (from_wallet_id, created_at DESC, id DESC);
CREATE INDEX idx_transactions_to_wallet ON transactions (to_wallet_id, created_at DESC, id DESC);
ALTER TABLE transactions SET (
  autovacuum_enabled = on,
  autovacuum_vacuum_insert_scale_factor = 0.1
);
COMMENT ON TABLE transactions IS 'All token transactions including issuance, distribution, and transfers (immutable)';
COMMENT ON COLUMN transactions.id IS 'Primary key (UUID v4)';
COMMENT ON COLUMN transactions.from_wallet_id IS 'Sender wallet ID';
COMMENT ON COLUMN transactions.to_wallet_id IS 'Recipient wallet ID';
COMMENT ON COLUMN transactions.amount IS 'Transfer amount in integer tokens (must be positive)';
COMMENT ON COLUMN transactions.transaction_type IS
  'Transaction type code (1-99). Application layer defines constants: 1=transfer, others TBD';
COMMENT ON COLUMN transactions.created_at IS 'Unix timestamp in milliseconds';

-- What the mover keeps beside the balance.

-- Each step of each wallet's balance (T13). version counts the wallet's entries from 1; booked_at is the database's clock and never
-- falls within a wallet, so the order by (booked_at, version) is the order by version and one index answers "last" and "as of".
-- The rows are valid by construction; foreign keys and more checks would only be paid for, at every statement.
CREATE TABLE wallet_entries (
  wallet_id      UUID   NOT NULL,
  booked_at      BIGINT NOT NULL,
  version        BIGINT NOT NULL,
  transaction_id UUID   NOT NULL,
  delta          BIGINT NOT NULL,
  balance        BIGINT NOT NULL CHECK (balance >= 0),
  CONSTRAINT pidx_wallet_entries PRIMARY KEY (wallet_id, booked_at, version)
);

-- The sum of all issuances. Only issuances lock it.
CREATE TABLE issuance (
  only_row BIGINT NOT NULL PRIMARY KEY CHECK (only_row = 1),
  total    BIGINT NOT NULL CHECK (total >= 0)
);
INSERT INTO issuance (only_row, total) VALUES (1, 0);

-- Limits on what a wallet sends. A wallet without a row has none. The mover writes day (days since 1970) and what was spent on it.
CREATE TABLE wallet_limits (
  wallet_id    UUID   NOT NULL PRIMARY KEY REFERENCES wallets (id) ON DELETE RESTRICT,
  per_transfer BIGINT CHECK (per_transfer >= 0),
  per_day      BIGINT CHECK (per_day >= 0),
  day          BIGINT NOT NULL DEFAULT 0 CHECK (day >= 0),
  spent        BIGINT NOT NULL DEFAULT 0 CHECK (spent >= 0)
);

-- Holds: tokens of wallet_id that are promised to to_wallet_id. A hold counts until its row says that it ended (T10).
CREATE TABLE holds (
  id                     UUID   NOT NULL PRIMARY KEY,
  wallet_id              UUID   NOT NULL REFERENCES wallets (id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED,
  to_wallet_id           UUID   NOT NULL REFERENCES wallets (id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED,
  amount                 BIGINT NOT NULL,
  captured               BIGINT NOT NULL DEFAULT 0,
  state                  TEXT   NOT NULL DEFAULT 'open',
  created_by             TEXT   NOT NULL,
  memo                   TEXT,
  created_at             BIGINT NOT NULL,
  expires_at             BIGINT NOT NULL,
  ended_at               BIGINT,
  capture_transaction_id UUID   UNIQUE,
  CONSTRAINT fk_capture_transaction FOREIGN KEY (capture_transaction_id) REFERENCES transactions (id) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT hold_amount_positive CHECK (amount > 0),
  CONSTRAINT hold_between_two_wallets CHECK (wallet_id <> to_wallet_id),
  CONSTRAINT hold_state_valid CHECK (state IN ('open', 'captured', 'released', 'expired')),
  CONSTRAINT hold_created_by_length CHECK (length(created_by) BETWEEN 1 AND 255),
  CONSTRAINT hold_memo_length CHECK (length(memo) <= 500),
  CONSTRAINT hold_created_at_positive CHECK (created_at > 0),
  CONSTRAINT hold_expires_after_created CHECK (expires_at > created_at),
  CONSTRAINT hold_ended_after_created CHECK (ended_at >= created_at),
  CONSTRAINT hold_end_complete CHECK ((state = 'open') = (ended_at IS NULL)),
  CONSTRAINT hold_capture_complete CHECK (
    CASE WHEN state = 'captured' THEN captured BETWEEN 1 AND amount AND capture_transaction_id IS NOT NULL
         ELSE captured = 0 AND capture_transaction_id IS NULL END)
);
CREATE INDEX idx_holds_open ON holds (wallet_id, created_at) WHERE state = 'open';
CREATE INDEX idx_holds_due ON holds (expires_at) WHERE state = 'open';
CREATE INDEX idx_holds_by_wallet ON holds (wallet_id, created_at DESC, id DESC);
CREATE INDEX idx_holds_by_recipient ON holds (to_wallet_id, created_at DESC, id DESC);

-- The open holds of a wallet, added up, so that a transfer reads one row. Kept by the triggers of holds under the wallet's lock.
CREATE TABLE wallet_holds (
  wallet_id  UUID   NOT NULL PRIMARY KEY REFERENCES wallets (id) ON DELETE RESTRICT,
  held       BIGINT NOT NULL CHECK (held >= 0),
  open_count BIGINT NOT NULL CHECK (open_count BETWEEN 0 AND 1000)
);

-- What the API keeps beside 002.

-- Memo, metadata and actor of a transaction; written before the transaction is in the log, which holds the two hashes. Memo, metadata and
-- salts can be erased; the hashes stay. There is no foreign key: the insert trigger asks for the transaction's outbox row.
CREATE TABLE transaction_details (
  transaction_id UUID  NOT NULL PRIMARY KEY,
  memo           TEXT,
  metadata       TEXT,
  memo_salt      BYTEA,
  metadata_salt  BYTEA,
  memo_hash      BYTEA,
  metadata_hash  BYTEA,
  actor          TEXT,
  erased_at      BIGINT,
  CONSTRAINT details_memo_length CHECK (length(memo) <= 500),
  CONSTRAINT details_metadata_object CHECK (octet_length(metadata) <= 4096 AND json_typeof(metadata::json) = 'object'),
  CONSTRAINT details_memo_salt CHECK (octet_length(memo_salt) = 16),
  CONSTRAINT details_metadata_salt CHECK (octet_length(metadata_salt) = 16),
  CONSTRAINT details_salts_belong CHECK ((memo IS NULL) = (memo_salt IS NULL) AND (metadata IS NULL) = (metadata_salt IS NULL)),
  CONSTRAINT details_memo_hash CHECK (octet_length(memo_hash) = 32),
  CONSTRAINT details_metadata_hash CHECK (octet_length(metadata_hash) = 32),
  CONSTRAINT details_hashes_belong CHECK (
    CASE WHEN erased_at IS NULL THEN (memo IS NULL) = (memo_hash IS NULL) AND (metadata IS NULL) = (metadata_hash IS NULL)
         ELSE memo IS NULL AND metadata IS NULL END),
  CONSTRAINT details_actor_length CHECK (length(actor) BETWEEN 1 AND 255)
);

-- A transaction that takes another one back, whole and once.
CREATE TABLE reversals (
  transaction_id UUID   NOT NULL PRIMARY KEY,
  reversal_id    UUID   NOT NULL UNIQUE,
  reason         TEXT   NOT NULL CHECK (length(reason) BETWEEN 1 AND 500),
  actor          TEXT   NOT NULL CHECK (length(actor) BETWEEN 1 AND 255),
  created_at     BIGINT NOT NULL CHECK (created_at > 0),
  CONSTRAINT fk_reversed_transaction FOREIGN KEY (transaction_id) REFERENCES transactions (id) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT fk_reversal_transaction FOREIGN KEY (reversal_id) REFERENCES transactions (id) DEFERRABLE INITIALLY DEFERRED
);

-- Who a user is at an identity provider.
CREATE TABLE external_identities (
  issuer     TEXT   NOT NULL CHECK (length(issuer) BETWEEN 1 AND 500),
  subject    TEXT   NOT NULL CHECK (length(subject) BETWEEN 1 AND 255),
  user_id    UUID   NOT NULL REFERENCES users (id) ON DELETE RESTRICT,
  created_at BIGINT NOT NULL CHECK (created_at > 0),
  created_by TEXT   NOT NULL CHECK (length(created_by) BETWEEN 1 AND 255),
  CONSTRAINT pidx_external_identities PRIMARY KEY (issuer, subject)
);
CREATE INDEX idx_external_identities_user ON external_identities (user_id);

CREATE TABLE role_grants (
  issuer     TEXT   NOT NULL CHECK (length(issuer) BETWEEN 1 AND 500),
  subject    TEXT   NOT NULL CHECK (length(subject) BETWEEN 1 AND 255),
  role       TEXT   NOT NULL CHECK (role IN ('member', 'operator', 'issuer', 'auditor')),
  created_at BIGINT NOT NULL CHECK (created_at > 0),
  created_by TEXT   NOT NULL CHECK (length(created_by) BETWEEN 1 AND 255),
  CONSTRAINT pidx_role_grants PRIMARY KEY (issuer, subject, role)
);

CREATE TABLE api_keys (
  id           UUID   NOT NULL PRIMARY KEY,
  name         TEXT   NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  secret_hash  BYTEA  NOT NULL UNIQUE CHECK (octet_length(secret_hash) = 32),
  scopes       TEXT   NOT NULL CHECK (length(scopes) <= 1000),  -- sorted, one space between two
  created_by   TEXT   NOT NULL CHECK (length(created_by) BETWEEN 1 AND 255),
  created_at   BIGINT NOT NULL CHECK (created_at > 0),
  expires_at   BIGINT NOT NULL CHECK (expires_at > created_at),
  revoked_at   BIGINT CHECK (revoked_at >= created_at),
  last_used_at BIGINT
);

-- What changed beside transfers, as facts of one wallet. Each becomes a leaf of the log. Kinds (1 is a transaction):
--   2 wallet frozen           subject, related: NULL         8 user row deleted    subject: user
--   3 wallet unfrozen                                        9 hold opened         subject: hold, related: recipient, amount: held
--   4 user attached           subject: user                 10 hold captured       subject: hold, related: transaction, amount: captured
--   5 system account attached subject: account              11 hold released       subject: hold, amount: held
--   6 user deleted            subject: user                 12 hold expired        subject: hold, amount: held
--   7 user reactivated        subject: user                 13 transfer reversed   subject: original, related: reversal, amount
CREATE TABLE wallet_events (
  id         UUID    NOT NULL PRIMARY KEY,
  kind       INTEGER NOT NULL CHECK (kind BETWEEN 2 AND 13),
  at         BIGINT  NOT NULL,
  wallet_id  UUID    NOT NULL,
  subject_id UUID,
  related_id UUID,
  amount     BIGINT,
  actor      TEXT    NOT NULL,
  reason     TEXT
);
CREATE INDEX idx_wallet_events_wallet ON wallet_events (wallet_id, at DESC, id DESC);

CREATE TABLE audit (
  id     UUID   NOT NULL PRIMARY KEY,
  at     BIGINT NOT NULL CHECK (at > 0),
  actor  TEXT   NOT NULL,
  action TEXT   NOT NULL,
  target TEXT,
  reason TEXT,
  detail TEXT CHECK (json_typeof(detail::json) = 'object')
);
CREATE INDEX idx_audit_at ON audit (at, id);

CREATE TABLE settings (
  key   TEXT NOT NULL PRIMARY KEY CHECK (length(key) BETWEEN 1 AND 100),
  value TEXT NOT NULL
);

-- The tamper-evident log (T12).

-- Committed, not yet in the log. A transaction has its own id, kind 1 and no body; an event has its facts as JSON with sorted keys and no
-- spaces, the same text on both engines. place orders rows of one statement, and statements of one server by their time; it has no index,
-- because a pass of the sequencer takes all that it sees, or any ten thousand, and sorts those.
CREATE TABLE log_outbox (
  id    UUID    NOT NULL PRIMARY KEY,
  kind  INTEGER NOT NULL,
  at    BIGINT  NOT NULL,
  place BIGINT  NOT NULL,
  body  TEXT
);

-- One row: how many leaves there are and the root over them. Its lock makes one sequencer at a time.
CREATE TABLE log_head (
  only_row   BIGINT NOT NULL PRIMARY KEY CHECK (only_row = 1),
  size       BIGINT NOT NULL CHECK (size >= 0),
  root       BYTEA  NOT NULL CHECK (octet_length(root) = 32),
  updated_at BIGINT NOT NULL
);
INSERT INTO log_head (only_row, size, root, updated_at) VALUES (1, 0, decode(repeat('00', 32), 'hex'), 0);

CREATE TABLE log_leaves (
  position  BIGINT  NOT NULL PRIMARY KEY CHECK (position >= 0),  -- of the leaf among leaves, from 0
  id        UUID    NOT NULL UNIQUE,
  kind      INTEGER NOT NULL,
  leaf_hash BYTEA   NOT NULL CHECK (octet_length(leaf_hash) = 32),
  at        BIGINT  NOT NULL,
  body      TEXT                                                 -- as it stood in the outbox
);

CREATE TABLE log_nodes (
  position BIGINT NOT NULL PRIMARY KEY CHECK (position >= 0),    -- of the node in the MMR, in postorder
  hash     BYTEA  NOT NULL CHECK (octet_length(hash) = 32)
);

CREATE TABLE checkpoints (
  size      BIGINT NOT NULL PRIMARY KEY CHECK (size >= 0),
  root      BYTEA  NOT NULL CHECK (octet_length(root) = 32),
  at        BIGINT NOT NULL,
  signature BYTEA  NOT NULL CHECK (octet_length(signature) = 64)
);

-- Refusals that depend on nothing but the statement. The arguments of the trigger are the code and the message.
CREATE FUNCTION refuse_statement() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '@schema@', pg_temp AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = TG_ARGV[0], MESSAGE = TG_ARGV[1], TABLE = TG_TABLE_NAME;
END $$;

-- The mover's guard: a statement that sets wallets.balance is refused unless it runs inside update_wallet_balances() or
-- rebuild_wallet_balances() of this schema, with rights like the owner's, which those have. Who merely has UPDATE on wallets, a trigger
-- that somebody adds to another table, and a superuser's UPDATE are all refused. It runs as the caller, in order to see who that is, and
-- reads no table. Function names in the context are qualified if they are not of this schema, hence the pattern.
CREATE FUNCTION prevent_balance_update() RETURNS trigger LANGUAGE plpgsql SET search_path = '@schema@', pg_temp AS $$
DECLARE
  stack TEXT;
BEGIN
  GET DIAGNOSTICS stack = PG_CONTEXT;
  IF stack !~ '[^.\w"](update|rebuild)_wallet_balances\(' OR NOT has_table_privilege(TG_RELID, 'TRIGGER') THEN
    RAISE EXCEPTION 'Balances change by inserting transactions only' USING ERRCODE = 'TK021';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER prevent_balance_update BEFORE UPDATE OF balance ON wallets
  FOR EACH STATEMENT EXECUTE FUNCTION prevent_balance_update();
CREATE TRIGGER prevent_balance_at_birth BEFORE INSERT ON wallets FOR EACH ROW WHEN (NEW.balance <> 0)
  EXECUTE FUNCTION refuse_statement('TK021', 'A wallet starts with a balance of 0');

-- Tables that only triggers write. The trigger depth of a statement that somebody typed is 1 here. The function needs neither rights nor a
-- search path, and it is called for every transfer, so it has neither; a WHEN clause would cost more, as it is parsed for every statement.
CREATE FUNCTION prevent_direct_write() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF pg_catalog.pg_trigger_depth() OPERATOR(pg_catalog.<) 2 THEN
    RAISE EXCEPTION '% is written by triggers only', TG_TABLE_NAME USING ERRCODE = 'TK022';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER only_triggers BEFORE INSERT ON wallet_entries FOR EACH STATEMENT EXECUTE FUNCTION prevent_direct_write();
CREATE TRIGGER only_triggers BEFORE INSERT ON log_outbox FOR EACH STATEMENT EXECUTE FUNCTION prevent_direct_write();
CREATE TRIGGER only_triggers BEFORE INSERT ON wallet_events FOR EACH STATEMENT EXECUTE FUNCTION prevent_direct_write();
CREATE TRIGGER only_triggers BEFORE INSERT OR UPDATE OR DELETE ON issuance FOR EACH STATEMENT EXECUTE FUNCTION prevent_direct_write();
CREATE TRIGGER only_triggers BEFORE INSERT OR UPDATE OR DELETE ON wallet_holds FOR EACH STATEMENT EXECUTE FUNCTION prevent_direct_write();

-- Rows that never change, and tables that are never emptied.
CREATE FUNCTION prevent_transaction_modification() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '@schema@', pg_temp AS $$
BEGIN
  RAISE EXCEPTION 'Transactions are immutable and cannot be modified or deleted' USING ERRCODE = 'TK020';
END $$;
CREATE TRIGGER prevent_transaction_update BEFORE UPDATE ON transactions
  FOR EACH ROW EXECUTE FUNCTION prevent_transaction_modification();
CREATE TRIGGER prevent_transaction_delete BEFORE DELETE ON transactions
  FOR EACH ROW EXECUTE FUNCTION prevent_transaction_modification();
DO $$
DECLARE
  name TEXT;
BEGIN
  FOREACH name IN ARRAY ARRAY['wallet_entries', 'wallet_events', 'audit', 'reversals', 'log_leaves', 'log_nodes', 'checkpoints'] LOOP
    EXECUTE format('CREATE TRIGGER append_only BEFORE UPDATE OR DELETE ON %I FOR EACH ROW
                      EXECUTE FUNCTION refuse_statement(''TK020'', %L)', name, 'Rows of ' || name || ' never change');
  END LOOP;
  FOREACH name IN ARRAY ARRAY[
      'wallets', 'users', 'system_accounts', 'transactions', 'wallet_entries', 'issuance', 'wallet_limits', 'holds', 'wallet_holds',
      'transaction_details', 'reversals', 'external_identities', 'role_grants', 'api_keys', 'wallet_events', 'audit', 'settings',
      'log_outbox', 'log_head', 'log_leaves', 'log_nodes', 'checkpoints'] LOOP
    EXECUTE format('CREATE TRIGGER prevent_truncate BEFORE TRUNCATE ON %I FOR EACH STATEMENT
                      EXECUTE FUNCTION refuse_statement(''TK025'', %L)', name, 'TRUNCATE of ' || name || ' is refused');
  END LOOP;
END $$;
CREATE TRIGGER prevent_outbox_update BEFORE UPDATE ON log_outbox FOR EACH ROW
  EXECUTE FUNCTION refuse_statement('TK020', 'Rows of log_outbox never change');
CREATE TRIGGER prevent_hold_delete BEFORE DELETE ON holds FOR EACH ROW
  EXECUTE FUNCTION refuse_statement('TK024', 'Holds end; they are not deleted');
CREATE TRIGGER prevent_details_delete BEFORE DELETE ON transaction_details FOR EACH ROW
  EXECUTE FUNCTION refuse_statement('TK060', 'Details can be erased, not deleted');
CREATE TRIGGER prevent_system_account_delete BEFORE DELETE ON system_accounts FOR EACH ROW
  EXECUTE FUNCTION refuse_statement('TK024', 'System accounts are permanent');
CREATE TRIGGER prevent_id_change BEFORE UPDATE OF id ON wallets FOR EACH ROW WHEN (OLD.id <> NEW.id)
  EXECUTE FUNCTION refuse_statement('TK023', 'The id of a wallet never changes');
CREATE TRIGGER prevent_id_change BEFORE UPDATE OF id, wallet_id ON users FOR EACH ROW
  WHEN (OLD.id <> NEW.id OR OLD.wallet_id <> NEW.wallet_id)
  EXECUTE FUNCTION refuse_statement('TK023', 'The id and the wallet of a user never change');
CREATE TRIGGER prevent_id_change BEFORE UPDATE OF id, wallet_id ON system_accounts FOR EACH ROW
  WHEN (OLD.id <> NEW.id OR OLD.wallet_id <> NEW.wallet_id)
  EXECUTE FUNCTION refuse_statement('TK023', 'The id and the wallet of a system account never change');

-- Times (T6). An application's clock may differ from ours, but not by more than a day into the future; the mover looks at transactions.
CREATE FUNCTION prevent_future_created_at() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '@schema@', pg_temp AS $$
BEGIN
  IF NEW.created_at > coffer_now() + 86400000 THEN
    RAISE EXCEPTION 'created_at is more than 24 hours ahead of the database''s clock' USING ERRCODE = 'TK001';
  END IF;
  RETURN NEW;
END $$;
DO $$
DECLARE
  name TEXT;
BEGIN
  FOREACH name IN ARRAY ARRAY[
      'wallets', 'users', 'system_accounts', 'holds', 'reversals', 'external_identities', 'role_grants', 'api_keys'] LOOP
    EXECUTE format('CREATE TRIGGER prevent_future_created_at BEFORE INSERT OR UPDATE OF created_at ON %I FOR EACH ROW
                      EXECUTE FUNCTION prevent_future_created_at()', name);
  END LOOP;
END $$;

CREATE FUNCTION update_updated_at_unix() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '@schema@', pg_temp AS $$
BEGIN
  NEW.updated_at := greatest(NEW.created_at, coffer_now());
  RETURN NEW;
END $$;
CREATE TRIGGER update_users_updated_at BEFORE UPDATE ON users
  FOR EACH ROW EXECUTE FUNCTION update_updated_at_unix();
CREATE TRIGGER update_system_accounts_updated_at BEFORE UPDATE ON system_accounts
  FOR EACH ROW EXECUTE FUNCTION update_updated_at_unix();
-- Not of balance: the mover sets the time itself.
CREATE TRIGGER update_wallets_updated_at BEFORE UPDATE OF is_frozen, created_at ON wallets
  FOR EACH ROW EXECUTE FUNCTION update_updated_at_unix();

-- Events. The application says who and why with SET LOCAL coffer.actor and coffer.reason.
CREATE FUNCTION record_wallet_event(kind INTEGER, wallet_id UUID, subject_id UUID, related_id UUID, amount BIGINT) RETURNS void
LANGUAGE plpgsql SET search_path = '@schema@', pg_temp AS $$
DECLARE
  event UUID := gen_random_uuid();
  now_ms BIGINT := coffer_now();
  actor TEXT := left(coalesce(nullif(current_setting('coffer.actor', true), ''), 'sql'), 255);
  reason TEXT := left(nullif(current_setting('coffer.reason', true), ''), 500);
BEGIN
  INSERT INTO wallet_events VALUES (event, kind, now_ms, wallet_id, subject_id, related_id, amount, actor, reason);
  INSERT INTO log_outbox (id, kind, at, place, body) VALUES (event, kind, now_ms, (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT,
    concat('{"actor":', to_json(actor), ',"amount":', coalesce('"' || amount || '"', 'null'),
           ',"reason":', coalesce(to_json(reason)::text, 'null'),
           ',"related":', coalesce('"' || related_id || '"', 'null'), ',"subject":', coalesce('"' || subject_id || '"', 'null'),
           ',"wallet":"', wallet_id, '"}'));
END $$;

-- Owners (T5). A wallet has one. Whoever changes what a transfer asks of a wallet (its owner, deletion, frozen, held) first writes the
-- wallet's row: that waits for transfers under way, later ones wait for it, and one with an older snapshot (REPEATABLE READ) fails.

CREATE FUNCTION attach_owner() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '@schema@', pg_temp AS $$
DECLARE
  frozen BOOLEAN;
BEGIN
  UPDATE wallets w SET updated_at = greatest(w.created_at, coffer_now()) WHERE w.id = NEW.wallet_id RETURNING w.is_frozen INTO frozen;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'Wallet % not found', NEW.wallet_id USING ERRCODE = 'TK031';
  ELSIF EXISTS (SELECT FROM users u WHERE u.wallet_id = NEW.wallet_id AND u.id <> NEW.id)
      OR EXISTS (SELECT FROM system_accounts s WHERE s.wallet_id = NEW.wallet_id AND s.id <> NEW.id) THEN
    RAISE EXCEPTION 'Wallet % already has an owner', NEW.wallet_id USING ERRCODE = 'TK030';
  ELSIF frozen AND TG_TABLE_NAME = 'system_accounts' THEN
    RAISE EXCEPTION 'A frozen wallet cannot become a system wallet' USING ERRCODE = 'TK032';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER attach_owner BEFORE INSERT ON users FOR EACH ROW EXECUTE FUNCTION attach_owner();
CREATE TRIGGER attach_owner BEFORE INSERT ON system_accounts FOR EACH ROW EXECUTE FUNCTION attach_owner();

CREATE FUNCTION change_user() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '@schema@', pg_temp AS $$
BEGIN
  UPDATE wallets w SET updated_at = greatest(w.created_at, coffer_now()) WHERE w.id = OLD.wallet_id;
  IF TG_OP = 'DELETE' THEN
    IF EXISTS (SELECT FROM wallet_entries e WHERE e.wallet_id = OLD.wallet_id)
        OR EXISTS (SELECT FROM holds h WHERE OLD.wallet_id IN (h.wallet_id, h.to_wallet_id)) THEN
      RAISE EXCEPTION 'A user with history cannot be deleted; use soft_delete_user()' USING ERRCODE = 'TK024';
    END IF;
    RETURN OLD;
  ELSIF OLD.deleted_at IS NOT NULL AND NEW.deleted_at IS NOT NULL THEN
    RAISE EXCEPTION 'deleted_at of a deleted user can only become NULL' USING ERRCODE = 'TK034';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER change_user BEFORE UPDATE OF deleted_at ON users FOR EACH ROW
  WHEN (OLD.deleted_at IS DISTINCT FROM NEW.deleted_at) EXECUTE FUNCTION change_user();
CREATE TRIGGER prevent_user_delete BEFORE DELETE ON users FOR EACH ROW EXECUTE FUNCTION change_user();

CREATE FUNCTION prevent_wallet_delete() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '@schema@', pg_temp AS $$
BEGIN
  IF EXISTS (SELECT FROM wallet_entries e WHERE e.wallet_id = OLD.id)
      OR EXISTS (SELECT FROM users u WHERE u.wallet_id = OLD.id) OR EXISTS (SELECT FROM system_accounts s WHERE s.wallet_id = OLD.id)
      OR EXISTS (SELECT FROM holds h WHERE OLD.id IN (h.wallet_id, h.to_wallet_id)) THEN
    RAISE EXCEPTION 'A wallet with an owner or with history cannot be deleted' USING ERRCODE = 'TK024';
  END IF;
  RETURN OLD;
END $$;
CREATE TRIGGER prevent_wallet_delete BEFORE DELETE ON wallets FOR EACH ROW EXECUTE FUNCTION prevent_wallet_delete();

CREATE FUNCTION prevent_system_wallet_freeze() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '@schema@', pg_temp AS $$
BEGIN
  IF NEW.is_frozen AND EXISTS (SELECT FROM system_accounts s WHERE s.wallet_id = NEW.id) THEN
    RAISE EXCEPTION 'System wallets cannot be frozen' USING ERRCODE = 'TK033';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER check_system_wallet_freeze BEFORE INSERT OR UPDATE OF is_frozen ON wallets
  FOR EACH ROW EXECUTE FUNCTION prevent_system_wallet_freeze();
COMMENT ON FUNCTION prevent_system_wallet_freeze() IS 'Prevents freezing system wallets via reverse lookup to system_accounts table';

CREATE FUNCTION record_owner_event() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '@schema@', pg_temp AS $$
BEGIN
  IF TG_TABLE_NAME = 'wallets' THEN
    PERFORM record_wallet_event(CASE WHEN NEW.is_frozen THEN 2 ELSE 3 END, NEW.id, NULL, NULL, NULL);
  ELSIF TG_OP = 'DELETE' THEN
    PERFORM record_wallet_event(8, OLD.wallet_id, OLD.id, NULL, NULL);
  ELSIF TG_OP = 'UPDATE' THEN
    PERFORM record_wallet_event(CASE WHEN NEW.deleted_at IS NULL THEN 7 ELSE 6 END, NEW.wallet_id, NEW.id, NULL, NULL);
  ELSE
    PERFORM record_wallet_event(CASE TG_TABLE_NAME WHEN 'users' THEN 4 ELSE 5 END, NEW.wallet_id, NEW.id, NULL, NULL);
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER record_freeze AFTER UPDATE OF is_frozen ON wallets FOR EACH ROW WHEN (OLD.is_frozen <> NEW.is_frozen)
  EXECUTE FUNCTION record_owner_event();
CREATE TRIGGER record_frozen_at_birth AFTER INSERT ON wallets FOR EACH ROW WHEN (NEW.is_frozen) EXECUTE FUNCTION record_owner_event();
CREATE TRIGGER record_attached AFTER INSERT ON users FOR EACH ROW EXECUTE FUNCTION record_owner_event();
CREATE TRIGGER record_attached AFTER INSERT ON system_accounts FOR EACH ROW EXECUTE FUNCTION record_owner_event();
CREATE TRIGGER record_deleted AFTER UPDATE OF deleted_at ON users FOR EACH ROW
  WHEN ((OLD.deleted_at IS NULL) <> (NEW.deleted_at IS NULL)) EXECUTE FUNCTION record_owner_event();
CREATE TRIGGER record_removed AFTER DELETE ON users FOR EACH ROW EXECUTE FUNCTION record_owner_event();

-- The mover.

-- Before any row: money must not be recorded without being moved, as it would be with the mover disabled (a restore that was interrupted).
-- What a row must satisfy is judged by the mover under the locks, in order, and needs no work here.
CREATE FUNCTION validate_transaction_balance() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '@schema@', pg_temp AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = TG_RELID AND t.tgname = 'update_balances_after_transaction'
                    AND t.tgenabled IN ('O', 'A')) THEN
    RAISE EXCEPTION 'The trigger update_balances_after_transaction of % is disabled', TG_TABLE_NAME USING ERRCODE = 'TK026';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER check_transaction_balance BEFORE INSERT ON transactions
  FOR EACH STATEMENT EXECUTE FUNCTION validate_transaction_balance();
COMMENT ON FUNCTION validate_transaction_balance() IS
  'Refuses transactions that nothing would move. update_wallet_balances() judges the rows, under the locks of their wallets.';

-- has: the balance before the transfer; rest: what is not held, or what a limit leaves.
CREATE FUNCTION refuse_transfer(code TEXT, transaction_id UUID, has NUMERIC, rest NUMERIC, needs BIGINT) RETURNS void
LANGUAGE plpgsql SET search_path = '@schema@', pg_temp AS $$
BEGIN
  RAISE EXCEPTION USING ERRCODE = code, DETAIL = 'transaction ' || transaction_id, MESSAGE = CASE code
    WHEN 'TK001' THEN 'created_at is more than 24 hours ahead of the database''s clock'
    WHEN 'TK002' THEN 'Sender wallet not found'
    WHEN 'TK003' THEN 'Sender wallet is frozen'
    WHEN 'TK004' THEN 'Sender wallet belongs to a deleted user'
    WHEN 'TK005' THEN 'Only system account wallets can perform self-transfers (issuance)'
    WHEN 'TK006' THEN 'Recipient wallet not found'
    WHEN 'TK007' THEN 'Recipient wallet is frozen'
    WHEN 'TK008' THEN 'Recipient wallet belongs to a deleted user'
    WHEN 'TK009' THEN format('Insufficient balance: has %s, needs %s', has, needs)
    WHEN 'TK010' THEN format('Insufficient balance: has %s, of which %s is held, needs %s', has, has - rest, needs)
    WHEN 'TK011' THEN 'Total issuance would pass 9223372036854775807'
    WHEN 'TK012' THEN 'The recipient''s balance would pass 9223372036854775807'
    WHEN 'TK013' THEN format('The wallet''s limit per transfer is %s, needs %s', rest, needs)
    WHEN 'TK014' THEN format('The wallet''s limit per day leaves %s, needs %s', rest, needs)
    ELSE code END;
END $$;

-- sum() of BIGINT is numeric, which is slow to walk with. This one stays in 63 bits and fails beyond.
CREATE AGGREGATE running_sum (BIGINT) (sfunc = int8pl, stype = BIGINT);

-- A step is what a row does to one wallet, and step 0 brings in where the wallet stands. Walking along the steps of each wallet gives its
-- balance and its version after each of them. The planner puts this into the statement that calls it.
CREATE FUNCTION wallet_steps(ids UUID[], froms UUID[], tos UUID[], amounts BIGINT[], wallet_ids UUID[], balances BIGINT[],
                             versions BIGINT[], booked BIGINT[])
RETURNS TABLE (wallet_id UUID, ord BIGINT, id UUID, delta BIGINT, balance BIGINT, version BIGINT, booked_at BIGINT, is_last BOOLEAN)
LANGUAGE sql STABLE BEGIN ATOMIC
  SELECT x.wallet_id, x.ord, x.id, x.delta, x.balance, x.version, x.booked_at, x.is_last
    FROM (SELECT s.wallet_id, s.ord, s.id, s.delta, running_sum(s.delta) OVER walk AS balance, running_sum(s.version) OVER walk AS version,
                 first_value(s.booked_at) OVER walk AS booked_at, lead(s.ord) OVER walk IS NULL AS is_last
            FROM (SELECT k.id AS wallet_id, 0::BIGINT AS ord, NULL::UUID AS id, k.balance AS delta, k.version, k.booked_at
                    FROM unnest(wallet_ids, balances, versions, booked) AS k (id, balance, version, booked_at)
                  UNION ALL
                  SELECT r.sender, r.ord, r.id, -r.amount, 1, 0
                    FROM unnest(ids, froms, tos, amounts) WITH ORDINALITY AS r (id, sender, recipient, amount, ord)
                   WHERE r.sender <> r.recipient
                  UNION ALL
                  SELECT r.recipient, r.ord, r.id, r.amount, 1, 0
                    FROM unnest(ids, tos, amounts) WITH ORDINALITY AS r (id, recipient, amount, ord)) s
          WINDOW walk AS (PARTITION BY s.wallet_id ORDER BY s.ord ROWS UNBOUNDED PRECEDING)) x
   WHERE x.ord > 0;
END;

-- Moves the rows of one statement, all or none. Transition rows are read once, into arrays (a tuplestore is scanned in the order of
-- insertion). What is not in a locked wallet row is read by a later statement, so that its snapshot is younger than the lock. Small
-- statements take plans that the session keeps; large ones are planned with their arrays at hand, since a plan kept for ten rows is
-- quadratic for ten thousand. Index scans only: kept plans may be older than most of the rows.
CREATE FUNCTION update_wallet_balances() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = '@schema@', pg_temp SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  n BIGINT;
  ids UUID[];
  froms UUID[];
  tos UUID[];
  amounts BIGINT[];
  created BIGINT[];
  now_ms BIGINT := coffer_now();
  place BIGINT := (extract(epoch FROM clock_timestamp()) * 1000000)::BIGINT;
  -- of one transfer
  sender UUID;
  recipient UUID;
  amount BIGINT;
  low RECORD;
  high RECORD;
  facts RECORD;
  sender_balance BIGINT;
  recipient_balance BIGINT;
  sender_frozen BOOLEAN;
  recipient_frozen BOOLEAN;
  code TEXT;
  -- of a batch
  wallet_ids UUID[];
  balances BIGINT[];
  frozen BOOLEAN[];
  versions BIGINT[];
  booked BIGINT[];
  wallet_count BIGINT;
  max_balance BIGINT;
  max_created BIGINT;
  total_amount NUMERIC;
  issued BIGINT := 0;
  has_issuance BOOLEAN;
  is_special BOOLEAN;
  has_debt BOOLEAN;
  refused RECORD;
BEGIN
  SELECT count(*), array_agg(r.id), array_agg(r.from_wallet_id), array_agg(r.to_wallet_id), array_agg(r.amount), array_agg(r.created_at),
         sum(r.amount), max(r.created_at), bool_or(r.from_wallet_id = r.to_wallet_id)
    INTO n, ids, froms, tos, amounts, created, total_amount, max_created, has_issuance FROM new_rows r;
  IF n = 0 THEN
    RETURN NULL;
  ELSIF n > 100 THEN
    PERFORM set_config('plan_cache_mode', 'force_custom_plan', true);
  END IF;

  IF n > 1 THEN
    -- Locks, in the order of ids (T2) and through a join: "id = ANY (array)" is searched again for every row that had to wait.
    WITH k AS MATERIALIZED (SELECT DISTINCT u.id FROM unnest(froms || tos) AS u (id))
    SELECT array_agg(l.id), array_agg(l.balance), array_agg(l.is_frozen), max(l.balance), (SELECT count(*) FROM k)
      INTO wallet_ids, balances, frozen, max_balance, wallet_count
      FROM (SELECT w.id, w.balance, w.is_frozen FROM k JOIN wallets w ON w.id = k.id ORDER BY w.id FOR NO KEY UPDATE OF w) l;
  END IF;

  -- One by one: a single row, and rows whose sums could pass 63 bits.
  IF n = 1 OR total_amount + coalesce(max_balance, 0) > 9223372036854775807 THEN
    FOR i IN 1 .. n LOOP
      sender := froms[i];
      recipient := tos[i];
      amount := amounts[i];

      SELECT w.balance, w.is_frozen INTO low FROM wallets w WHERE w.id = least(sender, recipient) FOR NO KEY UPDATE;
      IF sender = recipient THEN
        sender_balance := low.balance;
        sender_frozen := low.is_frozen;
      ELSE
        SELECT w.balance, w.is_frozen INTO high FROM wallets w WHERE w.id = greatest(sender, recipient) FOR NO KEY UPDATE;
        IF sender < recipient THEN
          sender_balance := low.balance;
          sender_frozen := low.is_frozen;
          recipient_balance := high.balance;
          recipient_frozen := high.is_frozen;
        ELSE
          sender_balance := high.balance;
          sender_frozen := high.is_frozen;
          recipient_balance := low.balance;
          recipient_frozen := low.is_frozen;
        END IF;
      END IF;

      SELECT EXISTS (SELECT FROM users u WHERE u.wallet_id = sender AND u.deleted_at IS NOT NULL) AS sender_deleted,
             EXISTS (SELECT FROM users u WHERE u.wallet_id = recipient AND u.deleted_at IS NOT NULL) AS recipient_deleted,
             sender = recipient AND NOT EXISTS (SELECT FROM system_accounts a WHERE a.wallet_id = sender) AS not_system,
             coalesce((SELECT h.held FROM wallet_holds h WHERE h.wallet_id = sender), 0) AS held,
             l.per_transfer, l.per_day, CASE WHEN l.day = now_ms / 86400000 THEN l.spent ELSE 0 END AS spent,
             coalesce(se.version, 0) AS sender_version, se.booked_at AS sender_booked_at,
             coalesce(re.version, 0) AS recipient_version, re.booked_at AS recipient_booked_at
        INTO facts
        FROM (VALUES (1)) AS one (row)
        LEFT JOIN wallet_limits l ON l.wallet_id = sender AND sender <> recipient
        LEFT JOIN LATERAL (SELECT e.version, e.booked_at FROM wallet_entries e WHERE e.wallet_id = sender
                            ORDER BY e.booked_at DESC, e.version DESC LIMIT 1) se ON true
        LEFT JOIN LATERAL (SELECT e.version, e.booked_at FROM wallet_entries e WHERE e.wallet_id = recipient AND sender <> recipient
                            ORDER BY e.booked_at DESC, e.version DESC LIMIT 1) re ON true;

      code := CASE
        WHEN created[i] > now_ms + 86400000 THEN 'TK001'
        WHEN sender_balance IS NULL THEN 'TK002'
        WHEN sender_frozen THEN 'TK003'
        WHEN facts.sender_deleted THEN 'TK004'
        WHEN facts.not_system THEN 'TK005'
        WHEN sender = recipient THEN NULL
        WHEN recipient_balance IS NULL THEN 'TK006'
        WHEN recipient_frozen THEN 'TK007'
        WHEN facts.recipient_deleted THEN 'TK008'
        WHEN sender_balance < amount THEN 'TK009'
        WHEN sender_balance - facts.held < amount THEN 'TK010'
        WHEN recipient_balance > 9223372036854775807 - amount THEN 'TK012'
        WHEN amount > facts.per_transfer THEN 'TK013'
        WHEN amount > facts.per_day - facts.spent THEN 'TK014' END;
      IF code IS NULL AND sender = recipient THEN
        UPDATE issuance o SET total = o.total + amount WHERE o.only_row = 1 AND o.total <= 9223372036854775807 - amount;
        IF NOT FOUND THEN
          code := 'TK011';
        ELSIF sender_balance > 9223372036854775807 - amount THEN
          code := 'TK012';
        END IF;
      END IF;
      IF code IS NOT NULL THEN
        PERFORM refuse_transfer(code, ids[i], sender_balance, CASE code WHEN 'TK013' THEN facts.per_transfer
          WHEN 'TK014' THEN facts.per_day - facts.spent ELSE sender_balance - facts.held END, amount);
      END IF;

      IF sender = recipient THEN
        INSERT INTO wallet_entries (wallet_id, version, transaction_id, delta, balance, booked_at)
          VALUES (sender, facts.sender_version + 1, ids[i], amount, sender_balance + amount, greatest(now_ms, facts.sender_booked_at));
        UPDATE wallets w SET balance = w.balance + amount, updated_at = greatest(w.created_at, now_ms) WHERE w.id = sender;
      ELSE
        INSERT INTO wallet_entries (wallet_id, version, transaction_id, delta, balance, booked_at)
          VALUES (sender, facts.sender_version + 1, ids[i], -amount, sender_balance - amount, greatest(now_ms, facts.sender_booked_at)),
                 (recipient, facts.recipient_version + 1, ids[i], amount, recipient_balance + amount,
                  greatest(now_ms, facts.recipient_booked_at));
        UPDATE wallets w SET balance = CASE WHEN w.id = sender THEN w.balance - amount ELSE w.balance + amount END,
                             updated_at = greatest(w.created_at, now_ms)
         WHERE w.id IN (sender, recipient);
        IF facts.per_day IS NOT NULL THEN
          UPDATE wallet_limits l SET day = now_ms / 86400000, spent = facts.spent + amount WHERE l.wallet_id = sender;
        END IF;
      END IF;
      INSERT INTO log_outbox (id, kind, at, place) VALUES (ids[i], 1, now_ms, place + i - 1);
    END LOOP;
    RETURN NULL;
  END IF;

  -- Where each wallet stands, and whether anything but its balance can be against a transfer.
  IF has_issuance THEN
    SELECT o.total INTO issued FROM issuance o WHERE o.only_row = 1 FOR NO KEY UPDATE;
  END IF;
  SELECT array_agg(k.id), array_agg(k.balance), array_agg(coalesce(e.version, 0)), array_agg(greatest(now_ms, e.booked_at)),
         bool_or(k.is_frozen OR u.wallet_id IS NOT NULL OR h.wallet_id IS NOT NULL OR l.wallet_id IS NOT NULL)
    INTO wallet_ids, balances, versions, booked, is_special
    FROM unnest(wallet_ids, balances, frozen) AS k (id, balance, is_frozen)
    LEFT JOIN users u ON u.wallet_id = k.id AND u.deleted_at IS NOT NULL
    LEFT JOIN wallet_holds h ON h.wallet_id = k.id AND h.held > 0
    LEFT JOIN wallet_limits l ON l.wallet_id = k.id
    LEFT JOIN LATERAL (SELECT x.version, x.booked_at FROM wallet_entries x WHERE x.wallet_id = k.id
                        ORDER BY x.booked_at DESC, x.version DESC LIMIT 1) e ON true;
  is_special := coalesce(is_special, true) OR has_issuance OR wallet_count <> cardinality(wallet_ids) OR max_created > now_ms + 86400000;

  -- Written first, judged afterwards: a refusal takes everything back.
  WITH s AS MATERIALIZED (
    SELECT * FROM wallet_steps(ids, froms, tos, amounts, wallet_ids, balances, versions, booked)
  ), entered AS (
    INSERT INTO wallet_entries (wallet_id, version, transaction_id, delta, balance, booked_at)
      SELECT s.wallet_id, s.version, s.id, s.delta, s.balance, s.booked_at FROM s WHERE s.balance >= 0
  ), moved AS (
    UPDATE wallets w SET balance = s.balance, updated_at = greatest(w.created_at, now_ms)
      FROM s WHERE s.is_last AND s.balance >= 0 AND w.id = s.wallet_id
  ), queued AS (
    INSERT INTO log_outbox (id, kind, at, place)
      SELECT r.id, 1, now_ms, place + r.ord - 1 FROM unnest(ids) WITH ORDINALITY AS r (id, ord)
  )
  SELECT min(s.balance) < 0 INTO has_debt FROM s;

  -- The first row with a violation is the one that would fail if they came one by one, since those before it are good.
  IF is_special OR has_debt THEN
    SELECT v.* INTO refused
      FROM (SELECT f.*, CASE
              WHEN f.created_at > now_ms + 86400000 THEN 'TK001'
              WHEN f.delta < 0 OR f.is_issuance THEN CASE
                WHEN f.is_missing THEN 'TK002'
                WHEN f.is_frozen THEN 'TK003'
                WHEN f.is_deleted THEN 'TK004'
                WHEN f.is_issuance THEN CASE WHEN NOT f.is_system THEN 'TK005' WHEN f.issued > 9223372036854775807 THEN 'TK011' END
                WHEN f.balance < 0 THEN 'TK009'
                WHEN f.balance < f.held THEN 'TK010'
                WHEN f.amount > f.per_transfer THEN 'TK013'
                WHEN f.spent > f.per_day THEN 'TK014' END
              WHEN f.is_missing THEN 'TK006'
              WHEN f.is_frozen THEN 'TK007'
              WHEN f.is_deleted THEN 'TK008' END AS code
              FROM (SELECT p.ord, p.delta, p.balance, r.id, r.amount, r.created_at, r.sender = r.recipient AS is_issuance,
                           w.id IS NULL AS is_missing, w.is_frozen, u.wallet_id IS NOT NULL AS is_deleted,
                           a.wallet_id IS NOT NULL AS is_system,
                           coalesce(h.held, 0) AS held, l.per_transfer, l.per_day,
                           CASE WHEN l.day = now_ms / 86400000 THEN l.spent ELSE 0 END
                             + sum(CASE WHEN p.delta < 0 THEN r.amount ELSE 0 END) OVER (PARTITION BY p.wallet_id ORDER BY p.ord) AS spent,
                           issued + sum(CASE WHEN r.sender = r.recipient THEN r.amount ELSE 0 END) OVER (ORDER BY p.ord) AS issued
                      FROM wallet_steps(ids, froms, tos, amounts, wallet_ids, balances, versions, booked) p
                      JOIN unnest(ids, froms, tos, amounts, created) WITH ORDINALITY AS r (id, sender, recipient, amount, created_at, ord)
                        ON r.ord = p.ord
                      LEFT JOIN wallets w ON w.id = p.wallet_id
                      LEFT JOIN users u ON u.wallet_id = p.wallet_id AND u.deleted_at IS NOT NULL
                      LEFT JOIN system_accounts a ON a.wallet_id = p.wallet_id
                      LEFT JOIN wallet_holds h ON h.wallet_id = p.wallet_id
                      LEFT JOIN wallet_limits l ON l.wallet_id = p.wallet_id) f) v
     WHERE v.code IS NOT NULL ORDER BY v.ord, v.code LIMIT 1;
    IF refused.code IS NOT NULL THEN
      -- An issuance's balance is the one after it, and with the amount once more it may pass 63 bits.
      PERFORM refuse_transfer(refused.code, refused.id, refused.balance::NUMERIC + refused.amount, CASE refused.code
        WHEN 'TK013' THEN refused.per_transfer WHEN 'TK014' THEN refused.per_day - refused.spent + refused.amount
        ELSE refused.balance::NUMERIC + refused.amount - refused.held END, refused.amount);
    END IF;
    UPDATE wallet_limits l SET day = now_ms / 86400000, spent = x.amount + CASE WHEN l.day = now_ms / 86400000 THEN l.spent ELSE 0 END
      FROM (SELECT r.sender, sum(r.amount) AS amount FROM unnest(froms, tos, amounts) AS r (sender, recipient, amount)
             WHERE r.sender <> r.recipient GROUP BY r.sender) x
     WHERE l.wallet_id = x.sender AND l.per_day IS NOT NULL;
    IF has_issuance THEN
      UPDATE issuance o SET total = o.total + (SELECT sum(r.amount) FROM unnest(froms, tos, amounts) AS r (sender, recipient, amount)
                                                WHERE r.sender = r.recipient) WHERE o.only_row = 1;
    END IF;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER update_balances_after_transaction AFTER INSERT ON transactions REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION update_wallet_balances();

-- Holds.

-- After the row is in, so that rows of one statement see each other and ON CONFLICT DO NOTHING counts nothing.
CREATE FUNCTION open_hold() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '@schema@', pg_temp AS $$
DECLARE
  payer RECORD;
  recipient RECORD;
  summary RECORD;
  code TEXT;
BEGIN
  IF NEW.state <> 'open' THEN
    RAISE EXCEPTION 'A hold begins open' USING ERRCODE = 'TK041';
  END IF;
  PERFORM FROM wallets w JOIN (VALUES (NEW.wallet_id), (NEW.to_wallet_id)) AS k (id) ON w.id = k.id ORDER BY w.id FOR NO KEY UPDATE OF w;
  UPDATE wallets w SET updated_at = greatest(w.created_at, coffer_now()) WHERE w.id = NEW.wallet_id
    RETURNING w.balance, w.is_frozen INTO payer;
  SELECT w.is_frozen INTO recipient FROM wallets w WHERE w.id = NEW.to_wallet_id;
  SELECT coalesce(max(h.held), 0) AS held, coalesce(max(h.open_count), 0) AS open_count INTO summary
    FROM wallet_holds h WHERE h.wallet_id = NEW.wallet_id;
  code := CASE
    WHEN payer.balance IS NULL THEN 'TK002'
    WHEN payer.is_frozen THEN 'TK003'
    WHEN EXISTS (SELECT FROM users u WHERE u.wallet_id = NEW.wallet_id AND u.deleted_at IS NOT NULL) THEN 'TK004'
    WHEN recipient.is_frozen IS NULL THEN 'TK006'
    WHEN recipient.is_frozen THEN 'TK007'
    WHEN EXISTS (SELECT FROM users u WHERE u.wallet_id = NEW.to_wallet_id AND u.deleted_at IS NOT NULL) THEN 'TK008'
    WHEN payer.balance < NEW.amount THEN 'TK009'
    WHEN payer.balance - summary.held < NEW.amount THEN 'TK010' END;
  IF code IS NOT NULL THEN
    PERFORM refuse_transfer(code, NEW.id, payer.balance, payer.balance - summary.held, NEW.amount);
  ELSIF summary.open_count >= 1000 THEN
    RAISE EXCEPTION 'Wallet % has 1,000 open holds', NEW.wallet_id USING ERRCODE = 'TK040';
  END IF;
  INSERT INTO wallet_holds AS h (wallet_id, held, open_count) VALUES (NEW.wallet_id, NEW.amount, 1)
    ON CONFLICT (wallet_id) DO UPDATE SET held = h.held + NEW.amount, open_count = h.open_count + 1;
  PERFORM record_wallet_event(9, NEW.wallet_id, NEW.id, NEW.to_wallet_id, NEW.amount);
  RETURN NULL;
END $$;
CREATE TRIGGER open_hold AFTER INSERT ON holds FOR EACH ROW EXECUTE FUNCTION open_hold();

CREATE FUNCTION check_hold_change() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '@schema@', pg_temp AS $$
DECLARE
  now_ms BIGINT := coffer_now();
BEGIN
  IF (OLD.id, OLD.wallet_id, OLD.to_wallet_id, OLD.amount, OLD.created_by, OLD.memo, OLD.created_at, OLD.expires_at)
      IS DISTINCT FROM (NEW.id, NEW.wallet_id, NEW.to_wallet_id, NEW.amount, NEW.created_by, NEW.memo, NEW.created_at, NEW.expires_at)
      OR OLD.state <> 'open' OR NEW.state = 'open' THEN
    RAISE EXCEPTION 'Hold % is %: only an open hold changes, and only by ending', OLD.id, OLD.state USING ERRCODE = 'TK041';
  ELSIF NEW.state = 'captured' AND now_ms >= OLD.expires_at THEN
    RAISE EXCEPTION 'Hold % has expired', OLD.id USING ERRCODE = 'TK042';
  ELSIF NEW.state = 'expired' AND now_ms < OLD.expires_at THEN
    RAISE EXCEPTION 'Hold % has not expired yet', OLD.id USING ERRCODE = 'TK042';
  END IF;
  NEW.ended_at := greatest(OLD.created_at, now_ms);
  RETURN NEW;
END $$;
CREATE TRIGGER check_hold_change BEFORE UPDATE ON holds FOR EACH ROW EXECUTE FUNCTION check_hold_change();

-- The end of a hold. To capture is to end the hold as captured; the transaction with the id that the hold names is inserted here, after
-- the tokens have stopped being held, so a hold cannot be captured without it or twice.
CREATE FUNCTION end_hold() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '@schema@', pg_temp AS $$
BEGIN
  PERFORM FROM wallets w JOIN (VALUES (NEW.wallet_id), (NEW.to_wallet_id)) AS k (id) ON w.id = k.id ORDER BY w.id FOR NO KEY UPDATE OF w;
  UPDATE wallet_holds h SET held = h.held - NEW.amount, open_count = h.open_count - 1 WHERE h.wallet_id = NEW.wallet_id;
  IF NEW.state = 'captured' THEN
    INSERT INTO transactions (id, from_wallet_id, to_wallet_id, amount, transaction_type, created_at)
      VALUES (NEW.capture_transaction_id, NEW.wallet_id, NEW.to_wallet_id, NEW.captured, 1, NEW.ended_at);
  END IF;
  PERFORM record_wallet_event(CASE NEW.state WHEN 'captured' THEN 10 WHEN 'released' THEN 11 ELSE 12 END, NEW.wallet_id, NEW.id,
                              NEW.capture_transaction_id, CASE NEW.state WHEN 'captured' THEN NEW.captured ELSE NEW.amount END);
  RETURN NULL;
END $$;
CREATE TRIGGER end_hold AFTER UPDATE ON holds FOR EACH ROW EXECUTE FUNCTION end_hold();

-- Details and reversals belong to transactions that are not in the log yet: the leaf speaks of them. The outbox rows are locked, so
-- that the sequencer waits for what is being added. Those of this transaction nobody else can see, and they need no lock. Each id is one
-- look-up in the index, so a kept plan serves ten as well as ten thousand.
CREATE FUNCTION check_details() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = '@schema@', pg_temp SET enable_seqscan = off SET jit = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
  ids UUID[];
  found_rows BIGINT;
BEGIN
  SELECT array_agg(r.transaction_id) INTO ids FROM new_rows r;
  IF ids IS NULL THEN
    RETURN NULL;
  END IF;
  SELECT count(*) INTO found_rows FROM unnest(ids) AS k (id) JOIN log_outbox o ON o.id = k.id AND o.kind = 1
   WHERE o.xmin = pg_current_xact_id()::xid;
  IF found_rows <> cardinality(ids) THEN
    SELECT count(*) INTO found_rows
      FROM (SELECT FROM unnest(ids) AS k (id) JOIN log_outbox o ON o.id = k.id AND o.kind = 1 FOR KEY SHARE OF o) x;
  END IF;
  IF found_rows <> cardinality(ids) THEN
    RAISE EXCEPTION 'Details need a transaction that is not in the log yet' USING ERRCODE = 'TK054';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER check_details AFTER INSERT ON transaction_details REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION check_details();

CREATE FUNCTION check_erasure() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '@schema@', pg_temp AS $$
BEGIN
  IF OLD.erased_at IS NOT NULL OR NEW.erased_at IS NULL
      OR (OLD.transaction_id, OLD.memo_hash, OLD.metadata_hash, OLD.actor)
         IS DISTINCT FROM (NEW.transaction_id, NEW.memo_hash, NEW.metadata_hash, NEW.actor)
      OR num_nonnulls(NEW.memo, NEW.metadata, NEW.memo_salt, NEW.metadata_salt) > 0 THEN
    RAISE EXCEPTION 'Details can only be erased, once' USING ERRCODE = 'TK060';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER check_erasure BEFORE UPDATE ON transaction_details FOR EACH ROW EXECUTE FUNCTION check_erasure();

CREATE FUNCTION check_reversal() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '@schema@', pg_temp AS $$
DECLARE
  original RECORD;
  reversal RECORD;
BEGIN
  -- Both rows are locked: of two reversals that share a transaction the second sees the first.
  PERFORM FROM transactions t WHERE t.id IN (NEW.transaction_id, NEW.reversal_id) ORDER BY t.id FOR NO KEY UPDATE;
  SELECT t.from_wallet_id, t.to_wallet_id, t.amount INTO original FROM transactions t WHERE t.id = NEW.transaction_id;
  SELECT t.from_wallet_id, t.to_wallet_id, t.amount INTO reversal FROM transactions t WHERE t.id = NEW.reversal_id;
  IF original.amount IS NULL OR reversal.amount IS NULL THEN
    RAISE EXCEPTION 'The reversal or its original does not exist' USING ERRCODE = 'TK050';
  ELSIF original.from_wallet_id = original.to_wallet_id THEN
    RAISE EXCEPTION 'An issuance cannot be reversed' USING ERRCODE = 'TK052';
  ELSIF EXISTS (SELECT FROM reversals r WHERE r.reversal_id = NEW.transaction_id AND r.transaction_id <> NEW.transaction_id)
      OR EXISTS (SELECT FROM reversals r WHERE r.transaction_id = NEW.reversal_id AND r.transaction_id <> NEW.transaction_id) THEN
    RAISE EXCEPTION 'A reversal cannot be reversed' USING ERRCODE = 'TK053';
  ELSIF (original.from_wallet_id, original.to_wallet_id, original.amount)
      IS DISTINCT FROM (reversal.to_wallet_id, reversal.from_wallet_id, reversal.amount) THEN
    RAISE EXCEPTION 'A reversal returns the whole amount to the sender' USING ERRCODE = 'TK051';
  END IF;
  PERFORM FROM log_outbox o WHERE o.id = NEW.reversal_id FOR KEY SHARE;
  IF NOT FOUND THEN
    RAISE EXCEPTION 'The reversal is already in the log' USING ERRCODE = 'TK054';
  END IF;
  PERFORM record_wallet_event(13, original.from_wallet_id, NEW.transaction_id, NEW.reversal_id, original.amount);
  RETURN NULL;
END $$;
CREATE TRIGGER check_reversal AFTER INSERT ON reversals FOR EACH ROW EXECUTE FUNCTION check_reversal();

CREATE TRIGGER check_api_key_change BEFORE UPDATE ON api_keys FOR EACH ROW
  WHEN ((OLD.id, OLD.name, OLD.secret_hash, OLD.scopes, OLD.created_by, OLD.created_at, OLD.expires_at)
          IS DISTINCT FROM (NEW.id, NEW.name, NEW.secret_hash, NEW.scopes, NEW.created_by, NEW.created_at, NEW.expires_at)
        OR (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS DISTINCT FROM OLD.revoked_at))
  EXECUTE FUNCTION refuse_statement('TK061', 'An API key can only be used and revoked');

-- The log. A sequencer locks log_head, reads the outbox, inserts leaves and nodes, deletes those outbox rows, and updates log_head.
CREATE FUNCTION check_leaves() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '@schema@', pg_temp AS $$
DECLARE
  lowest BIGINT;
  highest BIGINT;
  n BIGINT;
  ids UUID[];
  kinds INTEGER[];
  found_rows BIGINT;
BEGIN
  SELECT min(r.position), max(r.position), count(*), array_agg(r.id), array_agg(r.kind) INTO lowest, highest, n, ids, kinds FROM new_rows r;
  IF n = 0 THEN
    RETURN NULL;
  END IF;
  EXECUTE 'SELECT count(*) FROM unnest($1, $2) AS k (id, kind) JOIN log_outbox o ON o.id = k.id AND o.kind = k.kind'
    INTO found_rows USING ids, kinds;
  IF found_rows <> n OR highest - lowest + 1 <> n
      OR lowest <> coalesce((SELECT max(l.position) + 1 FROM log_leaves l WHERE l.position < lowest), 0) THEN
    RAISE EXCEPTION 'A leaf takes the next position and comes from the outbox' USING ERRCODE = 'TK071';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER check_leaves AFTER INSERT ON log_leaves REFERENCING NEW TABLE AS new_rows
  FOR EACH STATEMENT EXECUTE FUNCTION check_leaves();

CREATE FUNCTION check_outbox_delete() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '@schema@', pg_temp AS $$
DECLARE
  ids UUID[];
  found_rows BIGINT;
BEGIN
  SELECT array_agg(r.id) INTO ids FROM old_rows r;
  IF ids IS NULL THEN
    RETURN NULL;
  END IF;
  EXECUTE 'SELECT count(*) FROM unnest($1) AS k (id) JOIN log_leaves l ON l.id = k.id' INTO found_rows USING ids;
  IF found_rows <> cardinality(ids) THEN
    RAISE EXCEPTION 'An outbox row leaves only into the log' USING ERRCODE = 'TK070';
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER check_outbox_delete AFTER DELETE ON log_outbox REFERENCING OLD TABLE AS old_rows
  FOR EACH STATEMENT EXECUTE FUNCTION check_outbox_delete();

CREATE FUNCTION check_log_head() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER SET search_path = '@schema@', pg_temp AS $$
BEGIN
  IF TG_TABLE_NAME = 'checkpoints' THEN
    IF NOT EXISTS (SELECT FROM log_head h WHERE h.size >= NEW.size) THEN
      RAISE EXCEPTION 'The log has no size %', NEW.size USING ERRCODE = 'TK073';
    END IF;
  ELSIF TG_OP = 'DELETE' OR NEW.size IS DISTINCT FROM (SELECT coalesce(max(l.position) + 1, 0) FROM log_leaves l) THEN
    RAISE EXCEPTION 'log_head has the number of leaves' USING ERRCODE = 'TK072';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER check_log_head BEFORE UPDATE OR DELETE ON log_head FOR EACH ROW EXECUTE FUNCTION check_log_head();
CREATE TRIGGER check_checkpoint BEFORE INSERT ON checkpoints FOR EACH ROW EXECUTE FUNCTION check_log_head();

-- Reads.

CREATE VIEW wallet_owners AS
  SELECT wallet_id, 'user' AS owner_type, id AS owner_id, username AS owner_name FROM users WHERE deleted_at IS NULL
  UNION ALL
  SELECT wallet_id, 'system_account' AS owner_type, id AS owner_id, name AS owner_name FROM system_accounts;
COMMENT ON VIEW wallet_owners IS
  'Unified view for reverse wallet ownership lookup. Combines users and system_accounts for simplified queries.';

-- All that decides a transfer, by wallet.
CREATE VIEW wallet_states AS
  SELECT w.id, w.balance, w.is_frozen,
         EXISTS (SELECT FROM users u WHERE u.wallet_id = w.id AND u.deleted_at IS NOT NULL) AS is_deleted,
         EXISTS (SELECT FROM system_accounts s WHERE s.wallet_id = w.id) AS is_system,
         coalesce(h.held, 0) AS held, coalesce(h.open_count, 0) AS open_holds, l.per_transfer, l.per_day,
         CASE WHEN l.day = coffer_now() / 86400000 THEN l.spent ELSE 0 END AS spent_today
    FROM wallets w
    LEFT JOIN wallet_holds h ON h.wallet_id = w.id
    LEFT JOIN wallet_limits l ON l.wallet_id = w.id;

-- Wallets whose balance is not what their history gives (T4). Empty unless something is wrong.
CREATE VIEW wallet_consistency AS
  SELECT w.id AS wallet_id, w.balance, coalesce(t.balance, 0) AS history_balance, coalesce(e.balance, 0) AS entries_balance
    FROM wallets w
    LEFT JOIN (SELECT x.wallet_id, sum(x.delta) AS balance
                 FROM (SELECT to_wallet_id AS wallet_id, amount AS delta FROM transactions
                       UNION ALL
                       SELECT from_wallet_id, -amount FROM transactions WHERE from_wallet_id <> to_wallet_id) x
                GROUP BY x.wallet_id) t ON t.wallet_id = w.id
    LEFT JOIN LATERAL (SELECT n.balance FROM wallet_entries n WHERE n.wallet_id = w.id
                        ORDER BY n.booked_at DESC, n.version DESC LIMIT 1) e ON true
   WHERE w.balance <> coalesce(t.balance, 0) OR w.balance <> coalesce(e.balance, 0);

-- Where all tokens are (T5): the first four add up to total_issuance.
CREATE VIEW supply AS
  SELECT coalesce(sum(p.balance) FILTER (WHERE p.place = 'user'), 0) AS circulating_supply,
         coalesce(sum(p.balance) FILTER (WHERE p.place = 'system'), 0) AS system_pool,
         coalesce(sum(p.balance) FILTER (WHERE p.place = 'deleted'), 0) AS deleted_users,
         coalesce(sum(p.balance) FILTER (WHERE p.place = 'ownerless'), 0) AS ownerless,
         (SELECT coalesce(sum(t.amount), 0) FROM transactions t WHERE t.from_wallet_id = t.to_wallet_id) AS total_issuance
    FROM (SELECT w.balance, CASE WHEN s.id IS NOT NULL THEN 'system' WHEN u.id IS NULL THEN 'ownerless'
                                 WHEN u.deleted_at IS NULL THEN 'user' ELSE 'deleted' END AS place
            FROM wallets w LEFT JOIN users u ON u.wallet_id = w.id LEFT JOIN system_accounts s ON s.wallet_id = w.id) p;

CREATE VIEW v_balance_consistency AS
  SELECT s.current_total_balance, s.total_issuance,
         s.current_total_balance = s.total_issuance AND NOT EXISTS (SELECT FROM wallet_consistency) AS is_consistent,
         current_unix_ms() AS checked_at
    FROM (SELECT (SELECT coalesce(sum(balance), 0) FROM wallets) AS current_total_balance,
                 (SELECT coalesce(sum(amount), 0) FROM transactions WHERE from_wallet_id = to_wallet_id) AS total_issuance) s;

CREATE MATERIALIZED VIEW token_statistics AS
  SELECT (SELECT coalesce(sum(t.amount), 0) FROM transactions t
           WHERE t.from_wallet_id = t.to_wallet_id
             AND EXISTS (SELECT 1 FROM system_accounts sa WHERE sa.wallet_id = t.from_wallet_id)) AS total_issuance,
         (SELECT coalesce(sum(w.balance), 0) FROM wallets w
           WHERE EXISTS (SELECT 1 FROM users u WHERE u.wallet_id = w.id AND u.deleted_at IS NULL)) AS circulating_supply,
         (SELECT coalesce(sum(w.balance), 0) FROM wallets w
           WHERE EXISTS (SELECT 1 FROM system_accounts sa WHERE sa.wallet_id = w.id)) AS system_pool,
         (SELECT count(*) FROM users WHERE deleted_at IS NULL) AS total_users,
         (SELECT count(*) FROM transactions) AS total_transactions,
         current_unix_ms() AS updated_at;
CREATE UNIQUE INDEX ON token_statistics (updated_at);

-- Functions of 002.

CREATE FUNCTION soft_delete_user(user_uuid UUID) RETURNS BOOLEAN LANGUAGE plpgsql SET search_path = '@schema@', pg_temp AS $$
BEGIN
  UPDATE users u SET deleted_at = greatest(u.created_at, coffer_now()) WHERE u.id = user_uuid AND u.deleted_at IS NULL;
  RETURN FOUND;
END $$;
CREATE FUNCTION reactivate_user(user_uuid UUID) RETURNS BOOLEAN LANGUAGE plpgsql SET search_path = '@schema@', pg_temp AS $$
BEGIN
  UPDATE users u SET deleted_at = NULL WHERE u.id = user_uuid AND u.deleted_at IS NOT NULL;
  RETURN FOUND;
END $$;

CREATE FUNCTION check_orphan_wallets() RETURNS TABLE (wallet_id UUID, balance BIGINT)
LANGUAGE sql STABLE SET search_path = '@schema@', pg_temp AS $$
  SELECT w.id, w.balance FROM wallets w
   WHERE NOT EXISTS (SELECT FROM users u WHERE u.wallet_id = w.id) AND NOT EXISTS (SELECT FROM system_accounts s WHERE s.wallet_id = w.id)
$$;
COMMENT ON FUNCTION check_orphan_wallets() IS
  'Returns wallets not referenced by any user or system_account. Should return empty result in normal operation.';

CREATE FUNCTION check_wallet_consistency() RETURNS TABLE (wallet_id UUID, balance BIGINT, history_balance NUMERIC, entries_balance BIGINT)
LANGUAGE sql STABLE SET search_path = '@schema@', pg_temp AS $$
  SELECT c.wallet_id, c.balance, c.history_balance, c.entries_balance FROM wallet_consistency c ORDER BY c.wallet_id
$$;

CREATE FUNCTION check_balance_consistency() RETURNS BOOLEAN LANGUAGE plpgsql SET search_path = '@schema@', pg_temp AS $$
DECLARE
  result RECORD;
BEGIN
  SELECT v.is_consistent, v.checked_at INTO result FROM v_balance_consistency v;
  IF NOT result.is_consistent THEN
    RAISE WARNING 'Balance inconsistency detected at %', unix_to_timestamp(result.checked_at);
  END IF;
  RETURN result.is_consistent;
END $$;

-- Sets wallets that differ from their history right and returns them as they were; with apply = false only lists them. The owner's.
CREATE FUNCTION rebuild_wallet_balances(apply BOOLEAN DEFAULT false)
RETURNS TABLE (wallet_id UUID, balance BIGINT, history_balance NUMERIC, entries_balance BIGINT)
LANGUAGE plpgsql SET search_path = '@schema@', pg_temp AS $$
BEGIN
  IF apply THEN
    LOCK TABLE transactions, wallets IN SHARE ROW EXCLUSIVE MODE;
  END IF;
  RETURN QUERY SELECT c.wallet_id, c.balance, c.history_balance, c.entries_balance FROM wallet_consistency c ORDER BY c.wallet_id;
  IF apply THEN
    UPDATE wallets w SET balance = c.history_balance, updated_at = greatest(w.created_at, coffer_now())
      FROM wallet_consistency c WHERE c.wallet_id = w.id AND c.history_balance <> w.balance;
  END IF;
END $$;

-- What the application may do.

-- Locks wallets in the order of their ids, as the mover does, and then reads what decides a transfer. Who has no UPDATE on wallets
-- cannot lock their rows otherwise. With skip_locked, wallets that somebody else has locked are left out.
CREATE FUNCTION lock_wallets(ids UUID[], skip_locked BOOLEAN DEFAULT false) RETURNS SETOF wallet_states
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '@schema@', pg_temp SET enable_seqscan = off AS $$
DECLARE
  locked UUID[];
BEGIN
  EXECUTE 'SELECT array_agg(l.id) FROM (
             SELECT w.id FROM (SELECT DISTINCT u.id FROM unnest($1) AS u (id)) k JOIN wallets w ON w.id = k.id
              ORDER BY w.id FOR NO KEY UPDATE OF w ' || CASE WHEN skip_locked THEN 'SKIP LOCKED' ELSE '' END || ') l'
    INTO locked USING ids;
  RETURN QUERY EXECUTE 'SELECT s.* FROM unnest($1) AS k (id) JOIN wallet_states s ON s.id = k.id ORDER BY s.id' USING locked;
END $$;

-- Returns whether the wallet changed.
CREATE FUNCTION set_wallet_frozen(wallet UUID, frozen BOOLEAN) RETURNS BOOLEAN
LANGUAGE plpgsql SECURITY DEFINER SET search_path = '@schema@', pg_temp AS $$
BEGIN
  UPDATE wallets w SET is_frozen = frozen WHERE w.id = wallet AND w.is_frozen <> frozen;
  RETURN FOUND;
END $$;

CREATE FUNCTION refresh_token_statistics() RETURNS void LANGUAGE plpgsql SECURITY DEFINER SET search_path = '@schema@', pg_temp AS $$
BEGIN
  REFRESH MATERIALIZED VIEW CONCURRENTLY token_statistics;
END $$;

-- Gives a role what serve needs, and takes what it had before. Reads everything; writes transactions and the API's tables by INSERT
-- and by the columns that may change; no UPDATE on wallets (T3), nothing on what triggers keep, nothing on partitions. The owner's.
CREATE FUNCTION token_grant_application(role_name NAME) RETURNS void LANGUAGE plpgsql SET search_path = '@schema@', pg_temp AS $$
DECLARE
  item TEXT;
  rel RECORD;
BEGIN
  EXECUTE format('REVOKE ALL ON ALL TABLES IN SCHEMA %I FROM %I', '@schema@', role_name);
  EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', '@schema@', role_name);
  FOR rel IN SELECT c.relname FROM pg_class c
              WHERE c.relnamespace = to_regnamespace(quote_ident('@schema@')) AND c.relkind IN ('r', 'p', 'v', 'm')
                AND NOT c.relispartition LOOP
    EXECUTE format('GRANT SELECT ON %I TO %I', rel.relname, role_name);
  END LOOP;
  FOREACH item IN ARRAY ARRAY[
      'INSERT ON transactions, transaction_details, reversals, holds, users, system_accounts',
      'INSERT ON external_identities, role_grants, api_keys, settings, audit',
      'INSERT (id, is_frozen, balance, created_at, updated_at) ON wallets',
      'INSERT (wallet_id, per_transfer, per_day), UPDATE (per_transfer, per_day), DELETE ON wallet_limits',
      'UPDATE (username, deleted_at, updated_at) ON users',
      'UPDATE (state, captured, capture_transaction_id, ended_at) ON holds',
      'UPDATE (memo, metadata, memo_salt, metadata_salt, erased_at) ON transaction_details',
      'UPDATE (revoked_at, last_used_at) ON api_keys',
      'UPDATE (value), DELETE ON settings',
      'DELETE ON external_identities, role_grants, log_outbox',
      'UPDATE (place) ON log_outbox',  -- the right to lock its rows; a trigger refuses every UPDATE
      'INSERT ON log_leaves, log_nodes, checkpoints',
      'UPDATE (size, root, updated_at) ON log_head',
      'EXECUTE ON FUNCTION lock_wallets(UUID[], BOOLEAN), set_wallet_frozen(UUID, BOOLEAN), refresh_token_statistics()'] LOOP
    EXECUTE format('GRANT %s TO %I', item, role_name);
  END LOOP;
  IF to_regprocedure('ensure_transaction_partitions(integer)') IS NOT NULL THEN
    EXECUTE format('GRANT EXECUTE ON FUNCTION ensure_transaction_partitions(INTEGER) TO %I', role_name);
  END IF;
END $$;

REVOKE EXECUTE ON FUNCTION lock_wallets(UUID[], BOOLEAN), set_wallet_frozen(UUID, BOOLEAN), refresh_token_statistics(),
  rebuild_wallet_balances(BOOLEAN), token_grant_application(NAME), record_wallet_event(INTEGER, UUID, UUID, UUID, BIGINT) FROM PUBLIC;
