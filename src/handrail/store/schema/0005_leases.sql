-- Paths that somebody has reserved for a while. Working memory, not record: no hash covers it.
-- The number is the fence: it is never given twice.
CREATE TABLE leases (
    fence    INTEGER PRIMARY KEY AUTOINCREMENT,
    token    TEXT    NOT NULL UNIQUE,
    owner    TEXT    NOT NULL,
    glob     TEXT    NOT NULL,
    until_ns INTEGER NOT NULL
);
