-- The latest time that a process wrote down (W8): coffer_now() is never less. steady_ms is that moment by the steady clock of the
-- boot, so that what has passed since is known. One row, from the first transaction that asks for the time on.
CREATE TABLE coffer_clock (
  only_row  INTEGER NOT NULL PRIMARY KEY CHECK (only_row = 1),
  now_ms    INTEGER NOT NULL,
  boot      TEXT    NOT NULL,
  steady_ms INTEGER NOT NULL
) STRICT;
