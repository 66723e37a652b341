"""Find files by name."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.context import ToolContext
from handrail.core.effects import Effects
from handrail.core.paths import TreePath
from handrail.core.places import shown
from handrail.core.ports.machine import FilesFound, FilesQuery, Search
from handrail.core.results import Output
from handrail.core.tool import Group
from handrail.core.traits import READ_ONLY_PROFILES, RuleFamily, ToolTraits
from handrail.tools._lib.globs import check_globs
from handrail.tools._lib.stored_output import Page, how_many_fit
from handrail.tools._lib.tool_base import (
    INTEGER,
    INTEGER_OR_NULL,
    STRINGS,
    Builtin,
    append_notes,
    object_schema,
)


class FindFilesParams(Params):
    pattern: str | list[str] = Field(
        description="Glob such as `*.py`, `test_*.{js,ts}`, `src/**/*.md`; or several."
    )
    path: TreePath = Field(".", description="Directory to search.")
    sort: Literal["name", "mtime"] = Field("name", description="mtime: newest first.")
    limit: int = Field(200, ge=1, description="How many paths.")
    offset: int = Field(0, ge=0, description="Skip this many, for the next page.")
    recursive: bool = Field(True, description="Also search beneath [[path]].")


class FindFiles(Builtin[FindFilesParams]):
    name = "find_files"
    summary = "Find files by name."
    params = FindFilesParams
    effects = Effects.READS_PATHS
    traits = ToolTraits(family=RuleFamily.READ, lists_names=True, agent_profiles=READ_ONLY_PROFILES)
    group = Group.SEARCH
    idempotent = True
    keep = "start"
    output_schema = object_schema(paths=STRINGS, total=INTEGER, next_offset=INTEGER_OR_NULL)

    def __init__(self, search: Search) -> None:
        self._search = search

    async def run(self, args: FindFilesParams, ctx: ToolContext) -> Output:
        """One page of paths; raises `not_found`, or `invalid_arguments` for a pattern with `..`."""
        query = FilesQuery(
            place=ctx.places["path"],
            patterns=check_globs(args.pattern, "pattern", ctx.places["path"].absolute),
            sort=args.sort,
            recursive=args.recursive,
        )
        files = await self._search.files(query)
        paths = files.paths[args.offset :][: args.limit]
        lines = list(map(shown, paths))
        del lines[how_many_fit(lines, self.max_chars) :]
        paths = paths[: len(lines)]
        page = Page(args.offset, len(paths), len(files.paths))
        return Output(
            append_notes("\n".join(lines), _notes(args, files, page)),
            data={"paths": list(paths), "total": page.total, "next_offset": page.next_offset},
        )


def _notes(args: FindFilesParams, files: FilesFound, page: Page) -> list[str]:
    notes = []
    if not files.paths:
        notes.append(
            f"no file matches {args.pattern!r} beneath {args.path!r} (ignored files are not listed)"
        )
    else:
        notes += page.notes("file", complete=not files.partial)
    if files.partial:
        notes.append(f"incomplete: {files.partial}")
    return notes
