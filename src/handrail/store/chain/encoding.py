"""How a row is encoded and hashed: the caller's thread encodes its payload, the writer seals it.

Changing any byte of the hashed encodings breaks every existing store. Text fields carry their
length, so no two different rows have the same encoding. Hashes are SHA-256 in hex.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from pydantic_core import to_json

from handrail.core.ports.records import Row
from handrail.core.text.redact import redact

GENESIS: Final = "0" * 64

_sha256 = hashlib.sha256


def row_hash(
    session: str,
    seq: int,
    kind: str,
    call_id: str,
    turn: int,
    at_ns: int,
    payload_hash: str,
    prev_hash: str,
) -> str:
    """The hash of one row; `prev_hash` is the hash of the row or ledger line before it, of the
    whole store (before version 8: of the same session).
    """
    return _sha256(
        f"row,{len(session)}:{session},{seq},{len(kind)}:{kind},{len(call_id)}:{call_id},"
        f"{turn},{at_ns},{payload_hash},{prev_hash}".encode()
    ).hexdigest()


def ledger_hash(
    number: int, session: str, kind: str, at_ns: int, rows: int, head: str, info: str, prev: str
) -> str:
    """The hash of one line of the ledger as stores before version 8 have it; `rows` and `head`
    are the session's at that moment.
    """
    return _sha256(
        f"ledger,{number},{len(session)}:{session},{len(kind)}:{kind},{at_ns},{rows},{head},"
        f"{len(info)}:{info},{prev}".encode()
    ).hexdigest()


def line_hash(
    number: int,
    session: str,
    kind: str,
    at_ns: int,
    rows: int,
    head: str,
    info: str,
    after_row: int,
    owner: str,
    prev: str,
) -> str:
    """The hash of one line of the ledger since there is one chain for the whole store; `prev`
    is the hash of the row or line before it, `after_row` the number of the last row.
    """
    return _sha256(
        f"line,{number},{len(session)}:{session},{len(kind)}:{kind},{at_ns},{rows},{head},"
        f"{len(info)}:{info},{after_row},{len(owner)}:{owner},{prev}".encode()
    ).hexdigest()


def payload_hash(body: bytes) -> str:
    """The hash of a payload as it is stored."""
    return _sha256(body).hexdigest()


def encode_json(value: Any) -> bytes:
    """Compact JSON; what JSON does not know is written as its repr.

    Raises ValueError, TypeError or RecursionError for what has no JSON form at all (a
    circle, endless depth), and whatever a value's own `__repr__` raises.
    """
    try:
        # Half the time of the standard library, and this is the dearest step of a row.
        return to_json(value, fallback=_plain)
    except ValueError:
        # Half a surrogate pair (undecodable bytes in a tool's output) has no UTF-8, and
        # raw bytes may be none; the standard library escapes the one and we the other.
        return _escaped(value).encode("ascii")


def storable(text: str) -> str:
    """The text itself, or with lone surrogates spelled out where it has no UTF-8 form."""
    if text.isascii():
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def _plain(value: object) -> Any:
    return dict(value) if isinstance(value, Mapping) else repr(value)


_escaped = json.JSONEncoder(separators=(",", ":"), default=_plain).encode


class EncodedRow(NamedTuple):
    """A row whose payload is JSON already, so that nobody can change it any more."""

    session: str
    kind: str
    call_id: str
    turn: int
    at_ns: int
    body: bytes


class SealedRow(NamedTuple):
    """A row made ready for writing, all but its place in the chain."""

    session: str
    kind: str
    call_id: str
    turn: int
    at_ns: int
    payload_hash: str
    body: str


def encode_row(row: Row) -> EncodedRow:
    """The row as it is at this moment; raises whatever its payload's own code raises."""
    session, kind, call_id, turn, at_ns, payload = row
    return EncodedRow(session, kind, call_id, turn, at_ns, encode_json(payload))


def encode_row_or_error(row: Row) -> EncodedRow:
    """The same; what has no JSON form is recorded as the reason why."""
    try:
        return encode_row(row)
    except Exception as error:  # noqa: BLE001 - foreign code; the record must outlive it
        # That the call happened must be on record, even if not what it carried.
        return encode_row(row._replace(payload={"unencodable": describe_encoding_error(error)}))


def describe_encoding_error(error: Exception) -> str:
    """An exception in words, even one that cannot say what it is."""
    name = type(error).__name__
    try:
        return f"{name}: {error}"
    except Exception:  # noqa: BLE001 - its message is made by foreign code too
        return name


def seal_row(packed: EncodedRow, *, clean: bool = False) -> SealedRow:
    """The row with the hash of its payload, and without secrets that show by their shape
    (`clean`: it is known to hold none). An intent stays as it is but for its text, and so do the
    effects of a command: they hold what recovery and undo put back, and a file's name may look
    like a secret.
    """
    session, kind, call_id, turn, at_ns, body = packed
    if not clean:
        body = _without_secrets(body) if kind != "intent" else _without_secrets_in_text(body)
    # Most names are ASCII, and this is done for every row.
    if not (session.isascii() and call_id.isascii()):
        session, call_id = storable(session), storable(call_id)
    own = _sha256(body).hexdigest()
    return SealedRow(session, kind, call_id, turn, at_ns, own, body.decode())


def _without_secrets_in_text(body: bytes) -> bytes:
    if b'"text":' not in body or redact(body) == body:
        return body
    payload = json.loads(body)
    if "text" not in payload:
        return body
    return encode_json({**payload, "text": json.loads(redact(encode_json(payload["text"])))})


def _without_secrets(body: bytes) -> bytes:
    redacted = redact(body)
    if redacted == body or b'"effects":' not in body:
        return redacted
    payload = json.loads(body)
    effects = payload.pop("effects", None)
    if effects is None:
        return redacted
    return encode_json({**json.loads(redact(encode_json(payload))), "effects": effects})
