-- The wallet transaction manager. docs/formats/wallet.md describes every table. Times are milliseconds since 1970, hashes 32 bytes in
-- the order of the wire, amounts satoshi. Ids are unique in the whole table and never used twice.

-- Where the wallets stand on the chain. Coinbases at or below mature_height may be spent: the one place that says so (W7).
CREATE TABLE sync_state (
  only_row      INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
  position      BLOB    NOT NULL,              -- as bus::encode_position writes it
  tip_height    INTEGER NOT NULL CHECK (tip_height >= -1),  -- -1 at Origin
  mature_height INTEGER NOT NULL GENERATED ALWAYS AS (tip_height - 100) STORED
) STRICT;
INSERT INTO sync_state (only_row, position, tip_height) VALUES (1, x'', -1);

CREATE TABLE wallets (
  id              INTEGER PRIMARY KEY AUTOINCREMENT,
  name            TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  birthday_height INTEGER NOT NULL CHECK (birthday_height >= 0),
  gap_limit       INTEGER NOT NULL CHECK (gap_limit BETWEEN 1 AND 100000),
  created_at      INTEGER NOT NULL,
  rescan_next     INTEGER,                     -- the next height of a rescan under way, and its last
  rescan_to       INTEGER,
  rescans_asked   INTEGER NOT NULL DEFAULT 0,  -- counts requests: one that comes while a rescan is at work is not taken for done with it
  CONSTRAINT uidx_wallets_name UNIQUE (name),
  CONSTRAINT check_rescan_pair CHECK ((rescan_next IS NULL) = (rescan_to IS NULL))
) STRICT;

-- The best chain, as far as wallets have transactions in it.
CREATE TABLE blocks (
  block_height    INTEGER NOT NULL PRIMARY KEY CHECK (block_height >= 0),
  header_hash     BLOB    NOT NULL CHECK (length(header_hash) = 32),
  block_timestamp INTEGER NOT NULL,
  CONSTRAINT uidx_blocks_hash UNIQUE (header_hash)
) STRICT;

CREATE TABLE accounts (
  wallet_id INTEGER NOT NULL REFERENCES wallets (id) ON DELETE RESTRICT,
  id        INTEGER PRIMARY KEY AUTOINCREMENT,
  name      TEXT    NOT NULL CHECK (length(name) BETWEEN 1 AND 100),
  CONSTRAINT pidx_accounts UNIQUE (wallet_id, id),
  CONSTRAINT uidx_accounts_name UNIQUE (wallet_id, name)
) STRICT;

CREATE TABLE descriptors (
  wallet_id  INTEGER NOT NULL REFERENCES wallets (id) ON DELETE RESTRICT,
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  account_id INTEGER NOT NULL,
  branch     INTEGER NOT NULL CHECK (branch IN (0, 1)),  -- 1: change
  descriptor TEXT    NOT NULL,                            -- canonical, with checksum
  is_ranged  INTEGER NOT NULL CHECK (is_ranged IN (0, 1)),
  next_index INTEGER NOT NULL CHECK (next_index >= 0),    -- the first that was not given out
  derived_to INTEGER NOT NULL CHECK (derived_to >= 0),    -- the first that is not watched
  CONSTRAINT pidx_descriptors UNIQUE (wallet_id, id),
  CONSTRAINT uidx_descriptors_text UNIQUE (wallet_id, descriptor),
  CONSTRAINT fkey_descriptors_account FOREIGN KEY (wallet_id, account_id) REFERENCES accounts (wallet_id, id) ON DELETE RESTRICT
) STRICT;
CREATE INDEX idx_descriptors_by_account ON descriptors (wallet_id, account_id);

CREATE TABLE addresses (
  wallet_id      INTEGER NOT NULL REFERENCES wallets (id) ON DELETE RESTRICT,
  id             INTEGER PRIMARY KEY AUTOINCREMENT,
  account_id     INTEGER NOT NULL,
  descriptor_id  INTEGER,                      -- NULL: imported by itself
  branch         INTEGER CHECK (branch IN (0, 1)),
  address_index  INTEGER CHECK (address_index >= 0),
  script_type    TEXT    NOT NULL,
  script_pub_key BLOB    NOT NULL CHECK (length(script_pub_key) BETWEEN 1 AND 10000),
  script_hash    BLOB    NOT NULL CHECK (length(script_hash) = 32),  -- SHA-256 of the script: what indexes hold
  given_out_at   INTEGER,                      -- when it was shown to somebody
  CONSTRAINT pidx_addresses UNIQUE (wallet_id, id),
  CONSTRAINT uidx_addresses_script UNIQUE (wallet_id, script_hash),
  CONSTRAINT fkey_addresses_account FOREIGN KEY (wallet_id, account_id) REFERENCES accounts (wallet_id, id) ON DELETE RESTRICT,
  CONSTRAINT fkey_addresses_descriptor FOREIGN KEY (wallet_id, descriptor_id) REFERENCES descriptors (wallet_id, id) ON DELETE RESTRICT
) STRICT;
CREATE INDEX idx_addresses_by_script ON addresses (script_hash);
CREATE INDEX idx_addresses_by_account ON addresses (wallet_id, account_id, id);
CREATE INDEX idx_addresses_by_descriptor ON addresses (wallet_id, descriptor_id, address_index);

CREATE TABLE transactions (
  wallet_id     INTEGER NOT NULL REFERENCES wallets (id) ON DELETE RESTRICT,
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  tx_hash       BLOB    NOT NULL CHECK (length(tx_hash) = 32),
  block_height  INTEGER REFERENCES blocks (block_height) ON DELETE SET NULL,  -- NULL: unconfirmed
  block_index   INTEGER CHECK (block_index >= 0),                             -- its place in the block
  status        TEXT    NOT NULL DEFAULT 'pending',
  reason        TEXT,                          -- of replaced, failed and orphaned: why
  received_time INTEGER NOT NULL,
  changed_at    INTEGER NOT NULL,              -- of the status
  is_coinbase   INTEGER NOT NULL DEFAULT 0 CHECK (is_coinbase IN (0, 1)),
  in_mempool    INTEGER NOT NULL DEFAULT 0 CHECK (in_mempool IN (0, 1)),
  is_stub       INTEGER NOT NULL DEFAULT 0 CHECK (is_stub IN (0, 1)),  -- pruned, but a kept coin names it (W6)
  user_confirmed INTEGER NOT NULL DEFAULT 0 CHECK (user_confirmed IN (0, 1)),  -- a user named its block, and no block of the chain has had it yet
  -- The tip when the wallet met the transaction, or its block if it came with one; -1 before the first.
  received_height INTEGER NOT NULL DEFAULT -1,
  -- Where it stands in lists: height * 2^32 + place in the block; active ones without a block come last, invalid ones after the block at
  -- which they were met, whenever the wallet met it (a rescan finds old blocks late).
  chain_position INTEGER GENERATED ALWAYS AS (
    CASE WHEN block_height > 2147483646 THEN 2147483646 * 4294967296 + block_index
         WHEN block_height IS NOT NULL THEN block_height * 4294967296 + block_index
         WHEN status IN ('pending', 'published') THEN 9223372036854775807
         ELSE received_height * 4294967296 + 4294967295 END) VIRTUAL,
  CONSTRAINT pidx_transactions UNIQUE (wallet_id, id),
  CONSTRAINT uidx_transactions_hash UNIQUE (wallet_id, tx_hash),
  CONSTRAINT valid_status CHECK (status IN ('pending', 'published', 'replaced', 'failed', 'orphaned')),
  CONSTRAINT check_confirmed_published CHECK (block_height IS NULL OR status = 'published'),
  CONSTRAINT check_block_pair CHECK ((block_height IS NULL) = (block_index IS NULL)),
  CONSTRAINT check_coinbase_not_pending CHECK (NOT (is_coinbase AND status = 'pending')),
  CONSTRAINT check_coinbase_confirmation_state CHECK (
    NOT is_coinbase OR (block_height IS NOT NULL AND status = 'published') OR (block_height IS NULL AND status = 'orphaned')),
  CONSTRAINT check_orphaned_is_coinbase CHECK (status <> 'orphaned' OR is_coinbase)
) STRICT;
CREATE INDEX idx_transactions_unconfirmed ON transactions (wallet_id, id) WHERE block_height IS NULL;
CREATE INDEX idx_transactions_unconfirmed_by_position ON transactions (wallet_id, chain_position, id) WHERE block_height IS NULL;
CREATE INDEX idx_transactions_by_block ON transactions (wallet_id, block_height, block_index) WHERE block_height IS NOT NULL;
CREATE INDEX idx_transactions_by_height ON transactions (block_height) WHERE block_height IS NOT NULL;
CREATE INDEX idx_transactions_coinbase ON transactions (wallet_id, block_height) WHERE is_coinbase AND block_height IS NOT NULL;
CREATE INDEX idx_transactions_by_hash ON transactions (tx_hash);
CREATE INDEX idx_transactions_user_confirmed ON transactions (id) WHERE user_confirmed;

-- The raw bytes, away from what is read all the time (W9).
CREATE TABLE tx_raw (
  wallet_id INTEGER NOT NULL,
  tx_id     INTEGER NOT NULL,
  raw_tx    BLOB    NOT NULL,
  CONSTRAINT pidx_tx_raw PRIMARY KEY (wallet_id, tx_id),
  CONSTRAINT fkey_tx_raw_tx FOREIGN KEY (wallet_id, tx_id) REFERENCES transactions (wallet_id, id) ON DELETE CASCADE
) STRICT;

-- Every input of every transaction, ours or not (W2).
CREATE TABLE tx_inputs (
  wallet_id         INTEGER NOT NULL,
  tx_id             INTEGER NOT NULL,
  input_index       INTEGER NOT NULL CHECK (input_index >= 0),
  prev_tx_hash      BLOB    NOT NULL CHECK (length(prev_tx_hash) = 32),
  prev_output_index INTEGER NOT NULL CHECK (prev_output_index >= 0),
  amount            INTEGER CHECK (amount >= 0),   -- of a coin of this wallet; NULL: another's
  CONSTRAINT pidx_tx_inputs PRIMARY KEY (wallet_id, tx_id, input_index),
  CONSTRAINT fkey_tx_inputs_tx FOREIGN KEY (wallet_id, tx_id) REFERENCES transactions (wallet_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_tx_inputs_by_prev ON tx_inputs (prev_tx_hash, prev_output_index, wallet_id);

CREATE TABLE utxos (
  wallet_id         INTEGER NOT NULL REFERENCES wallets (id) ON DELETE RESTRICT,
  id                INTEGER PRIMARY KEY AUTOINCREMENT,
  tx_id             INTEGER NOT NULL,
  output_index      INTEGER NOT NULL CHECK (output_index >= 0),
  amount            INTEGER NOT NULL CHECK (amount >= 0),
  account_id        INTEGER NOT NULL,          -- that of the address; neither ever changes
  address_id        INTEGER NOT NULL,
  spent_by_tx_id    INTEGER,
  spent_input_index INTEGER CHECK (spent_input_index IS NULL OR spent_input_index >= 0),
  chain_position    INTEGER NOT NULL DEFAULT 9223372036854775807,  -- that of its transaction
  CONSTRAINT pidx_utxos UNIQUE (wallet_id, id),
  CONSTRAINT fkey_utxos_tx FOREIGN KEY (wallet_id, tx_id) REFERENCES transactions (wallet_id, id) ON DELETE RESTRICT,
  CONSTRAINT fkey_utxos_address FOREIGN KEY (wallet_id, address_id) REFERENCES addresses (wallet_id, id) ON DELETE RESTRICT,
  CONSTRAINT fkey_utxos_spent_by FOREIGN KEY (wallet_id, spent_by_tx_id) REFERENCES transactions (wallet_id, id) ON DELETE RESTRICT,
  CONSTRAINT check_spent_tx_and_index_pair CHECK ((spent_by_tx_id IS NULL) = (spent_input_index IS NULL)),
  CONSTRAINT uidx_utxos_outpoint UNIQUE (wallet_id, tx_id, output_index)
) STRICT;
CREATE INDEX idx_utxos_unspent ON utxos (wallet_id, chain_position, tx_id, output_index) WHERE spent_by_tx_id IS NULL;
CREATE INDEX idx_utxos_unspent_by_amount ON utxos (wallet_id, amount, id) WHERE spent_by_tx_id IS NULL;
CREATE INDEX idx_utxos_unspent_by_address ON utxos (wallet_id, address_id, chain_position, tx_id, output_index) WHERE spent_by_tx_id IS NULL;
CREATE INDEX idx_utxos_unspent_by_address_amount ON utxos (wallet_id, address_id, amount, id) WHERE spent_by_tx_id IS NULL;
CREATE INDEX idx_utxos_by_position ON utxos (wallet_id, chain_position, tx_id, output_index);
CREATE INDEX idx_utxos_by_address ON utxos (wallet_id, address_id, spent_by_tx_id);
CREATE INDEX idx_utxos_spent_by ON utxos (wallet_id, spent_by_tx_id);

CREATE TABLE tx_replacements (
  wallet_id         INTEGER NOT NULL REFERENCES wallets (id) ON DELETE RESTRICT,
  id                INTEGER PRIMARY KEY AUTOINCREMENT,
  replaced_tx_id    INTEGER NOT NULL,
  replacement_tx_id INTEGER NOT NULL,
  created_at        INTEGER NOT NULL,
  CONSTRAINT pidx_tx_replacements UNIQUE (wallet_id, id),
  CONSTRAINT fkey_tx_replacements_replaced FOREIGN KEY (wallet_id, replaced_tx_id) REFERENCES transactions (wallet_id, id) ON DELETE CASCADE,
  CONSTRAINT fkey_tx_replacements_replacement FOREIGN KEY (wallet_id, replacement_tx_id) REFERENCES transactions (wallet_id, id) ON DELETE CASCADE,
  CONSTRAINT check_not_self_replacement CHECK (replaced_tx_id <> replacement_tx_id),
  CONSTRAINT uidx_tx_replacements_edge UNIQUE (wallet_id, replaced_tx_id, replacement_tx_id)
) STRICT;
CREATE INDEX idx_tx_replacements_by_replacement ON tx_replacements (wallet_id, replacement_tx_id, replaced_tx_id);

CREATE TABLE utxo_leases (
  wallet_id        INTEGER NOT NULL REFERENCES wallets (id) ON DELETE RESTRICT,
  utxo_id          INTEGER NOT NULL,
  external_lock_id BLOB    NOT NULL CHECK (length(external_lock_id) = 32),
  expires_at       INTEGER NOT NULL,
  CONSTRAINT pidx_utxo_leases PRIMARY KEY (wallet_id, utxo_id),
  CONSTRAINT fkey_utxo_leases_utxo FOREIGN KEY (wallet_id, utxo_id) REFERENCES utxos (wallet_id, id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_utxo_leases_expires_at ON utxo_leases (expires_at);
CREATE INDEX idx_utxo_leases_by_lock ON utxo_leases (wallet_id, external_lock_id);

-- What was pruned: a replay of it changes nothing (W6).
CREATE TABLE pruned_transactions (
  wallet_id INTEGER NOT NULL REFERENCES wallets (id) ON DELETE RESTRICT,
  tx_hash   BLOB    NOT NULL CHECK (length(tx_hash) = 32),
  height    INTEGER NOT NULL,
  outputs   TEXT    NOT NULL DEFAULT ',',  -- which of its outputs were coins of the wallet and went with it: ',0,7,'
  CONSTRAINT pidx_pruned_transactions PRIMARY KEY (wallet_id, tx_hash)
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_pruned_transactions_by_height ON pruned_transactions (height);

CREATE TABLE pruned_summary (
  wallet_id     INTEGER NOT NULL PRIMARY KEY REFERENCES wallets (id) ON DELETE RESTRICT,
  transactions  INTEGER NOT NULL,
  coins         INTEGER NOT NULL,
  received      INTEGER NOT NULL,
  spent         INTEGER NOT NULL,
  lowest_height  INTEGER NOT NULL,
  highest_height INTEGER NOT NULL,
  fixed_height   INTEGER NOT NULL DEFAULT 0  -- up to this block nothing can be undone: what was pruned is in it, or was spent in it
) STRICT;

CREATE TABLE labels (
  wallet_id INTEGER NOT NULL REFERENCES wallets (id) ON DELETE RESTRICT,
  kind      TEXT    NOT NULL CHECK (kind IN ('tx', 'address', 'output')),
  ref       TEXT    NOT NULL CHECK (length(ref) BETWEEN 1 AND 200),
  label     TEXT    NOT NULL CHECK (length(label) BETWEEN 1 AND 500),
  CONSTRAINT pidx_labels PRIMARY KEY (wallet_id, kind, ref)
) STRICT, WITHOUT ROWID;

-- How far a history file was imported (its SHA-256 tells which), so that an import goes on where it stopped.
CREATE TABLE history_imports (
  wallet_id   INTEGER NOT NULL REFERENCES wallets (id) ON DELETE RESTRICT,
  file_digest BLOB    NOT NULL CHECK (length(file_digest) = 32),
  lines_done  INTEGER NOT NULL CHECK (lines_done >= 0),
  CONSTRAINT pidx_history_imports PRIMARY KEY (wallet_id, file_digest)
) STRICT, WITHOUT ROWID;

-- Sums of the coins, so that a balance does not cost a look at each of them (W11). address_id 0 is the whole account. Kept by the
-- triggers below; utxos and transactions are the truth. Immature and leased are found at reading time.
CREATE TABLE balance_summary (
  wallet_id  INTEGER NOT NULL REFERENCES wallets (id) ON DELETE RESTRICT,
  account_id INTEGER NOT NULL,
  address_id INTEGER NOT NULL,
  kind       TEXT    NOT NULL CHECK (kind IN ('confirmed', 'unconfirmed', 'locked')),
  coins      INTEGER NOT NULL CHECK (coins >= 0),
  amount     INTEGER NOT NULL CHECK (amount >= 0),
  CONSTRAINT pidx_balance_summary PRIMARY KEY (wallet_id, address_id, account_id, kind)
) STRICT, WITHOUT ROWID;

-- The coins that count in a balance, each with its kind: those of a published transaction that are unspent, or locked because a pending one
-- spends them (W13).
CREATE VIEW coin_kinds AS
  SELECT u.wallet_id, u.id, u.tx_id, u.spent_by_tx_id, u.account_id, u.address_id, u.amount,
         CASE WHEN u.spent_by_tx_id IS NOT NULL THEN 'locked' WHEN t.block_height IS NULL THEN 'unconfirmed' ELSE 'confirmed' END AS kind
    FROM utxos u JOIN transactions t ON t.wallet_id = u.wallet_id AND t.id = u.tx_id
   WHERE t.status = 'published'
     AND (u.spent_by_tx_id IS NULL
          OR (SELECT s.status FROM transactions s WHERE s.wallet_id = u.wallet_id AND s.id = u.spent_by_tx_id) = 'pending');

-- Every coin with its state (001 4.2, W13). A lease is no state: it ends by itself.
CREATE VIEW coin_states AS
  SELECT u.wallet_id, u.id, u.tx_id, u.output_index, u.amount, u.account_id, u.address_id, u.spent_by_tx_id, u.spent_input_index,
         t.tx_hash, t.block_height, t.block_index, t.is_coinbase, t.status AS tx_status, s.tx_hash AS spent_by_hash, y.tip_height,
         CASE WHEN t.status IN ('failed', 'replaced') THEN 'dead'
              WHEN t.status = 'orphaned' THEN 'orphaned'
              WHEN u.spent_by_tx_id IS NOT NULL THEN CASE WHEN s.status = 'pending' THEN 'locked' ELSE 'spent' END
              WHEN t.status = 'pending' THEN 'pending'
              WHEN t.block_height IS NULL THEN 'unconfirmed'
              WHEN t.is_coinbase AND t.block_height > y.mature_height THEN 'immature'
              ELSE 'confirmed' END AS state
    FROM utxos u
    JOIN transactions t ON t.wallet_id = u.wallet_id AND t.id = u.tx_id
    CROSS JOIN sync_state y
    LEFT JOIN transactions s ON s.wallet_id = u.wallet_id AND s.id = u.spent_by_tx_id;

-- 000 3.5: what may be spent as far as its transaction is concerned. Maturity and leases are for the reader to add.
CREATE VIEW spendable_utxos AS
  SELECT u.*, t.block_height, t.is_coinbase, t.status AS tx_status
    FROM utxos u JOIN transactions t ON t.wallet_id = u.wallet_id AND t.id = u.tx_id
   WHERE u.spent_by_tx_id IS NULL AND t.status IN ('published', 'pending');

-- A disconnected block: its transactions are unconfirmed, its coinbases orphaned, in one statement, because the CHECKs do not wait (W4).
CREATE TRIGGER trg_disconnect_block BEFORE DELETE ON blocks
BEGIN
  UPDATE transactions SET
      block_height = NULL, block_index = NULL, in_mempool = 0,
      reason = CASE WHEN is_coinbase THEN 'reorganised' ELSE reason END,
      changed_at = CASE WHEN is_coinbase THEN coffer_now() ELSE changed_at END,
      status = CASE WHEN is_coinbase THEN 'orphaned' ELSE status END
    WHERE block_height = OLD.block_height;
END;

-- Balances: a coin leaves its old kind before a change and joins its new one after it. To write into this view is to count.
CREATE VIEW balance_change AS SELECT wallet_id, account_id, address_id, kind, coins, amount FROM balance_summary;
CREATE TRIGGER trg_balance_change INSTEAD OF INSERT ON balance_change
BEGIN
  UPDATE balance_summary SET coins = coins + NEW.coins, amount = amount + NEW.amount
   WHERE NEW.coins < 0 AND wallet_id = NEW.wallet_id AND address_id IN (0, NEW.address_id) AND account_id = NEW.account_id AND kind = NEW.kind;
  INSERT INTO balance_summary (wallet_id, account_id, address_id, kind, coins, amount)
    SELECT NEW.wallet_id, NEW.account_id, a.id, NEW.kind, NEW.coins, NEW.amount
      FROM (SELECT 0 AS id UNION ALL SELECT NEW.address_id) a WHERE NEW.coins > 0
    ON CONFLICT (wallet_id, address_id, account_id, kind)
      DO UPDATE SET coins = coins + excluded.coins, amount = amount + excluded.amount;
END;
CREATE TRIGGER trg_coin_made AFTER INSERT ON utxos
BEGIN
  INSERT INTO balance_change SELECT wallet_id, account_id, address_id, kind, 1, amount FROM coin_kinds WHERE wallet_id = NEW.wallet_id AND id = NEW.id;
END;
CREATE TRIGGER trg_coin_gone BEFORE DELETE ON utxos
BEGIN
  INSERT INTO balance_change SELECT wallet_id, account_id, address_id, kind, -1, -amount FROM coin_kinds WHERE wallet_id = OLD.wallet_id AND id = OLD.id;
END;
CREATE TRIGGER trg_coin_before_change BEFORE UPDATE OF wallet_id, tx_id, amount, account_id, address_id, spent_by_tx_id ON utxos
WHEN (OLD.wallet_id, OLD.tx_id, OLD.amount, OLD.account_id, OLD.address_id, OLD.spent_by_tx_id)
  IS NOT (NEW.wallet_id, NEW.tx_id, NEW.amount, NEW.account_id, NEW.address_id, NEW.spent_by_tx_id)
BEGIN
  INSERT INTO balance_change SELECT wallet_id, account_id, address_id, kind, -1, -amount FROM coin_kinds WHERE wallet_id = OLD.wallet_id AND id = OLD.id;
END;
CREATE TRIGGER trg_coin_after_change AFTER UPDATE OF wallet_id, tx_id, amount, account_id, address_id, spent_by_tx_id ON utxos
WHEN (OLD.wallet_id, OLD.tx_id, OLD.amount, OLD.account_id, OLD.address_id, OLD.spent_by_tx_id)
  IS NOT (NEW.wallet_id, NEW.tx_id, NEW.amount, NEW.account_id, NEW.address_id, NEW.spent_by_tx_id)
BEGIN
  INSERT INTO balance_change SELECT wallet_id, account_id, address_id, kind, 1, amount FROM coin_kinds WHERE wallet_id = NEW.wallet_id AND id = NEW.id;
END;
CREATE TRIGGER trg_made_before BEFORE UPDATE OF status, block_height ON transactions
WHEN OLD.status <> NEW.status OR (OLD.block_height IS NULL) <> (NEW.block_height IS NULL)
BEGIN
  INSERT INTO balance_change SELECT wallet_id, account_id, address_id, kind, -1, -amount FROM coin_kinds WHERE wallet_id = OLD.wallet_id AND tx_id = OLD.id;
END;
CREATE TRIGGER trg_made_after AFTER UPDATE OF status, block_height ON transactions
WHEN OLD.status <> NEW.status OR (OLD.block_height IS NULL) <> (NEW.block_height IS NULL)
BEGIN
  INSERT INTO balance_change SELECT wallet_id, account_id, address_id, kind, 1, amount FROM coin_kinds WHERE wallet_id = NEW.wallet_id AND tx_id = NEW.id;
END;
CREATE TRIGGER trg_spent_before BEFORE UPDATE OF status ON transactions
WHEN (OLD.status = 'pending') <> (NEW.status = 'pending')
BEGIN
  INSERT INTO balance_change SELECT wallet_id, account_id, address_id, kind, -1, -amount FROM coin_kinds WHERE wallet_id = OLD.wallet_id AND spent_by_tx_id = OLD.id;
END;
CREATE TRIGGER trg_spent_after AFTER UPDATE OF status ON transactions
WHEN (OLD.status = 'pending') <> (NEW.status = 'pending')
BEGIN
  INSERT INTO balance_change SELECT wallet_id, account_id, address_id, kind, 1, amount FROM coin_kinds WHERE wallet_id = NEW.wallet_id AND spent_by_tx_id = NEW.id;
END;

-- A coin stands where its transaction does.
CREATE TRIGGER trg_coin_position AFTER INSERT ON utxos
  WHEN NEW.chain_position <> (SELECT t.chain_position FROM transactions t WHERE t.wallet_id = NEW.wallet_id AND t.id = NEW.tx_id)
BEGIN
  UPDATE utxos SET chain_position = (SELECT t.chain_position FROM transactions t WHERE t.wallet_id = NEW.wallet_id AND t.id = NEW.tx_id)
   WHERE id = NEW.id;
END;
CREATE TRIGGER trg_coin_position_after_change AFTER UPDATE OF wallet_id, tx_id ON utxos
  WHEN NEW.chain_position <> (SELECT t.chain_position FROM transactions t WHERE t.wallet_id = NEW.wallet_id AND t.id = NEW.tx_id)
BEGIN
  UPDATE utxos SET chain_position = (SELECT t.chain_position FROM transactions t WHERE t.wallet_id = NEW.wallet_id AND t.id = NEW.tx_id)
   WHERE id = NEW.id;
END;
CREATE TRIGGER trg_position_of_coins AFTER UPDATE OF status, block_height, block_index, received_height ON transactions
  WHEN OLD.chain_position <> NEW.chain_position
BEGIN
  UPDATE utxos SET chain_position = NEW.chain_position WHERE wallet_id = NEW.wallet_id AND tx_id = NEW.id;
END;
