"""Whether lines are nested in a call as they are in the file, where indentation has a meaning.

A line that a call shows outside its loop is another program than the file's. How far lines are
indented may differ; which of them are deeper than which may not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from handrail.tools._lib.matching.indentation import find_indent_unit, leading_blanks
from handrail.tools._lib.matching.lines import FileLines, LineOp

_YAML: Final = frozenset({".yaml", ".yml"})
_MEANING: Final = _YAML | frozenset(
    {".py", ".pyi", ".pyw", ".pyx", ".pxd", ".nim", ".coffee", ".pug", ".haml", ".slim", ".sass"}
    | {".styl", ".gd", ".fs", ".fsx", ".elm"}
)
_STRING: Final = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|#.*")
_QUOTES: Final = re.compile(r"\"{3}|'{3}")
_TABS: Final = (4, 2, 8)


class _Depths(NamedTuple):
    """How deep a line is, in the call and in the file."""

    call: int
    file: int


def is_nested_alike(file: FileLines, old: Sequence[LineOp], lines: Sequence[int | None]) -> bool:
    """Whether the lines of a call that are equally deep, deeper or less deep are so in the file.

    Also if the file's language does not care, or if all indentation was lost.
    """
    suffix = PurePosixPath(file.path).suffix.lower()
    if suffix not in _MEANING:
        return True
    pairs = list(_statements(file, old, lines))
    if not any(leading_blanks(call) for call, _ in pairs):
        return True
    tabbed = any("\t" in leading_blanks(text) for pair in pairs for text in pair)
    unit = max(find_indent_unit(file), 2)
    listed = suffix in _YAML
    return any(
        _in_order([_Depths(*[_depth(text, tab, listed) for text in pair]) for pair in pairs], unit)
        for tab in (_TABS if tabbed else _TABS[:1])
    )


def _statements(
    file: FileLines, old: Sequence[LineOp], lines: Sequence[int | None]
) -> Iterator[tuple[str, str]]:
    """The lines that begin a statement, in the call and in the file."""
    opened, quoted, continued = 0, False, False
    for at, (op, line) in enumerate(zip(old, lines, strict=True)):
        text = op.text
        if line is None or not text.strip() or text.lstrip().startswith("#"):
            continue
        inside = quoted
        quoted = quoted != (len(_QUOTES.findall(text)) % 2 == 1)
        code = "" if inside else _STRING.sub("", text)
        # Text from inside a line has no indentation on its first line.
        cut = at == 0 and text == text.lstrip() != file.texts[line]
        if opened <= 0 and not inside and code.lstrip()[:1] not in (")", "]", "}") and not cut:
            yield text, file.texts[line]
        opened = max(opened, 0) + sum(map(code.count, "([{")) - sum(map(code.count, ")]}"))
        opened += code.rstrip().endswith("\\") - continued
        continued = code.rstrip().endswith("\\")


def _depth(text: str, tab: int, listed: bool) -> int:
    depth = 2 * len(leading_blanks(text).expandtabs(tab))
    # In YAML the items of a list may be as deep as what they belong to.
    return depth + 1 if listed and text.lstrip().startswith("-") else depth


def _in_order(pairs: Sequence[_Depths], unit: int) -> bool:
    own: dict[int, int] = {}
    for call, file in pairs:
        if own.setdefault(call, file) != file:
            return False
    depths = sorted(own)
    for less, more in pairwise(depths):
        # Less than a step is a slip of the hand.
        slip = more - less < 2 * unit and own[less] == own[more]
        if own[less] >= own[more] and not slip:
            return False
    return True
