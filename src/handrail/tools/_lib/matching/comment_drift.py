"""Places where only comments or prose beside the change differ, by mistyped words.

Code and deleted lines must be identical. A word that was replaced by another word makes two similar
places different.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from functools import cached_property
from typing import Final

from handrail.tools._lib.matching.candidates import Candidate, Tier, align_lines, block_keys
from handrail.tools._lib.matching.lines import FileLines, LineBlock, LineOp
from handrail.tools._lib.matching.normalize import canonical, fold_quotes, fold_typography

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
# For unknown languages, only marks with which no line of code begins.
_UNKNOWN: Final = ("//", "# ", "/*", "* ", "-- ", ";; ", "<!--")
_FENCE: Final = re.compile(r"[ \t]*(```|~~~)")
_TRIPLE: Final = re.compile(r'"""|' + "'''")
_WORD: Final = re.compile(r"\w+|[^\w\s]")
_MOST_SLIPS: Final = 2


class Prose:
    """Knows for each line of a file whether a caller may quote it inexactly."""

    def __init__(self, file: FileLines) -> None:
        self._file = file
        self._kind = file.path.rpartition("/")[2].rpartition(".")[2].lower()

    def has(self, line: int, quoted: str) -> bool:
        """Return whether a line of the file and the caller's version of the line are both prose."""
        if self._kind in _PROSE:
            return line not in self._special
        if self._kind in ("py", "pyi") and line in self._special:
            return True
        marks = _MARKS.get(self._kind, _UNKNOWN)
        text = self._file.texts[line].strip()
        return text.startswith(marks) and quoted.strip().startswith(marks)

    @cached_property
    def _special(self) -> frozenset[int]:
        """The code of a prose file, or the doc strings of a Python file."""
        mark = _FENCE if self._kind in _PROSE else _TRIPLE
        inside, lines = False, set()
        for number, text in enumerate(self._file.texts):
            marks = len(mark.findall(text)) if mark is _TRIPLE else bool(mark.match(text))
            if inside or marks:
                lines.add(number)
            inside ^= bool(marks % 2)
        return frozenset(lines)


def differs_by_slip(quoted: str, line: str, text: str) -> bool:
    """Return whether two lines differ only by one or two mistyped words; `text` is the whole file."""
    first, second = _WORD.findall(fold_typography(quoted)), _WORD.findall(fold_typography(line))
    slips = 0
    matcher = SequenceMatcher(None, first, second, autojunk=False)
    for tag, a0, a1, b0, b1 in matcher.get_opcodes():
        if tag == "equal":
            continue
        if a1 - a0 != b1 - b0:
            return False
        slips += a1 - a0
        pairs = zip(first[a0:a1], second[b0:b1], strict=True)
        if not all(_mistyped(word, actual, text) for word, actual in pairs):
            return False
    return 0 < slips <= _MOST_SLIPS


def _mistyped(quoted: str, actual: str, text: str) -> bool:
    if not (quoted.isalpha() and actual.isalpha()):
        return False
    if quoted.lower() == actual.lower():
        return True
    # HTTP is not HTTPS: two names in capitals that are both in the file are different.
    if quoted.isupper() and re.search(rf"\b{quoted}\b", text):
        return False
    return min(len(quoted), len(actual)) >= 3 and _one_edit(quoted.lower(), actual.lower())


def _one_edit(first: str, second: str) -> bool:
    """Return whether two words differ by one added, missing or wrong letter, or two swapped ones."""
    if len(first) > len(second):
        first, second = second, first
    at = 0
    while at < len(first) and first[at] == second[at]:
        at += 1
    if len(first) + 1 == len(second):
        return first[at:] == second[at + 1 :]
    if len(first) != len(second):
        return False
    swapped = (
        first[at : at + 2] == second[at : at + 2][::-1] and first[at + 2 :] == second[at + 2 :]
    )
    return swapped or first[at + 1 :] == second[at + 1 :]


_LEAST_LINES: Final = 4
# A line that occurs more often than this says little about a place.
_MOST: Final = 200


def find_drifted(file: FileLines, block: LineBlock) -> list[Candidate]:
    """Return the places that agree in everything except a few comment lines."""
    old, keys, solid = block_keys(block)
    if len(solid) < _LEAST_LINES:
        return []
    prose = file.memo(Prose)
    allowed = max(1, len(solid) // 5)
    candidates: list[Candidate] = []
    for at in _starts(file, solid, len(solid) - allowed):
        lines = align_lines(file, keys, at)
        slips = _slips(file, prose, old, lines)
        if (
            slips is not None
            and 0 < len(slips) <= allowed
            and _has_exact_neighbours(block.ops, slips)
        ):
            candidates.append(Candidate(Tier.COMMENTS, lines))
    return candidates


def _starts(file: FileLines, solid: Sequence[str], enough: int) -> Iterator[int]:
    """Solid lines of the file at which enough lines of the block would be in their place."""
    indexes: dict[str, list[int]] = {}
    for index, key in enumerate(solid):
        indexes.setdefault(key, []).append(index)
    positions = {key: found for key in indexes if (found := file.solid_with(key))}
    votes: Counter[int] = Counter()
    for key, numbers in positions.items():
        # Frequent lines would vote for all places, so they are not counted.
        if len(numbers) <= _MOST:
            votes.update([number - index for number in numbers for index in indexes[key]])
        else:
            enough -= len(indexes[key])
    last = len(file.solid) - len(solid)
    return (at for at, count in sorted(votes.items()) if count >= enough and 0 <= at <= last)


def _slips(
    file: FileLines, prose: Prose, old: Sequence[LineOp], lines: Sequence[int | None]
) -> set[int] | None:
    """Return the indexes of old lines that are misquoted comments; None if any differs otherwise."""
    slips: set[int] = set()
    for index, (op, line) in enumerate(zip(old, lines, strict=True)):
        if line is None or not op.text.strip():
            continue
        quoted, actual = canonical(op.text), canonical(file.texts[line])
        if quoted == actual or (op.kind == "keep" and fold_quotes(quoted) == fold_quotes(actual)):
            continue
        if op.kind == "delete" or not prose.has(line, op.text):
            return None
        if not differs_by_slip(quoted, actual, file.text):
            return None
        slips.add(index)
    return slips


def _has_exact_neighbours(ops: Sequence[LineOp], slips: set[int]) -> bool:
    """Return whether every new line has a correctly quoted neighbour, or replaces such a line."""
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
        if fresh and not _is_exact(above, slips) and not _is_exact(index if op else None, slips):
            return False
        fresh, above = False, index
    return True


def _is_exact(index: int | None, slips: set[int]) -> bool:
    return index is not None and index not in slips
