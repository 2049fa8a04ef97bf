-- The server has one clock for all. On SQLite this version is a table.
COMMENT ON FUNCTION coffer_now() IS 'Milliseconds since 1970, the same throughout a statement';
