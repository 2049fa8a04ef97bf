-- The transaction store. docs/formats/txstore.md describes every table. Hashes are 32 bytes in the order of the wire, heights are ordinals,
-- amounts satoshi or lovelace. Every key leads with the hash of the transaction, and nothing refers from one transaction to another.

-- The head of a transaction: what every operation reads.
CREATE TABLE transactions (
  hash             BLOB NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
  conflicting      INTEGER NOT NULL CHECK (conflicting IN (0, 1)),
  coinbase         INTEGER NOT NULL CHECK (coinbase IN (0, 1)),
  valid            INTEGER NOT NULL CHECK (valid IN (0, 1)),           -- Cardano: phase 2
  locked           INTEGER NOT NULL CHECK (locked IN (0, 1)),
  genesis          INTEGER NOT NULL CHECK (genesis IN (0, 1)),         -- without bytes: known from a genesis file
  input_count      INTEGER NOT NULL CHECK (input_count >= 0),
  output_count     INTEGER NOT NULL CHECK (output_count >= 0),
  spendable_count  INTEGER NOT NULL,
  spent_count      INTEGER NOT NULL,            -- of the spendable ones
  raw_bytes        INTEGER NOT NULL CHECK (raw_bytes >= 0),   -- in tx_bodies
  unmined_since    INTEGER CHECK (unmined_since >= 0),
  absent_since     INTEGER CHECK (absent_since >= 0),         -- unmined, and not in the mempool
  delete_at_height INTEGER CHECK (delete_at_height >= 0),
  due_at           INTEGER CHECK (due_at >= 0),               -- when cleanup looks at it next
  preserve_until   INTEGER CHECK (preserve_until >= 0),
  kept             TEXT,                      -- why it was kept when cleanup last looked at it
  CONSTRAINT check_counts CHECK (spent_count BETWEEN 0 AND spendable_count AND spendable_count <= output_count),
  CONSTRAINT valid_kept CHECK (kept IN ('preserved', 'not_due', 'locked', 'unmined', 'not_final', 'frozen', 'unspent', 'child_absent',
                                        'child_conflicting', 'child_unmined', 'child_not_final'))
) STRICT, WITHOUT ROWID;
CREATE INDEX idx_transactions_due ON transactions (due_at, hash) WHERE due_at IS NOT NULL;
CREATE INDEX idx_transactions_unmined ON transactions (unmined_since, hash) WHERE unmined_since IS NOT NULL;

-- The raw bytes, away from what is read all the time.
CREATE TABLE tx_bodies (
  hash BLOB NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
  raw  BLOB NOT NULL,
  fee  INTEGER CHECK (fee >= 0)
) STRICT;

CREATE TABLE inputs (
  hash      BLOB NOT NULL CHECK (length(hash) = 32),
  idx       INTEGER NOT NULL CHECK (idx BETWEEN 0 AND 4294967295),
  prev_hash BLOB NOT NULL CHECK (length(prev_hash) = 32),
  prev_idx  INTEGER NOT NULL CHECK (prev_idx BETWEEN 0 AND 4294967295),
  amount    INTEGER CHECK (amount >= 0),        -- NULL: the parent was not stored when it came
  CONSTRAINT pidx_inputs PRIMARY KEY (hash, idx)
) STRICT, WITHOUT ROWID;

-- state is a sum: 1 unspendable, 2 removed by a rule of the ledger, 4 spent, 8 final (the spender is, X6), 16 frozen.
CREATE TABLE outputs (
  hash          BLOB NOT NULL CHECK (length(hash) = 32),
  idx           INTEGER NOT NULL CHECK (idx BETWEEN 0 AND 4294967295),
  utxo_hash     BLOB NOT NULL CHECK (length(utxo_hash) = 32),
  amount        INTEGER NOT NULL CHECK (amount >= 0),
  state         INTEGER NOT NULL CHECK (state BETWEEN 0 AND 31),
  spending_data BLOB CHECK (length(spending_data) = 36),  -- hash of the spender, index of its input (big-endian, 4 bytes)
  spendable_at  INTEGER CHECK (spendable_at >= 0),            -- after a reassignment
  CONSTRAINT pidx_outputs PRIMARY KEY (hash, idx),
  CONSTRAINT check_unspendable CHECK (state & 1 = 0 OR state = 1),
  CONSTRAINT check_removed_is_spent CHECK (state & 2 = 0 OR state & 4 = 4),
  CONSTRAINT check_final_is_spent CHECK (state & 8 = 0 OR state & 4 = 4),
  CONSTRAINT check_spender CHECK ((spending_data IS NOT NULL) = (state & 6 = 4))
) STRICT, WITHOUT ROWID;
-- Which entries name a deleted child.
CREATE INDEX idx_outputs_final ON outputs (spending_data) WHERE state & 8 = 8;

-- Every block that had it, on any branch, until it is final.
CREATE TABLE block_ids (
  hash             BLOB NOT NULL CHECK (length(hash) = 32),
  block_height     INTEGER NOT NULL CHECK (block_height >= 0),
  block_id         INTEGER NOT NULL,            -- the first eight bytes of its hash, as a signed number
  on_longest_chain INTEGER NOT NULL CHECK (on_longest_chain IN (0, 1)),
  CONSTRAINT pidx_block_ids PRIMARY KEY (hash, block_height, block_id)
) STRICT, WITHOUT ROWID;

-- What people did, apart, so that it survives a rebuild (E8).
CREATE TABLE marks (
  hash           BLOB NOT NULL PRIMARY KEY CHECK (length(hash) = 32),
  preserve_until INTEGER CHECK (preserve_until >= 0),
  locked         INTEGER NOT NULL CHECK (locked IN (0, 1)),
  frozen         BLOB NOT NULL CHECK (length(frozen) % 4 = 0),        -- outputs: index (4) each, big-endian
  reassigned     BLOB NOT NULL CHECK (length(reassigned) % 44 = 0)    -- outputs: index (4), hash (32), spendable_at (8) each, big-endian
) STRICT;

-- Where the store stands. Its lock is that of the unit: exclusive for blocks, shared for operations.
CREATE TABLE txstore_tip (
  only_row     INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
  position     BLOB NOT NULL CHECK (length(position) IN (0, 48)),   -- as bus::encode_position writes it
  final_height INTEGER NOT NULL,
  first_block  BLOB CHECK (length(first_block) = 48)                -- NULL: it began at Origin
) STRICT;
INSERT INTO txstore_tip (only_row, position, final_height) VALUES (1, x'', -1);

CREATE TABLE txstore_counts (
  only_row               INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
  records                INTEGER NOT NULL DEFAULT 0,
  bytes                  INTEGER NOT NULL DEFAULT 0,
  unmined                INTEGER NOT NULL DEFAULT 0,
  conflicting            INTEGER NOT NULL DEFAULT 0,
  final_entries          INTEGER NOT NULL DEFAULT 0,
  parent_missing         INTEGER NOT NULL DEFAULT 0,
  overrides              INTEGER NOT NULL DEFAULT 0,
  deleted                INTEGER NOT NULL DEFAULT 0,
  kept_deletable         INTEGER NOT NULL DEFAULT 0,
  kept_preserved         INTEGER NOT NULL DEFAULT 0,
  kept_not_due           INTEGER NOT NULL DEFAULT 0,
  kept_locked            INTEGER NOT NULL DEFAULT 0,
  kept_unmined           INTEGER NOT NULL DEFAULT 0,
  kept_not_final         INTEGER NOT NULL DEFAULT 0,
  kept_frozen            INTEGER NOT NULL DEFAULT 0,
  kept_unspent           INTEGER NOT NULL DEFAULT 0,
  kept_child_absent      INTEGER NOT NULL DEFAULT 0,
  kept_child_conflicting INTEGER NOT NULL DEFAULT 0,
  kept_child_unmined     INTEGER NOT NULL DEFAULT 0,
  kept_child_not_final   INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO txstore_counts (only_row) VALUES (1);

-- What undoes the blocks of the window.
CREATE TABLE txstore_blocks (
  height   INTEGER NOT NULL PRIMARY KEY CHECK (height >= 0),
  position BLOB NOT NULL CHECK (length(position) = 48),
  undo     BLOB NOT NULL
) STRICT;
