"""A row on its way into the store: packed by whoever leaves it, sealed by the writer."""

from __future__ import annotations

import json
from typing import NamedTuple

from handrail.core.ports.records import Row
from handrail.core.text.redact import redact
from handrail.store.chain.hashes import encode_json, payload_hash, storable


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
    return SealedRow(
        storable(session), kind, storable(call_id), turn, at_ns, payload_hash(body), body.decode()
    )


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
