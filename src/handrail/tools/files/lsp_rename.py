"""Rename a symbol everywhere, by a language server. The engine commits the result as a plan."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.context import Session, ToolContext
from handrail.core.effects import Effects
from handrail.core.footprint import OPEN_ENDED, Footprint
from handrail.core.lazy import Lazy
from handrail.core.paths import WritePath
from handrail.core.plan import Change, Plan
from handrail.core.ports.language_servers import CodeEdit, LanguageServer, LanguageServers
from handrail.core.ports.machine import Files
from handrail.core.problems import ProblemRaised
from handrail.core.text.content import Content
from handrail.core.text.positions import TextPositions
from handrail.core.tool import Group
from handrail.core.traits import RuleFamily, ToolTraits
from handrail.core.verdicts import Risk
from handrail.tools._lib.code_files import CodeFile, CodeFiles
from handrail.tools._lib.diff import DiffHunk, render_diff, split_lines
from handrail.tools._lib.services import CallTool
from handrail.tools._lib.tool_base import INTEGER, STRINGS, Builtin, format_count, object_schema

_WORD: Final = re.compile(r"[\w$]+")
_MOST_FILES: Final = 1000


class LspRenameParams(Params):
    path: WritePath = Field(description="Source file.")
    line: int = Field(ge=1, description="From 1.")
    column: int = Field(ge=1, description="From 1, in characters.")
    new_name: str = Field(min_length=1, max_length=500, description="The new name.")


class LspRename(Builtin[LspRenameParams]):
    name = "lsp_rename"
    summary = "Rename a name and all its uses."
    params = LspRenameParams
    # Only the server knows which files change.
    effects = Effects.OPEN_ENDED
    traits = ToolTraits(family=RuleFamily.WRITE, quotes_content=True, hidden_by_default=True)
    group = Group.EDIT
    output_schema = object_schema(files=STRINGS, replacements=INTEGER)
    # Requests to the server have their own limits; starting it may wait for the user.
    timeout_s = None

    def __init__(
        self,
        files: Files,
        servers: Lazy[LanguageServers] | None,
        withheld: Callable[[str], bool],
        call_tool: CallTool,
    ) -> None:
        self._files = files
        self._servers = servers
        self._withheld = withheld
        self._call_tool = call_tool

    def enabled(self, session: Session) -> bool:
        del session
        return self._servers is not None

    def footprint(self, args: LspRenameParams) -> Footprint:
        """Return a footprint of the whole workspace: a rename runs alone."""
        del args
        return OPEN_ENDED

    def risk(self, args: LspRenameParams) -> Risk:
        """Return the risk of an edit."""
        del args
        return Risk.MODERATE

    async def preflight(self, args: LspRenameParams, ctx: ToolContext) -> None:
        """Start the server if it does not run or could read files that are denied by now. That is a
        call of `lsp`, cleared and recorded like any other; raises its problem.
        """
        if await self._find_server(ctx.places["path"].absolute) is None:
            question = {"operation": "document_symbols", "path": args.path}
            started = await self._call_tool(ctx.call, "lsp", question)
            if started.problem is not None:
                raise ProblemRaised.of(started.problem)

    async def plan(self, args: LspRenameParams, ctx: ToolContext) -> Plan:
        """Return the changes of all files; raises `unavailable`, `no_match`, `stale` or `denied`."""
        files = CodeFiles(self._files, self._withheld)
        file = files.load(ctx.places["path"])
        server = await self._running(file)
        at = files.locate(file, args.line, args.column, server.encoding)
        offset = files.positions(file, server.encoding).to_offset(at)
        old = next((m[0] for m in _WORD.finditer(file.text) if m.start() <= offset <= m.end()), "")
        edits = await server.rename(file.document, at, args.new_name) if old else ()
        if not edits:
            raise ProblemRaised(
                "no_match",
                f"the language server renames nothing at {file.place.path}:{args.line}:{args.column}",
                hint="give the position of the name itself",
                field="column",
            )
        return self._make_plan(files, server, edits, old, args.new_name)

    @property
    def _used(self) -> LanguageServers:
        if self._servers is None:
            raise ProblemRaised("unavailable", "language servers cannot be used here")
        return self._servers.value

    async def _find_server(self, path: str) -> LanguageServer | None:
        # Text of the server is not shown: a rename writes only the two names.
        return await self._used.find_current(path, quoted=False)

    async def _running(self, file: CodeFile) -> LanguageServer:
        server = await self._find_server(file.place.absolute)
        if server is None:
            raise ProblemRaised(
                "unavailable",
                "the language server of this file does not run",
                hint="call again: that starts the server",
            )
        return server

    def _make_plan(
        self,
        files: CodeFiles,
        server: LanguageServer,
        edits: Sequence[CodeEdit],
        old: str,
        new: str,
    ) -> Plan:
        by_path: dict[str, list[CodeEdit]] = {}
        for edit in edits:
            by_path.setdefault(edit.location.path, []).append(edit)
        if len(by_path) > _MOST_FILES:
            raise ProblemRaised(
                "too_large", f"{len(by_path):,} files would change; at most {_MOST_FILES:,} may"
            )
        changes, previews = [], []
        for path in sorted(by_path):
            file = files.find(path)
            if file is None:
                raise ProblemRaised(
                    "denied",
                    f"the rename would change {path!r}, which lies outside of the workspace or may"
                    " not be read",
                )
            positions = files.positions(file, server.encoding)
            after = self._apply(file, by_path[path], positions, old, new)
            change = Change(
                file.place, file.seen.content, Content(file.form.encode(after)), file.seen.stat
            )
            changes.append(change)
            hunk = DiffHunk(split_lines(file.text), split_lines(after))
            previews.append(render_diff(file.place.path, [hunk]))
        names = [change.place.path for change in changes]
        listed = "\n".join(change.place.shown for change in changes)
        where = f"{format_count(len(edits), 'replacement')} in {format_count(len(names), 'file')}"
        text = f"renamed {old} to {new}: {where}\n{listed}"
        data = {"files": names, "replacements": len(edits)}
        return Plan(tuple(changes), text, "\n".join(previews), data, relies_on="nothing")

    def _apply(
        self,
        file: CodeFile,
        edits: Sequence[CodeEdit],
        positions: TextPositions,
        old: str,
        new: str,
    ) -> str:
        """Return the text with all edits; raises `stale` if the server knows another text, `denied`
        if it would write more than the names.
        """
        allowed_words = {*_WORD.findall(old), *_WORD.findall(new), "as"}
        if not all(allowed_words.issuperset(_WORD.findall(edit.text)) for edit in edits):
            raise ProblemRaised(
                "denied", "the language server would write other words than the two names"
            )
        spans = sorted(
            (positions.to_offset(edit.location.span.start), positions.to_offset(edit.location.span.end), edit.text)
            for edit in edits
        )  # fmt: skip
        parts, at = [], 0
        for start, end, text in spans:
            if start < at or file.text[start:end] not in (old, ""):
                self._used.note_change(file.place.absolute)
                raise ProblemRaised(
                    "stale",
                    f"the language server knows another text of {file.place.path!r}",
                    hint="call again; nothing was changed",
                    retryable=True,
                )
            parts += [file.text[at:start], text]
            at = end
        return "".join([*parts, file.text[at:]])
