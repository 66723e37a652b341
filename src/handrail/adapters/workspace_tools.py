"""Tools for the file operations of workspace backends, which frameworks define in bytes.

They are not shown to models. Rules, modes and undo treat them like `read_file`, `write_file` and
`delete_file`. Contents are passed separately from the arguments and the result, so that the record
has their hashes instead.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any, Final

from pydantic import Field

from handrail.adapters import messages
from handrail.core.arguments.params import Params
from handrail.core.context import ReadRecord, Session, ToolContext
from handrail.core.effects import Effects
from handrail.core.paths import ReadPath, TreePath, WritePath
from handrail.core.places import Form, Kind, Place, Stat
from handrail.core.plan import Change, Plan
from handrail.core.ports.machine import Files, PathEntry
from handrail.core.problems import ProblemTemplate
from handrail.core.results import Output
from handrail.core.text.content import Content
from handrail.core.text.encoding import detect
from handrail.core.tool import Tool
from handrail.core.traits import RuleFamily, ToolTraits
from handrail.core.verdicts import Risk
from handrail.engine.runtime import Runtime
from handrail.tools._lib.diff import DiffHunk, render_diff, split_lines
from handrail.tools._lib.tool_base import MAX_CHANGED_BYTES, P, run_sized

READ: Final = "workspace_read"
WRITE: Final = "workspace_write"
LIST: Final = "workspace_list"
INSPECT: Final = "workspace_inspect"
MAKE: Final = "workspace_make_directory"
REMOVE: Final = "workspace_remove"
MAX_READ_BYTES: Final = 256 << 20
_MOST_REMOVED: Final = 20_000
_MOST_DIFFED: Final = 2_000_000
_READS: Final = ToolTraits(family=RuleFamily.READ, hidden_by_default=True)
_LISTS: Final = _READS._replace(lists_names=True)
_WRITES: Final = ToolTraits(family=RuleFamily.WRITE, hidden_by_default=True)


# Where the program that makes a call collects the contents that it reads; None if it collects none.
collected_contents: ContextVar[list[bytes] | None] = ContextVar(
    "handrail_read_contents", default=None
)


class HandedContents:
    """Contents that will be written, by their hashes."""

    def __init__(self) -> None:
        self._contents: dict[str, tuple[bytes, int]] = {}

    def hand_over(self, data: bytes) -> str:
        """Keep the content until it is dropped as often as it was handed over; return its hash."""
        digest = hashlib.sha256(data).hexdigest()
        self._contents[digest] = data, self._contents.get(digest, (data, 0))[1] + 1
        return digest

    def look(self, digest: str) -> bytes | None:
        """Return the content of a hash and keep it."""
        return self._contents[digest][0] if digest in self._contents else None

    def drop(self, digest: str) -> None:
        """Release a content that was handed over."""
        data, users = self._contents.pop(digest)
        if users > 1:
            self._contents[digest] = data, users - 1


class WorkspaceTool(Tool[P]):
    """A tool of a backend; never declared to models."""

    # Programs read the same file repeatedly, which is not a loop.
    polls = True

    def __init__(self, files: Files, contents: HandedContents) -> None:
        self.files = files
        self.contents = contents

    def shown(self, session: Session) -> bool:
        """Return False: models have other tools for files."""
        del session
        return False


class ReadParams(Params):
    path: ReadPath = Field(description="The file.")


class WorkspaceRead(WorkspaceTool[ReadParams]):
    name = READ
    summary = "Read a file for a workspace backend."
    params = ReadParams
    effects = Effects.READS_PATHS
    traits = _READS
    idempotent = True

    async def run(self, args: ReadParams, ctx: ToolContext) -> Output:
        """Return size and hash; the content is passed separately. Raises `not_found` or `not_text`."""
        del args
        place = ctx.places["path"]
        stat = self.files.stat(place)
        if stat is None:
            raise messages.NOTHING_THERE.error(path=place.path, field="path")
        if place.kind is not Kind.FILE:
            return _failed(messages.NOT_A_FILE, place)
        data, seen = await run_sized(stat.size, self._read, place)
        if (collected := collected_contents.get()) is not None:
            collected.append(data)
        digest, now = hashlib.sha256(data).hexdigest(), ctx.session.now_ns() / 1e9
        ctx.reads.record_read(place.absolute, ReadRecord(now, 1, 0, seen, True, digest))
        return Output(f"{len(data):,} bytes", data={"sha256": digest, "size": len(data)})

    def _read(self, place: Place) -> tuple[bytes, Stat]:
        seen = self.files.read(place, max_bytes=MAX_READ_BYTES)
        return seen.content.tobytes(), seen.stat


class InspectParams(Params):
    path: ReadPath = Field(description="A file or directory, or what does not exist.")


class WorkspaceInspect(WorkspaceTool[InspectParams]):
    name = INSPECT
    summary = "Type, size and resolved path for a workspace backend."
    params = InspectParams
    effects = Effects.READS_PATHS
    traits = _LISTS
    idempotent = True

    async def run(self, args: InspectParams, ctx: ToolContext) -> Output:
        """Return the entry at the path; a missing one is a valid result."""
        del args
        place = ctx.places["path"]
        stat = self.files.stat(place)
        kind = place.kind if stat is not None else Kind.MISSING
        size = stat.size if stat is not None and kind is Kind.FILE else None
        data = {"kind": kind.value, "size": size, "absolute": place.absolute}
        return Output(f"{place.shown}: {kind.value}", data=data)


class ListParams(Params):
    path: TreePath = Field(description="The directory.")


class WorkspaceList(WorkspaceTool[ListParams]):
    name = LIST
    summary = "List a directory for a workspace backend."
    params = ListParams
    effects = Effects.READS_PATHS
    traits = _LISTS
    idempotent = True

    async def run(self, args: ListParams, ctx: ToolContext) -> Output:
        """Return every entry with its type; raises `not_found`, or `invalid_arguments` for a file."""
        del args
        place = ctx.places["path"]
        if place.kind is Kind.MISSING:
            raise messages.NOTHING_THERE.error(path=place.path, field="path")
        if place.kind is not Kind.DIRECTORY:
            return _failed(messages.NOT_A_DIRECTORY, place)
        entries = [
            self._describe(place, entry.name, entry.kind) for entry in self.files.scan(place)
        ]
        return Output(f"{len(entries):,} entries", data={"entries": entries})

    def _describe(self, place: Place, name: str, kind: Kind) -> dict[str, Any]:
        size = None
        if kind is Kind.FILE:
            stat = self.files.stat(self.files.locate(f"{place.absolute.rstrip('/')}/{name}"))
            size = None if stat is None else stat.size
        return {"name": name, "kind": kind.value, "size": size}


class WriteParams(Params):
    path: WritePath = Field(description="The file; missing directories are made.")
    sha256: str = Field(description="The hash of the content, which is handed over beside it.")
    size: int = Field(description="How many bytes it has.")


class WorkspaceWrite(WorkspaceTool[WriteParams]):
    name = WRITE
    summary = "Write a file for a workspace backend."
    params = WriteParams
    effects = Effects.WRITES_PATHS
    traits = _WRITES._replace(writes_whole_files=True)

    async def plan(self, args: WriteParams, ctx: ToolContext) -> Plan:
        """The write as a plan, byte by byte; raises `exists` unless the path is a regular file."""
        place = ctx.places["path"]
        if place.kind not in (Kind.FILE, Kind.MISSING):
            raise messages.SOMETHING_THERE.error(path=place.path, wanted="file", field="path")
        data = self.contents.look(args.sha256)
        if data is None:
            raise messages.CONTENT_GONE.error(field="sha256")
        stat = self.files.stat(place)
        work = len(data) + (0 if stat is None else stat.size)
        return await run_sized(work, self._plan, place, data)

    def _plan(self, place: Place, data: bytes) -> Plan:
        seen = None if place.kind is Kind.MISSING else self.files.read(place)
        old = b"" if seen is None else seen.content.tobytes()
        text = f"wrote {place.shown} ({len(data):,} bytes)"
        if seen is not None and old == data:
            return Plan((), text, "", {"bytes": len(data)}, "nothing")
        before = None if seen is None else seen.content
        change = Change(place, before, Content(data), None if seen is None else seen.stat)
        return Plan((change,), text, _preview(place, old, data), {"bytes": len(data)}, "nothing")


class MakeParams(Params):
    path: WritePath = Field(description="The directory; missing ones above it are made.")


class WorkspaceMakeDirectory(WorkspaceTool[MakeParams]):
    name = MAKE
    summary = "Make a directory for a workspace backend."
    params = MakeParams
    effects = Effects.WRITES_PATHS
    traits = _WRITES

    async def plan(self, args: MakeParams, ctx: ToolContext) -> Plan:
        """Return the missing directories as a plan; raises `exists` unless the path is a directory."""
        del args
        place = ctx.places["path"]
        if place.kind is Kind.DIRECTORY:
            return Plan((), f"{place.shown} exists", relies_on="nothing")
        if place.kind is not Kind.MISSING:
            raise messages.SOMETHING_THERE.error(path=place.path, wanted="directory", field="path")
        parts = place.absolute.split("/")
        paths = [
            "/".join(parts[:end]) for end in range(len(parts) - place.missing_above, len(parts))
        ]
        places = [*map(self.files.locate, paths), place]
        changes = tuple(Change(one, None, Content(b""), after_form=Form.FOLDER) for one in places)
        made = f"make the directory {place.shown}"
        return Plan(changes, f"made {place.shown}", made, relies_on="nothing")


class RemoveParams(Params):
    path: WritePath = Field(description="The file or link, or the directory with all it holds.")


class WorkspaceRemove(WorkspaceTool[RemoveParams]):
    name = REMOVE
    summary = "Remove a file or a directory for a workspace backend."
    params = RemoveParams
    effects = Effects.WRITES_PATHS
    traits = _WRITES

    def __init__(self, files: Files, contents: HandedContents, deletes: Tool[Any] | None) -> None:
        super().__init__(files, contents)
        # The built-in tool knows whether the user allows deleting.
        self._deletes = deletes

    def risk(self, args: RemoveParams) -> Risk:
        """Return DANGEROUS, as for `delete_file`."""
        del args
        return Risk.DANGEROUS

    async def plan(self, args: RemoveParams, ctx: ToolContext) -> Plan:
        """Plan the removal, of a link itself; raises `denied` unless deleting is allowed, or
        `not_found`.
        """
        if self._deletes is None or not self._deletes.shown(ctx.session):
            raise messages.REMOVAL_OFF.error()
        top = self.files.named(args.path)
        if top.form is None:
            raise messages.NOTHING_THERE.error(path=args.path, field="path")
        changes = await run_sized(1 << 30, self._changes, top)
        text = f"removed {top.place.shown} ({len(changes):,} files and folders)"
        preview = "\n".join(f"delete {change.place.shown}" for change in changes)
        return Plan(changes, text, preview, {"removed": len(changes)}, "nothing")

    def _changes(self, top: PathEntry) -> tuple[Change, ...]:
        found: list[Change] = []
        size = 0
        for change in self._walk(top):
            found.append(change)
            size += 0 if change.before is None else change.before.size
            if len(found) > _MOST_REMOVED or size > MAX_CHANGED_BYTES:
                raise messages.TOO_MUCH_REMOVED.error(path=top.place.path)
        return tuple(found)

    def _walk(self, entry: PathEntry) -> Iterator[Change]:
        place, form = entry.place, entry.form
        if form is None or form is Form.SPECIAL:
            raise messages.NOT_A_FILE.error(path=place.path, field="path")
        content, stat = entry.content, entry.stat
        if form is Form.FILE:
            content, stat = self.files.read(place, max_bytes=MAX_CHANGED_BYTES)
        # A folder comes before its contents, because the commit ends with the first change.
        yield Change(place, content or Content(b""), None, stat, before_form=form)
        if form is Form.FOLDER:
            for one in self.files.scan(place):
                yield from self._walk(self.files.named(f"{place.absolute.rstrip('/')}/{one.name}"))


def register_workspace_tools(runtime: Runtime) -> HandedContents:
    """Add the tools to a runtime, once; return the object that takes contents."""
    known = runtime.registry.find(READ)
    if isinstance(known, WorkspaceRead):
        return known.contents
    files, contents = runtime.files, HandedContents()
    for kind in (WorkspaceRead, WorkspaceInspect, WorkspaceList, WorkspaceWrite):
        runtime.register(kind(files, contents))
    runtime.register(WorkspaceMakeDirectory(files, contents))
    runtime.register(WorkspaceRemove(files, contents, runtime.registry.find("delete_file")))
    return contents


def _failed(template: ProblemTemplate, place: Place) -> Output:
    """Return a failure that reports what is at the path instead."""
    problem = template.fill(path=place.path, field="path")
    return Output(problem.message, data={"kind": place.kind.value}, problem=problem)


def _preview(place: Place, old: bytes, new: bytes) -> str:
    """Return the diff of two texts; for anything else the sizes and the new hash."""
    forms = detect(old), detect(new)
    if forms[0] is None or forms[1] is None or len(old) + len(new) > _MOST_DIFFED:
        digest = hashlib.sha256(new).hexdigest()
        return f"{place.shown}: {len(old):,} bytes become {len(new):,} bytes, SHA-256 {digest}"
    before, after = (
        split_lines(form.show(form.decode(data)))
        for form, data in zip(forms, (old, new), strict=True)
        if form is not None
    )
    return render_diff(place.path, [DiffHunk(before, after)])
