"""Stores what the payloads of repeated calls have in common once, and compressed.

The payload of a completed call begins with its result; times and effects follow. A long beginning
is replaced by a number between two control characters, which JSON never contains.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from handrail.store.sql import SqlConnection

# The schema version since which there are contents.
CONTENTS: Final = 9
# Shorter beginnings take less space in the payload itself.
_SHORTEST: Final = 512
# Everything after this differs from call to call. Inside a JSON string the quotes would be escaped.
_SEAM: Final = ',"meta":{'
_LEVEL: Final = 1
_MARK: Final = "\x01"
_NUMBER: Final = re.compile(f"^{_MARK}([0-9]{{1,18}}){_MARK}")
_AT_ONCE: Final = 200
_STRAYS: Final = {
    "SELECT id FROM contents WHERE id NOT IN (SELECT content FROM content_uses) LIMIT 1": (
        "content {}: belongs to no payload"
    ),
    "SELECT row FROM content_uses WHERE row NOT IN (SELECT row FROM payloads) LIMIT 1": (
        "content of payload {}: there is no such payload"
    ),
    "SELECT row FROM payloads LEFT JOIN content_uses USING (row) WHERE coalesce("
    "substr(body, 1, length(CAST(content AS TEXT)) + 2) != char(1) || content || char(1),"
    " substr(body, 1, 1) = char(1)) LIMIT 1": "payload {}: its content is another one",
}


def store_contents(
    db: SqlConnection, payloads: Mapping[int, str]
) -> tuple[dict[int, str], dict[int, int]]:
    """Store the long beginnings of payloads (row → body) that are not stored yet. Returns the
    payloads that had one, with a number in its place, and these numbers by row, which the caller
    inserts in the same transaction.
    """
    texts: dict[int, str] = {}
    for row, body in payloads.items():
        end = body.find(_SEAM)
        if end >= _SHORTEST:
            texts[row] = body[:end]
    if not texts:
        return {}, {}
    numbers = _store(db, set(texts.values()))
    uses = {row: numbers[text] for row, text in texts.items()}
    packed = {
        row: f"{_MARK}{uses[row]}{_MARK}{payloads[row][len(text) :]}" for row, text in texts.items()
    }
    return packed, uses


def expand_body(db: SqlConnection, body: str | None) -> str | None:
    """Return the whole payload. If its beginning is missing or damaged, the number stays, which is
    not JSON and matches no hash.
    """
    number = _NUMBER.match(body) if isinstance(body, str) and body.startswith(_MARK) else None
    if body is None or number is None:
        return body
    found = db.execute("SELECT body FROM contents WHERE id = ?", (int(number[1]),)).fetchone()
    try:
        text = zlib.decompress(found[0]).decode()
    except (zlib.error, ValueError, TypeError):
        return body
    return text + body[number.end() :]


def count_content_bytes(
    db: SqlConnection, rows: str | None = None, values: Sequence[object] = ()
) -> int:
    """Return the stored bytes of all texts, or of those that only the rows of a query need; 0 in a
    store of an older version.
    """
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'content_uses'").fetchone():
        return 0
    query = "SELECT coalesce(sum(length(body)), 0) FROM contents"
    if rows is not None:
        query += f" WHERE id NOT IN (SELECT content FROM content_uses WHERE row NOT IN ({rows}))"  # noqa: S608 - our clauses
    total: int = db.execute(query, values).fetchone()[0]
    return total


def drop_unused_contents(db: SqlConnection) -> None:
    """Delete the texts that no payload needs any more."""
    db.execute("DELETE FROM content_uses WHERE row NOT IN (SELECT row FROM payloads)")
    db.execute("DELETE FROM contents WHERE id NOT IN (SELECT content FROM content_uses)")


def find_content_break(db: SqlConnection) -> str | None:
    """Describe a text that does not match its hash or that no payload needs, or a payload whose
    number differs from that of its use.
    """
    for number, own, body in db.execute("SELECT id, hash, body FROM contents"):
        if _hash_compressed(body) != own:
            return f"content {number}: does not match its hash"
    for query, what in _STRAYS.items():
        stray = db.execute(query).fetchone()
        if stray is not None:
            return what.format(stray[0])
    return None


def _hash_compressed(body: object) -> bytes | None:
    try:
        return hashlib.sha256(zlib.decompress(body)).digest()  # type: ignore[arg-type]  # as stored
    except (zlib.error, TypeError):
        return None


def _store(db: SqlConnection, texts: set[str]) -> dict[str, int]:
    """Return the number of each text; new texts are stored."""
    hashes = {hashlib.sha256(text.encode()).digest(): text for text in texts}
    known = dict(_find(db, list(hashes)))
    new = [own for own in hashes if own not in known]
    if new:
        db.executemany(
            "INSERT INTO contents (hash, body) VALUES (?, ?)",
            [(own, zlib.compress(hashes[own].encode(), _LEVEL)) for own in new],
        )
        known.update(_find(db, new))
    return {hashes[own]: number for own, number in known.items()}


def _find(db: SqlConnection, hashes: Sequence[bytes]) -> Iterator[tuple[bytes, int]]:
    for start in range(0, len(hashes), _AT_ONCE):
        part = hashes[start : start + _AT_ONCE]
        marks = ",".join("?" * len(part))
        yield from db.execute(f"SELECT hash, id FROM contents WHERE hash IN ({marks})", part)  # noqa: S608 - only marks
