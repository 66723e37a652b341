-- Failed calls that wait for a person. Working memory, not record: no hash covers it.
CREATE TABLE dead_letters (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    session    TEXT    NOT NULL,
    call_id    TEXT    NOT NULL,
    workspace  TEXT    NOT NULL,
    agent      TEXT    NOT NULL,
    operation  TEXT    NOT NULL,
    arguments  TEXT    NOT NULL,
    redacted   INTEGER NOT NULL,
    error      TEXT    NOT NULL,
    state      TEXT    NOT NULL,
    attempts   INTEGER NOT NULL,
    owner      TEXT    NOT NULL,
    created_ns INTEGER NOT NULL,
    changed_ns INTEGER NOT NULL
);

CREATE INDEX dead_letters_by_state ON dead_letters (state, id);
