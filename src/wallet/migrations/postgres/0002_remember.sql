-- What was pruned, output by output, so that one that was not this wallet's yet can still be found; and what persons said.

-- The outputs that were coins of the wallet and went with the transaction: ',0,7,'. Of what was pruned before this version nobody wrote
-- it down: outputs to addresses up to older_addresses are taken for such coins.
ALTER TABLE pruned_transactions ADD COLUMN outputs TEXT NOT NULL DEFAULT ',';
ALTER TABLE pruned_transactions ADD COLUMN older_addresses BIGINT NOT NULL DEFAULT 0;
UPDATE pruned_transactions SET older_addresses = a.id
  FROM (SELECT wallet_id, max(id) AS id FROM addresses GROUP BY wallet_id) a WHERE a.wallet_id = pruned_transactions.wallet_id;

-- A person said in which block it is, and no block of the chain has said so yet.
ALTER TABLE transactions ADD COLUMN is_told BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX idx_transactions_told ON transactions (id) WHERE is_told;
