-- Whose data this is (E5). One row, written once.
CREATE TABLE coffer_identity (
  only_row INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
  chain    TEXT    NOT NULL,
  network  TEXT    NOT NULL,
  genesis  BLOB    NOT NULL CHECK (length(genesis) = 32),
  format   INTEGER NOT NULL
) STRICT;

CREATE TRIGGER coffer_identity_is_kept BEFORE UPDATE ON coffer_identity
BEGIN
  SELECT RAISE(ABORT, 'the identity of a database never changes');
END;

-- coffer_now() is a function of the program here.
