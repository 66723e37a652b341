"""What an id of a call looks like, and what stands for one that does not look like it.

Ids come from providers and clients, and become names in the record, in file names, events
and terminals. Odd ones are therefore kept out of all of these.
"""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final

from handrail.core.problems import ProblemRaised

MAX_CALL_ID: Final = 256
_CALL_ID: Final = re.compile(rf"[A-Za-z0-9_.:-]{{1,{MAX_CALL_ID}}}")


def is_call_id(value: object) -> bool:
    """Whether the value can be used as an id: 1 to 256 of `A-Z a-z 0-9 _ . : -`."""
    return isinstance(value, str) and _CALL_ID.fullmatch(value) is not None


def safe_call_id(value: str) -> str:
    """The id itself, or one made from its hash: the same for the same id."""
    if is_call_id(value):
        return value
    return f"id-{hashlib.sha256(value.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


def check_call_id(value: Any) -> str:
    """The id that a program gave; raises `invalid_arguments` if it cannot be used."""
    if is_call_id(value):
        return str(value)
    if not isinstance(value, str):
        what = f"is a {type(value).__name__}"
    elif not 1 <= len(value) <= MAX_CALL_ID:
        what = f"has {len(value):,} characters"
    else:
        what = f"is {value!r}"
    raise ProblemRaised(
        "invalid_arguments",
        f"the id of a call {what}",
        hint=f"an id is text of 1 to {MAX_CALL_ID} letters, digits, _ . : or -",
        field="id",
    )
