-- Lists follow the chain. What is in a block stands where the block is, whenever the wallet met it (a rescan finds old blocks late), and what
-- was replaced or failed stands where it was met, instead of above everything for ever.

-- The tip when the wallet met the transaction, or its block if it came with one; -1 before the first. Of those that were met before this
-- version, by the times of the blocks, or, where these are not known, by the blocks of what the wallet had met before.
ALTER TABLE transactions ADD COLUMN received_height INTEGER NOT NULL DEFAULT -1;
CREATE INDEX tmp_blocks_by_time ON blocks (block_timestamp);
UPDATE transactions SET received_height = coalesce(block_height,
  (SELECT b.block_height FROM blocks b WHERE b.block_timestamp > 0 AND b.block_timestamp <= transactions.received_time / 1000
    ORDER BY b.block_timestamp DESC LIMIT 1), -1);
DROP INDEX tmp_blocks_by_time;
UPDATE transactions SET received_height = met.height
  FROM (SELECT wallet_id, id, max(block_height) OVER (PARTITION BY wallet_id ORDER BY id) AS height FROM transactions) met
 WHERE met.wallet_id = transactions.wallet_id AND met.id = transactions.id AND met.height IS NOT NULL
   AND transactions.block_height IS NULL AND transactions.received_height = -1;

-- Where it stands among the others: height * 2^32 + place in the block; active ones without a block come last, invalid ones after the block
-- at which they were met.
ALTER TABLE transactions ADD COLUMN chain_position INTEGER GENERATED ALWAYS AS (
  CASE WHEN block_height > 2147483646 THEN 2147483646 * 4294967296 + block_index
       WHEN block_height IS NOT NULL THEN block_height * 4294967296 + block_index
       WHEN status IN ('pending', 'published') THEN 9223372036854775807
       ELSE received_height * 4294967296 + 4294967295 END) VIRTUAL;
CREATE INDEX idx_transactions_unconfirmed_by_position ON transactions (wallet_id, chain_position, id) WHERE block_height IS NULL;

-- A coin stands where its transaction does.
ALTER TABLE utxos ADD COLUMN chain_position INTEGER NOT NULL DEFAULT 9223372036854775807;
UPDATE utxos SET chain_position = t.chain_position
  FROM transactions t WHERE t.wallet_id = utxos.wallet_id AND t.id = utxos.tx_id AND t.chain_position <> utxos.chain_position;
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

DROP INDEX idx_utxos_unspent;
CREATE INDEX idx_utxos_unspent ON utxos (wallet_id, chain_position, tx_id, output_index) WHERE spent_by_tx_id IS NULL;
CREATE INDEX idx_utxos_unspent_by_address ON utxos (wallet_id, address_id, chain_position, tx_id, output_index) WHERE spent_by_tx_id IS NULL;
CREATE INDEX idx_utxos_by_position ON utxos (wallet_id, chain_position, tx_id, output_index);
