"""Checks of written text: the user's code rules, and placeholders that stand for omitted code.

Only text that a change adds is checked; the cost depends on the size of the change, not of the file. A
line counts as added if it occurs more often in the new content than in the old one.
"""

from __future__ import annotations

import codecs
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from handrail.core.commands import CommandAnalysis
from handrail.core.places import shown
from handrail.core.plan import Change, Plan
from handrail.core.text.content import Buffer, Content
from handrail.core.text.content_compare import common_length
from handrail.core.text.nesting import parse_json
from handrail.core.text.safe_text import safe_text
from handrail.policy import messages
from handrail.policy.guardrails.omissions import OMISSION_WORDS, omissions
from handrail.policy.guardrails.settings import CodeRule, Omissions
from handrail.policy.rules.paths.glob import Glob, fold_path, matches_path_or_parent, split_path
from handrail.policy.rules.paths.pattern import PathBase, broad_globs
from handrail.policy.rules.rule import short_place

_MAX_SHOWN: Final = 120
# How many bytes of a line are examined outside of the changed part.
_AROUND: Final = 2_000
_WIDE: Final = (
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_NOTEBOOK: Final = ".ipynb"


class CodeFault(NamedTuple):
    """A violation in text that would be written."""

    reason: str
    rule: str
    hint: str


class _FileRule(NamedTuple):
    code_rule: CodeRule
    globs: tuple[Glob, ...]

    def applies_to(self, names: Sequence[str]) -> bool:
        return not self.globs or any(matches_path_or_parent(glob, names) for glob in self.globs)


class CodeChecker:
    """Checks text that would be written against the rules of one severity."""

    def __init__(
        self, rules: Iterable[CodeRule], omissions: Omissions, path_base: PathBase
    ) -> None:
        self._rules = [
            _FileRule(
                rule, tuple(glob for one in rule.files for glob in broad_globs(one, path_base))
            )
            for rule in rules
        ]
        self._omissions = omissions
        # Whether there is anything to check.
        self.active = bool(self._rules) or omissions != "off"

    def of_plan(self, plan: Plan) -> Iterator[CodeFault]:
        """Yield the violations in the text that a plan adds; for each rule the first in each file."""
        for change in plan.changes:
            added = added_text(change)
            if added is None:
                continue
            blocks = list(added.blocks())
            names = split_path(fold_path(change.place.absolute)) if self._rules else []
            if self._rules:
                yield from self._by_rules(added, blocks, names, change.place.path)
            yield from self._by_omissions(added, blocks, change.place.path)

    def of_command(self, analysis: CommandAnalysis) -> Iterator[CodeFault]:
        """Yield the violations in text that a command writes to files, as far as the command shows it."""
        written = analysis.effects.writes
        blocks = [_bytes(analysis.text)]
        blocks += [_bytes(word) for part in analysis.parts for word in part.words if word]
        paths = [split_path(fold_path(path)) for path in written]
        for rule in self._rules:
            if not paths or any(rule.applies_to(names) for names in paths):
                found = next(
                    (line for block in blocks for line in _matching_lines(rule, block)), None
                )
                if found is not None:
                    yield _rule_fault(rule.code_rule, found, "the command")
        for block in blocks:
            found = next(self._placeholders(block, ""), None)
            if found is not None:
                yield _omission_fault(found, "the command")
                break

    def _by_rules(
        self, added: AddedText, blocks: Sequence[bytes], names: Sequence[str], path: str
    ) -> Iterator[CodeFault]:
        for rule in self._rules:
            if rule.applies_to(names):
                lines = (line for block in blocks for line in _matching_lines(rule, block))
                found = next((line for line in lines if added.is_new(line)), None)
                if found is not None:
                    yield _rule_fault(rule.code_rule, found, shown(path))

    def _by_omissions(
        self, added: AddedText, blocks: Sequence[bytes], path: str
    ) -> Iterator[CodeFault]:
        for block in blocks:
            lines = self._placeholders(block, path)
            found = next((line for line in lines if added.is_new(line)), None)
            if found is not None:
                yield _omission_fault(found, shown(path))
                return

    def _placeholders(self, block: bytes, path: str) -> Iterator[bytes]:
        if self._omissions == "off":
            return
        # Most texts contain none of the words that every omission has.
        lowered = block.lower()
        if any(word in lowered for word in OMISSION_WORDS):
            yield from omissions(block, path)


def _matching_lines(rule: _FileRule, block: bytes) -> Iterator[bytes]:
    """Yield every line that a match of the rule covers."""
    for match in rule.code_rule.expression.regex.finditer(block):
        start = block.rfind(b"\n", 0, match.start()) + 1
        end = block.find(b"\n", match.end())
        yield from block[start : len(block) if end < 0 else end].splitlines()


def _rule_fault(rule: CodeRule, line: bytes, where: str) -> CodeFault:
    problem = messages.CODE_RULE.fill(
        where=where,
        line=_quoted(line),
        message=rule.message,
        place=short_place(rule.expression.place),
    )
    return CodeFault(problem.message, f"code_rules:{rule.expression.text}", problem.hint or "")


def _omission_fault(line: bytes, where: str) -> CodeFault:
    problem = messages.PLACEHOLDER.fill(where=where, line=_quoted(line))
    return CodeFault(problem.message, "omissions", problem.hint or "")


def _quoted(line: bytes) -> str:
    text = safe_text(line.decode("utf-8", "replace").strip(), one_line=True)
    return repr(text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


class AddedText:
    """Finds the lines that a change adds to a file, without examining more of it than necessary."""

    def __init__(self, before: Content | None, after: Content, path: str = "") -> None:
        self._before = before
        self._after = after
        self._notebook = path.lower().endswith(_NOTEBOOK)

    def blocks(self) -> Iterator[bytes]:
        """Yield blocks of lines that contain every added line, among others."""
        spliced = self._before is not None and not self._special and self._splices()
        if spliced:
            yield from spliced
        else:
            yield changed_middle(self.old, self.new)[1]

    def is_new(self, line: bytes) -> bool:
        """Whether the line was added."""
        if self._before is None:
            return True
        old, new = self._counts
        # Only a part of a long line is examined; such a part is in neither count and is new.
        return new[line] > old[line] or not (new[line] or old[line])

    @cached_property
    def old(self) -> bytes:
        """The whole old text as UTF-8."""
        return b"" if self._before is None else self._text(self._before)

    @cached_property
    def new(self) -> bytes:
        """The whole new text as UTF-8."""
        return self._text(self._after)

    @cached_property
    def _counts(self) -> tuple[Counter[bytes], Counter[bytes]]:
        return Counter(self.old.splitlines()), Counter(self.new.splitlines())

    @property
    def _special(self) -> bool:
        return self._notebook or _wide(bytes(self._after.parts[0][:4])) is not None

    def _splices(self) -> list[bytes]:
        """The inserted parts, with the rest of their first and last lines, if the new content is made of
        slices of the old one; otherwise empty.
        """
        assert self._before is not None  # noqa: S101 - for the type checker
        whole, parts = self._before.tobytes(), self._after.parts
        kept = [isinstance(part, memoryview) and part.obj is whole for part in parts]
        if not any(kept):
            return []
        found = [one for one in (_head(parts[0]), _tail(parts[-1])) if len(one) < _AROUND]
        for at, part in enumerate(parts):
            if not kept[at]:
                above = _tail(parts[at - 1]) if at else b""
                below = _head(parts[at + 1]) if at + 1 < len(parts) else b""
                found.append(above + bytes(part) + below)
            elif at and kept[at - 1]:
                found.append(_tail(parts[at - 1]) + _head(part))
        return found

    def _text(self, content: Content) -> bytes:
        data = content.tobytes()
        encoding = _wide(data[:4])
        if encoding is not None:
            data = data.decode(encoding, "replace").encode("utf-8", "replace")
        return _cells(data) if self._notebook else data


def added_text(change: Change) -> AddedText | None:
    """The text that a change adds; None if the file is deleted or emptied."""
    if change.after is None or not change.after.size:
        return None
    return AddedText(change.before, change.after, change.place.path)


def changed_middle(old: bytes, new: bytes) -> tuple[bytes, bytes]:
    """Both texts without the lines that they have in common at the beginning and at the end."""
    contents = Content(old), Content(new)
    head = old.rfind(b"\n", 0, common_length(*contents)) + 1
    tail = min(common_length(*contents, backwards=True), min(len(old), len(new)) - head)
    if tail:
        # The beginning of the line in which the common end starts may differ.
        at = new.find(b"\n", len(new) - tail)
        whole = _at_line(old, len(old) - tail) and _at_line(new, len(new) - tail)
        tail = tail if whole else (0 if at < 0 else len(new) - at - 1)
    return old[head : len(old) - tail], new[head : len(new) - tail]


def _at_line(text: bytes, at: int) -> bool:
    return at == 0 or text[at - 1 : at] == b"\n"


def _tail(part: Buffer) -> bytes:
    """The unfinished last line of a piece."""
    return bytes(part[-_AROUND:]).rpartition(b"\n")[2]


def _head(part: Buffer) -> bytes:
    """The first line of a piece."""
    return bytes(part[:_AROUND]).partition(b"\n")[0]


def _wide(start: bytes) -> str | None:
    return next((name for mark, name in _WIDE if start.startswith(mark)), None)


def _cells(data: bytes) -> bytes:
    """The sources of a notebook's cells; data that is not a notebook is returned unchanged."""
    try:
        cells = parse_json(data)["cells"]
        return "\n".join(_source(cell["source"]) for cell in cells).encode("utf-8", "replace")
    except (ValueError, LookupError, TypeError):
        return data


def _source(source: Any) -> str:
    return source if isinstance(source, str) else "".join(map(str, source))
