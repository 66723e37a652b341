r"""Edits by regular expression (RE2), in linear time for every pattern.

The pattern sees lines that end in \n, whatever their endings in the file. The replacement is
literal text, except for `\g<group>`, the only way to refer to a group.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, Final

from handrail.core.names.caller_words import arg_name
from handrail.core.problems import ProblemRaised
from handrail.tools._lib.byte_text import ByteText, Splice
from handrail.tools._lib.matching.exact import Match, encode_replacement
from handrail.tools._lib.matching.lines import FileLines
from handrail.tools._lib.matching.omission import find_omission, omission_problem

_GROUP: Final = re.compile(r"\\g<(\w+)>")
_MAX_MEM: Final = 64 << 20
_MOST_BYTES: Final = 50_000_000
_LONGEST: Final = 10_000
_MOST_GROUPS: Final = 100
# Each match takes some hundred bytes of memory.
_MOST_MATCHES: Final = 50_000
# Linear time can still be long: in the worst case every step of the pattern runs at every
# character, about thirty million per second, and a running match cannot be stopped.
_MOST_STEPS: Final = 2_000_000_000


def find_pattern(file: ByteText, path: str, pattern: str, new: str) -> list[Splice]:
    """Return a splice for every match that is not empty. Raises `no_match`, `invalid_arguments`, or
    `too_large` if the text of the whole file would take too much memory.
    """
    if len(file.data) > _MOST_BYTES:
        raise ProblemRaised(
            "too_large",
            f"{path!r} has {len(file.data):,} bytes; patterns are for up to {_MOST_BYTES:,}",
            hint="give the exact text instead of a pattern",
            field="regex",
        )
    compiled = _compiled(pattern)
    names = _groups(compiled, new)
    text = _ShownMatch(FileLines(file, path))
    _check_steps(compiled.programsize * len(text.text), path)
    splices: list[Splice] = []
    for hit in compiled.finditer(text.text):
        start, end = hit.span()
        if len(splices) == _MOST_MATCHES:
            raise ProblemRaised(
                "too_large",
                f"the pattern matches {path!r} in more than {_MOST_MATCHES:,} places",
                hint=f"give the exact text with {arg_name('replace_all')}, or a pattern for fewer places",
                field="old_string",
            )
        if start < end:
            match = text.match(start, end)
            replacement = _GROUP.sub(lambda reference: hit.group(names[reference[1]]) or "", new)  # noqa: B023 - used at once
            if (comment := find_omission(hit.group(0), replacement, path)) is not None:
                raise omission_problem(comment, "the text that the pattern matches")
            splices.append(
                Splice(
                    match.start,
                    match.end,
                    encode_replacement(file, match, hit.group(0), replacement),
                )
            )
    if not splices:
        raise ProblemRaised(
            "no_match",
            f"the pattern {pattern!r} matches nothing in {path!r}",
            hint="try it with grep first; ^ and $ are the ends of lines, . does not match one",
            field="old_string",
        )
    return splices


def _check_steps(steps: int, path: str) -> None:
    if steps > _MOST_STEPS:
        raise ProblemRaised(
            "too_large",
            f"the pattern could take {steps:,} steps in {path!r}; {_MOST_STEPS:,} are allowed",
            hint="write it shorter, with smaller counts in {…}, or give the exact text",
            field="old_string",
        )


def matching_lines(text: str, pattern: str, field: str) -> str:
    """The lines of the text that match; raises `invalid_arguments` about the argument `field`."""
    compiled = _compiled(pattern, field)
    return "".join(line for line in text.splitlines(keepends=True) if compiled.search(line))


def _compiled(pattern: str, field: str = "old_string") -> Any:
    import re2

    if len(pattern) > _LONGEST:
        raise ProblemRaised(
            "invalid_arguments",
            f"the pattern has {len(pattern):,} letters; {_LONGEST:,} are allowed",
            hint="give the exact text instead of a pattern",
            field=field,
        )
    options = re2.Options()
    options.max_mem = _MAX_MEM
    options.log_errors = False
    try:
        compiled = re2.compile(f"(?m){pattern}", options)
    except (re2.error, UnicodeEncodeError) as error:
        raise ProblemRaised(
            "invalid_arguments",
            f"the pattern {pattern!r:.200} is not valid: {_reason(error)}",
            hint="the syntax is RE2: no look-around and no back-references",
            field=field,
        ) from error
    if compiled.groups > _MOST_GROUPS:
        raise ProblemRaised(
            "invalid_arguments",
            f"the pattern has {compiled.groups} groups; {_MOST_GROUPS} are allowed",
            hint="write (?:...) where nothing is taken from a group",
            field=field,
        )
    return compiled


def _reason(error: Exception) -> str:
    reason = error.args[0] if error.args else ""
    return reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(error)


def _groups(compiled: Any, new: str) -> dict[str, int]:
    """Return the groups that the new text refers to, by the name it uses."""
    numbers: dict[str, int] = {}
    for name in _GROUP.findall(new):
        number = int(name) if name.isdecimal() else compiled.groupindex.get(name, -1)
        if not 0 <= number <= compiled.groups:
            raise ProblemRaised(
                "invalid_arguments",
                f"{arg_name('new_string')} asks for the group {name!r}, which the pattern does not have",
                hint=r"number groups from 1, or name them with (?P<name>...)",
                field="new_string",
            )
        numbers[name] = number
    return numbers


class _ShownMatch:
    """The text of a file with a line feed for every line ending, mapped back to its bytes."""

    def __init__(self, lines: FileLines) -> None:
        self._lines = lines
        text = "\n".join(lines.texts) + ("\n" if lines.ended and len(lines) else "")
        self.text = lines.file.form.show(text)

    @cached_property
    def _firsts(self) -> Sequence[int]:
        return list(accumulate([len(line) + 1 for line in self._lines.texts], initial=0))

    def match(self, start: int, end: int) -> Match:
        """Return the bytes of characters `start` to `end`, with the line endings in them."""
        first, last = self._line(start), self._line(end)
        endings = tuple([self._lines.ending(line) for line in range(first, last)])
        return Match(self._byte(first, start), self._byte(last, end), endings)

    def _line(self, at: int) -> int:
        return bisect_right(self._firsts, at) - 1

    def _byte(self, line: int, at: int) -> int:
        if line >= len(self._lines):
            return self._lines.starts[-1]
        before = self._lines.texts[line][: at - self._firsts[line]]
        return self._lines.starts[line] + len(self._lines.file.form.encode_part(before))
