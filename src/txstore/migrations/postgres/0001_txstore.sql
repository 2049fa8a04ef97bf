-- The transaction store. docs/formats/txstore.md describes every table. Hashes are 32 bytes in the order of the wire, heights are ordinals,
-- amounts satoshi or lovelace. Every key leads with the hash of the transaction, and nothing refers from one transaction to another.
-- A schema of its own, because the wallet may have its tables in the same database.
CREATE SCHEMA txstore;

-- The head of a transaction: what every operation reads.
CREATE TABLE txstore.transactions (
  hash             BYTEA NOT NULL PRIMARY KEY CHECK (octet_length(hash) = 32),
  conflicting      BOOLEAN NOT NULL,
  coinbase         BOOLEAN NOT NULL,
  valid            BOOLEAN NOT NULL,           -- Cardano: phase 2
  locked           BOOLEAN NOT NULL,
  genesis          BOOLEAN NOT NULL,         -- without bytes: known from a genesis file
  input_count      BIGINT NOT NULL CHECK (input_count >= 0),
  output_count     BIGINT NOT NULL CHECK (output_count >= 0),
  spendable_count  BIGINT NOT NULL,
  spent_count      BIGINT NOT NULL,            -- of the spendable ones
  raw_bytes        BIGINT NOT NULL CHECK (raw_bytes >= 0),   -- in tx_bodies
  unmined_since    BIGINT CHECK (unmined_since >= 0),
  absent_since     BIGINT CHECK (absent_since >= 0),         -- unmined, and not in the mempool
  delete_at_height BIGINT CHECK (delete_at_height >= 0),
  due_at           BIGINT CHECK (due_at >= 0),               -- when cleanup looks at it next
  preserve_until   BIGINT CHECK (preserve_until >= 0),
  kept             TEXT,                      -- why it was kept when cleanup last looked at it
  CONSTRAINT check_counts CHECK (spent_count BETWEEN 0 AND spendable_count AND spendable_count <= output_count),
  CONSTRAINT valid_kept CHECK (kept IN ('preserved', 'not_due', 'locked', 'unmined', 'not_final', 'frozen', 'unspent', 'child_absent',
                                        'child_conflicting', 'child_unmined', 'child_not_final'))
);
CREATE INDEX idx_transactions_due ON txstore.transactions (due_at, hash) WHERE due_at IS NOT NULL;
CREATE INDEX idx_transactions_unmined ON txstore.transactions (unmined_since, hash) WHERE unmined_since IS NOT NULL;

-- The raw bytes, away from what is read all the time.
CREATE TABLE txstore.tx_bodies (
  hash BYTEA NOT NULL PRIMARY KEY CHECK (octet_length(hash) = 32),
  raw  BYTEA NOT NULL,
  fee  BIGINT CHECK (fee >= 0)
);

CREATE TABLE txstore.inputs (
  hash      BYTEA NOT NULL CHECK (octet_length(hash) = 32),
  idx       BIGINT NOT NULL CHECK (idx BETWEEN 0 AND 4294967295),
  prev_hash BYTEA NOT NULL CHECK (octet_length(prev_hash) = 32),
  prev_idx  BIGINT NOT NULL CHECK (prev_idx BETWEEN 0 AND 4294967295),
  amount    BIGINT CHECK (amount >= 0),        -- NULL: the parent was not stored when it came
  CONSTRAINT pidx_inputs PRIMARY KEY (hash, idx)
);

-- state is a sum: 1 unspendable, 2 removed by a rule of the ledger, 4 spent, 8 final (the spender is, X6), 16 frozen.
CREATE TABLE txstore.outputs (
  hash          BYTEA NOT NULL CHECK (octet_length(hash) = 32),
  idx           BIGINT NOT NULL CHECK (idx BETWEEN 0 AND 4294967295),
  utxo_hash     BYTEA NOT NULL CHECK (octet_length(utxo_hash) = 32),
  amount        BIGINT NOT NULL CHECK (amount >= 0),
  state         BIGINT NOT NULL CHECK (state BETWEEN 0 AND 31),
  spending_data BYTEA CHECK (octet_length(spending_data) = 36),  -- hash of the spender, index of its input (big-endian, 4 bytes)
  spendable_at  BIGINT CHECK (spendable_at >= 0),            -- after a reassignment
  CONSTRAINT pidx_outputs PRIMARY KEY (hash, idx),
  CONSTRAINT check_unspendable CHECK (state & 1 = 0 OR state = 1),
  CONSTRAINT check_removed_is_spent CHECK (state & 2 = 0 OR state & 4 = 4),
  CONSTRAINT check_final_is_spent CHECK (state & 8 = 0 OR state & 4 = 4),
  CONSTRAINT check_spender CHECK ((spending_data IS NOT NULL) = (state & 6 = 4))
);
-- Which entries name a deleted child.
CREATE INDEX idx_outputs_final ON txstore.outputs (spending_data) WHERE state & 8 = 8;

-- Every block that had it, on any branch, until it is final.
CREATE TABLE txstore.block_ids (
  hash             BYTEA NOT NULL CHECK (octet_length(hash) = 32),
  block_height     BIGINT NOT NULL CHECK (block_height >= 0),
  block_id         BIGINT NOT NULL,            -- the first eight bytes of its hash, as a signed number
  on_longest_chain BOOLEAN NOT NULL,
  CONSTRAINT pidx_block_ids PRIMARY KEY (hash, block_height, block_id)
);

-- What people did, apart, so that it survives a rebuild (E8).
CREATE TABLE txstore.marks (
  hash           BYTEA NOT NULL PRIMARY KEY CHECK (octet_length(hash) = 32),
  preserve_until BIGINT CHECK (preserve_until >= 0),
  locked         BOOLEAN NOT NULL,
  frozen         BYTEA NOT NULL CHECK (octet_length(frozen) % 4 = 0),        -- outputs: index (4) each, big-endian
  reassigned     BYTEA NOT NULL CHECK (octet_length(reassigned) % 44 = 0)    -- outputs: index (4), hash (32), spendable_at (8) each, big-endian
);

-- Where the store stands. Its lock is that of the unit: exclusive for blocks, shared for operations.
CREATE TABLE txstore.txstore_tip (
  only_row     BIGINT NOT NULL PRIMARY KEY CHECK (only_row = 1),
  position     BYTEA NOT NULL CHECK (octet_length(position) IN (0, 48)),   -- as bus::encode_position writes it
  final_height BIGINT NOT NULL,
  first_block  BYTEA CHECK (octet_length(first_block) = 48)                -- NULL: it began at Origin
);
INSERT INTO txstore.txstore_tip (only_row, position, final_height) VALUES (1, '', -1);

CREATE TABLE txstore.txstore_counts (
  only_row               BIGINT NOT NULL PRIMARY KEY CHECK (only_row = 1),
  records                BIGINT NOT NULL DEFAULT 0,
  bytes                  BIGINT NOT NULL DEFAULT 0,
  unmined                BIGINT NOT NULL DEFAULT 0,
  conflicting            BIGINT NOT NULL DEFAULT 0,
  final_entries          BIGINT NOT NULL DEFAULT 0,
  parent_missing         BIGINT NOT NULL DEFAULT 0,
  overrides              BIGINT NOT NULL DEFAULT 0,
  deleted                BIGINT NOT NULL DEFAULT 0,
  kept_deletable         BIGINT NOT NULL DEFAULT 0,
  kept_preserved         BIGINT NOT NULL DEFAULT 0,
  kept_not_due           BIGINT NOT NULL DEFAULT 0,
  kept_locked            BIGINT NOT NULL DEFAULT 0,
  kept_unmined           BIGINT NOT NULL DEFAULT 0,
  kept_not_final         BIGINT NOT NULL DEFAULT 0,
  kept_frozen            BIGINT NOT NULL DEFAULT 0,
  kept_unspent           BIGINT NOT NULL DEFAULT 0,
  kept_child_absent      BIGINT NOT NULL DEFAULT 0,
  kept_child_conflicting BIGINT NOT NULL DEFAULT 0,
  kept_child_unmined     BIGINT NOT NULL DEFAULT 0,
  kept_child_not_final   BIGINT NOT NULL DEFAULT 0
);
INSERT INTO txstore.txstore_counts (only_row) VALUES (1);

-- What undoes the blocks of the window.
CREATE TABLE txstore.txstore_blocks (
  height   BIGINT NOT NULL PRIMARY KEY CHECK (height >= 0),
  position BYTEA NOT NULL CHECK (octet_length(position) = 48),
  undo     BYTEA NOT NULL
);
