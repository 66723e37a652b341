"""Secrets known by their shape, taken out of what is written down about calls.

Works on JSON as it is stored. It finds what looks like a token; it cannot know a secret that
looks like anything else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import Final

_GONE: Final = rb"\1[redacted]"
# What ends with a letter in JSON that is none of the text's: a word begins behind it.
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
# What every shape has in it. One pass in linear time finds out that a text holds none of
# them, which is what most texts hold.
_TRACES: Final = (
    rb"sk-[A-Za-z0-9_-]{20}|k_live_|k_test_|gh[pousr]_[A-Za-z0-9]{20}|github_pat_|glpat-"
    rb"|A[KS]IA[A-Z0-9]{16}|xox[abeprs]-|AIza|eyJ[A-Za-z0-9_-]{8}|npm_[A-Za-z0-9]{30}|pypi-"
    rb"|hf_[A-Za-z0-9]{30}|SG\.[A-Za-z0-9_-]{16}|shp(?:at|ca|pa|ss)_|dop_v1_|hooks\.slack"
    rb"|PRIVATE KEY-|[Bb]earer |[Bb]asic [A-Za-z0-9+/]{20}|://[A-Za-z0-9._%+-]*:[^\s\"'@/\\]+@"
    rb"|(?:SECRET|TOKEN|PASSWORD|PASSWD|KEY)[A-Z0-9_]*="
)


def may_hold_secrets(bodies: Iterable[bytes]) -> bool:
    """Whether any of these texts could have a secret in it: one look for all of them."""
    # JSON has no line break of its own: what goes beyond one is in none of them, and at worst
    # they are looked at one by one for nothing.
    return _trace()(b"\n".join(bodies)) is not None


def redact(body: bytes) -> bytes:
    """The text without what looks like a secret; what kind it was stays to be seen."""
    if _trace()(body) is None:
        return body
    # JSON has no such byte of its own.
    body = re.sub(_ESCAPE, rb"\g<0>" + _BREAK, body)
    for shape in _SHAPES:
        body = re.sub(shape, _GONE, body)
    return body.replace(_BREAK, b"")


@cache
def _trace() -> Callable[[bytes], object]:
    import re2

    search: Callable[[bytes], object] = re2.compile(_TRACES).search
    return search
