"""Cells of a notebook as parts. Part of `media_worker`; imports nothing of Handrail but its neighbours."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Iterator
from typing import Any, Final

from handrail.media.decoded import (
    MAX_TEXT,
    MOST_IMAGES,
    MediaAnswer,
    MediaAnswerPart,
    MediaError,
    decode_image,
    encode_image,
)

_MAX_OUTPUT: Final = 4_000
_MOST_RUNS: Final = 1_000_000_000
_ANSI: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|.)?")
_WORD: Final = re.compile(r"[\w.+/-]+", re.ASCII)


def show_notebook(data: bytes, first: int, count: int) -> MediaAnswer:
    """Cells of a notebook of format 3 or 4, with their outputs as text and pictures."""
    cells = _cells(data)
    if first > max(len(cells), 1):
        raise MediaError("past_the_end", f"cell {first} is past the {len(cells):,} cells")
    shown = MediaAnswer("application/x-ipynb+json")
    shown.first, shown.total, shown.last = first, len(cells), first - 1
    length = left_out = 0
    for number, cell in enumerate(cells[first - 1 : first - 1 + (count or len(cells))], first):
        parts = [_cell_part(cell, number)]
        outputs = cell.get("outputs")
        for output in outputs if isinstance(outputs, list) else ():
            more, hidden = _output_parts(output, shown)
            left_out += hidden
            parts += more
        size = sum(len(title) + len(text or "") for title, text, _ in parts)
        if length + size > MAX_TEXT and length:
            break
        shown.parts += _shorten(parts)
        if size > MAX_TEXT:
            shown.notes.append("the end of the cell was left out: it is too long")
        shown.last = number
        length += size
    if left_out:
        shown.notes.append("outputs other than text and pictures are named, not shown")
    return shown


def _cells(data: bytes) -> list[dict[str, Any]]:
    try:
        notebook = json.loads(data)
        found = notebook.get("cells")
        if found is None:
            found = [cell for sheet in notebook["worksheets"] for cell in sheet["cells"]]
        cells = [{**cell, "cell_type": cell["cell_type"]} for cell in found]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise MediaError("not_a_notebook", "") from None
    return cells


def _shorten(parts: list[MediaAnswerPart]) -> Iterator[MediaAnswerPart]:
    """Return the parts of one cell, as many and as much of them as fit."""
    room = MAX_TEXT
    for title, text, form in parts:
        if room <= 0:
            return
        yield title, None if text is None else text[:room], form
        room -= len(title) + len(text or "")


def _cell_part(cell: dict[str, Any], number: int) -> MediaAnswerPart:
    # Cells are named as `notebook_edit` expects: by id, or by index from 0.
    name = _join_lines(cell.get("id") or "")[:64] or str(number - 1)
    counts = cell.get("execution_count", cell.get("prompt_number"))
    ran = f", run {counts}" if isinstance(counts, int) and 0 <= counts < _MOST_RUNS else ""
    source = _join_lines(cell.get("source", cell.get("input", "")))
    title = (
        f"--- cell {_safe_name(name)}: {_safe_name(_join_lines(cell['cell_type'])[:20])}{ran} ---"
    )
    return title, source, "source"


def _output_parts(output: Any, shown: MediaAnswer) -> tuple[list[MediaAnswerPart], int]:
    """Return the parts of one output and the number of forms not shown; add its picture."""
    if not isinstance(output, dict):
        return [], 0
    kind = output.get("output_type")
    if kind in ("error", "pyerr"):
        trace = output.get("traceback")
        lines = trace if isinstance(trace, list) else [trace or ""]
        return [_output_part("error", "\n".join(map(_join_lines, lines)))], 0
    if kind == "stream":
        label = _join_lines(output.get("name") or output.get("stream") or "stdout")[:20]
        return [_output_part(_safe_name(label), _join_lines(output.get("text", "")))], 0
    # Format 3 has short names next to the fields of the output itself.
    given = output.get("data")
    forms = given if isinstance(given, dict) else _old_forms(output)
    parts: list[MediaAnswerPart] = []
    left_out = []
    for media_type, value in forms.items():
        if media_type == "text/plain":
            parts.append(_output_part("output", _join_lines(value)))
        elif media_type in ("image/png", "image/jpeg") and len(shown.images) < MOST_IMAGES:
            parts.append((f"output: {_picture(_join_lines(value), media_type, shown)}", None, ""))
        else:
            left_out.append(
                f"{_safe_name(media_type[:80])}, {len(_join_lines(value)):,} characters"
            )
    parts += [(f"[output not shown: {one}]", None, "") for one in left_out]
    return parts, len(left_out)


def _old_forms(output: dict[str, Any]) -> dict[str, Any]:
    names = {"text": "text/plain", "svg": "image/svg+xml"}
    names |= {key: f"image/{key}" for key in ("png", "jpeg")}
    names |= {key: f"text/{key}" for key in ("html", "latex")}
    names |= {key: f"application/{key}" for key in ("javascript", "json")}
    return {names[key]: value for key, value in output.items() if key in names}


def _picture(value: str, media_type: str, shown: MediaAnswer) -> str:
    try:
        image, _ = decode_image(base64.b64decode(value))
        shown.images.append(encode_image(image))
    except ImportError:
        return f"[{media_type}: install handrail[media] to see it]"
    except (MediaError, binascii.Error, ValueError) as error:
        return f"[{media_type} that cannot be shown: {error}]"
    return f"[{media_type}: picture {len(shown.images)}]"


def _output_part(label: str, text: str) -> MediaAnswerPart:
    text = _ANSI.sub("", text).rstrip("\n")
    more = f" [the first {_MAX_OUTPUT:,} of {len(text):,} characters]"
    return f"{label}:{more if len(text) > _MAX_OUTPUT else ''}", text[:_MAX_OUTPUT], "output"


def _join_lines(value: Any) -> str:
    if isinstance(value, list):
        return "".join(str(one) for one in value)
    return value if isinstance(value, str) else json.dumps(value)


def _safe_name(name: str) -> str:
    """Return a name from the file for a line of Handrail: quoted if it could be more."""
    return name if _WORD.fullmatch(name) else json.dumps(name, ensure_ascii=False)
