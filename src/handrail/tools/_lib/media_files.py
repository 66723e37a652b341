"""Shows pictures, PDF files and notebooks for `read_file`."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from typing import Final

from handrail.core.context import ReadRecord, ToolContext
from handrail.core.lazy import Lazy
from handrail.core.names.caller_words import shown_arg
from handrail.core.places import Place
from handrail.core.ports.machine import Files
from handrail.core.ports.media import MediaKind, MediaPart, MediaReader, MediaView
from handrail.core.problems import ProblemRaised
from handrail.core.results import Output
from handrail.tools._lib.stored_output import how_to_continue
from handrail.tools._lib.tool_base import append_notes, number_lines

_MAX_BYTES: Final = 100_000_000
_START_BYTES: Final = 1_024
_IMAGE: Final = re.compile(
    rb"\x89PNG\r\n\x1a\n|\xff\xd8\xff|GIF8[79]a|RIFF....WEBP|BM.{4}\x00{4}|II\*\x00|MM\x00\*"
    rb"|\x00\x00\x01\x00[^\x00]|....ftypavi[fs]|....ftyp(?:hei|mif|msf|hev)",
    re.DOTALL,
)
_PDF: Final = re.compile(rb".{0,1000}%PDF-\d", re.DOTALL)
_NOTEBOOK: Final = re.compile(rb"\s*\{")


def detect_media(name: str, start: bytes) -> MediaKind | None:
    """Return the kind of media, by the first bytes of the file; None for other files. A notebook is
    recognised by its name, too, because its content is JSON.
    """
    if _IMAGE.match(start):
        return MediaKind.IMAGE
    if start.startswith(b"%PDF-") or (name.lower().endswith(".pdf") and _PDF.match(start)):
        return MediaKind.PDF
    if name.lower().endswith(".ipynb") and _NOTEBOOK.match(start):
        return MediaKind.NOTEBOOK
    return None


async def read_media(
    files: Files,
    media: Lazy[MediaReader],
    place: Place,
    part: tuple[int, int | None],
    ctx: ToolContext,
) -> Output | None:
    """Show a picture, a PDF file or a notebook; None for any other file.

    `part` is the first page or cell and how many; None for the count: as many as fit.
    """
    kind = detect_media(place.path, files.read_part(place, 0, _START_BYTES))
    stat = files.stat(place)
    if kind is None or stat is None:
        return None
    if stat.size > _MAX_BYTES:
        word = shown_arg("max_bytes")
        raise ProblemRaised(
            "too_large",
            f"{place.path!r} has {stat.size:,} bytes; at most {_MAX_BYTES:,} are decoded",
            hint=None if word is None else f"give {word} to see its first bytes",
            field="path",
        )
    data = files.read_part(place, 0, stat.size)
    view = await media.value.read(kind, data, place.path, *part)
    if view is None:
        return None
    digest = hashlib.sha256(data).hexdigest()
    record = ReadRecord(ctx.session.now_ns() / 1e9, 1, view.total, stat, whole=True, digest=digest)
    ctx.reads.record_read(place.absolute, record)
    return Output(
        append_notes(_render(view.parts), [*view.notes, *_range_note(kind, view)]),
        data={
            "path": place.path,
            "first": view.first,
            "last": view.last,
            "total": view.total,
            "encoding": view.media_type,
            "size": stat.size,
        },
        images=view.images,
    )


def _render(parts: Sequence[MediaPart]) -> str:
    """Return the parts as text. Lines of the file have numbers within their part, so that they
    cannot imitate a line of Handrail, which has none.
    """
    lines: list[str] = []
    for part in parts:
        lines.append(part.title)
        if part.text is not None:
            lines += number_lines(part.text.splitlines(), 1)
    return "\n".join(lines)


def _range_note(kind: MediaKind, view: MediaView) -> list[str]:
    if kind is MediaKind.IMAGE or view.last >= view.total:
        return []
    unit = "pages" if kind is MediaKind.PDF else "cells"
    shown = f"{unit} {view.first}-{view.last} of {view.total:,}"
    if kind is MediaKind.NOTEBOOK and shown_arg("offset") is None:
        # A range of lines would mean lines of the file, not cells.
        return [shown]
    return [f"{shown}; {how_to_continue(view.last + 1)}"]
