"""Places where only comments or prose beside the change differ, by slips of a word.

Code, and lines that are deleted, must be the same. A word that became another word tells two similar
places apart.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from typing import Final

from handrail.tools._lib.matching.candidates import Candidate, Tier, align_lines
from handrail.tools._lib.matching.lines import FileLines, LineBlock, LineOp
from handrail.tools._lib.matching.normalize import canonical, fold_quotes, fold_typography, squeeze

_PROSE: Final = frozenset({"md", "markdown", "mdx", "rst", "txt", "adoc", "org", "text"})
_C: Final = ("//", "/*", "*")
_HASH: Final = ("#",)
_DASH: Final = ("--",)
_SEMI: Final = (";",)
_TAG: Final = ("<!--",)
_MARKS: Final[Mapping[str, tuple[str, ...]]] = (
    dict.fromkeys(
        [
            "c",
            "h",
            "cc",
            "cpp",
            "cxx",
            "hpp",
            "hh",
            "js",
            "jsx",
            "mjs",
            "cjs",
            "ts",
            "tsx",
            "java",
            "go",
            "rs",
            "swift",
        ],
        _C,
    )
    | dict.fromkeys(
        [
            "kt",
            "kts",
            "scala",
            "cs",
            "dart",
            "css",
            "scss",
            "less",
            "groovy",
            "proto",
            "m",
            "mm",
            "zig",
            "v",
        ],
        _C,
    )
    | dict.fromkeys(
        [
            "py",
            "pyi",
            "sh",
            "bash",
            "zsh",
            "rb",
            "yaml",
            "yml",
            "toml",
            "pl",
            "r",
            "mk",
            "cfg",
            "conf",
            "tf",
            "cmake",
        ],
        _HASH,
    )
    | dict.fromkeys(["ini", "lisp", "el", "clj", "cljs", "scm", "asm", "s"], (*_SEMI, *_HASH))
    | dict.fromkeys(["sql", "lua", "hs", "elm", "adb", "ads"], (*_DASH, "/*"))
    | dict.fromkeys(["html", "htm", "xml", "svg", "vue", "svelte"], (*_TAG, "//", "/*"))
    | dict.fromkeys(["tex", "erl"], ("%",))
    | {"php": (*_C, *_HASH), "hcl": (*_C, *_HASH)}
)
# Where the language is not known, only marks that no code begins with.
_UNKNOWN: Final = ("//", "# ", "/*", "* ", "-- ", ";; ", "<!--")
_FENCE: Final = re.compile(r"[ \t]*(```|~~~)")
_TRIPLE: Final = re.compile(r'"""|' + "'''")
_WORD: Final = re.compile(r"\w+|[^\w\s]")
_MOST_SLIPS: Final = 2


class Prose:
    """Knows of each line of a file whether it may be remembered inexactly."""

    def __init__(self, file: FileLines) -> None:
        self._file = file
        self._kind = file.path.rpartition("/")[2].rpartition(".")[2].lower()

    def has(self, line: int, said: str) -> bool:
        """Whether a line of the file, and what a call says it is, are both prose."""
        if self._kind in _PROSE:
            return line not in self._special
        if self._kind in ("py", "pyi") and line in self._special:
            return True
        marks = _MARKS.get(self._kind, _UNKNOWN)
        text = self._file.texts[line].strip()
        return text.startswith(marks) and said.strip().startswith(marks)

    @cached_property
    def _special(self) -> frozenset[int]:
        """The code of a prose file, or the doc strings of a Python file."""
        mark = _FENCE if self._kind in _PROSE else _TRIPLE
        inside, lines = False, set()
        for number, text in enumerate(self._file.texts):
            found = len(mark.findall(text)) if mark is _TRIPLE else bool(mark.match(text))
            if inside or found:
                lines.add(number)
            inside ^= bool(found % 2)
        return frozenset(lines)


def differs_by_slip(said: str, line: str, text: str) -> bool:
    """Whether two lines differ only by one or two mistyped words, in a file with this text."""
    one, two = _WORD.findall(fold_typography(said)), _WORD.findall(fold_typography(line))
    slips = 0
    matcher = SequenceMatcher(None, one, two, autojunk=False)
    for tag, a0, a1, b0, b1 in matcher.get_opcodes():
        if tag == "equal":
            continue
        if a1 - a0 != b1 - b0:
            return False
        slips += a1 - a0
        pairs = zip(one[a0:a1], two[b0:b1], strict=True)
        if not all(_mistyped(word, own, text) for word, own in pairs):
            return False
    return 0 < slips <= _MOST_SLIPS


def _mistyped(said: str, own: str, text: str) -> bool:
    if not (said.isalpha() and own.isalpha()):
        return False
    if said.lower() == own.lower():
        return True
    # HTTP is not HTTPS: names in capitals that the file has both are two names.
    if said.isupper() and re.search(rf"\b{said}\b", text):
        return False
    return min(len(said), len(own)) >= 3 and _one_edit(said.lower(), own.lower())


def _one_edit(one: str, two: str) -> bool:
    """Whether one letter too many, too few, wrong, or two letters changed places."""
    if len(one) > len(two):
        one, two = two, one
    at = 0
    while at < len(one) and one[at] == two[at]:
        at += 1
    if len(one) + 1 == len(two):
        return one[at:] == two[at + 1 :]
    if len(one) != len(two):
        return False
    swapped = one[at : at + 2] == two[at : at + 2][::-1] and one[at + 2 :] == two[at + 2 :]
    return swapped or one[at + 1 :] == two[at + 1 :]


_LEAST_LINES: Final = 4
# A line that stands in the file more often than this says little about a place.
_MOST: Final = 200


def find_drifted(file: FileLines, block: LineBlock) -> list[Candidate]:
    """Places that agree in everything but a few comment lines."""
    old = [op for op in block.ops if op.kind != "insert"]
    keys = squeeze("\n".join([op.text for op in old])).split("\n")
    solid = [key for key in keys if key]
    if len(solid) < _LEAST_LINES:
        return []
    prose = file.memo(Prose)
    allowed = max(1, len(solid) // 5)
    found: list[Candidate] = []
    for at in _starts(file, solid, len(solid) - allowed):
        lines = align_lines(file, keys, at)
        slips = _slips(file, prose, old, lines)
        if slips is not None and 0 < len(slips) <= allowed and _held(block.ops, slips):
            found.append(Candidate(Tier.COMMENTS, lines))
    return found


def _starts(file: FileLines, solid: Sequence[str], enough: int) -> Iterator[int]:
    """Solid lines of the file at which enough lines of the block would be in their place."""
    indexes: dict[str, list[int]] = {}
    for index, key in enumerate(solid):
        indexes.setdefault(key, []).append(index)
    there = {key: found for key in indexes if (found := file.solid_with(key))}
    votes: Counter[int] = Counter()
    for key, numbers in there.items():
        # Lines that are everywhere vote for all places, so they are counted for none.
        if len(numbers) <= _MOST:
            votes.update([number - index for number in numbers for index in indexes[key]])
        else:
            enough -= len(indexes[key])
    last = len(file.solid) - len(solid)
    return (at for at, count in sorted(votes.items()) if count >= enough and 0 <= at <= last)


def _slips(
    file: FileLines, prose: Prose, old: Sequence[LineOp], lines: Sequence[int | None]
) -> set[int] | None:
    """The old lines that are misremembered comments; None if any differs otherwise."""
    slips: set[int] = set()
    for index, (op, line) in enumerate(zip(old, lines, strict=True)):
        if line is None or not op.text.strip():
            continue
        said, own = canonical(op.text), canonical(file.texts[line])
        if said == own or (op.kind == "keep" and fold_quotes(said) == fold_quotes(own)):
            continue
        if op.kind == "delete" or not prose.has(line, op.text):
            return None
        if not differs_by_slip(said, own, file.text):
            return None
        slips.add(index)
    return slips


def _held(ops: Sequence[LineOp], slips: set[int]) -> bool:
    """Whether every new line has a neighbour that is remembered right, or replaces one."""
    index = -1
    above: int | None = None
    fresh = False
    for op in [*ops, None]:
        if op is not None and op.kind == "insert":
            fresh = True
            continue
        index += 1
        if op is not None and not op.text.strip():
            continue
        if fresh and not _firm(above, slips) and not _firm(index if op else None, slips):
            return False
        fresh, above = False, index
    return True


def _firm(index: int | None, slips: set[int]) -> bool:
    return index is not None and index not in slips
