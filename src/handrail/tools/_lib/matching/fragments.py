"""A part of one line that the file spells with typographic quotes, dashes or blanks.

Only what differs between the old and the new text is written; the rest keeps its signs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Final

from handrail.tools._lib.matching.exact import Match, replacement
from handrail.tools._lib.matching.keys import DASHES, DOUBLE, SINGLE, UNSEEN, folded
from handrail.tools._lib.matching.lines import FileLines
from handrail.tools._lib.matching.spelling import Spelled, respell
from handrail.tools._lib.splice import Splice

_LEAST: Final = 4
_MOST: Final = 1_000
_UNSEEN: Final = f"[{UNSEEN}]*"
_ALSO: Final = {
    "'": f"['{SINGLE}]",
    '"': f'["{DOUBLE}]',
    "-": f"[-{DASHES}]",
    " ": "[ \u00a0\u2000-\u200a\u202f\u205f\u3000]",
}


def find_fragments(file: FileLines, old: str, new: str) -> list[Splice]:
    """What would change at each place where the text stands but for its typography."""
    if "\n" in old or len(old.strip()) < _LEAST or (file.text.isascii() and old.isascii()):
        return []
    head, rest = _shared(old, new)
    tail = len(old) - rest
    parts = (old[:head], old[head:tail], old[tail:])
    pattern = re.compile("".join([f"({_spelled(part)})" for part in parts]))
    return list(islice(_splices(file, pattern, old, differing(old, new)), _MOST))


def differing(old: str, new: str) -> str:
    """The part of the new text that is not as in the old one."""
    head, rest = _shared(old, new)
    return new[head : len(new) - rest]


def _splices(file: FileLines, pattern: re.Pattern[str], old: str, fresh: str) -> Iterator[Splice]:
    encode = file.file.form.encode_part
    for found in pattern.finditer(file.text):
        if _whole(file.text, found.start()) and _whole(file.text, found.end()):
            start = file.starts[0] + len(encode(file.text[: found.start(2)]))
            match = Match(start, start + len(encode(found[2])), ())
            text = respell([fresh], [Spelled(old, found[0])])[0]
            yield Splice(match.start, match.end, replacement(file.file, match, found[2], text))


def _shared(old: str, new: str) -> tuple[int, int]:
    """How many characters both texts begin with alike, and end with alike."""
    head = _alike(old, new)
    return head, _alike(old[head:][::-1], new[head:][::-1])


def _alike(one: str, two: str) -> int:
    """How many characters two texts begin with alike."""
    pairs = zip(one, two, strict=False)
    return next((at for at, (a, b) in enumerate(pairs) if a != b), min(len(one), len(two)))


def _spelled(text: str) -> str:
    return "".join([_ALSO.get(char, re.escape(char)) + _UNSEEN for char in folded(text)])


def _whole(text: str, position: int) -> bool:
    """Whether no word goes on at a position."""
    around = text[max(position - 1, 0) : position + 1]
    return not (0 < position < len(text) and all(char.isalnum() or char == "_" for char in around))
