"""Images, PDF files and notebooks, shown as text and images."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple, Protocol

from handrail.core.results import Image


class MediaKind(StrEnum):
    """The kinds of files that can be decoded."""

    IMAGE = "image"
    PDF = "pdf"
    NOTEBOOK = "notebook"


class MediaPart(NamedTuple):
    """A page, a cell or an output: a title that Handrail writes, and the text, None if it has none."""

    title: str
    text: str | None = None


class MediaView(NamedTuple):
    """What is shown of a file: pages or cells from `first` to `last` of `total`, counted from 1."""

    parts: tuple[MediaPart, ...]
    media_type: str
    images: tuple[Image, ...] = ()
    first: int = 1
    last: int = 1
    total: int = 1
    notes: tuple[str, ...] = ()


class MediaReader(Protocol):
    """Decodes files."""

    async def read(
        self, kind: MediaKind, data: bytes, name: str, first: int = 1, count: int | None = None
    ) -> MediaView | None:
        """Some pages of a PDF file, cells of a notebook, or an image; None for a file that is named like
        a notebook and is not one. Raises `not_text` for a file that cannot be decoded, `too_large`,
        `unavailable`.
        """
