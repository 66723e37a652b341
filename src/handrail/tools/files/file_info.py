"""Show the properties of a file without its content."""

from __future__ import annotations

from datetime import UTC, datetime
from posixpath import normpath
from stat import S_IMODE
from typing import Any, Final

from anyio import to_thread
from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.context import ToolContext
from handrail.core.effects import Effects
from handrail.core.paths import ReadPath
from handrail.core.places import Kind, Place, Stat, shown
from handrail.core.ports.machine import Files
from handrail.core.problems import ProblemTemplate
from handrail.core.results import Output
from handrail.core.text.encoding import detect
from handrail.core.tool import Group
from handrail.core.traits import RuleFamily, ToolTraits
from handrail.tools._lib.byte_text import ByteText
from handrail.tools._lib.tool_base import Builtin, run_sized

MAX_COUNTED: Final = 50_000_000
_MISSING: Final = ProblemTemplate(
    "not_found", "there is no {path!r}", hint="{tool_name[find_files]} searches by name"
)


class FileInfoParams(Params):
    path: ReadPath = Field(description="File or directory.")


class FileInfo(Builtin[FileInfoParams]):
    name = "file_info"
    summary = "Size, type, time and encoding of a file."
    params = FileInfoParams
    effects = Effects.READS_PATHS
    traits = ToolTraits(family=RuleFamily.READ, hidden_by_default=True)
    group = Group.SEARCH
    idempotent = True

    def __init__(self, files: Files) -> None:
        self._files = files

    async def run(self, args: FileInfoParams, ctx: ToolContext) -> Output:
        """Return size, time, mode, kind and text properties; raises `not_found`."""
        place = ctx.places["path"]
        stat = self._files.stat(place)
        if stat is None:
            raise _MISSING.error(path=place.path, field="path")
        facts = _facts(place, stat)
        if normpath(args.path) not in (place.path, place.absolute):
            facts["named"] = args.path
        if place.kind is Kind.DIRECTORY:
            entries = await to_thread.run_sync(self._files.scan, place, abandon_on_cancel=True)
            facts["entries"] = len(entries)
        elif place.kind is Kind.FILE and stat.size <= MAX_COUNTED:
            facts |= await run_sized(stat.size, self._text_facts, place)
        text = "\n".join([f"{name}: {_shown(value)}" for name, value in facts.items()])
        return Output(text, data=facts)

    def _text_facts(self, place: Place) -> dict[str, Any]:
        data = self._files.read(place).content.tobytes()
        form = detect(data)
        if form is None:
            return {"encoding": "binary"}
        file = ByteText(data, form)
        lines = file.count(file.lf)
        if len(data) > len(form.bom) and not data.endswith(file.lf):
            lines += 1
        return {"lines": lines, "encoding": form.name, "line_endings": _endings(file)}


def _shown(value: Any) -> Any:
    return shown(value) if isinstance(value, str) else value


def _facts(place: Place, stat: Stat) -> dict[str, Any]:
    when = datetime.fromtimestamp(stat.mtime_ns // 1_000_000_000, UTC)
    return {
        "path": place.path,
        "type": place.kind.value,
        "size": stat.size,
        "modified": when.isoformat(),
        "mode": f"{S_IMODE(stat.mode):04o}",
    }


def _endings(file: ByteText) -> str:
    if file.endings == (file.cr,):
        return "cr"
    crlf, lf = file.count(file.cr + file.lf), file.count(file.lf)
    if not lf:
        return "none"
    if crlf == lf:
        return "crlf"
    return "mixed" if crlf else "lf"
