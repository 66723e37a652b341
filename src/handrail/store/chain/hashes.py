"""How a row becomes a hash. Changing any byte of these encodings breaks every store there is.

Text fields carry their length, so no two different rows have the same encoding. Hashes are
SHA-256 in hex.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

from pydantic_core import to_json

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
