-- What a named session carries from one opening to the next. Working memory, not record:
-- it is overwritten freely and no hash covers it.
CREATE TABLE session_state (
    session TEXT NOT NULL,
    key     TEXT NOT NULL,
    value   TEXT NOT NULL,
    PRIMARY KEY (session, key)
);

CREATE INDEX ledger_by_session ON ledger (session);
CREATE INDEX rows_by_call ON rows (session, call_id);
CREATE INDEX requests_by_time ON rows (at_ns) WHERE kind = 'requested';
