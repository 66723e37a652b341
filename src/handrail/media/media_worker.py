"""Run as a program by `reader`: decodes an image, a PDF file or a notebook on its standard input.

Imports nothing of Handrail but its neighbours. Writes one line of JSON, followed by the bytes of
the images.
"""

from __future__ import annotations

import ctypes
import itertools
import json
import math
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, Final

if __name__ == "__main__":
    # The process may read this directory and no other part of Handrail.
    for _name in ("handrail", "handrail.media"):
        sys.modules[_name] = _package = ModuleType(_name)
        _package.__path__ = [str(Path(__file__).parent)]

from handrail.media.decoded import (
    MAX_SIDE,
    MAX_TEXT,
    MOST_IMAGES,
    MediaAnswer,
    MediaError,
    decode_image,
    encode_image,
)
from handrail.media.notebook_parts import show_notebook

_MOST_PAGES: Final = 20
_MOST_OBJECTS: Final = 2_000
# The number of invisible pieces of a page that are counted.
_MOST_HIDDEN: Final = 100
# Up to this many pages of a call are also shown as pictures; of more pages only those without text.
_FEW_PAGES: Final = 3
_LITTLE_TEXT: Final = 20
# Text that is smaller (in points), or differs less from its background (of 255), cannot be read.
_TINY_POINTS: Final = 1.0
_LITTLE_CONTRAST: Final = 8


def show_image(data: bytes) -> MediaAnswer:
    """Return an image of at most `MAX_SIDE` pixels a side; the first frame of an animation."""
    image, described = decode_image(data)
    media_type, encoded = encode_image(image)
    shown = MediaAnswer(media_type)
    width, height = described["size"]
    title = f"{described['format']} image, {width} x {height} pixels"
    shown.parts.append((title, None, ""))
    if image.size not in ((width, height), (height, width)):
        shown.notes.append(f"shown at {image.size[0]} x {image.size[1]} pixels")
    if described["frames"] > 1:
        parts = "pages" if described["format"] == "TIFF" else "frames of an animation"
        shown.notes.append(f"the first of {described['frames']:,} {parts}")
    shown.images.append((media_type, encoded))
    return shown


def show_pdf(data: bytes, first: int, count: int) -> MediaAnswer:
    """Return pages of a PDF file: their text, and pictures of few pages or pages without text."""
    import pypdfium2  # noqa: PLC0415 - after the path is set

    try:
        document = pypdfium2.PdfDocument(data)
        total = len(document)
    except pypdfium2.PdfiumError as error:
        what = "it is encrypted" if "password" in str(error).lower() else f"it is broken ({error})"
        raise MediaError("broken", what) from None
    if first > total:
        pages = "1 page" if total == 1 else f"{total:,} pages"
        raise MediaError("past_the_end", f"page {first} is past the {pages}")
    shown = MediaAnswer("application/pdf")
    shown.first, shown.total = first, total
    wanted = range(first, min(first + min(count or _MOST_PAGES, _MOST_PAGES), total + 1))
    length = hidden = 0
    for number in wanted:
        shown.last = number
        try:
            page = document[number - 1]
            picture = _page_picture(page) if number - first < MOST_IMAGES else None
            text, invisible = _page_text(page, picture)
            hidden += invisible
            if len(text) > MAX_TEXT:
                text = text[:MAX_TEXT]
                shown.notes.append(f"the end of page {number} was left out: it is too long")
            if picture is not None and (
                len(wanted) <= _FEW_PAGES or len(text.strip()) < _LITTLE_TEXT
            ):
                shown.images.append(encode_image(picture))
            remark = "" if text.strip() or picture is None else " [no text; see the picture]"
        except pypdfium2.PdfiumError:
            text, remark = "", " [this page is broken]"
        shown.parts.append((f"--- page {number} of {total} ---{remark}", text.strip(), "page"))
        length += len(text)
        if length > MAX_TEXT:
            break
    if hidden:
        pieces = "1 piece of this text is" if hidden == 1 else f"{hidden:,} pieces of this text are"
        shown.notes.append(f"{pieces} invisible on the page")
    return shown


def _page_text(page: Any, picture: Any | None) -> tuple[str, int]:
    """Return the text of a page, and how many pieces of it are invisible in its picture."""
    textpage = page.get_textpage()
    text = textpage.get_text_bounded().replace("\r\n", "\n")
    pieces = itertools.islice(_text_pieces(textpage), _MOST_OBJECTS)
    hidden = (piece for piece in pieces if _is_invisible(page, textpage, piece, picture))
    return text, sum(1 for _ in itertools.islice(hidden, _MOST_HIDDEN))


def _text_pieces(textpage: Any) -> Iterator[tuple[Any, list[int]]]:
    """Return the text objects of a page, also those inside forms, each with the indexes of its
    non-blank characters.
    """
    import pypdfium2.raw as pdfium  # noqa: PLC0415 - after the path is set

    found = (
        (pdfium.FPDFText_GetTextObject(textpage.raw, index), index)
        for index in range(min(textpage.count_chars(), MAX_TEXT))
        if not chr(pdfium.FPDFText_GetUnicode(textpage.raw, index)).isspace()
    )
    for _, piece in itertools.groupby(
        found, lambda one: ctypes.cast(one[0], ctypes.c_void_p).value
    ):
        characters = list(piece)
        if characters[0][0]:
            yield characters[0][0], [index for _, index in characters]


def _is_invisible(
    page: Any, textpage: Any, piece: tuple[Any, list[int]], picture: Any | None
) -> bool:
    """Return whether a piece of text cannot be read: it is not painted, tiny, or has the same
    colour as its surroundings.
    """
    import pypdfium2  # noqa: PLC0415 - after the path is set
    import pypdfium2.raw as pdfium  # noqa: PLC0415 - after the path is set

    painted, characters = piece
    mode = pdfium.FPDFTextObj_GetTextRenderMode(painted)
    if mode == pdfium.FPDF_TEXTRENDERMODE_INVISIBLE:
        return True
    if picture is None:
        return False
    matrix = pdfium.FS_MATRIX()
    pdfium.FPDFText_GetMatrix(textpage.raw, characters[0], matrix)
    height = pdfium.FPDFText_GetFontSize(textpage.raw, characters[0])
    try:
        boxes = [textpage.get_charbox(index) for index in characters]
    except pypdfium2.PdfiumError:
        return False
    left, bottom, right, top = zip(*boxes, strict=True)
    bounds = min(left), min(bottom), max(right), max(top)
    tiny = height * math.hypot(matrix.c, matrix.d) < _TINY_POINTS
    return tiny or _has_one_colour(page, picture, bounds)


def _has_one_colour(page: Any, picture: Any, bounds: tuple[float, ...]) -> bool:
    left, bottom, right, top = bounds
    corners = [_find_pixel(page, picture, at) for at in ((left, top), (right, bottom))]
    (x1, x2), (y1, y2) = (sorted(one) for one in zip(*corners, strict=True))
    box = max(x1, 0), max(y1, 0), min(x2, picture.width), min(y2, picture.height)
    if box[0] >= box[2] or box[1] >= box[3]:
        # Outside the page: such text is not returned.
        return False
    seen = picture.crop(box).getextrema()
    return all(brightest - darkest < _LITTLE_CONTRAST for darkest, brightest in seen)


def _find_pixel(page: Any, picture: Any, at: tuple[float, float]) -> tuple[int, int]:
    import pypdfium2.raw as pdfium  # noqa: PLC0415 - after the path is set

    x, y = ctypes.c_int(), ctypes.c_int()
    pdfium.FPDF_PageToDevice(page.raw, 0, 0, *picture.size, 0, *at, x, y)
    return x.value, y.value


def _page_picture(page: Any) -> Any:
    longest = max(*page.get_size(), 1)
    return page.render(scale=min(2.0, MAX_SIDE / longest)).to_pil().convert("RGB")


def main(folders: str, kind: str, first: str, count: str) -> None:
    """Write what is shown of the file on standard input, or why it cannot be shown."""
    sys.path += [one for one in folders.split(os.pathsep) if one]
    data = sys.stdin.buffer.read()
    try:
        if kind == "image":
            shown = show_image(data)
        else:
            show = show_pdf if kind == "pdf" else show_notebook
            shown = show(data, int(first), int(count))
    except MediaError as error:
        answer = {"problem": error.problem, "reason": error.reason[:300]}
        sys.stdout.buffer.write(json.dumps(answer).encode("ascii") + b"\n")
    else:
        shown.write()


if __name__ == "__main__":
    main(*sys.argv[1:])
