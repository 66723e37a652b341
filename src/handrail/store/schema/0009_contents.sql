-- Long beginnings of payloads: each once, compressed, under the SHA-256 of the text. A payload
-- names its own by number; its hash in the chain is that of the whole payload.
CREATE TABLE contents (
    id   INTEGER PRIMARY KEY,
    hash BLOB    NOT NULL UNIQUE,
    body BLOB    NOT NULL
);

-- Which payloads need a text; it goes with the last of them.
CREATE TABLE content_uses (
    row     INTEGER PRIMARY KEY,
    content INTEGER NOT NULL
);
