-- The record: what happened, chained by hashes. Nothing here is ever updated except
-- sessions.closed_ns; nothing is deleted except payloads (purged on request).

-- One line per opening and closing of a session, chained store-wide.
CREATE TABLE ledger (
    id        INTEGER PRIMARY KEY,
    session   TEXT    NOT NULL,
    kind      TEXT    NOT NULL CHECK (kind IN ('open', 'close')),
    at_ns     INTEGER NOT NULL,
    rows      INTEGER NOT NULL,
    head      TEXT    NOT NULL,
    info      TEXT    NOT NULL,
    prev_hash TEXT    NOT NULL,
    hash      TEXT    NOT NULL
);

CREATE TABLE sessions (
    id        TEXT    NOT NULL PRIMARY KEY,
    ordinal   INTEGER NOT NULL UNIQUE,
    opened_ns INTEGER NOT NULL,
    closed_ns INTEGER
);

-- One line per step of a call, chained per session.
CREATE TABLE rows (
    id           INTEGER PRIMARY KEY,
    session      TEXT    NOT NULL,
    seq          INTEGER NOT NULL,
    kind         TEXT    NOT NULL CHECK (kind IN ('requested', 'intent', 'completed')),
    call_id      TEXT    NOT NULL,
    turn         INTEGER NOT NULL,
    at_ns        INTEGER NOT NULL,
    payload_hash TEXT    NOT NULL,
    prev_hash    TEXT    NOT NULL,
    hash         TEXT    NOT NULL,
    UNIQUE (session, seq)
);

-- Apart from the rows, so that a payload can be purged and the chain still holds.
CREATE TABLE payloads (
    row  INTEGER PRIMARY KEY,
    body TEXT NOT NULL
);
