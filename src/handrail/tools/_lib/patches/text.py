"""From the text of a call to the lines of a patch: wrappings that models add are taken off.

Only what cannot be part of the patch is removed; a part of a patch is never dropped unread.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Final

from handrail.tools._lib.patches.decoration import remove_decoration, remove_quote_marks
from handrail.tools._lib.patches.model import malformed
from handrail.tools._lib.patches.names import is_same_file

_FENCE: Final = re.compile(r"\s*(?:`{3,}|~{3,})[\w+. -]*")
_HEADER: Final = re.compile(
    r"diff --git |\*\*\* (?:Begin Patch|(?:Add|Update|Delete) File:)|Index: |@@"
    r"|(?:rename|copy) from |(?:old|new file|deleted file) mode "
)


def patch_lines(text: str) -> list[str]:
    """The lines of a patch without fences, prose round them, or a common indentation.

    Carriage returns that end every line end the patch's lines; where only some lines have
    one, it is theirs, because a diff of a CRLF file looks like that.
    """
    text = _unescaped(text.removeprefix("\ufeff"))
    lines = text.split("\n")
    if not lines[-1]:
        lines.pop()
    if all(line.endswith("\r") for line in lines[:-1]):
        lines = [line.removesuffix("\r") for line in lines]
    lines = remove_quote_marks(_unfenced(lines), _starts)
    return remove_decoration(_dedented(lines))


def starts_file(lines: Sequence[str], at: int) -> bool:
    """Whether a unified diff of a file begins with its two name lines here."""
    return lines[at].startswith("--- ") and at + 1 < len(lines) and lines[at + 1].startswith("+++ ")


def names_one_file(lines: Sequence[str], at: int) -> bool:
    """Whether the two name lines of a unified diff stand here, and name one file.

    A deleted line `-- x` above an added line `++ y` looks like name lines too, but hardly with
    the same name in both.
    """
    return starts_file(lines, at) and is_same_file(lines[at][4:], lines[at + 1][4:])


def _unescaped(text: str) -> str:
    # A patch has several lines. If there is only one, with `\n` in it, it was escaped twice.
    if "\n" in text or "\\n" not in text:
        return text
    try:
        return str(json.loads(f'"{text}"'))
    except ValueError:
        return text.replace("\\n", "\n").replace("\\t", "\t")


def _starts(lines: Sequence[str], at: int) -> bool:
    head = [line.lstrip() for line in lines[at : at + 2]]
    return _HEADER.match(head[0]) is not None or starts_file(head, 0)


def _unfenced(lines: list[str]) -> list[str]:
    fences = [at for at, line in enumerate(lines) if _FENCE.fullmatch(line)]
    opening = [at for at in fences if _opens(lines, at)]
    if not opening or any(_starts(lines, at) for at in range(opening[0])):
        return lines
    kept: list[str] = []
    for start, stop in _between(opening, len(lines)):
        # The last one: a fence further up is a line of the patched file.
        end = max([at for at in fences if start < at < stop], default=stop)
        kept += lines[start + 1 : end]
        if any(_starts(lines, at) for at in range(end, stop)):
            raise malformed(
                "a part of the patch stands outside of the code fence",
                "send the patch alone, without fences and without text around it",
            )
    return kept


def _opens(lines: Sequence[str], fence: int) -> bool:
    below = next((at for at in range(fence + 1, len(lines)) if lines[at].strip()), None)
    return below is not None and _starts(lines, below)


def _between(starts: Sequence[int], end: int) -> Iterator[tuple[int, int]]:
    return zip(starts, [*starts[1:], end], strict=True)


def _dedented(lines: list[str]) -> list[str]:
    first = next((at for at in range(len(lines)) if _starts(lines, at)), None)
    if first is None:
        return lines
    indent = lines[first][: len(lines[first]) - len(lines[first].lstrip())]
    rest = lines[first:]
    if not indent or not all(line.startswith(indent) or not line.strip() for line in rest):
        return lines
    return [line.removeprefix(indent) for line in rest]
