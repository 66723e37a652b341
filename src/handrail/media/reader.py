"""Decodes files in a confined process and checks its answer."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

from handrail.core.ports.media import MediaKind, MediaPart, MediaView
from handrail.core.ports.workers import WorkerAnswer, WorkerFailure, WorkerRunner, WorkerTask
from handrail.core.problems import ProblemRaised, ProblemTemplate
from handrail.core.results import Image
from handrail.core.text.invisible import drop_invisible, format_invisible
from handrail.core.text.nesting import parse_json
from handrail.core.text.safe_text import safe_text
from handrail.media import messages

_WORKER: Final = str(Path(__file__).with_name("media_worker.py"))
_DECODE_S: Final = 30.0
_MAX_ANSWER: Final = 60_000_000
_MODULES: Final = {
    MediaKind.IMAGE: ("PIL",),
    MediaKind.PDF: ("pypdfium2", "pypdfium2_raw", "PIL"),
    MediaKind.NOTEBOOK: ("PIL",),
}
_PROBLEMS: Final[dict[str, ProblemTemplate]] = {
    "broken": messages.NOT_DECODED,
    "too_large": messages.TOO_LARGE,
    "past_the_end": messages.PAST_THE_END,
}
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_STARTS: Final = {"image/png": b"\x89PNG\r\n\x1a\n", "image/jpeg": b"\xff\xd8\xff"}


class WorkerMediaReader:
    """Reads media with a worker process for each file."""

    def __init__(self, run_worker: WorkerRunner, deadline_s: float = _DECODE_S) -> None:
        self._run_worker = run_worker
        self._deadline_s = deadline_s

    async def read(
        self, kind: MediaKind, data: bytes, name: str, first: int = 1, count: int | None = None
    ) -> MediaView | None:
        """Decode a part of a file; return None for a notebook that is not one."""
        task = WorkerTask(
            _WORKER,
            _MODULES[kind],
            (kind.value, str(first), str(count or 0)),
            data,
            self._deadline_s,
            _MAX_ANSWER,
        )
        answer = await self._run_worker(task)
        if answer.failure is WorkerFailure.MISSING and kind is MediaKind.NOTEBOOK:
            # Without Pillow its pictures are named, not shown.
            answer = await self._run_worker(task._replace(modules=()))
        try:
            return _read_answer(*_split_answer(answer, name), name)
        except (ValueError, KeyError, TypeError, AttributeError):
            # The file may have taken over the decoder.
            raise messages.NOT_DECODED.error(name=name, reason="the decoder failed") from None


def _read_answer(head: dict[str, Any], body: bytes, name: str) -> MediaView | None:
    if "problem" in head:
        if head["problem"] == "not_a_notebook":
            return None
        raise _PROBLEMS[head["problem"]].error(name=name, reason=head["reason"])
    parts, dropped = [], 0
    for title, text, form in head["parts"]:
        shown, count = (None, 0) if text is None else _FORMS[form](text)
        parts.append(MediaPart(safe_text(title, one_line=True), shown))
        dropped += count
    notes = [*head["notes"], *([format_invisible(dropped)] if dropped else [])]
    return MediaView(
        tuple(parts),
        head["media_type"],
        tuple(_images(head["images"], body)),
        head["first"],
        head["last"],
        head["total"],
        tuple(notes),
    )


def _clean_page(text: str) -> tuple[str, int]:
    """Return the text of a printed page without invisible characters."""
    text, dropped = drop_invisible(text)
    return _CONTROL.sub(" ", text), dropped


# How the text of a part is shown, by the kind that the worker reports.
_FORMS: Final[dict[str, Callable[[str], tuple[str, int]]]] = {
    "page": _clean_page,
    # The source of a cell can be edited, so it stays as it is, like the text of any other file.
    "source": lambda text: (text, 0),
    "output": lambda text: (safe_text(text), 0),
}


def _split_answer(answer: WorkerAnswer, name: str) -> tuple[dict[str, Any], bytes]:
    match answer.failure:
        case None:
            head, _, body = answer.output.partition(b"\n")
            return parse_json(head), body
        case WorkerFailure.MISSING:
            raise messages.EXTRA_MISSING.error(name=name)
        case WorkerFailure.UNSUPPORTED:
            raise messages.NOT_SUPPORTED.error(name=name)
        case WorkerFailure.TIMEOUT:
            raise messages.TOO_LARGE.error(name=name, reason="decoding it takes too long")
        case WorkerFailure.TOO_LARGE:
            raise messages.TOO_LARGE.error(name=name, reason="it becomes too large")
        case WorkerFailure.CRASHED:
            raise messages.NOT_DECODED.error(name=name, reason="the decoder failed")


def _images(listed: list[dict[str, Any]], body: bytes) -> list[Image]:
    """Return the images after the answer; only those whose first bytes match their type."""
    found, start = [], 0
    for one in listed:
        data = body[start : start + one["size"]]
        start += one["size"]
        if not data.startswith(_STARTS[one["media_type"]]):
            raise ProblemRaised("internal", "the decoder returned something that is no image")
        found.append(Image(one["media_type"], data))
    return found
