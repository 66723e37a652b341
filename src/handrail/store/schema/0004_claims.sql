-- Who may run the call of an id that a caller gave; the first to come has it. Working
-- memory, not record: no hash covers it. Kept when payloads are purged, as it holds no text.
CREATE TABLE claims (
    session     TEXT    NOT NULL,
    call_id     TEXT    NOT NULL,
    fingerprint TEXT    NOT NULL,
    owner       TEXT    NOT NULL,
    at_ns       INTEGER NOT NULL,
    PRIMARY KEY (session, call_id)
) WITHOUT ROWID;
