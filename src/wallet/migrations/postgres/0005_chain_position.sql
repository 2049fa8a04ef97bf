-- Lists follow the chain. What is in a block stands where the block is, whenever the wallet met it (a rescan finds old blocks late), and what
-- was replaced or failed stands where it was met, instead of above everything for ever.

-- The tip when the wallet met the transaction, or its block if it came with one; -1 before the first. Of those that were met before this
-- version, by the times of the blocks, or, where these are not known, by the blocks of what the wallet had met before.
ALTER TABLE transactions ADD COLUMN received_height BIGINT NOT NULL DEFAULT -1;
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
ALTER TABLE transactions ADD COLUMN chain_position BIGINT GENERATED ALWAYS AS (
  CASE WHEN block_height > 2147483646 THEN 2147483646 * 4294967296 + block_index
       WHEN block_height IS NOT NULL THEN block_height * 4294967296 + block_index
       WHEN status IN ('pending', 'published') THEN 9223372036854775807
       ELSE received_height * 4294967296 + 4294967295 END) STORED;
CREATE INDEX idx_transactions_unconfirmed_by_position ON transactions (wallet_id, chain_position, id) WHERE block_height IS NULL;

-- A coin stands where its transaction does.
ALTER TABLE utxos ADD COLUMN chain_position BIGINT NOT NULL DEFAULT 9223372036854775807;
UPDATE utxos SET chain_position = t.chain_position
  FROM transactions t WHERE t.wallet_id = utxos.wallet_id AND t.id = utxos.tx_id AND t.chain_position <> utxos.chain_position;

CREATE FUNCTION position_of_coin() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  SELECT t.chain_position INTO NEW.chain_position FROM transactions t WHERE t.wallet_id = NEW.wallet_id AND t.id = NEW.tx_id;
  IF NOT FOUND THEN NEW.chain_position := 9223372036854775807; END IF;  -- the foreign key says what is wrong
  RETURN NEW;
END $$;
CREATE TRIGGER trg_coin_position BEFORE INSERT OR UPDATE OF wallet_id, tx_id ON utxos FOR EACH ROW EXECUTE FUNCTION position_of_coin();

CREATE FUNCTION position_of_coins() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  UPDATE utxos u SET chain_position = NEW.chain_position WHERE u.wallet_id = NEW.wallet_id AND u.tx_id = NEW.id;
  RETURN NULL;
END $$;
CREATE TRIGGER trg_position_of_coins AFTER UPDATE OF status, block_height, block_index, received_height ON transactions FOR EACH ROW
  WHEN (OLD.chain_position <> NEW.chain_position) EXECUTE FUNCTION position_of_coins();

DROP INDEX idx_utxos_unspent;
CREATE INDEX idx_utxos_unspent ON utxos (wallet_id, chain_position, tx_id, output_index) WHERE spent_by_tx_id IS NULL;
DROP INDEX idx_utxos_unspent_by_address;
CREATE INDEX idx_utxos_unspent_by_address ON utxos (wallet_id, address_id, chain_position, tx_id, output_index) WHERE spent_by_tx_id IS NULL;
CREATE INDEX idx_utxos_by_position ON utxos (wallet_id, chain_position, tx_id, output_index);
