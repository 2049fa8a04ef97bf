-- The community token ledger (002) for SQLite (T10). docs/formats/token.md describes every table, and the PostgreSQL file has the list of
-- error codes; here a message begins with its code, because RAISE takes nothing but a literal. A community is a file (T11).
--
-- A person's sqlite3 gets the same protection: triggers use built-in functions only, and nothing relies on PRAGMA foreign_keys or
-- recursive_triggers. Every rule is a BEFORE trigger with RAISE(ABORT), which OR IGNORE and OR REPLACE cannot turn off. Both also
-- reach the statements inside triggers, and OR REPLACE deletes rows without firing their triggers; so whatever could collide is looked up
-- first. Tables have no rowid where one could be used to replace a row under another id; that of transactions is checked.
--
-- Roles, TRUNCATE and autovacuum do not exist here; the time helpers of 002 are strftime() and unixepoch(); comments stand here.

-- One row. now_ms is the time of tests, and of an application that wants one time in all statements of a transaction; NULL: the system's
-- clock, but never less than what a process wrote down (coffer_clock, W8). julianday('now') is exact to the millisecond before it becomes a floating point number; round() brings that back. The view
-- reads the row, also where nothing else needs it, because SQLite copies a view without a table into a temporary one at each use.
CREATE TABLE clock (
  only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
  now_ms   INTEGER CHECK (now_ms > 0)
) STRICT;
INSERT INTO clock (only_row) VALUES (1);
CREATE TRIGGER prevent_clock_delete BEFORE DELETE ON clock
BEGIN
  SELECT RAISE(ABORT, 'TK022 Set now_ms to NULL instead');
END;
CREATE VIEW token_clock AS
  SELECT coalesce(c.now_ms, max(CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER),
    coalesce((SELECT k.now_ms FROM coffer_clock k), 0))) AS now_ms FROM clock c;

-- Who does what the next events tell, and why. The application inserts the row and deletes it in the same transaction.
CREATE TABLE actor (
  only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
  actor    TEXT NOT NULL,
  reason   TEXT
) STRICT;

CREATE VIEW random_uuid AS
  SELECT lower(hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-'
    || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))) AS id FROM clock;

-- The tables of 002.

-- Token wallets: independent entities that users and system accounts refer to. A frozen wallet neither sends nor receives.
CREATE TABLE wallets (
  id         TEXT    NOT NULL PRIMARY KEY,
  balance    INTEGER NOT NULL DEFAULT 0,
  is_frozen  INTEGER NOT NULL DEFAULT FALSE CHECK (is_frozen IN (0, 1)),
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  CONSTRAINT wallet_id_valid CHECK (length(CAST(id AS BLOB)) = 36 AND id GLOB '????????-????-????-????-????????????'
    AND id NOT GLOB '*[^0-9a-f-]*' AND length(replace(id, '-', '')) = 32),
  CONSTRAINT balance_non_negative CHECK (balance >= 0),
  CONSTRAINT created_at_positive CHECK (created_at > 0),
  CONSTRAINT updated_at_after_created CHECK (updated_at >= created_at)
) STRICT, WITHOUT ROWID;

-- Regular users; username is a display name and not unique. deleted_at: NULL = active.
-- A text with a NUL in it passes GLOB, hence the comparison of its length in characters and in bytes.
CREATE TABLE users (
  id         TEXT    NOT NULL PRIMARY KEY,
  wallet_id  TEXT    NOT NULL UNIQUE,
  username   TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  deleted_at INTEGER,
  CONSTRAINT user_id_valid CHECK (length(CAST(id AS BLOB)) = 36 AND id GLOB '????????-????-????-????-????????????'
    AND id NOT GLOB '*[^0-9a-f-]*' AND length(replace(id, '-', '')) = 32),
  CONSTRAINT username_not_empty CHECK (LENGTH(TRIM(username)) > 0),
  CONSTRAINT username_valid_chars CHECK (username NOT GLOB '*[^a-zA-Z0-9_-]*' AND length(username) = length(CAST(username AS BLOB))),
  CONSTRAINT username_length CHECK (LENGTH(username) BETWEEN 3 AND 255),
  CONSTRAINT created_at_positive CHECK (created_at > 0),
  CONSTRAINT updated_at_after_created CHECK (updated_at >= created_at),
  CONSTRAINT deleted_at_after_created CHECK (deleted_at IS NULL OR deleted_at >= created_at),
  CONSTRAINT fk_wallet FOREIGN KEY (wallet_id) REFERENCES wallets (id) ON DELETE RESTRICT
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_users_wallet_id ON users (wallet_id);
CREATE INDEX idx_users_deleted_at ON users (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX idx_users_username ON users (username, id);  -- lists and searches of the API
CREATE INDEX idx_users_deleted_wallet ON users (wallet_id) WHERE deleted_at IS NOT NULL;  -- nearly empty: what a transfer asks

-- System accounts, which may issue tokens to their own wallet.
CREATE TABLE system_accounts (
  id         TEXT    NOT NULL PRIMARY KEY,
  wallet_id  TEXT    NOT NULL UNIQUE,
  name       TEXT    NOT NULL UNIQUE,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  CONSTRAINT account_id_valid CHECK (length(CAST(id AS BLOB)) = 36 AND id GLOB '????????-????-????-????-????????????'
    AND id NOT GLOB '*[^0-9a-f-]*' AND length(replace(id, '-', '')) = 32),
  CONSTRAINT name_not_empty CHECK (LENGTH(TRIM(name)) > 0),
  CONSTRAINT name_valid_chars CHECK (name NOT GLOB '*[^a-z0-9_]*' AND length(name) = length(CAST(name AS BLOB))),
  CONSTRAINT name_length CHECK (LENGTH(name) BETWEEN 3 AND 255),
  CONSTRAINT created_at_positive CHECK (created_at > 0),
  CONSTRAINT updated_at_after_created CHECK (updated_at >= created_at),
  CONSTRAINT fk_wallet FOREIGN KEY (wallet_id) REFERENCES wallets (id) ON DELETE RESTRICT
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_system_accounts_wallet_id ON system_accounts (wallet_id);

-- All transactions: transfers and, from a wallet to itself, issuance. Immutable. Types 1-99, 1 = transfer. Rows follow each other by
-- rowid, without gaps: new ones go to the end, where their neighbours are in memory.
CREATE TABLE transactions (
  id               TEXT    NOT NULL PRIMARY KEY,
  from_wallet_id   TEXT    NOT NULL,
  to_wallet_id     TEXT    NOT NULL,
  amount           INTEGER NOT NULL,
  transaction_type INTEGER NOT NULL,
  created_at       INTEGER NOT NULL,
  CONSTRAINT transaction_id_valid CHECK (length(CAST(id AS BLOB)) = 36 AND id GLOB '????????-????-????-????-????????????'
    AND id NOT GLOB '*[^0-9a-f-]*' AND length(replace(id, '-', '')) = 32),
  CONSTRAINT amount_positive CHECK (amount > 0),
  CONSTRAINT transaction_type_valid CHECK (transaction_type >= 1 AND transaction_type < 100),
  CONSTRAINT created_at_positive CHECK (created_at > 0),
  CONSTRAINT fk_from_wallet FOREIGN KEY (from_wallet_id) REFERENCES wallets (id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT fk_to_wallet FOREIGN KEY (to_wallet_id) REFERENCES wallets (id) ON DELETE RESTRICT DEFERRABLE INITIALLY DEFERRED
) STRICT;
CREATE INDEX idx_transactions_created_at ON transactions (created_at DESC);
CREATE INDEX idx_transactions_transaction_type ON transactions (transaction_type, created_at DESC);
CREATE INDEX idx_transactions_self_transfer ON transactions (from_wallet_id, to_wallet_id) WHERE from_wallet_id = to_wallet_id;
-- The history of one wallet, by side (T7).
CREATE INDEX idx_transactions_from_wallet ON transactions (from_wallet_id, created_at DESC, id DESC);
CREATE INDEX idx_transactions_to_wallet ON transactions (to_wallet_id, created_at DESC, id DESC);

-- What the mover keeps beside the balance.

-- Each step of each wallet's balance (T13). The order by (booked_at, version) is the order by version. The key comes first: SQLite 3.40's
-- integrity_check mistakes the columns of a table WITHOUT ROWID otherwise.
CREATE TABLE wallet_entries (
  wallet_id      TEXT    NOT NULL,
  booked_at      INTEGER NOT NULL CHECK (booked_at > 0),
  version        INTEGER NOT NULL CHECK (version > 0),
  transaction_id TEXT    NOT NULL,
  delta          INTEGER NOT NULL CHECK (delta <> 0),
  balance        INTEGER NOT NULL CHECK (balance >= 0),
  CONSTRAINT pidx_wallet_entries PRIMARY KEY (wallet_id, booked_at, version)
) STRICT, WITHOUT ROWID;

-- The transaction that was judged last, when, and how many there are. It is the mover's permission to write what nobody else may write,
-- from the moment its row is inserted until the mover ends: who writes an id here cannot take one of a transaction, and an id without a
-- transaction permits nothing.
CREATE TABLE mover (
  only_row       INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
  transaction_id TEXT,
  now_ms         INTEGER NOT NULL DEFAULT 0,
  moved          INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO mover (only_row) VALUES (1);

-- The sum of all issuances.
CREATE TABLE issuance (
  only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
  total    INTEGER NOT NULL CHECK (total >= 0)
) STRICT;
INSERT INTO issuance (only_row, total) VALUES (1, 0);

CREATE TABLE wallet_limits (
  wallet_id    TEXT    NOT NULL PRIMARY KEY REFERENCES wallets (id) ON DELETE RESTRICT,
  per_transfer INTEGER CHECK (per_transfer >= 0),
  per_day      INTEGER CHECK (per_day >= 0),
  day          INTEGER NOT NULL DEFAULT 0 CHECK (day >= 0),
  spent        INTEGER NOT NULL DEFAULT 0 CHECK (spent >= 0)
) STRICT, WITHOUT ROWID;

CREATE TABLE holds (
  id                     TEXT    NOT NULL PRIMARY KEY,
  wallet_id              TEXT    NOT NULL REFERENCES wallets (id) ON DELETE RESTRICT,
  to_wallet_id           TEXT    NOT NULL REFERENCES wallets (id) ON DELETE RESTRICT,
  amount                 INTEGER NOT NULL,
  captured               INTEGER NOT NULL DEFAULT 0,
  state                  TEXT    NOT NULL DEFAULT 'open',
  created_by             TEXT    NOT NULL,
  memo                   TEXT,
  created_at             INTEGER NOT NULL,
  expires_at             INTEGER NOT NULL,
  ended_at               INTEGER,
  capture_transaction_id TEXT    UNIQUE,
  CONSTRAINT hold_id_valid CHECK (length(CAST(id AS BLOB)) = 36 AND id GLOB '????????-????-????-????-????????????'
    AND id NOT GLOB '*[^0-9a-f-]*' AND length(replace(id, '-', '')) = 32),
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
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_holds_open ON holds (wallet_id, created_at) WHERE state = 'open';
CREATE INDEX idx_holds_due ON holds (expires_at) WHERE state = 'open';
CREATE INDEX idx_holds_by_wallet ON holds (wallet_id, created_at DESC, id DESC);
CREATE INDEX idx_holds_by_recipient ON holds (to_wallet_id, created_at DESC, id DESC);

CREATE TABLE wallet_holds (
  wallet_id  TEXT    NOT NULL PRIMARY KEY REFERENCES wallets (id) ON DELETE RESTRICT,
  held       INTEGER NOT NULL CHECK (held >= 0),
  open_count INTEGER NOT NULL CHECK (open_count BETWEEN 0 AND 1000)
) STRICT, WITHOUT ROWID;

-- What the API keeps beside 002.

CREATE TABLE transaction_details (
  transaction_id TEXT NOT NULL PRIMARY KEY,
  memo           TEXT,
  metadata       TEXT,
  memo_salt      BLOB,
  metadata_salt  BLOB,
  memo_hash      BLOB,
  metadata_hash  BLOB,
  actor          TEXT,
  erased_at      INTEGER,
  CONSTRAINT details_memo_length CHECK (length(memo) <= 500 AND instr(CAST(memo AS BLOB), x'00') = 0),
  CONSTRAINT details_metadata_object CHECK (
    length(CAST(metadata AS BLOB)) <= 4096
    AND (metadata IS NULL OR metadata GLOB '{*}')),
  CONSTRAINT details_memo_salt CHECK (length(memo_salt) = 16),
  CONSTRAINT details_metadata_salt CHECK (length(metadata_salt) = 16),
  CONSTRAINT details_salts_belong CHECK ((memo IS NULL) = (memo_salt IS NULL) AND (metadata IS NULL) = (metadata_salt IS NULL)),
  CONSTRAINT details_memo_hash CHECK (length(memo_hash) = 32),
  CONSTRAINT details_metadata_hash CHECK (length(metadata_hash) = 32),
  CONSTRAINT details_hashes_belong CHECK (
    CASE WHEN erased_at IS NULL THEN (memo IS NULL) = (memo_hash IS NULL) AND (metadata IS NULL) = (metadata_hash IS NULL)
         ELSE memo IS NULL AND metadata IS NULL END),
  CONSTRAINT details_actor_length CHECK (length(actor) BETWEEN 1 AND 255)
) STRICT, WITHOUT ROWID;

CREATE TABLE reversals (
  transaction_id TEXT    NOT NULL PRIMARY KEY,
  reversal_id    TEXT    NOT NULL UNIQUE,
  reason         TEXT    NOT NULL CHECK (length(reason) BETWEEN 1 AND 500),
  actor          TEXT    NOT NULL CHECK (length(actor) BETWEEN 1 AND 255),
  created_at     INTEGER NOT NULL CHECK (created_at > 0),
  CONSTRAINT fk_reversed_transaction FOREIGN KEY (transaction_id) REFERENCES transactions (id) DEFERRABLE INITIALLY DEFERRED,
  CONSTRAINT fk_reversal_transaction FOREIGN KEY (reversal_id) REFERENCES transactions (id) DEFERRABLE INITIALLY DEFERRED
) STRICT, WITHOUT ROWID;

CREATE TABLE external_identities (
  issuer     TEXT    NOT NULL CHECK (length(issuer) BETWEEN 1 AND 500),
  subject    TEXT    NOT NULL CHECK (length(subject) BETWEEN 1 AND 255),
  user_id    TEXT    NOT NULL REFERENCES users (id) ON DELETE RESTRICT,
  created_at INTEGER NOT NULL CHECK (created_at > 0),
  created_by TEXT    NOT NULL CHECK (length(created_by) BETWEEN 1 AND 255),
  CONSTRAINT pidx_external_identities PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_external_identities_user ON external_identities (user_id);

CREATE TABLE role_grants (
  issuer     TEXT    NOT NULL CHECK (length(issuer) BETWEEN 1 AND 500),
  subject    TEXT    NOT NULL CHECK (length(subject) BETWEEN 1 AND 255),
  role       TEXT    NOT NULL CHECK (role IN ('member', 'operator', 'issuer', 'auditor')),
  created_at INTEGER NOT NULL CHECK (created_at > 0),
  created_by TEXT    NOT NULL CHECK (length(created_by) BETWEEN 1 AND 255),
  CONSTRAINT pidx_role_grants PRIMARY KEY (issuer, subject, role)
) STRICT, WITHOUT ROWID;

CREATE TABLE api_keys (
  id           TEXT    NOT NULL PRIMARY KEY,
  name         TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  secret_hash  BLOB    NOT NULL UNIQUE CHECK (length(secret_hash) = 32),
  scopes       TEXT    NOT NULL CHECK (length(scopes) <= 1000),  -- sorted, one space between two
  created_by   TEXT    NOT NULL CHECK (length(created_by) BETWEEN 1 AND 255),
  created_at   INTEGER NOT NULL CHECK (created_at > 0),
  expires_at   INTEGER NOT NULL CHECK (expires_at > created_at),
  revoked_at   INTEGER CHECK (revoked_at >= created_at),
  last_used_at INTEGER,
  CONSTRAINT api_key_id_valid CHECK (length(CAST(id AS BLOB)) = 36 AND id GLOB '????????-????-????-????-????????????'
    AND id NOT GLOB '*[^0-9a-f-]*' AND length(replace(id, '-', '')) = 32)
) STRICT, WITHOUT ROWID;

-- What changed beside transfers; the PostgreSQL file lists the kinds.
CREATE TABLE wallet_events (
  id         TEXT    NOT NULL PRIMARY KEY,
  kind       INTEGER NOT NULL CHECK (kind BETWEEN 2 AND 13),
  at         INTEGER NOT NULL,
  wallet_id  TEXT    NOT NULL,
  subject_id TEXT,
  related_id TEXT,
  amount     INTEGER,
  actor      TEXT    NOT NULL,
  reason     TEXT
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_wallet_events_wallet ON wallet_events (wallet_id, at DESC, id DESC);

CREATE TABLE audit (
  id     TEXT    NOT NULL PRIMARY KEY,
  at     INTEGER NOT NULL CHECK (at > 0),
  actor  TEXT    NOT NULL,
  action TEXT    NOT NULL,
  target TEXT,
  reason TEXT,
  detail TEXT CHECK (detail IS NULL OR detail GLOB '{*}'),
  CONSTRAINT audit_id_valid CHECK (length(CAST(id AS BLOB)) = 36 AND id GLOB '????????-????-????-????-????????????'
    AND id NOT GLOB '*[^0-9a-f-]*' AND length(replace(id, '-', '')) = 32)
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_audit_at ON audit (at, id);

CREATE TABLE settings (
  key   TEXT NOT NULL PRIMARY KEY CHECK (length(key) BETWEEN 1 AND 100),
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- 002's statistics. To refresh: DELETE FROM token_statistics; INSERT INTO token_statistics SELECT * FROM token_statistics_now;
CREATE TABLE token_statistics (
  total_issuance     INTEGER NOT NULL,
  circulating_supply INTEGER NOT NULL,
  system_pool        INTEGER NOT NULL,
  total_users        INTEGER NOT NULL,
  total_transactions INTEGER NOT NULL,
  updated_at         INTEGER NOT NULL UNIQUE
) STRICT;

-- The tamper-evident log (T12).

CREATE TABLE log_outbox (
  place INTEGER PRIMARY KEY,
  id    TEXT    NOT NULL UNIQUE,
  kind  INTEGER NOT NULL CHECK (kind BETWEEN 1 AND 13),
  at    INTEGER NOT NULL,
  body  TEXT,
  CONSTRAINT outbox_body_of_events CHECK ((kind = 1) = (body IS NULL))
) STRICT;

CREATE TABLE log_head (
  only_row   INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
  size       INTEGER NOT NULL CHECK (size >= 0),
  root       BLOB    NOT NULL CHECK (length(root) = 32),
  updated_at INTEGER NOT NULL
) STRICT;
INSERT INTO log_head (only_row, size, root, updated_at) VALUES (1, 0, zeroblob(32), 0);

CREATE TABLE log_leaves (
  position  INTEGER NOT NULL PRIMARY KEY CHECK (position >= 0),  -- of the leaf among leaves, from 0
  id        TEXT    NOT NULL UNIQUE,
  kind      INTEGER NOT NULL,
  leaf_hash BLOB    NOT NULL CHECK (length(leaf_hash) = 32),
  at        INTEGER NOT NULL,
  body      TEXT                                                 -- as it stood in the outbox
) STRICT;

CREATE TABLE log_nodes (
  position INTEGER NOT NULL PRIMARY KEY CHECK (position >= 0),   -- of the node in the MMR, in postorder
  hash     BLOB    NOT NULL CHECK (length(hash) = 32)
) STRICT;

CREATE TABLE checkpoints (
  size      INTEGER NOT NULL PRIMARY KEY CHECK (size >= 0),
  root      BLOB    NOT NULL CHECK (length(root) = 32),
  at        INTEGER NOT NULL,
  signature BLOB    NOT NULL CHECK (length(signature) = 64)
) STRICT;

-- Rows that never change.
CREATE TRIGGER prevent_transaction_update BEFORE UPDATE ON transactions
BEGIN
  SELECT RAISE(ABORT, 'TK020 Transactions are immutable and cannot be modified or deleted');
END;
CREATE TRIGGER prevent_transaction_delete BEFORE DELETE ON transactions
BEGIN
  SELECT RAISE(ABORT, 'TK020 Transactions are immutable and cannot be modified or deleted');
END;
CREATE TRIGGER wallet_entries_append_only_update BEFORE UPDATE ON wallet_entries
BEGIN
  SELECT RAISE(ABORT, 'TK020 Rows of wallet_entries never change');
END;
CREATE TRIGGER wallet_entries_append_only_delete BEFORE DELETE ON wallet_entries
BEGIN
  SELECT RAISE(ABORT, 'TK020 Rows of wallet_entries never change');
END;
CREATE TRIGGER wallet_events_append_only_update BEFORE UPDATE ON wallet_events
BEGIN
  SELECT RAISE(ABORT, 'TK020 Rows of wallet_events never change');
END;
CREATE TRIGGER wallet_events_append_only_delete BEFORE DELETE ON wallet_events
BEGIN
  SELECT RAISE(ABORT, 'TK020 Rows of wallet_events never change');
END;
CREATE TRIGGER audit_append_only_update BEFORE UPDATE ON audit
BEGIN
  SELECT RAISE(ABORT, 'TK020 Rows of audit never change');
END;
CREATE TRIGGER audit_append_only_delete BEFORE DELETE ON audit
BEGIN
  SELECT RAISE(ABORT, 'TK020 Rows of audit never change');
END;
CREATE TRIGGER reversals_append_only_update BEFORE UPDATE ON reversals
BEGIN
  SELECT RAISE(ABORT, 'TK020 Rows of reversals never change');
END;
CREATE TRIGGER reversals_append_only_delete BEFORE DELETE ON reversals
BEGIN
  SELECT RAISE(ABORT, 'TK020 Rows of reversals never change');
END;
CREATE TRIGGER log_leaves_append_only_update BEFORE UPDATE ON log_leaves
BEGIN
  SELECT RAISE(ABORT, 'TK020 Rows of log_leaves never change');
END;
CREATE TRIGGER log_leaves_append_only_delete BEFORE DELETE ON log_leaves
BEGIN
  SELECT RAISE(ABORT, 'TK020 Rows of log_leaves never change');
END;
CREATE TRIGGER log_nodes_append_only_update BEFORE UPDATE ON log_nodes
BEGIN
  SELECT RAISE(ABORT, 'TK020 Rows of log_nodes never change');
END;
CREATE TRIGGER log_nodes_append_only_delete BEFORE DELETE ON log_nodes
BEGIN
  SELECT RAISE(ABORT, 'TK020 Rows of log_nodes never change');
END;
CREATE TRIGGER checkpoints_append_only_update BEFORE UPDATE ON checkpoints
BEGIN
  SELECT RAISE(ABORT, 'TK020 Rows of checkpoints never change');
END;
CREATE TRIGGER checkpoints_append_only_delete BEFORE DELETE ON checkpoints
BEGIN
  SELECT RAISE(ABORT, 'TK020 Rows of checkpoints never change');
END;
CREATE TRIGGER prevent_outbox_update BEFORE UPDATE ON log_outbox
BEGIN
  SELECT RAISE(ABORT, 'TK020 Rows of log_outbox never change');
END;
CREATE TRIGGER prevent_hold_delete BEFORE DELETE ON holds
BEGIN
  SELECT RAISE(ABORT, 'TK024 Holds end; they are not deleted');
END;
CREATE TRIGGER prevent_details_delete BEFORE DELETE ON transaction_details
BEGIN
  SELECT RAISE(ABORT, 'TK060 Details can be erased, not deleted');
END;
CREATE TRIGGER prevent_system_account_delete BEFORE DELETE ON system_accounts
BEGIN
  SELECT RAISE(ABORT, 'TK024 System accounts are permanent');
END;
CREATE TRIGGER prevent_wallet_id_change BEFORE UPDATE OF id ON wallets WHEN OLD.id <> NEW.id
BEGIN
  SELECT RAISE(ABORT, 'TK023 The id of a wallet never changes');
END;
CREATE TRIGGER prevent_users_id_change BEFORE UPDATE OF id, wallet_id ON users WHEN OLD.id <> NEW.id OR OLD.wallet_id <> NEW.wallet_id
BEGIN
  SELECT RAISE(ABORT, 'TK023 The id and the wallet of a user never change');
END;
CREATE TRIGGER prevent_system_accounts_id_change BEFORE UPDATE OF id, wallet_id ON system_accounts
WHEN OLD.id <> NEW.id OR OLD.wallet_id <> NEW.wallet_id
BEGIN
  SELECT RAISE(ABORT, 'TK023 The id and the wallet of a system account never change');
END;

-- Unique values that are taken. transactions is not among them: its primary key answers, so ON CONFLICT (id) DO NOTHING works there.
CREATE TRIGGER prevent_wallets_replace BEFORE INSERT ON wallets WHEN EXISTS (SELECT 1 FROM wallets WHERE id = NEW.id)
BEGIN
  SELECT RAISE(ABORT, 'TK015 A row of wallets has this id');
END;
CREATE TRIGGER prevent_users_replace BEFORE INSERT ON users WHEN EXISTS (SELECT 1 FROM users WHERE id = NEW.id)
BEGIN
  SELECT RAISE(ABORT, 'TK015 A row of users has this id');
END;
CREATE TRIGGER prevent_system_accounts_replace BEFORE INSERT ON system_accounts
WHEN EXISTS (SELECT 1 FROM system_accounts WHERE id = NEW.id)
  OR EXISTS (SELECT 1 FROM system_accounts WHERE name = NEW.name)
BEGIN
  SELECT RAISE(ABORT, 'TK015 A row of system_accounts has this id or name');
END;
CREATE TRIGGER prevent_holds_replace BEFORE INSERT ON holds WHEN EXISTS (SELECT 1 FROM holds WHERE id = NEW.id)
BEGIN
  SELECT RAISE(ABORT, 'TK015 A row of holds has this id');
END;
CREATE TRIGGER prevent_transaction_details_replace BEFORE INSERT ON transaction_details
WHEN EXISTS (SELECT 1 FROM transaction_details WHERE transaction_id = NEW.transaction_id)
BEGIN
  SELECT RAISE(ABORT, 'TK015 A row of transaction_details has this transaction_id');
END;
CREATE TRIGGER prevent_reversals_replace BEFORE INSERT ON reversals
WHEN EXISTS (SELECT 1 FROM reversals WHERE transaction_id = NEW.transaction_id)
  OR EXISTS (SELECT 1 FROM reversals WHERE reversal_id = NEW.reversal_id)
BEGIN
  SELECT RAISE(ABORT, 'TK015 A row of reversals has this transaction_id or reversal_id');
END;
CREATE TRIGGER prevent_api_keys_replace BEFORE INSERT ON api_keys
WHEN EXISTS (SELECT 1 FROM api_keys WHERE id = NEW.id)
  OR EXISTS (SELECT 1 FROM api_keys WHERE secret_hash = NEW.secret_hash)
BEGIN
  SELECT RAISE(ABORT, 'TK015 A row of api_keys has this id or secret_hash');
END;
CREATE TRIGGER prevent_wallet_events_replace BEFORE INSERT ON wallet_events WHEN EXISTS (SELECT 1 FROM wallet_events WHERE id = NEW.id)
BEGIN
  SELECT RAISE(ABORT, 'TK015 A row of wallet_events has this id');
END;
CREATE TRIGGER prevent_audit_replace BEFORE INSERT ON audit WHEN EXISTS (SELECT 1 FROM audit WHERE id = NEW.id)
BEGIN
  SELECT RAISE(ABORT, 'TK015 A row of audit has this id');
END;
CREATE TRIGGER prevent_log_nodes_replace BEFORE INSERT ON log_nodes WHEN EXISTS (SELECT 1 FROM log_nodes WHERE position = NEW.position)
BEGIN
  SELECT RAISE(ABORT, 'TK015 A row of log_nodes has this position');
END;
CREATE TRIGGER prevent_checkpoints_replace BEFORE INSERT ON checkpoints WHEN EXISTS (SELECT 1 FROM checkpoints WHERE size = NEW.size)
BEGIN
  SELECT RAISE(ABORT, 'TK015 A row of checkpoints has this size');
END;
CREATE TRIGGER prevent_log_head_replace BEFORE INSERT ON log_head WHEN EXISTS (SELECT 1 FROM log_head WHERE only_row = NEW.only_row)
BEGIN
  SELECT RAISE(ABORT, 'TK015 A row of log_head has this only_row');
END;
CREATE TRIGGER prevent_issuance_replace BEFORE INSERT ON issuance WHEN EXISTS (SELECT 1 FROM issuance WHERE only_row = NEW.only_row)
BEGIN
  SELECT RAISE(ABORT, 'TK015 A row of issuance has this only_row');
END;
CREATE TRIGGER prevent_mover_replace BEFORE INSERT ON mover WHEN EXISTS (SELECT 1 FROM mover WHERE only_row = NEW.only_row)
BEGIN
  SELECT RAISE(ABORT, 'TK015 A row of mover has this only_row');
END;
CREATE TRIGGER prevent_clock_replace BEFORE INSERT ON clock WHEN EXISTS (SELECT 1 FROM clock WHERE only_row = NEW.only_row)
BEGIN
  SELECT RAISE(ABORT, 'TK015 A row of clock has this only_row');
END;
CREATE TRIGGER prevent_system_accounts_name_replace BEFORE UPDATE OF name ON system_accounts
WHEN EXISTS (SELECT 1 FROM system_accounts WHERE name = NEW.name AND id <> NEW.id)
BEGIN
  SELECT RAISE(ABORT, 'TK015 A row of system_accounts has this name');
END;
CREATE TRIGGER prevent_holds_capture_replace BEFORE UPDATE OF capture_transaction_id ON holds
WHEN NEW.capture_transaction_id IS NOT OLD.capture_transaction_id
  AND EXISTS (SELECT 1 FROM transactions WHERE id = NEW.capture_transaction_id)
BEGIN
  SELECT RAISE(ABORT, 'TK015 A transaction has this id');
END;

-- Times (T6).
CREATE TRIGGER prevent_wallets_future BEFORE INSERT ON wallets WHEN NEW.created_at > (SELECT now_ms FROM token_clock) + 86400000
BEGIN
  SELECT RAISE(ABORT, 'TK001 created_at is more than 24 hours ahead of the database''s clock');
END;
CREATE TRIGGER prevent_wallets_future_update BEFORE UPDATE OF created_at ON wallets
WHEN NEW.created_at > (SELECT now_ms FROM token_clock) + 86400000
BEGIN
  SELECT RAISE(ABORT, 'TK001 created_at is more than 24 hours ahead of the database''s clock');
END;
CREATE TRIGGER prevent_users_future BEFORE INSERT ON users WHEN NEW.created_at > (SELECT now_ms FROM token_clock) + 86400000
BEGIN
  SELECT RAISE(ABORT, 'TK001 created_at is more than 24 hours ahead of the database''s clock');
END;
CREATE TRIGGER prevent_users_future_update BEFORE UPDATE OF created_at ON users
WHEN NEW.created_at > (SELECT now_ms FROM token_clock) + 86400000
BEGIN
  SELECT RAISE(ABORT, 'TK001 created_at is more than 24 hours ahead of the database''s clock');
END;
CREATE TRIGGER prevent_system_accounts_future BEFORE INSERT ON system_accounts
WHEN NEW.created_at > (SELECT now_ms FROM token_clock) + 86400000
BEGIN
  SELECT RAISE(ABORT, 'TK001 created_at is more than 24 hours ahead of the database''s clock');
END;
CREATE TRIGGER prevent_system_accounts_future_update BEFORE UPDATE OF created_at ON system_accounts
WHEN NEW.created_at > (SELECT now_ms FROM token_clock) + 86400000
BEGIN
  SELECT RAISE(ABORT, 'TK001 created_at is more than 24 hours ahead of the database''s clock');
END;
CREATE TRIGGER prevent_holds_future BEFORE INSERT ON holds WHEN NEW.created_at > (SELECT now_ms FROM token_clock) + 86400000
BEGIN
  SELECT RAISE(ABORT, 'TK001 created_at is more than 24 hours ahead of the database''s clock');
END;
CREATE TRIGGER prevent_reversals_future BEFORE INSERT ON reversals WHEN NEW.created_at > (SELECT now_ms FROM token_clock) + 86400000
BEGIN
  SELECT RAISE(ABORT, 'TK001 created_at is more than 24 hours ahead of the database''s clock');
END;
CREATE TRIGGER prevent_external_identities_future BEFORE INSERT ON external_identities
WHEN NEW.created_at > (SELECT now_ms FROM token_clock) + 86400000
BEGIN
  SELECT RAISE(ABORT, 'TK001 created_at is more than 24 hours ahead of the database''s clock');
END;
CREATE TRIGGER prevent_external_identities_future_update BEFORE UPDATE OF created_at ON external_identities
WHEN NEW.created_at > (SELECT now_ms FROM token_clock) + 86400000
BEGIN
  SELECT RAISE(ABORT, 'TK001 created_at is more than 24 hours ahead of the database''s clock');
END;
CREATE TRIGGER prevent_role_grants_future BEFORE INSERT ON role_grants
WHEN NEW.created_at > (SELECT now_ms FROM token_clock) + 86400000
BEGIN
  SELECT RAISE(ABORT, 'TK001 created_at is more than 24 hours ahead of the database''s clock');
END;
CREATE TRIGGER prevent_role_grants_future_update BEFORE UPDATE OF created_at ON role_grants
WHEN NEW.created_at > (SELECT now_ms FROM token_clock) + 86400000
BEGIN
  SELECT RAISE(ABORT, 'TK001 created_at is more than 24 hours ahead of the database''s clock');
END;
CREATE TRIGGER prevent_api_keys_future BEFORE INSERT ON api_keys WHEN NEW.created_at > (SELECT now_ms FROM token_clock) + 86400000
BEGIN
  SELECT RAISE(ABORT, 'TK001 created_at is more than 24 hours ahead of the database''s clock');
END;
CREATE TRIGGER update_users_updated_at AFTER UPDATE ON users
WHEN NEW.updated_at <> (SELECT max(NEW.created_at, now_ms) FROM token_clock)
BEGIN
  UPDATE users SET updated_at = (SELECT max(NEW.created_at, now_ms) FROM token_clock) WHERE id = NEW.id;
END;
CREATE TRIGGER update_system_accounts_updated_at AFTER UPDATE ON system_accounts
WHEN NEW.updated_at <> (SELECT max(NEW.created_at, now_ms) FROM token_clock)
BEGIN
  UPDATE system_accounts SET updated_at = (SELECT max(NEW.created_at, now_ms) FROM token_clock) WHERE id = NEW.id;
END;
-- Not of balance: the mover sets the time itself.
CREATE TRIGGER update_wallets_updated_at AFTER UPDATE OF is_frozen, created_at ON wallets
WHEN NEW.updated_at <> (SELECT max(NEW.created_at, now_ms) FROM token_clock)
BEGIN
  UPDATE wallets SET updated_at = (SELECT max(NEW.created_at, now_ms) FROM token_clock) WHERE id = NEW.id;
END;

-- Balances. One becomes what the wallet's last entry says, by the mover or by a repair.
CREATE TRIGGER prevent_balance_update BEFORE UPDATE OF balance ON wallets
WHEN NEW.balance <> coalesce(
  (SELECT e.balance FROM wallet_entries e WHERE e.wallet_id = NEW.id ORDER BY e.booked_at DESC, e.version DESC LIMIT 1), 0)
BEGIN
  SELECT RAISE(ABORT, 'TK021 Balances change by inserting transactions only');
END;
CREATE TRIGGER prevent_balance_at_birth BEFORE INSERT ON wallets WHEN NEW.balance <> 0
BEGIN
  SELECT RAISE(ABORT, 'TK021 A wallet starts with a balance of 0');
END;
CREATE TRIGGER check_mover BEFORE UPDATE ON mover
WHEN (NEW.transaction_id IS NOT NULL AND EXISTS (SELECT 1 FROM transactions WHERE id = NEW.transaction_id))
  OR NEW.moved <> OLD.moved AND NEW.moved IS NOT (SELECT max(rowid) FROM transactions)
BEGIN
  SELECT RAISE(ABORT, 'TK022 The mover writes here only');
END;
CREATE TRIGGER only_the_mover_entries BEFORE INSERT ON wallet_entries
WHEN NEW.transaction_id IS NOT (SELECT transaction_id FROM mover) OR NOT EXISTS (SELECT 1 FROM transactions WHERE id = NEW.transaction_id)
BEGIN
  SELECT RAISE(ABORT, 'TK022 Entries are written by the mover only');
END;
CREATE TRIGGER only_the_mover_issuance BEFORE UPDATE ON issuance
WHEN NOT EXISTS (SELECT 1 FROM mover m JOIN transactions t ON t.id = m.transaction_id)
BEGIN
  SELECT RAISE(ABORT, 'TK022 The issuance total is written by the mover only');
END;
CREATE TRIGGER prevent_issuance_delete BEFORE DELETE ON issuance
BEGIN
  SELECT RAISE(ABORT, 'TK022 The issuance total is written by the mover only');
END;
CREATE TRIGGER prevent_mover_delete BEFORE DELETE ON mover
BEGIN
  SELECT RAISE(ABORT, 'TK022 The row of the mover stays');
END;
CREATE TRIGGER check_outbox_insert BEFORE INSERT ON log_outbox
WHEN CASE NEW.kind WHEN 1 THEN NEW.id IS NOT (SELECT transaction_id FROM mover)
       OR NOT EXISTS (SELECT 1 FROM transactions WHERE id = NEW.id) ELSE
       EXISTS (SELECT 1 FROM log_outbox WHERE id = NEW.id) OR EXISTS (SELECT 1 FROM log_outbox WHERE place = NEW.place)
       OR EXISTS (SELECT 1 FROM log_leaves WHERE id = NEW.id)
       OR NOT EXISTS (SELECT 1 FROM wallet_events WHERE id = NEW.id AND kind = NEW.kind) END
BEGIN
  SELECT RAISE(ABORT, 'TK022 The outbox is written by triggers only');
END;

-- A text as JSON, as PostgreSQL's to_json() writes it. json_quote() would do, but Coffer opens the file with trusted_schema off, and then
-- SQLite 3.40 refuses JSON functions in triggers and checks. Its parser allows no deeper nesting, hence three views.
CREATE VIEW escaped_a AS SELECT id,
  replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(actor, '\', '\\'), '"', '\"'), char(1), '\u0001'), char(2), '\u0002'), char(3), '\u0003'), char(4), '\u0004'),
    char(5), '\u0005'), char(6), '\u0006'), char(7), '\u0007'), char(8), '\b'), char(9), '\t') AS actor,
  replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(reason, '\', '\\'), '"', '\"'), char(1), '\u0001'), char(2), '\u0002'), char(3), '\u0003'), char(4), '\u0004'),
    char(5), '\u0005'), char(6), '\u0006'), char(7), '\u0007'), char(8), '\b'), char(9), '\t') AS reason
  FROM wallet_events;
CREATE VIEW escaped_b AS SELECT id,
  replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(actor, char(10), '\n'), char(11), '\u000b'), char(12), '\f'), char(13), '\r'), char(14), '\u000e'), char(15), '\u000f'),
    char(16), '\u0010'), char(17), '\u0011'), char(18), '\u0012'), char(19), '\u0013'), char(20), '\u0014') AS actor,
  replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(reason, char(10), '\n'), char(11), '\u000b'), char(12), '\f'), char(13), '\r'), char(14), '\u000e'), char(15), '\u000f'),
    char(16), '\u0010'), char(17), '\u0011'), char(18), '\u0012'), char(19), '\u0013'), char(20), '\u0014') AS reason
  FROM escaped_a;
CREATE VIEW wallet_event_texts AS SELECT id,
  coalesce('"' || replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(actor, char(21), '\u0015'), char(22), '\u0016'), char(23), '\u0017'), char(24), '\u0018'), char(25), '\u0019'), char(26), '\u001a'),
    char(27), '\u001b'), char(28), '\u001c'), char(29), '\u001d'), char(30), '\u001e'), char(31), '\u001f') || '"', 'null') AS actor,
  coalesce('"' || replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(replace(reason, char(21), '\u0015'), char(22), '\u0016'), char(23), '\u0017'), char(24), '\u0018'), char(25), '\u0019'), char(26), '\u001a'),
    char(27), '\u001b'), char(28), '\u001c'), char(29), '\u001d'), char(30), '\u001e'), char(31), '\u001f') || '"', 'null') AS reason
  FROM escaped_b;

-- Events: the facts as JSON with sorted keys and no spaces.
CREATE TRIGGER record_wallet_event AFTER INSERT ON wallet_events
BEGIN
  INSERT INTO log_outbox (id, kind, at, body) SELECT NEW.id, NEW.kind, NEW.at,
    '{"actor":' || t.actor || ',"amount":' || coalesce('"' || NEW.amount || '"', 'null')
    || ',"reason":' || t.reason || ',"related":' || coalesce('"' || NEW.related_id || '"', 'null')
    || ',"subject":' || coalesce('"' || NEW.subject_id || '"', 'null')
    || ',"wallet":"' || NEW.wallet_id || '"}' FROM wallet_event_texts t WHERE t.id = NEW.id;
END;

CREATE TRIGGER record_freeze AFTER UPDATE OF is_frozen ON wallets WHEN OLD.is_frozen <> NEW.is_frozen
BEGIN
  INSERT INTO wallet_events (id, kind, at, wallet_id, subject_id, related_id, amount, actor, reason)
    SELECT u.id, CASE WHEN NEW.is_frozen THEN 2 ELSE 3 END, c.now_ms, NEW.id, NULL, NULL, NULL,
           substr(coalesce(a.actor, 'sql'), 1, 255), substr(a.reason, 1, 500)
      FROM random_uuid u JOIN token_clock c LEFT JOIN actor a ON a.only_row = 1;
END;
CREATE TRIGGER record_frozen_at_birth AFTER INSERT ON wallets WHEN NEW.is_frozen
BEGIN
  INSERT INTO wallet_events (id, kind, at, wallet_id, subject_id, related_id, amount, actor, reason)
    SELECT u.id, 2, c.now_ms, NEW.id, NULL, NULL, NULL,
           substr(coalesce(a.actor, 'sql'), 1, 255), substr(a.reason, 1, 500)
      FROM random_uuid u JOIN token_clock c LEFT JOIN actor a ON a.only_row = 1;
END;
CREATE TRIGGER record_user_attached AFTER INSERT ON users
BEGIN
  INSERT INTO wallet_events (id, kind, at, wallet_id, subject_id, related_id, amount, actor, reason)
    SELECT u.id, 4, c.now_ms, NEW.wallet_id, NEW.id, NULL, NULL,
           substr(coalesce(a.actor, 'sql'), 1, 255), substr(a.reason, 1, 500)
      FROM random_uuid u JOIN token_clock c LEFT JOIN actor a ON a.only_row = 1;
END;
CREATE TRIGGER record_system_account_attached AFTER INSERT ON system_accounts
BEGIN
  INSERT INTO wallet_events (id, kind, at, wallet_id, subject_id, related_id, amount, actor, reason)
    SELECT u.id, 5, c.now_ms, NEW.wallet_id, NEW.id, NULL, NULL,
           substr(coalesce(a.actor, 'sql'), 1, 255), substr(a.reason, 1, 500)
      FROM random_uuid u JOIN token_clock c LEFT JOIN actor a ON a.only_row = 1;
END;
CREATE TRIGGER record_deleted AFTER UPDATE OF deleted_at ON users WHEN (OLD.deleted_at IS NULL) <> (NEW.deleted_at IS NULL)
BEGIN
  INSERT INTO wallet_events (id, kind, at, wallet_id, subject_id, related_id, amount, actor, reason)
    SELECT u.id, CASE WHEN NEW.deleted_at IS NULL THEN 7 ELSE 6 END, c.now_ms, NEW.wallet_id, NEW.id, NULL, NULL,
           substr(coalesce(a.actor, 'sql'), 1, 255), substr(a.reason, 1, 500)
      FROM random_uuid u JOIN token_clock c LEFT JOIN actor a ON a.only_row = 1;
END;
CREATE TRIGGER record_removed AFTER DELETE ON users
BEGIN
  INSERT INTO wallet_events (id, kind, at, wallet_id, subject_id, related_id, amount, actor, reason)
    SELECT u.id, 8, c.now_ms, OLD.wallet_id, OLD.id, NULL, NULL,
           substr(coalesce(a.actor, 'sql'), 1, 255), substr(a.reason, 1, 500)
      FROM random_uuid u JOIN token_clock c LEFT JOIN actor a ON a.only_row = 1;
END;

-- Owners (T5). One writer at a time: there is nothing to lock.
CREATE TRIGGER attach_users BEFORE INSERT ON users
BEGIN
  SELECT CASE
    WHEN NOT EXISTS (SELECT 1 FROM wallets WHERE id = NEW.wallet_id) THEN RAISE(ABORT, 'TK031 Wallet not found')
    WHEN EXISTS (SELECT 1 FROM users WHERE wallet_id = NEW.wallet_id AND id <> NEW.id)
      OR EXISTS (SELECT 1 FROM system_accounts WHERE wallet_id = NEW.wallet_id AND id <> NEW.id)
      THEN RAISE(ABORT, 'TK030 The wallet already has an owner') END;
END;
CREATE TRIGGER attach_system_accounts BEFORE INSERT ON system_accounts
BEGIN
  SELECT CASE
    WHEN NOT EXISTS (SELECT 1 FROM wallets WHERE id = NEW.wallet_id) THEN RAISE(ABORT, 'TK031 Wallet not found')
    WHEN EXISTS (SELECT 1 FROM users WHERE wallet_id = NEW.wallet_id AND id <> NEW.id)
      OR EXISTS (SELECT 1 FROM system_accounts WHERE wallet_id = NEW.wallet_id AND id <> NEW.id)
      THEN RAISE(ABORT, 'TK030 The wallet already has an owner')
    WHEN (SELECT is_frozen FROM wallets WHERE id = NEW.wallet_id)
      THEN RAISE(ABORT, 'TK032 A frozen wallet cannot become a system wallet') END;
END;
CREATE TRIGGER change_user BEFORE UPDATE OF deleted_at ON users
WHEN OLD.deleted_at IS NOT NULL AND NEW.deleted_at IS NOT NULL AND OLD.deleted_at <> NEW.deleted_at
BEGIN
  SELECT RAISE(ABORT, 'TK034 deleted_at of a deleted user can only become NULL');
END;
CREATE TRIGGER prevent_user_delete BEFORE DELETE ON users
WHEN EXISTS (SELECT 1 FROM wallet_entries WHERE wallet_id = OLD.wallet_id) OR EXISTS (SELECT 1 FROM holds WHERE wallet_id = OLD.wallet_id)
  OR EXISTS (SELECT 1 FROM holds WHERE to_wallet_id = OLD.wallet_id) OR EXISTS (SELECT 1 FROM external_identities WHERE user_id = OLD.id)
BEGIN
  SELECT RAISE(ABORT, 'TK024 A user with history cannot be deleted; set deleted_at');
END;
CREATE TRIGGER prevent_wallet_delete BEFORE DELETE ON wallets
WHEN EXISTS (SELECT 1 FROM wallet_entries WHERE wallet_id = OLD.id) OR EXISTS (SELECT 1 FROM holds WHERE wallet_id = OLD.id)
  OR EXISTS (SELECT 1 FROM holds WHERE to_wallet_id = OLD.id) OR EXISTS (SELECT 1 FROM users WHERE wallet_id = OLD.id)
  OR EXISTS (SELECT 1 FROM system_accounts WHERE wallet_id = OLD.id) OR EXISTS (SELECT 1 FROM wallet_limits WHERE wallet_id = OLD.id)
BEGIN
  SELECT RAISE(ABORT, 'TK024 A wallet with an owner or with history cannot be deleted');
END;
CREATE TRIGGER check_system_wallet_freeze BEFORE UPDATE OF is_frozen ON wallets
WHEN NEW.is_frozen AND EXISTS (SELECT 1 FROM system_accounts WHERE wallet_id = NEW.id)
BEGIN
  SELECT RAISE(ABORT, 'TK033 System wallets cannot be frozen');
END;
CREATE TRIGGER check_limits_wallet BEFORE INSERT ON wallet_limits WHEN NOT EXISTS (SELECT 1 FROM wallets WHERE id = NEW.wallet_id)
BEGIN
  SELECT RAISE(ABORT, 'TK031 Wallet not found');
END;
CREATE TRIGGER check_identity_user BEFORE INSERT ON external_identities WHEN NOT EXISTS (SELECT 1 FROM users WHERE id = NEW.user_id)
BEGIN
  SELECT RAISE(ABORT, 'TK031 User not found');
END;
CREATE TRIGGER check_api_key_change BEFORE UPDATE ON api_keys
WHEN (OLD.id, OLD.name, OLD.secret_hash, OLD.scopes, OLD.created_by, OLD.created_at, OLD.expires_at)
    IS NOT (NEW.id, NEW.name, NEW.secret_hash, NEW.scopes, NEW.created_by, NEW.created_at, NEW.expires_at)
  OR (OLD.revoked_at IS NOT NULL AND NEW.revoked_at IS NOT OLD.revoked_at)
BEGIN
  SELECT RAISE(ABORT, 'TK061 An API key can only be used and revoked');
END;

-- The mover: judged before the row goes in, moved after it. An id that exists is left to the primary key, with nothing judged; only OR
-- REPLACE gets such a row past it, and is caught below.
CREATE TRIGGER check_transaction_balance BEFORE INSERT ON transactions
WHEN NOT EXISTS (SELECT 1 FROM transactions WHERE id = NEW.id)
BEGIN
  SELECT CASE
    WHEN NEW.created_at > c.now_ms + 86400000 THEN RAISE(ABORT, 'TK001 created_at is more than 24 hours ahead of the database''s clock')
    WHEN EXISTS (SELECT 1 FROM wallet_events WHERE id = NEW.id) THEN RAISE(ABORT, 'TK015 A row of wallet_events has this id')
    WHEN s.id IS NULL THEN RAISE(ABORT, 'TK002 Sender wallet not found')
    WHEN s.is_frozen THEN RAISE(ABORT, 'TK003 Sender wallet is frozen')
    WHEN EXISTS (SELECT 1 FROM users WHERE wallet_id = NEW.from_wallet_id AND deleted_at IS NOT NULL)
      THEN RAISE(ABORT, 'TK004 Sender wallet belongs to a deleted user')
    WHEN NOT NEW.amount > 0 THEN RAISE(ABORT, 'CHECK constraint failed: amount_positive')
    WHEN NEW.from_wallet_id = NEW.to_wallet_id THEN CASE
      WHEN NOT EXISTS (SELECT 1 FROM system_accounts WHERE wallet_id = NEW.from_wallet_id)
        THEN RAISE(ABORT, 'TK005 Only system account wallets can perform self-transfers (issuance)')
      WHEN (SELECT total FROM issuance) > 9223372036854775807 - NEW.amount
        THEN RAISE(ABORT, 'TK011 Total issuance would pass 9223372036854775807')
      WHEN s.balance > 9223372036854775807 - NEW.amount
        THEN RAISE(ABORT, 'TK012 The recipient''s balance would pass 9223372036854775807') END
    WHEN r.id IS NULL THEN RAISE(ABORT, 'TK006 Recipient wallet not found')
    WHEN r.is_frozen THEN RAISE(ABORT, 'TK007 Recipient wallet is frozen')
    WHEN EXISTS (SELECT 1 FROM users WHERE wallet_id = NEW.to_wallet_id AND deleted_at IS NOT NULL)
      THEN RAISE(ABORT, 'TK008 Recipient wallet belongs to a deleted user')
    WHEN s.balance < NEW.amount THEN RAISE(ABORT, 'TK009 Insufficient balance')
    WHEN s.balance - h.held < NEW.amount THEN RAISE(ABORT, 'TK010 Insufficient balance: the rest is held')
    WHEN r.balance > 9223372036854775807 - NEW.amount THEN RAISE(ABORT, 'TK012 The recipient''s balance would pass 9223372036854775807')
    WHEN NEW.amount > l.per_transfer THEN RAISE(ABORT, 'TK013 Above the wallet''s limit per transfer')
    WHEN NEW.amount > l.per_day - CASE WHEN l.day = c.now_ms / 86400000 THEN l.spent ELSE 0 END
      THEN RAISE(ABORT, 'TK014 Above the wallet''s limit per day') END
    FROM token_clock c
    LEFT JOIN wallets s ON s.id = NEW.from_wallet_id
    LEFT JOIN wallets r ON r.id = NEW.to_wallet_id
    LEFT JOIN wallet_holds h ON h.wallet_id = NEW.from_wallet_id
    LEFT JOIN wallet_limits l ON l.wallet_id = NEW.from_wallet_id;
  UPDATE mover SET transaction_id = NEW.id, now_ms = (SELECT now_ms FROM token_clock);
END;
-- VALUES with a lookup for each value, because INSERT … SELECT into a table with triggers goes through a temporary table. First of all,
-- a row that OR REPLACE got past the judge, or put in the place of another, is refused.
CREATE TRIGGER update_balances_after_transaction AFTER INSERT ON transactions WHEN NEW.from_wallet_id <> NEW.to_wallet_id
BEGIN
  SELECT RAISE(ABORT, 'TK020 Transactions are immutable and cannot be modified or deleted') FROM mover
   WHERE transaction_id IS NOT NEW.id OR NEW.rowid <> moved + 1;
  INSERT INTO wallet_entries (wallet_id, version, transaction_id, delta, balance, booked_at) VALUES (NEW.from_wallet_id,
    coalesce((SELECT e.version FROM wallet_entries e WHERE e.wallet_id = NEW.from_wallet_id ORDER BY e.booked_at DESC, e.version DESC LIMIT 1), 0) + 1,
    NEW.id, -NEW.amount,
    coalesce((SELECT e.balance FROM wallet_entries e WHERE e.wallet_id = NEW.from_wallet_id ORDER BY e.booked_at DESC, e.version DESC LIMIT 1), 0) - NEW.amount,
    max((SELECT now_ms FROM mover),
      coalesce((SELECT e.booked_at FROM wallet_entries e WHERE e.wallet_id = NEW.from_wallet_id ORDER BY e.booked_at DESC, e.version DESC LIMIT 1), 0)));
  INSERT INTO wallet_entries (wallet_id, version, transaction_id, delta, balance, booked_at) VALUES (NEW.to_wallet_id,
    coalesce((SELECT e.version FROM wallet_entries e WHERE e.wallet_id = NEW.to_wallet_id ORDER BY e.booked_at DESC, e.version DESC LIMIT 1), 0) + 1,
    NEW.id, NEW.amount,
    coalesce((SELECT e.balance FROM wallet_entries e WHERE e.wallet_id = NEW.to_wallet_id ORDER BY e.booked_at DESC, e.version DESC LIMIT 1), 0) + NEW.amount,
    max((SELECT now_ms FROM mover),
      coalesce((SELECT e.booked_at FROM wallet_entries e WHERE e.wallet_id = NEW.to_wallet_id ORDER BY e.booked_at DESC, e.version DESC LIMIT 1), 0)));
  UPDATE wallets SET balance = balance - NEW.amount, updated_at = max(created_at, (SELECT now_ms FROM mover))
   WHERE id = NEW.from_wallet_id;
  UPDATE wallets SET balance = balance + NEW.amount, updated_at = max(created_at, (SELECT now_ms FROM mover))
   WHERE id = NEW.to_wallet_id;
  UPDATE wallet_limits SET
      spent = NEW.amount + CASE WHEN day = (SELECT now_ms / 86400000 FROM mover) THEN spent ELSE 0 END,
      day = (SELECT now_ms / 86400000 FROM mover)
   WHERE wallet_id = NEW.from_wallet_id AND per_day IS NOT NULL;
  INSERT INTO log_outbox (id, kind, at) VALUES (NEW.id, 1, (SELECT now_ms FROM mover));
  UPDATE mover SET transaction_id = NULL, moved = NEW.rowid;
END;
CREATE TRIGGER update_balance_after_issuance AFTER INSERT ON transactions WHEN NEW.from_wallet_id = NEW.to_wallet_id
BEGIN
  SELECT RAISE(ABORT, 'TK020 Transactions are immutable and cannot be modified or deleted') FROM mover
   WHERE transaction_id IS NOT NEW.id OR NEW.rowid <> moved + 1;
  INSERT INTO wallet_entries (wallet_id, version, transaction_id, delta, balance, booked_at) VALUES (NEW.to_wallet_id,
    coalesce((SELECT e.version FROM wallet_entries e WHERE e.wallet_id = NEW.to_wallet_id ORDER BY e.booked_at DESC, e.version DESC LIMIT 1), 0) + 1,
    NEW.id, NEW.amount,
    coalesce((SELECT e.balance FROM wallet_entries e WHERE e.wallet_id = NEW.to_wallet_id ORDER BY e.booked_at DESC, e.version DESC LIMIT 1), 0) + NEW.amount,
    max((SELECT now_ms FROM mover),
      coalesce((SELECT e.booked_at FROM wallet_entries e WHERE e.wallet_id = NEW.to_wallet_id ORDER BY e.booked_at DESC, e.version DESC LIMIT 1), 0)));
  UPDATE wallets SET balance = balance + NEW.amount, updated_at = max(created_at, (SELECT now_ms FROM mover))
   WHERE id = NEW.to_wallet_id;
  UPDATE issuance SET total = total + NEW.amount;
  INSERT INTO log_outbox (id, kind, at) VALUES (NEW.id, 1, (SELECT now_ms FROM mover));
  UPDATE mover SET transaction_id = NULL, moved = NEW.rowid;
END;

-- Holds.
CREATE TRIGGER open_hold BEFORE INSERT ON holds
BEGIN
  SELECT CASE
    WHEN NEW.state <> 'open' THEN RAISE(ABORT, 'TK041 A hold begins open')
    WHEN p.id IS NULL THEN RAISE(ABORT, 'TK002 Sender wallet not found')
    WHEN p.is_frozen THEN RAISE(ABORT, 'TK003 Sender wallet is frozen')
    WHEN EXISTS (SELECT 1 FROM users WHERE wallet_id = NEW.wallet_id AND deleted_at IS NOT NULL)
      THEN RAISE(ABORT, 'TK004 Sender wallet belongs to a deleted user')
    WHEN r.id IS NULL THEN RAISE(ABORT, 'TK006 Recipient wallet not found')
    WHEN r.is_frozen THEN RAISE(ABORT, 'TK007 Recipient wallet is frozen')
    WHEN EXISTS (SELECT 1 FROM users WHERE wallet_id = NEW.to_wallet_id AND deleted_at IS NOT NULL)
      THEN RAISE(ABORT, 'TK008 Recipient wallet belongs to a deleted user')
    WHEN NOT NEW.amount > 0 THEN RAISE(ABORT, 'CHECK constraint failed: hold_amount_positive')
    WHEN p.balance < NEW.amount THEN RAISE(ABORT, 'TK009 Insufficient balance')
    WHEN p.balance - h.held < NEW.amount THEN RAISE(ABORT, 'TK010 Insufficient balance: the rest is held')
    WHEN h.open_count >= 1000 THEN RAISE(ABORT, 'TK040 The wallet has 1,000 open holds') END
    FROM clock LEFT JOIN wallets p ON p.id = NEW.wallet_id LEFT JOIN wallets r ON r.id = NEW.to_wallet_id
    LEFT JOIN wallet_holds h ON h.wallet_id = NEW.wallet_id;
END;
CREATE TRIGGER count_hold AFTER INSERT ON holds
BEGIN
  UPDATE wallet_holds SET held = held + NEW.amount, open_count = open_count + 1 WHERE wallet_id = NEW.wallet_id;
  INSERT INTO wallet_holds (wallet_id, held, open_count)
    SELECT NEW.wallet_id, NEW.amount, 1 WHERE NOT EXISTS (SELECT 1 FROM wallet_holds WHERE wallet_id = NEW.wallet_id);
END;

CREATE TRIGGER record_hold_opened AFTER INSERT ON holds
BEGIN
  INSERT INTO wallet_events (id, kind, at, wallet_id, subject_id, related_id, amount, actor, reason)
    SELECT u.id, 9, c.now_ms, NEW.wallet_id, NEW.id, NEW.to_wallet_id, NEW.amount,
           substr(coalesce(a.actor, 'sql'), 1, 255), substr(a.reason, 1, 500)
      FROM random_uuid u JOIN token_clock c LEFT JOIN actor a ON a.only_row = 1;
END;
CREATE TRIGGER check_hold_change BEFORE UPDATE ON holds
BEGIN
  SELECT CASE
    WHEN (OLD.id, OLD.wallet_id, OLD.to_wallet_id, OLD.amount, OLD.created_by, OLD.memo, OLD.created_at, OLD.expires_at)
        IS NOT (NEW.id, NEW.wallet_id, NEW.to_wallet_id, NEW.amount, NEW.created_by, NEW.memo, NEW.created_at, NEW.expires_at)
        OR OLD.state <> 'open' OR NEW.state = 'open'
      THEN RAISE(ABORT, 'TK041 Only an open hold changes, and only by ending')
    WHEN NEW.state = 'captured' AND c.now_ms >= OLD.expires_at THEN RAISE(ABORT, 'TK042 The hold has expired')
    WHEN NEW.state = 'expired' AND c.now_ms < OLD.expires_at THEN RAISE(ABORT, 'TK042 The hold has not expired yet') END
    FROM token_clock c;
END;
-- To capture is to end the hold as captured; the transaction is inserted here, after the tokens have stopped being held.
CREATE TRIGGER end_hold AFTER UPDATE ON holds
BEGIN
  UPDATE wallet_holds SET held = held - NEW.amount, open_count = open_count - 1 WHERE wallet_id = NEW.wallet_id;
  INSERT INTO transactions (id, from_wallet_id, to_wallet_id, amount, transaction_type, created_at)
    SELECT NEW.capture_transaction_id, NEW.wallet_id, NEW.to_wallet_id, NEW.captured, 1, NEW.ended_at WHERE NEW.state = 'captured';
  INSERT INTO wallet_events (id, kind, at, wallet_id, subject_id, related_id, amount, actor, reason)
    SELECT u.id, CASE NEW.state WHEN 'captured' THEN 10 WHEN 'released' THEN 11 ELSE 12 END, c.now_ms, NEW.wallet_id, NEW.id,
           NEW.capture_transaction_id, CASE NEW.state WHEN 'captured' THEN NEW.captured ELSE NEW.amount END,
           substr(coalesce(a.actor, 'sql'), 1, 255), substr(a.reason, 1, 500)
      FROM random_uuid u JOIN token_clock c LEFT JOIN actor a ON a.only_row = 1;
END;

CREATE TRIGGER only_triggers_holds_insert BEFORE INSERT ON wallet_holds
WHEN (NEW.held, NEW.open_count) IS NOT (
  SELECT coalesce(sum(amount), 0), count(*) FROM holds WHERE wallet_id = NEW.wallet_id AND state = 'open')
BEGIN
  SELECT RAISE(ABORT, 'TK022 The summary of holds follows the table holds');
END;
CREATE TRIGGER only_triggers_holds_update BEFORE UPDATE ON wallet_holds
WHEN (NEW.held, NEW.open_count) IS NOT (
  SELECT coalesce(sum(amount), 0), count(*) FROM holds WHERE wallet_id = NEW.wallet_id AND state = 'open')
BEGIN
  SELECT RAISE(ABORT, 'TK022 The summary of holds follows the table holds');
END;
CREATE TRIGGER only_triggers_holds_delete BEFORE DELETE ON wallet_holds
BEGIN
  SELECT RAISE(ABORT, 'TK022 The summary of holds follows the table holds');
END;
CREATE TRIGGER only_triggers_holds_move BEFORE UPDATE OF wallet_id ON wallet_holds WHEN OLD.wallet_id <> NEW.wallet_id
BEGIN
  SELECT RAISE(ABORT, 'TK022 The summary of holds follows the table holds');
END;

-- Details and reversals belong to transactions that are not in the log yet: the leaf speaks of them.
CREATE TRIGGER check_details BEFORE INSERT ON transaction_details
WHEN NOT EXISTS (SELECT 1 FROM log_outbox WHERE id = NEW.transaction_id AND kind = 1)
BEGIN
  SELECT RAISE(ABORT, 'TK054 Details need a transaction that is not in the log yet');
END;
CREATE TRIGGER check_erasure BEFORE UPDATE ON transaction_details
WHEN OLD.erased_at IS NOT NULL OR NEW.erased_at IS NULL
  OR (OLD.transaction_id, OLD.memo_hash, OLD.metadata_hash, OLD.actor)
    IS NOT (NEW.transaction_id, NEW.memo_hash, NEW.metadata_hash, NEW.actor)
  OR coalesce(NEW.memo, NEW.metadata, NEW.memo_salt, NEW.metadata_salt) IS NOT NULL
BEGIN
  SELECT RAISE(ABORT, 'TK060 Details can only be erased, once');
END;
CREATE TRIGGER check_reversal BEFORE INSERT ON reversals
BEGIN
  SELECT CASE
    WHEN o.id IS NULL OR r.id IS NULL THEN RAISE(ABORT, 'TK050 The reversal or its original does not exist')
    WHEN o.from_wallet_id = o.to_wallet_id THEN RAISE(ABORT, 'TK052 An issuance cannot be reversed')
    WHEN EXISTS (SELECT 1 FROM reversals WHERE reversal_id = NEW.transaction_id)
      OR EXISTS (SELECT 1 FROM reversals WHERE transaction_id = NEW.reversal_id)
      THEN RAISE(ABORT, 'TK053 A reversal cannot be reversed')
    WHEN (o.from_wallet_id, o.to_wallet_id, o.amount) IS NOT (r.to_wallet_id, r.from_wallet_id, r.amount)
      THEN RAISE(ABORT, 'TK051 A reversal returns the whole amount to the sender')
    WHEN NOT EXISTS (SELECT 1 FROM log_outbox WHERE id = NEW.reversal_id) THEN RAISE(ABORT, 'TK054 The reversal is already in the log') END
    FROM clock LEFT JOIN transactions o ON o.id = NEW.transaction_id LEFT JOIN transactions r ON r.id = NEW.reversal_id;
END;
CREATE TRIGGER record_reversal AFTER INSERT ON reversals
BEGIN
  INSERT INTO wallet_events (id, kind, at, wallet_id, subject_id, related_id, amount, actor, reason)
    SELECT u.id, 13, c.now_ms, t.from_wallet_id, NEW.transaction_id, NEW.reversal_id, t.amount,
           substr(coalesce(a.actor, 'sql'), 1, 255), substr(a.reason, 1, 500)
      FROM random_uuid u JOIN token_clock c JOIN transactions t ON t.id = NEW.transaction_id LEFT JOIN actor a ON a.only_row = 1;
END;

-- The log. A sequencer reads the outbox, inserts leaves and nodes, deletes those outbox rows, and updates log_head.
CREATE TRIGGER check_leaves BEFORE INSERT ON log_leaves
WHEN NEW.position <> coalesce((SELECT max(position) FROM log_leaves), -1) + 1 OR EXISTS (SELECT 1 FROM log_leaves WHERE id = NEW.id)
  OR NOT EXISTS (SELECT 1 FROM log_outbox WHERE id = NEW.id AND kind = NEW.kind)
BEGIN
  SELECT RAISE(ABORT, 'TK071 A leaf takes the next position and comes from the outbox');
END;
CREATE TRIGGER check_outbox_delete BEFORE DELETE ON log_outbox WHEN NOT EXISTS (SELECT 1 FROM log_leaves WHERE id = OLD.id)
BEGIN
  SELECT RAISE(ABORT, 'TK070 An outbox row leaves only into the log');
END;
CREATE TRIGGER check_log_head BEFORE UPDATE ON log_head WHEN NEW.size <> coalesce((SELECT max(position) FROM log_leaves), -1) + 1
BEGIN
  SELECT RAISE(ABORT, 'TK072 log_head has the number of leaves');
END;
CREATE TRIGGER prevent_log_head_delete BEFORE DELETE ON log_head
BEGIN
  SELECT RAISE(ABORT, 'TK072 log_head has the number of leaves');
END;
CREATE TRIGGER check_checkpoint BEFORE INSERT ON checkpoints WHEN NEW.size > (SELECT size FROM log_head)
BEGIN
  SELECT RAISE(ABORT, 'TK073 The log has no such size');
END;

-- Reads.

CREATE VIEW wallet_owners AS
  SELECT wallet_id, 'user' AS owner_type, id AS owner_id, username AS owner_name FROM users WHERE deleted_at IS NULL
  UNION ALL
  SELECT wallet_id, 'system_account' AS owner_type, id AS owner_id, name AS owner_name FROM system_accounts;

-- All that decides a transfer, by wallet.
CREATE VIEW wallet_states AS
  SELECT w.id, w.balance, w.is_frozen,
         EXISTS (SELECT 1 FROM users u WHERE u.wallet_id = w.id AND u.deleted_at IS NOT NULL) AS is_deleted,
         EXISTS (SELECT 1 FROM system_accounts s WHERE s.wallet_id = w.id) AS is_system,
         coalesce(h.held, 0) AS held, coalesce(h.open_count, 0) AS open_holds, l.per_transfer, l.per_day,
         CASE WHEN l.day = (SELECT now_ms FROM token_clock) / 86400000 THEN l.spent ELSE 0 END AS spent_today
    FROM wallets w
    LEFT JOIN wallet_holds h ON h.wallet_id = w.id
    LEFT JOIN wallet_limits l ON l.wallet_id = w.id;

-- Wallets whose balance is not what their history gives (T4). What a wallet ever received may pass 63 bits, so the
-- sum is made in two halves.
CREATE VIEW wallet_consistency AS
  SELECT * FROM (
    SELECT w.id AS wallet_id, w.balance,
           coalesce((t.high + t.low / 4294967296) * 4294967296 + t.low % 4294967296, 0) AS history_balance,
           coalesce((SELECT e.balance FROM wallet_entries e WHERE e.wallet_id = w.id ORDER BY e.booked_at DESC, e.version DESC LIMIT 1), 0)
             AS entries_balance
      FROM wallets w
      LEFT JOIN (SELECT x.wallet_id, sum(x.delta / 4294967296) AS high, sum(x.delta % 4294967296) AS low
                   FROM (SELECT to_wallet_id AS wallet_id, amount AS delta FROM transactions
                         UNION ALL
                         SELECT from_wallet_id, -amount FROM transactions WHERE from_wallet_id <> to_wallet_id) x
                  GROUP BY x.wallet_id) t ON t.wallet_id = w.id)
   WHERE balance <> history_balance OR balance <> entries_balance;

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
         s.current_total_balance = s.total_issuance AND NOT EXISTS (SELECT 1 FROM wallet_consistency) AS is_consistent,
         (SELECT now_ms FROM token_clock) AS checked_at
    FROM (SELECT (SELECT coalesce(sum(balance), 0) FROM wallets) AS current_total_balance,
                 (SELECT coalesce(sum(amount), 0) FROM transactions WHERE from_wallet_id = to_wallet_id) AS total_issuance) s;

CREATE VIEW orphan_wallets AS
  SELECT w.id AS wallet_id, w.balance FROM wallets w
   WHERE NOT EXISTS (SELECT 1 FROM users u WHERE u.wallet_id = w.id)
     AND NOT EXISTS (SELECT 1 FROM system_accounts s WHERE s.wallet_id = w.id);

CREATE VIEW token_statistics_now AS
  SELECT (SELECT coalesce(sum(t.amount), 0) FROM transactions t
           WHERE t.from_wallet_id = t.to_wallet_id
             AND EXISTS (SELECT 1 FROM system_accounts sa WHERE sa.wallet_id = t.from_wallet_id)) AS total_issuance,
         (SELECT coalesce(sum(w.balance), 0) FROM wallets w
           WHERE EXISTS (SELECT 1 FROM users u WHERE u.wallet_id = w.id AND u.deleted_at IS NULL)) AS circulating_supply,
         (SELECT coalesce(sum(w.balance), 0) FROM wallets w
           WHERE EXISTS (SELECT 1 FROM system_accounts sa WHERE sa.wallet_id = w.id)) AS system_pool,
         (SELECT count(*) FROM users WHERE deleted_at IS NULL) AS total_users,
         (SELECT count(*) FROM transactions) AS total_transactions,
         (SELECT now_ms FROM token_clock) AS updated_at;
