"""List a directory."""

from __future__ import annotations

from typing import Final, NamedTuple

from anyio import to_thread
from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.context import ToolContext
from handrail.core.effects import Effects
from handrail.core.names.caller_words import shown_arg
from handrail.core.paths import TreePath
from handrail.core.places import Kind, Place, shown
from handrail.core.ports.machine import Files, FilesQuery, Search
from handrail.core.problems import ProblemTemplate
from handrail.core.results import Output
from handrail.core.tool import Group
from handrail.core.traits import READ_ONLY_PROFILES, RuleFamily, ToolTraits
from handrail.tools._lib.globs import check_globs, name_matcher
from handrail.tools._lib.stored_output import how_many_fit
from handrail.tools._lib.tool_base import STRINGS, Builtin, append_notes

MAX_ENTRIES: Final = 1_000
_NO_DIRECTORY: Final = ProblemTemplate(
    "not_found",
    "there is no directory {path!r}",
    hint="list the directory above it, or search with {tool_name[find_files]}",
)
_A_FILE: Final = ProblemTemplate(
    "invalid_arguments",
    "{path!r} is a file, not a directory",
    hint="{tool_name[read_file]} shows its content",
)


class ListFilesParams(Params):
    path: TreePath = Field(".", description="The directory.")
    pattern: str | None = Field(None, description="Only names like `*.py` or `src/**/*.ts`.")
    recursive: bool = Field(False, description="All files beneath, without ignored ones.")


class ListFiles(Builtin[ListFilesParams]):
    name = "list_files"
    summary = "List a directory."
    params = ListFilesParams
    effects = Effects.READS_PATHS
    traits = ToolTraits(family=RuleFamily.READ, lists_names=True, agent_profiles=READ_ONLY_PROFILES)
    group = Group.SEARCH
    idempotent = True
    keep = "start"
    output_schema = STRINGS

    def __init__(self, files: Files, search: Search) -> None:
        self._files = files
        self._search = search

    async def run(self, args: ListFilesParams, ctx: ToolContext) -> Output:
        """Return the names, relative to the workspace; raises `not_found` or `invalid_arguments`."""
        place = ctx.places["path"]
        _require_directory(place)
        listing = await self._list(place, args)
        names = listing.names[:MAX_ENTRIES]
        lines = list(map(shown, names))
        del lines[how_many_fit(lines, self.max_chars) :]
        notes = _notes(place, args, listing, len(lines))
        return Output(append_notes("\n".join(lines), notes), data=list(names[: len(lines)]))

    async def _list(self, place: Place, args: ListFilesParams) -> Listing:
        patterns = check_globs(args.pattern, "pattern")
        if args.recursive or (args.pattern is not None and "/" in args.pattern):
            result = await self._search.files(FilesQuery(place, patterns))
            return Listing(result.paths, result.partial)
        return await to_thread.run_sync(self._scan, place, args.pattern, abandon_on_cancel=True)

    def _scan(self, place: Place, pattern: str | None) -> Listing:
        fits = name_matcher(pattern) if pattern is not None else None
        above = "" if place.path in ("", ".") else place.path.rstrip("/") + "/"
        names = [
            f"{above}{entry.name}/" if entry.kind is Kind.DIRECTORY else f"{above}{entry.name}"
            for entry in self._files.scan(place)
            if fits is None or fits(entry.name)
        ]
        return Listing(tuple(sorted(names)), None)


class Listing(NamedTuple):
    """Names in order, and why the list may be incomplete."""

    names: tuple[str, ...]
    partial: str | None


def _require_directory(place: Place) -> None:
    if place.kind is Kind.MISSING:
        raise _NO_DIRECTORY.error(path=place.path, field="path")
    if place.kind is not Kind.DIRECTORY:
        raise _A_FILE.error(path=place.path, field="path")


def _notes(place: Place, args: ListFilesParams, listing: Listing, number: int) -> list[str]:
    notes = []
    if not listing.names:
        what = f"nothing matches {args.pattern!r}" if args.pattern else "nothing"
        notes.append(f"{what} in {place.shown or '.'}")
    if len(listing.names) > number:
        omitted = len(listing.names) - number
        arguments = filter(None, map(shown_arg, ("path", "pattern")))
        notes.append(f"{omitted:,} more not shown; narrow it with {' or '.join(arguments)}")
    if listing.partial:
        notes.append(f"incomplete: {listing.partial}")
    return notes
