"""Diagnostics after an edit: what a running server reports about the text that was written."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

import anyio

from handrail.core.lazy import Lazy
from handrail.core.places import shown
from handrail.core.ports.language_servers import (
    CodeDiagnostic,
    CodeDocument,
    LanguageServers,
)
from handrail.core.problems import ProblemRaised
from handrail.core.results import ToolResult
from handrail.core.text.safe_text import safe_text

# The limit per call; the tool `lsp` reports on the other files.
_MOST_FILES: Final = 5
_MOST_LINES: Final = 10
_MOST_KNOWN: Final = 500
_COUNTED: Final = ("error", "warning")


class _DiagnosticKey(NamedTuple):
    """A diagnostic without its position, which every edit above it moves."""

    severity: str
    message: str
    code: str


class EditDiagnostics:
    """A hook that adds diagnostics to the results of calls that changed files.

    It asks only servers that already run, so it starts no program. `load` reads a file that a
    result names, under the rules for reads; it returns None if the file may not be shown or is not
    text.
    """

    def __init__(
        self,
        servers: Lazy[LanguageServers],
        load: Callable[[str], CodeDocument | None],
        limit_s: float,
    ) -> None:
        self._servers = servers
        self._load = load
        self._limit_s = limit_s
        # What was reported last, by absolute path.
        self._reported: dict[str, Counter[_DiagnosticKey]] = {}

    async def before(self, call: object) -> None:
        """Return no opinion."""

    async def after(self, call: object, result: ToolResult) -> str | None:
        """The diagnostics of the files that the call has written; None if no server knows them."""
        del call
        if self._servers.built is None:
            return None
        written = dict.fromkeys(one.path for one in result.changes if one.after_hash is not None)
        reports: list[str] = []
        # One deadline for all files of a call.
        deadline = anyio.current_time() + self._limit_s
        for path in written:
            report = await self._report(path, deadline)
            reports += [] if report is None else [report]
            if len(reports) == _MOST_FILES:
                break
        return "\n".join(reports) or None

    async def _report(self, path: str, deadline: float) -> str | None:
        document = self._load(path)
        if document is None or not self._runs(document.path):
            return None
        name = shown(path)
        found = None
        # The edit has succeeded; the tool `lsp` reports what is wrong with the server.
        with anyio.CancelScope(deadline=deadline), suppress(ProblemRaised):
            found = await self._ask(document)
        if found is None:
            return f"[diagnostics of {name} are not known yet]"
        return self._describe(
            name, document.path, [one for one in found if one.severity in _COUNTED]
        )

    def _describe(self, name: str, path: str, found: Sequence[CodeDiagnostic]) -> str:
        keys = Counter(map(_key, found))
        earlier = self._reported.pop(path, None)
        self._reported[path] = keys
        if len(self._reported) > _MOST_KNOWN:
            del self._reported[next(iter(self._reported))]
        if not found:
            return f"[diagnostics of {name}: no errors or warnings]"
        before = Counter[_DiagnosticKey]() if earlier is None else keys & earlier
        fresh = _new_diagnostics(found, before)
        text = f"[diagnostics of {name}: {_counted(found)}"
        if earlier is not None:
            text += f", {len(fresh)} of them new since the last edit"
        lines = [f"{text}]", *map(_line, fresh[:_MOST_LINES])]
        if len(fresh) > _MOST_LINES:
            lines.append(f"[{len(fresh) - _MOST_LINES} more are not listed]")
        return "\n".join(lines)

    def _runs(self, path: str) -> bool:
        try:
            return self._servers.value.find_running(path) is not None
        except ProblemRaised:
            return False

    async def _ask(self, document: CodeDocument) -> Sequence[CodeDiagnostic] | None:
        server = await self._servers.value.find_current(document.path, quoted=True)
        return None if server is None else await server.diagnostics(document)


def _key(one: CodeDiagnostic) -> _DiagnosticKey:
    return _DiagnosticKey(one.severity, one.message, one.code)


def _new_diagnostics(
    found: Iterable[CodeDiagnostic], before: Counter[_DiagnosticKey]
) -> list[CodeDiagnostic]:
    """Return the diagnostics that are new, counting equal ones."""
    left, fresh = Counter(before), []
    for one in found:
        if left[_key(one)]:
            left[_key(one)] -= 1
        else:
            fresh.append(one)
    return fresh


def _counted(found: Sequence[CodeDiagnostic]) -> str:
    counted = Counter(one.severity for one in found)
    return ", ".join(
        f"{counted[one]} {one}{'s' if counted[one] != 1 else ''}"
        for one in _COUNTED
        if counted[one]
    )


def _line(one: CodeDiagnostic) -> str:
    code = f" [{safe_text(one.code, one_line=True)}]" if one.code else ""
    return f"line {one.span.start.line + 1}: {one.severity}: {one.message_line}{code}"
