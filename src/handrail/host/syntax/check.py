"""The syntax check: determines the language, the errors, and which of them are new.

Parsers that a file could make hang or crash are guarded by limits of size and depth, or run in
another process (`treesitter`); no parser executes the file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import anyio
from anyio import to_thread

from handrail.core.ports.syntax import SyntaxFault
from handrail.core.text.content import Content
from handrail.host.syntax import json_text, python, toml_text, treesitter, yaml_text
from handrail.host.syntax.languages import (
    JSON,
    JSON_WITH_COMMENTS,
    PYTHON,
    TOML,
    YAML,
    Language,
    detect_language,
    is_template,
)
from handrail.host.syntax.source import Faults, SourceText

_NUMBER: Final = re.compile(r"\d+")
_Near = tuple[str, str, str]


def new_faults(
    old: Sequence[SyntaxFault], before: SourceText, now: Sequence[SyntaxFault], after: SourceText
) -> list[SyntaxFault]:
    """Return the errors of `after` that are not among those of `before`.

    Line numbers are not compared, because edits move lines. In a file that was broken before, most
    parsers stop at the old error.
    """
    if not old:
        return list(now)
    known = Counter(map(_fault_text, old))
    places = set(_all_places(before))
    fresh: list[SyntaxFault] = []
    for fault in now:
        if known[_fault_text(fault)]:
            known[_fault_text(fault)] -= 1
        elif _surrounding_lines(after, fault.line) not in places:
            fresh.append(fault)
    return fresh


def _fault_text(fault: SyntaxFault) -> tuple[str, str]:
    return _NUMBER.sub("0", fault.message), fault.text


def _surrounding_lines(source: SourceText, line: int) -> _Near:
    return source.line(line - 1), source.line(line), source.line(line + 1)


def _all_places(source: SourceText) -> Iterator[_Near]:
    lines = ["", *(source.line(number) for number in range(1, len(source.lines) + 1)), ""]
    yield from zip(lines, lines[1:], lines[2:], strict=False)


_MOST: Final = 10
_MAX_S: Final = 5.0


class _SyntaxParser(NamedTuple):
    faults: Callable[[SourceText], Faults]
    max_bytes: int


_PARSERS: Final[Mapping[Language, _SyntaxParser]] = {
    PYTHON: _SyntaxParser(python.faults, python.MAX_BYTES),
    JSON: _SyntaxParser(json_text.faults, json_text.MAX_BYTES),
    JSON_WITH_COMMENTS: _SyntaxParser(json_text.faults_with_comments, json_text.MAX_BYTES),
    TOML: _SyntaxParser(toml_text.faults, toml_text.MAX_BYTES),
    YAML: _SyntaxParser(yaml_text.faults, yaml_text.MAX_BYTES),
}


class LocalSyntaxCheck:
    """Implements `SyntaxCheck` with parsers in this process and grammars in another."""

    def can_check(self, path: str) -> bool:
        """Whether there is a parser or a grammar for the language of this file."""
        return detect_language(path) is not None

    async def new_errors(
        self, path: str, before: Content | None, after: Content
    ) -> tuple[SyntaxFault, ...]:
        """The errors that the change introduced, at most ten."""
        language = detect_language(path)
        if language is None or not _is_small_language(language, before, after):
            return ()
        old = None if before is None else before.tobytes()
        work = _by_grammar if language.grammars else _by_parser
        found: list[SyntaxFault] = []
        with anyio.move_on_after(_MAX_S):
            found = await work(language, old, after.tobytes())
        return tuple([fault._replace(reader=language.reader) for fault in found[:_MOST]])


def _is_small_language(language: Language, *contents: Content | None) -> bool:
    most = treesitter.MAX_BYTES if language.grammars else _PARSERS[language].max_bytes
    return all(content is None or content.size <= most for content in contents)


async def _by_grammar(language: Language, old: bytes | None, new: bytes) -> list[SyntaxFault]:
    before, after = None if old is None else SourceText.of(old), SourceText.of(new)
    if after is None or (before is None and old is not None):
        return []
    found = await treesitter.faults(language, before, after)
    if not found.now or is_template(after.text, language):
        return []
    return found.now if before is None else new_faults(found.old, before, found.now, after)


async def _by_parser(language: Language, old: bytes | None, new: bytes) -> list[SyntaxFault]:
    return await to_thread.run_sync(_parsed, language, old, new, abandon_on_cancel=True)


def _parsed(language: Language, old: bytes | None, new: bytes) -> list[SyntaxFault]:
    after = SourceText.of(new)
    now = None if after is None else _PARSERS[language].faults(after)
    if after is None or not now or is_template(after.text, language):
        return []
    if old is None:
        return now
    before = SourceText.of(old)
    known = None if before is None else _PARSERS[language].faults(before)
    if before is None or known is None:
        return []
    # Comments are common in some JSON files whose names do not show it.
    if language is JSON and known and json_text.faults_with_comments(before) == []:
        return json_text.faults_with_comments(after) or []
    return new_faults(known, before, now, after)
