-- One chain over the whole store: the prev_hash of every row and of every ledger line is the
-- hash of whatever was written before it, in any session. Ledger lines also record what a purge
-- dropped, the hashes of session_state, and what an older store looked like when it came here.
CREATE TABLE ledger_of_the_chain (
    id        INTEGER PRIMARY KEY,
    session   TEXT    NOT NULL,
    kind      TEXT    NOT NULL
              CHECK (kind IN ('open', 'close', 'state', 'purge', 'migrate')),
    at_ns     INTEGER NOT NULL,
    rows      INTEGER NOT NULL,
    head      TEXT    NOT NULL,
    info      TEXT    NOT NULL,
    prev_hash TEXT    NOT NULL,
    hash      TEXT    NOT NULL,
    -- The number of the last row that was written before this line.
    after_row INTEGER NOT NULL DEFAULT 0,
    -- The process that opened or closed the session; empty where it is not known.
    owner     TEXT    NOT NULL DEFAULT ''
);
INSERT INTO ledger_of_the_chain
    SELECT id, session, kind, at_ns, rows, head, info, prev_hash, hash, 0, '' FROM ledger;
DROP TABLE ledger;
ALTER TABLE ledger_of_the_chain RENAME TO ledger;
CREATE INDEX ledger_by_session ON ledger (session);

-- Where the chain ends: the last row, the last ledger line, and the hash of the later one.
CREATE TABLE chain_end (
    one  INTEGER PRIMARY KEY CHECK (one = 1),
    rows INTEGER NOT NULL,
    line INTEGER NOT NULL,
    hash TEXT    NOT NULL
);
