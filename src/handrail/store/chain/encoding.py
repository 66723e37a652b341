"""How a row is encoded and hashed: the caller's thread encodes its payload, the writer seals it and
removes secrets that are recognisable by their form.

Changing any byte of the hashed encodings breaks every existing store. Text fields carry their
length, so no two different rows have the same encoding. Hashes are SHA-256 in hex. Only secrets
that look like a token are found and removed, in the JSON as it is stored.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, Final

from handrail.core.ports.records import Row

GENESIS: Final = "0" * 64

# In bytes. Two names must fit into an index entry of PostgreSQL, which has about 2,700 bytes.
_LONGEST_NAME: Final = 1_000
_KEPT_OF_NAME: Final = 900
# A name with this many characters is never too long.
_SHORT_NAME: Final = 250

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
    """Return the hash of one row; `prev_hash` is the hash of the row or ledger line before it in
    the whole store (before version 8: in the same session).
    """
    return _sha256(
        f"row,{len(session)}:{session},{seq},{len(kind)}:{kind},{len(call_id)}:{call_id},"
        f"{turn},{at_ns},{payload_hash},{prev_hash}".encode()
    ).hexdigest()


def ledger_hash(
    number: int, session: str, kind: str, at_ns: int, rows: int, head: str, info: str, prev: str
) -> str:
    """Return the hash of one line of the ledger in stores before version 8; `rows` and `head` are
    the session's at that moment.
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
    """Return the hash of one line of the ledger since version 8; `prev` is the hash of the row or
    line before it, `after_row` the number of the last row.
    """
    return _sha256(
        f"line,{number},{len(session)}:{session},{len(kind)}:{kind},{at_ns},{rows},{head},"
        f"{len(info)}:{info},{after_row},{len(owner)}:{owner},{prev}".encode()
    ).hexdigest()


def payload_hash(body: bytes) -> str:
    """Return the hash of a payload as it is stored."""
    return _sha256(body).hexdigest()


def encode_json(value: Any) -> bytes:
    """Return compact JSON; values that JSON does not support are written as their repr.

    Raises ValueError, TypeError or RecursionError for values without any JSON form (circular or too
    deep), and whatever a value's own `__repr__` raises.
    """
    try:
        # Half the time of the standard library, and this is the most expensive step of a row.
        return _fast_json()(value, fallback=_plain)
    except ValueError:
        # A lone surrogate (undecodable bytes in a tool's output) has no UTF-8, and raw bytes may
        # not be UTF-8; the standard library escapes the former, this module the latter.
        return _escaped(value).encode("ascii")


@cache
def _fast_json() -> Callable[..., bytes]:
    from pydantic_core import to_json

    return to_json


def encode_info(info: Mapping[str, Any]) -> str:
    """Return compact JSON of a few texts and numbers, without loading the fast encoder."""
    return _escaped(info)


def storable(text: str) -> str:
    """Return the text, with lone surrogates and NUL escaped, which a database may refuse."""
    if text.isascii() and "\0" not in text:
        return text
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\0", "\\x00")


def storable_name(text: str) -> str:
    """Return the name of a session, a call or a value as it is stored: the end of a name that is
    too long for an index of PostgreSQL is replaced by a hash of it.
    """
    name = storable(text)
    if len(name) < _SHORT_NAME or len(encoded := name.encode()) <= _LONGEST_NAME:
        return name
    return encoded[:_KEPT_OF_NAME].decode("utf-8", "ignore") + "..." + payload_hash(encoded)


def _plain(value: object) -> Any:
    return dict(value) if isinstance(value, Mapping) else repr(value)


_escaped = json.JSONEncoder(separators=(",", ":"), default=_plain).encode


# Plain tuples: every call makes two of each, and a named tuple takes four times as long.

# A row whose payload is already JSON, so that it can no longer change: session, kind, id of the
# call, turn, time in nanoseconds, payload.
EncodedRow = tuple[str, str, str, int, int, bytes]
# A row that is ready to be written, except for its place in the chain: the same fields, with the
# hash of the payload before the payload, which is text.
SealedRow = tuple[str, str, str, int, int, str, str]


def encode_row(row: Row) -> EncodedRow:
    """Encode the row as it is now; raises whatever its payload's own code raises."""
    session, kind, call_id, turn, at_ns, payload = row
    return session, kind, call_id, turn, at_ns, encode_json(payload)


def encode_row_or_error(row: Row) -> EncodedRow:
    """Do what `encode_row` does, but record the reason for a payload that has no JSON form."""
    session, kind, call_id, turn, at_ns, payload = row
    try:
        body = encode_json(payload)
    except Exception as error:  # noqa: BLE001 - foreign code; the record must outlive it
        # The call must be recorded even if its payload cannot be.
        body = encode_json({"unencodable": describe_encoding_error(error)})
    return session, kind, call_id, turn, at_ns, body


def describe_encoding_error(error: Exception) -> str:
    """Describe an exception, even one whose own text cannot be computed."""
    name = type(error).__name__
    try:
        return f"{name}: {error}"
    except Exception:  # noqa: BLE001 - its message is made by foreign code too
        return name


def seal_row(packed: EncodedRow, *, clean: bool = False) -> SealedRow:
    """Return the row with the hash of its payload, and without secrets that are recognisable by
    their form (`clean`: it is known to have none). Of an intent only the text is changed, and the
    effects of a command stay: they contain what recovery and undo restore, and a file's name may
    look like a secret.
    """
    session, kind, call_id, turn, at_ns, body = packed
    if not clean:
        body = _without_secrets(body) if kind != "intent" else _without_secrets_in_text(body)
    # Most names are short and ASCII, and this runs for every row.
    names = session + call_id
    if not names.isascii() or len(names) >= _SHORT_NAME or "\0" in names:
        session, call_id = storable_name(session), storable_name(call_id)
    own = _sha256(body).hexdigest()
    return session, kind, call_id, turn, at_ns, own, body.decode()


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


_GONE: Final = rb"\1[redacted]"
# A JSON escape that ends with a letter; that letter does not belong to the following word.
_ESCAPE: Final = rb"\\(?:u001b\[[0-9;]*m|[bfnrt\\]|u[0-9a-f]{4})"
_BREAK: Final = b"\0"
_SHAPES: Final = (
    rb"(?<![A-Za-z0-9])(sk-(?:[a-z]{2,8}-)*)[A-Za-z0-9_-]{20,}",
    rb"\b([srp]k_(?:live|test)_)[A-Za-z0-9]{10,}",
    rb"\b(gh[pousr]_)[A-Za-z0-9]{20,}",
    rb"\b(github_pat_)[A-Za-z0-9_]{20,}",
    rb"\b(glpat-)[A-Za-z0-9_-]{16,}",
    rb"\b(A[KS]IA)[A-Z0-9]{16}\b",
    rb"\b(xox[abeprs]-)[A-Za-z0-9-]{10,}",
    rb"\b(AIza)[A-Za-z0-9_-]{30,}",
    rb"\b(eyJ)[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}",
    rb"\b(npm_)[A-Za-z0-9]{30,}",
    rb"\b(pypi-)[A-Za-z0-9_-]{30,}",
    rb"\b(hf_)[A-Za-z0-9]{30,}",
    rb"\b(SG\.)[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    rb"\b(shp(?:at|ca|pa|ss)_)[a-fA-F0-9]{24,}",
    rb"\b(dop_v1_)[a-f0-9]{32,}",
    rb"(hooks\.slack\.com/services/)[A-Za-z0-9/]{20,}",
    rb"(-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----)(?:(?!-----END)[^\"]){20,20000}",
    rb"\b([Bb]earer )[A-Za-z0-9._~+/-]{20,}=*",
    rb"\b([Bb]asic )[A-Za-z0-9+/]{20,}=*",
    rb"(://[A-Za-z0-9._%+-]{0,80}:)[^\s\"'@/\\]{3,200}(?=@)",
    rb"(?<![A-Za-z0-9_])"
    rb"([A-Z0-9_]{0,60}(?:SECRET|TOKEN|PASSWORD|PASSWD|APIKEY|API_KEY|ACCESS_KEY|PRIVATE_KEY)"
    rb"[A-Z0-9_]{0,60}=(?:'|\\[\"'])?)[^\s\"'\\()$<>]{6,}",
)
# Every form contains one of these. One pass in linear time shows that a text contains none of them,
# as most texts do.
_TRACES: Final = (
    rb"sk-[A-Za-z0-9_-]{20}|k_live_|k_test_|gh[pousr]_[A-Za-z0-9]{20}|github_pat_|glpat-"
    rb"|A[KS]IA[A-Z0-9]{16}|xox[abeprs]-|AIza|eyJ[A-Za-z0-9_-]{8}|npm_[A-Za-z0-9]{30}|pypi-"
    rb"|hf_[A-Za-z0-9]{30}|SG\.[A-Za-z0-9_-]{16}|shp(?:at|ca|pa|ss)_|dop_v1_|hooks\.slack"
    rb"|PRIVATE KEY-|[Bb]earer |[Bb]asic [A-Za-z0-9+/]{20}|://[A-Za-z0-9._%+-]*:[^\s\"'@/\\]+@"
    rb"|(?:SECRET|TOKEN|PASSWORD|PASSWD|KEY)[A-Z0-9_]*="
)


def may_hold_secrets(bodies: Iterable[bytes]) -> bool:
    """Return whether any of these texts could contain a secret, with one search for all of them."""
    # JSON has no raw line break: a match across one is in none of the texts and at worst makes them
    # be searched one by one for nothing.
    return _trace()(b"\n".join(bodies)) is not None


def redact(body: bytes) -> bytes:
    """Replace what looks like a secret by its kind."""
    if _trace()(body) is None:
        return body
    # JSON never contains this byte.
    body = re.sub(_ESCAPE, rb"\g<0>" + _BREAK, body)
    for shape in _SHAPES:
        body = re.sub(shape, _GONE, body)
    return body.replace(_BREAK, b"")


@cache
def _trace() -> Callable[[bytes], object]:
    import re2

    search: Callable[[bytes], object] = re2.compile(_TRACES).search
    return search
