-- Requests for a rescan are counted: one that comes while another is at work is not taken for done with it.
ALTER TABLE wallets ADD COLUMN rescans_asked INTEGER NOT NULL DEFAULT 0;

-- Up to this block nothing can be undone: what was pruned is in it, or was spent in it.
ALTER TABLE pruned_summary ADD COLUMN fixed_height INTEGER NOT NULL DEFAULT 0;
UPDATE pruned_summary SET fixed_height = highest_height;
CREATE INDEX idx_pruned_transactions_by_height ON pruned_transactions (height);

-- The coins of one address by amount.
CREATE INDEX idx_utxos_unspent_by_address_amount ON utxos (wallet_id, address_id, amount, id) WHERE spent_by_tx_id IS NULL;
