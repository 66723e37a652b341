"""Finds comments that stand for omitted code, such as "rest of code unchanged".

Writing such a comment to a file deletes the code that it stands for. A line is reported only if it is a
comment without further text; a longer sentence is an ordinary comment.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import PurePosixPath
from typing import Final

_PROSE: Final = frozenset((".md", ".mdx", ".markdown", ".txt", ".rst", ".adoc", ".org", ".tex"))
# Documents may show such a comment as an example; there only HTML comments count.
_HIDDEN: Final = re.compile(r"\s*<!--")
# Every omission contains one of these words; most texts contain none.
OMISSION_WORDS: Final = (
    b"unchanged",
    b"same",
    b"remain",
    b"rest ",
    b"existing",
    b"omitted",
    b"as before",
)
_MAX_LINE: Final = 200
# The first characters of `_MARK`; cheaper to check.
_FIRST: Final = frozenset(b"{ / # - ; % < ( * \" ' r R".split())

_MARK: Final = re.compile(
    r"""\s*(?:
        \{?/\*+ | //+!? | \#+ | --+ | ;+ | %+ | <!--+ | \(\* | \*+ | "{3} | '{3} | rem\b
    )\s*""",
    re.VERBOSE | re.IGNORECASE,
)
_END: Final = re.compile(
    r"""\s*(?:\*+/\}? | --+> | \*\) | \#+ | "{3} | '{3} | //+ )?\s*$""", re.VERBOSE
)
_DOTS: Final = r"(?:\.{2,}|…)"
_EDGES: Final = re.compile(r"^[\s\[\](){}<>*=_:-]+|[\s\[\](){}<>*=_:-]+$")

_THING: Final = r"""(?:
    (?:source\s+)?code | file | functions? | methods? | class(?:es)? | implementations? | contents?
    | components? | modules? | scripts? | logic | body | tests? | imports? | routes? | handlers?
    | definitions? | fields | properties | props | jsx | markup | html | styles? | document
    | configuration | config | template | section
)"""
# Words that refer to code in general.
_LISTED: Final = r"""(?:
    (?:source\s+)?code | functions? | methods? | class(?:es)? | implementations? | imports? | logic
    | components? | routes? | styles? | jsx | markup
)"""
_WHOSE: Final = r"(?:(?:the|your|this|that|my|our|all)\s+)*"
_OLD: Final = r"(?:(?:existing|previous|original|current|old|prior)\s+)"
_OTHER: Final = r"(?:(?:other|remaining)\s+)"
_REST: Final = rf"(?:rest|remainder)\s+of\s+{_WHOSE}(?:{_OLD}|{_OTHER})?{_THING}(?:\s+{_THING})?"
_LEFT: Final = rf"(?:{_OLD}|{_OTHER})+{_THING}(?:\s+{_THING})?"
_FILLED: Final = rf"{_WHOSE}(?:{_REST}|{_LEFT})"
_MEANT: Final = rf"{_WHOSE}(?:{_REST}|(?:{_OLD}|{_OTHER})+{_LISTED}(?:\s+{_LISTED})?)"
_STATE: Final = r"""(?:
    (?:(?:is|are|remains?|stays?|kept|keeps?|left|continues?|goes|follows?)\s+)*
    (?:
        (?:completely\s+|entirely\s+|exactly\s+)?(?:unchanged|untouched|unmodified|identical)
        | (?:exactly\s+)?(?:the\s+)?same(?:\s+as\s+(?:before|the\s+original|in\s+the\s+original))?
        | as\s+(?:before|is|it\s+(?:is|was))
        | omitted | elided | here
    )
    (?:\s+(?:as\s+before|from\s+before|for\s+(?:brevity|clarity)|here))?
)"""
_KEEP: Final = r"(?:keep|leave|include|insert|paste)\s+"
_JOINED: Final = r"[\s,:(.…-]*+"


def _stated(words: str) -> bool:
    """Whether the words name code and say that it is unchanged; dots are not required."""
    return _compiled(rf"(?:{_KEEP})?(?:and\s+)?{_MEANT}{_JOINED}{_STATE}\)?")(words)


def _dotted(words: str) -> bool:
    """Whether the words are an omission if there are dots before or after them."""
    return _compiled(
        rf"""(?:{_KEEP})?(?:and\s+)?(?:
            {_FILLED} | {_WHOSE}{_THING}{_JOINED}(?:unchanged|omitted|elided|as\s+before)
            | (?:the\s+)?rest(?:{_JOINED}{_STATE})? | unchanged | same\s+as\s+before | omitted
            | {_OLD}?{_THING}\s+(?:remains?|stays?)\s+(?:the\s+same|unchanged)
        )(?:\s+(?:here|above|below|for\s+brevity))?"""
    )(words)


@cache
def _compiled(pattern: str) -> Callable[[str], bool]:
    # Compiled on first use: it takes milliseconds, and most processes never need it.
    regex = re.compile(pattern, re.VERBOSE | re.IGNORECASE)
    return lambda words: regex.fullmatch(words) is not None


def omissions(text: bytes, path: str = "") -> Iterator[bytes]:
    """Yield the lines of a text that stand for omitted code."""
    prose = PurePosixPath(path).suffix.lower() in _PROSE
    for line in text.splitlines():
        if line.lstrip()[:1] not in _FIRST or len(line) > _MAX_LINE:
            continue
        lowered = line.lower()
        if any(word in lowered for word in OMISSION_WORDS):
            shown = line.decode("utf-8", "replace")
            if (not prose or _HIDDEN.match(shown)) and is_omission(shown):
                yield line


def is_omission(line: str) -> bool:
    """Whether a line is a comment that stands for omitted code."""
    mark = _MARK.match(line)
    if mark is None:
        return False
    text = _END.sub("", line[mark.end() :])
    words, dotted = _without_dots(text)
    return _stated(words) or (dotted and _dotted(words))


def _without_dots(text: str) -> tuple[str, bool]:
    """The text without surrounding dots and brackets, and whether there were dots."""
    dotted = False
    while True:
        bare = _EDGES.sub("", text)
        shorter = re.sub(rf"^{_DOTS}|{_DOTS}$", "", bare)
        if shorter == bare:
            return bare.rstrip(".!;, "), dotted
        dotted, text = True, shorter
