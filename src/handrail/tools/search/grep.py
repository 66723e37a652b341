"""Search file contents."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any, Final, Literal, NamedTuple

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.context import ToolContext
from handrail.core.effects import Effects
from handrail.core.outputs import Outputs, output_call_id
from handrail.core.paths import TreePath
from handrail.core.places import Kind, Place, shown
from handrail.core.ports.machine import GrepFound, GrepMode, GrepQuery, Hit, Search
from handrail.core.results import Output
from handrail.core.tool import Group
from handrail.core.traits import READ_ONLY_PROFILES, RuleFamily, ToolTraits
from handrail.tools._lib.globs import check_globs
from handrail.tools._lib.stored_output import ROOM_FOR_NOTES, Page, how_many_fit, load_output
from handrail.tools._lib.tool_base import Builtin, append_notes, clip

MAX_HIT: Final = 500


def select_hits(
    hits: Sequence[Hit], matches: Sequence[int], before: int, after: int
) -> Sequence[Hit]:
    """Return the hits at the indexes `matches`, which are neighbours, and their context lines."""
    if not matches:
        return ()
    low, high = matches[0], matches[-1]
    first, last = hits[low], hits[high]
    while low > 0 and _belongs(hits[low - 1], first, first.line - before):
        low -= 1
    while high + 1 < len(hits) and _belongs(hits[high + 1], last, last.line + after):
        high += 1
    return hits[low : high + 1]


def render_hits(hits: Sequence[Hit], *, grouped: bool, line_numbers: bool) -> str:
    """Return `path:line:text` for matches, `path-line-text` for context, `--` between groups."""
    lines: list[str] = []
    previous: Hit | None = None
    path = ""
    for hit in hits:
        if grouped and previous is not None and not _adjacent(previous, hit):
            lines.append("--")
        sign = ":" if hit.matched else "-"
        number = f"{hit.line}{sign}" if line_numbers else ""
        if previous is None or hit.path != previous.path:
            path = _format_path(hit.path)
        lines.append(f"{path}{sign}{number}{clip(hit.text, MAX_HIT)}")
        previous = hit
    return "\n".join(lines)


def _format_path(path: str) -> str:
    # A colon in a name would look like its end.
    return repr(path) if ":" in path else shown(path)


def _belongs(context: Hit, match: Hit, edge: int) -> bool:
    if context.matched or context.path != match.path:
        return False
    return min(edge, match.line) <= context.line <= max(edge, match.line)


def _adjacent(first: Hit, second: Hit) -> bool:
    return first.path == second.path and second.line == first.line + 1


class GrepParams(Params):
    pattern: str = Field(min_length=1, description="Regular expression (Rust syntax).")
    path: TreePath = Field(".", description="Directory or file to search.")
    literal: bool = Field(False, description="[[pattern]] is plain text.")
    glob: str | list[str] | None = Field(None, description="Only files like `*.py`; or several.")
    type: str | None = Field(None, description="Only this language, e.g. `py`, `js`, `rust`.")
    output_mode: Literal["files_with_matches", "content", "count"] = Field(
        "files_with_matches", description="Paths, matching lines, or matches per file."
    )
    before: int = Field(0, ge=0, le=100, description="Lines of context before a match.")
    after: int = Field(0, ge=0, le=100, description="Lines after.")
    context: int | None = Field(None, ge=0, le=100, description="Lines before and after.")
    ignore_case: bool = False
    multiline: bool = Field(False, description="A match may span lines, and `.` matches newline.")
    limit: int = Field(100, ge=1, description="How many matching lines, or files.")
    offset: int = Field(0, ge=0, description="Skip this many, for the next page.")
    recursive: bool = Field(True, description="Also search beneath [[path]].")
    line_numbers: bool = Field(True, description="In content mode.")


class Grep(Builtin[GrepParams]):
    name = "grep"
    summary = "Search file contents."
    params = GrepParams
    effects = Effects.READS_PATHS
    traits = ToolTraits(
        family=RuleFamily.READ, searches_content=True, agent_profiles=READ_ONLY_PROFILES
    )
    group = Group.SEARCH
    idempotent = True
    max_chars = 20_000
    keep = "start"
    reads_outputs = True

    def __init__(self, search: Search, outputs: Outputs | None = None) -> None:
        self._search = search
        self._outputs = outputs

    async def run(self, args: GrepParams, ctx: ToolContext) -> Output:
        """One page of matches; raises `invalid_arguments` for a pattern that does not compile."""
        query = _query(args, ctx)
        call_id = output_call_id(args.path)
        if call_id is None:
            result = await self._search.grep(query)
        else:
            text = await load_output(self._outputs, call_id, ctx)
            result = await self._search.grep_text(query, text)
        match query.mode:
            case GrepMode.CONTENT:
                findings = _content(args, query, result.hits, self.max_chars)
            case GrepMode.COUNT:
                findings = _counts(args, result, self.max_chars)
            case GrepMode.FILES:
                findings = _files(args, result, self.max_chars)
        page = findings.page
        data = {
            findings.name: findings.items,
            "total": page.total,
            "next_offset": page.next_offset,
            "partial": result.partial,
        }
        return Output(append_notes(findings.text, _notes(query, result, page)), data=data)


class Findings(NamedTuple):
    """The shown matches, as text and as data under `name`."""

    text: str
    name: str
    items: list[Any]
    page: Page


def _query(args: GrepParams, ctx: ToolContext) -> GrepQuery:
    context, call_id = args.context, output_call_id(args.path)
    if call_id is None:
        place, globs, kind = ctx.places["path"], check_globs(args.glob, "glob"), args.type
    else:
        # A single text, without file names to filter.
        place, globs, kind = Place(0, "", args.path, "", Kind.FILE), (), None
    return GrepQuery(
        pattern=args.pattern,
        place=place,
        mode=GrepMode(args.output_mode),
        literal=args.literal,
        ignore_case=args.ignore_case,
        multiline=args.multiline,
        before=args.before if context is None else context,
        after=args.after if context is None else context,
        globs=globs,
        type=kind,
        recursive=args.recursive,
    )


def _content(args: GrepParams, query: GrepQuery, hits: Sequence[Hit], max_chars: int) -> Findings:
    matches = [index for index, hit in enumerate(hits) if hit.matched]
    grouped = query.before + query.after > 0

    def choose(count: int) -> Sequence[Hit]:
        selected = matches[args.offset : args.offset + count]
        return select_hits(hits, selected, query.before, query.after)

    def render(count: int) -> str:
        return render_hits(choose(count), grouped=grouped, line_numbers=args.line_numbers)

    # Every line has more than one character, so no more matches than this can fit.
    count = min(args.limit, max(len(matches) - args.offset, 0), max_chars)
    text = render(count)
    room = max_chars - ROOM_FOR_NOTES
    if len(text) > room and count > 1:
        count = max(bisect_right(range(1, count), room, key=lambda many: len(render(many))), 1)
        text = render(count)
    page = Page(args.offset, count, len(matches))
    return Findings(text, "hits", [hit._asdict() for hit in choose(count)], page)


def _counts(args: GrepParams, result: GrepFound, max_chars: int) -> Findings:
    rows = list(zip(result.files, result.counts, strict=True))[args.offset :][: args.limit]
    lines = [f"{shown(path)}:{count}" for path, count in rows]
    fitting = how_many_fit(lines, max_chars)
    items = [{"path": path, "count": count} for path, count in rows[:fitting]]
    page = Page(args.offset, fitting, len(result.files))
    return Findings("\n".join(lines[:fitting]), "counts", items, page)


def _files(args: GrepParams, result: GrepFound, max_chars: int) -> Findings:
    paths = result.files[args.offset :][: args.limit]
    lines = list(map(shown, paths))
    fitting = how_many_fit(lines, max_chars)
    page = Page(args.offset, fitting, len(result.files))
    return Findings("\n".join(lines[:fitting]), "paths", list(paths[:fitting]), page)


def _notes(query: GrepQuery, result: GrepFound, page: Page) -> list[str]:
    notes = []
    if page.total:
        word = "matching line" if query.mode is GrepMode.CONTENT else "file"
        notes += page.notes(word, complete=not result.partial)
    else:
        notes.append(f"no matches for {query.pattern!r} in {_describe_scope(query)}")
    if result.partial:
        notes.append(f"incomplete: {result.partial}")
    return notes


def _describe_scope(query: GrepQuery) -> str:
    scope = query.place.shown or "."
    if query.globs:
        scope += f", files like {', '.join(query.globs)}"
    if query.type:
        scope += f", type {query.type}"
    return f"{scope} (ignored files are not searched)"
