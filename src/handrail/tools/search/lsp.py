"""Requests to language servers: definitions, references, hover, symbols, diagnostics."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, Literal

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.commands import (
    CommandAnalysis,
    CommandClass,
    CommandEffects,
    CommandPart,
    CommandSegment,
    Reason,
)
from handrail.core.context import Session, ToolContext
from handrail.core.effects import Effects
from handrail.core.footprint import NOTHING, Footprint, reading
from handrail.core.lazy import Lazy
from handrail.core.paths import ReadPath
from handrail.core.ports.language_servers import (
    CodeLocation,
    CodeSymbol,
    LanguageServer,
    LanguageServers,
)
from handrail.core.ports.machine import Files
from handrail.core.problems import ProblemRaised, ProblemTemplate
from handrail.core.results import Output
from handrail.core.text.safe_text import safe_text
from handrail.core.tool import Group
from handrail.core.traits import READ_ONLY_PROFILES, RuleFamily, ToolTraits
from handrail.core.verdicts import Risk
from handrail.tools._lib.code_files import CodeFile, CodeFiles, CodeLine, format_line
from handrail.tools._lib.tool_base import STRING, Builtin, object_schema

Operation = Literal[
    "goto_definition",
    "find_references",
    "hover",
    "document_symbols",
    "workspace_symbols",
    "diagnostics",
]
_AT_A_POSITION: Final = frozenset({"goto_definition", "find_references", "hover"})
# Answers to these are shown as text; other answers are places, whose lines Handrail reads.
_IN_ITS_WORDS: Final = frozenset({"hover", "document_symbols", "workspace_symbols", "diagnostics"})
_MAX_HOVER: Final = 8_000
_COULD_QUOTE_SECRETS: Final = ProblemTemplate(
    "denied",
    "files that may hold secrets cannot be hidden from the language server here, and its answer to"
    " {operation} could quote them",
    hint="use goto_definition, find_references, {tool_name[grep]} or {tool_name[read_file]}",
)


class LspParams(Params):
    operation: Operation = Field(description="The question.")
    path: ReadPath | None = Field(None, description="Source file.")
    line: int | None = Field(None, ge=1, description="From 1.")
    column: int | None = Field(None, ge=1, description="From 1, in characters.")
    query: str | None = Field(None, max_length=500, description="Name to look for.")
    limit: int = Field(100, ge=1, le=1000, description="How many results.")


class Lsp(Builtin[LspParams]):
    name = "lsp"
    summary = "Ask a language server about code."
    params = LspParams
    # The first call for a language starts a program.
    effects = Effects.OPEN_ENDED
    traits = ToolTraits(
        family=RuleFamily.READ, agent_profiles=READ_ONLY_PROFILES, hidden_by_default=True
    )
    group = Group.SEARCH
    idempotent = True
    keep = "start"
    output_schema = object_schema(
        server=STRING,
        content_hash={"type": ["string", "null"]},
        items={"type": "array", "items": {"type": "object"}},
    )

    def __init__(
        self,
        files: Files,
        servers: Lazy[LanguageServers] | None,
        withheld: Callable[[str], bool],
    ) -> None:
        self._files = files
        self._servers = servers
        self._withheld = withheld

    def enabled(self, session: Session) -> bool:
        del session
        return self._servers is not None

    @property
    def only_reads(self) -> bool:
        """True: the server cannot change anything."""
        return True

    @property
    def sensitive(self) -> bool:
        """True: the first call for a language starts a program, which modes ask about."""
        return True

    def footprint(self, args: LspParams) -> Footprint:
        """Return a reading footprint; the server can read the workspace and write nothing."""
        name = self._find_name(args)
        if name is None:
            return NOTHING
        roots = [root.rstrip("/") for root in self._files.roots]
        # In a batch, the call sees the changes of earlier calls to any file.
        read = reading(*(f"tree:{root}" for root in roots))
        reads = [f"{root}/" for root in roots]
        if args.path is not None:
            reads.append(self._files.locate(args.path).absolute)
        return read._replace(command=server_analysis(name, tuple(reads)))

    def risk(self, args: LspParams) -> Risk:
        """Return the risk of starting a server, like building or testing; a running server is safe."""
        if self._find_name(args) is None or self._service.find_running(args.path) is not None:
            return Risk.SAFE
        return Risk.MODERATE

    def render_call(self, args: LspParams) -> str:
        where = "" if args.path is None else f" {args.path}"
        at = "" if args.line is None else f":{args.line}:{args.column or 1}"
        name = self._find_name(args)
        return f"{args.operation}{where}{at}" + (f" (language server {name})" if name else "")

    async def preflight(self, args: LspParams, ctx: ToolContext) -> None:
        """Raise a problem for a request without its arguments, and for a file that has no server."""
        del ctx
        if args.operation == "workspace_symbols":
            if args.query is None:
                raise _missing("query", args.operation)
        elif args.path is None:
            raise _missing("path", args.operation)
        if args.operation in _AT_A_POSITION:
            position = {"line": args.line, "column": args.column}
            absent = [field for field, value in position.items() if value is None]
            if absent:
                raise _missing(" and ".join(absent), args.operation, field=absent[0])
        if args.path is not None:
            self._service.find_name(args.path)
        elif self._service.find_running(None) is None:
            raise ProblemRaised(
                "invalid_arguments",
                "no language server runs yet, so path must name a file of the language",
                field="path",
            )

    async def run(self, args: LspParams, ctx: ToolContext) -> Output:
        """Return the answer; raises `unavailable`, `timeout`, `command_failed`, `not_found` or
        `not_text`.
        """
        files = CodeFiles(self._files, self._withheld)
        place = ctx.places.get("path")
        file = None if place is None else files.load(place)
        server = await self._open(args.operation, file, ctx)
        answer = _LspResult(server, files, file, args.limit)
        if args.operation == "workspace_symbols":
            return answer.symbols(await server.workspace_symbols(args.query or ""))
        if file is None:
            raise _missing("path", args.operation)
        if args.operation == "document_symbols":
            return answer.symbols(await server.document_symbols(file.document))
        if args.operation == "diagnostics":
            return await answer.diagnostics(file)
        at = files.locate(file, args.line or 1, args.column or 1, server.encoding)
        if args.operation == "hover":
            return answer.hover(await server.hover(file.document, at))
        find = server.definitions if args.operation == "goto_definition" else server.references
        return answer.places(await find(file.document, at))

    async def _open(
        self, operation: Operation, file: CodeFile | None, ctx: ToolContext
    ) -> LanguageServer:
        if ctx.confinement is None:
            # Only the engine decides what a program may reach; without its decision nothing starts.
            raise ProblemRaised("unavailable", "no confinement was decided for this program")
        if ctx.confinement.shows_secrets and operation in _IN_ITS_WORDS:
            raise _COULD_QUOTE_SECRETS.error(operation=operation)
        path = None if file is None else file.place.absolute
        return await self._service.open(path, ctx.confinement)

    def _find_name(self, args: LspParams) -> str | None:
        try:
            if args.path is not None:
                return self._service.find_name(args.path)
            running = self._service.find_running(None)
        except ProblemRaised:
            # `preflight` reports this.
            return None
        return None if running is None else running.name

    @property
    def _service(self) -> LanguageServers:
        if self._servers is None:
            raise ProblemRaised("unavailable", "language servers cannot be started here")
        return self._servers.value


class _LspResult:
    """Formats results as text for the model and as data."""

    def __init__(
        self, server: LanguageServer, files: CodeFiles, file: CodeFile | None, limit: int
    ) -> None:
        self._server = server
        self._files = files
        self._limit = limit
        self._digest = None if file is None else file.seen.content.digest

    def places(self, locations: Sequence[CodeLocation]) -> Output:
        """Return definitions or references, in the order of the server."""
        places = [self._describe(location) for location in locations[: self._limit + 1]]
        lines = list(map(format_line, places))
        return self._output(lines, [_place_data(place) for place in places], "nothing was found")

    def hover(self, text: str) -> Output:
        """Return the server's description of a position."""
        cut = text[:_MAX_HOVER]
        return self._output([safe_text(cut)] if cut else [], [{"text": cut}] if cut else [])

    def symbols(self, symbols: Sequence[CodeSymbol]) -> Output:
        """Return declared names."""
        lines: list[str] = []
        items: list[dict[str, Any]] = []
        for symbol in symbols:
            if len(items) > self._limit:
                break
            if self._files.is_withheld(symbol.location.path):
                continue
            at = self._describe(symbol.location)._replace(text="")
            name = f"{symbol.container}.{symbol.name}" if symbol.container else symbol.name
            lines.append(f"{format_line(at)}{symbol.kind} {safe_text(name, one_line=True)}")
            items.append(
                {
                    "name": symbol.name,
                    "kind": symbol.kind,
                    "container": symbol.container,
                    **_place_data(at),
                }
            )
        return self._output(lines, items, "nothing was found")

    async def diagnostics(self, file: CodeFile) -> Output:
        """Return the diagnostics of the text as it was read for this call."""
        diagnostics = await self._server.diagnostics(file.document)
        if diagnostics is None:
            note = "[handrail: diagnostics of this text are not known yet; ask again later]"
            return Output(note, data={**self._data([]), "known": False})
        lines, items = [], []
        for diagnostic in diagnostics[: self._limit + 1]:
            at = self._describe(CodeLocation(file.place.absolute, diagnostic.span))
            code = f" [{safe_text(diagnostic.code, one_line=True)}]" if diagnostic.code else ""
            start = f"{at.start.line}:{at.start.column}"
            lines.append(f"{start}: {diagnostic.severity}: {diagnostic.message_line}{code}")
            item = {
                "severity": diagnostic.severity,
                "message": diagnostic.message,
                "code": diagnostic.code,
            }
            items.append({**item, "source": diagnostic.source, **_place_data(at)})
        output = self._output(lines, items, "no diagnostics")
        return output._replace(data={**self._data(items[: self._limit]), "known": True})

    def _describe(self, location: CodeLocation) -> CodeLine:
        return self._files.describe(location.path, location.span, self._server.encoding)

    def _output(
        self, lines: Sequence[str], items: list[dict[str, Any]], nothing: str = "nothing is known"
    ) -> Output:
        shown_lines = list(lines[: self._limit])
        if len(lines) > len(shown_lines):
            shown_lines.append(f"[handrail: more were found; limit is {self._limit}]")
        text = "\n".join(shown_lines) or f"[handrail: {nothing}]"
        return Output(text, data=self._data(items[: self._limit]))

    def _data(self, items: list[dict[str, Any]]) -> dict[str, Any]:
        return {"server": self._server.name, "content_hash": self._digest, "items": items}


def server_analysis(name: str, reads: tuple[str, ...]) -> CommandAnalysis:
    """Return the analysis of starting a server, as of a command that reads the workspace and
    changes nothing.
    """
    reason = Reason(f"starts the language server {name}, which reads the project", name)
    return CommandAnalysis(
        CommandClass.DEV,
        (reason,),
        CommandEffects(programs=(name,), reads=reads),
        parts=(CommandPart((name,), name, CommandClass.DEV),),
        segments=(CommandSegment(name, name),),
        text=name,
        fully_listed=True,
        writes_nothing=True,
        sees_no_secrets=True,
    )


def _place_data(line: CodeLine) -> dict[str, Any]:
    data: dict[str, Any] = {"path": line.path, "line": line.start.line}
    if line.text is None:
        return data
    data |= {"column": line.start.column, "end_line": line.end.line, "end_column": line.end.column}
    return {**data, "text": line.text} if line.text else data


def _missing(what: str, operation: str, *, field: str | None = None) -> ProblemRaised:
    return ProblemRaised("invalid_arguments", f"{operation} needs {what}", field=field or what)
