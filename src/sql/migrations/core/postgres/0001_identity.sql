-- Whose data this is (E5). One row, written once.
CREATE TABLE coffer_identity (
  only_row BIGINT NOT NULL PRIMARY KEY CHECK (only_row = 1),
  chain    TEXT   NOT NULL,
  network  TEXT   NOT NULL,
  genesis  BYTEA  NOT NULL CHECK (octet_length(genesis) = 32),
  format   BIGINT NOT NULL
);

CREATE FUNCTION coffer_refuse() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'the identity of a database never changes';
END $$;
CREATE TRIGGER coffer_identity_is_kept BEFORE UPDATE ON coffer_identity
  FOR EACH ROW EXECUTE FUNCTION coffer_refuse();

-- The one clock of all SQL (W8), in milliseconds since 1970. The same throughout a statement, so that an index can be
-- used with it. A test sets coffer.now_ms for its transaction.
CREATE FUNCTION coffer_now() RETURNS BIGINT LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT coalesce(nullif(current_setting('coffer.now_ms', true), '')::bigint,
                  floor(extract(epoch FROM statement_timestamp()) * 1000)::bigint)
$$;
