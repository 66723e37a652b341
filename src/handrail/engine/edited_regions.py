"""Whether an edit changes only lines that the caller has been shown.

Compared are the lines that the edit replaces, together with the nearest line beside them that
is not blank: a line such as `return x` stands in many places, and only its neighbour says which
of them was shown. An insertion stands for the two lines between which it happens.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from handrail.core.content import Content
from handrail.core.text import detect
from handrail.tools._lib.diff import changed_spans

# Larger files are not compared: an edit of one that changed since it was read is refused.
MOST_BYTES: Final = 4 << 20
_CONTEXT_LINES: Final = 3


class EditedRegion(NamedTuple):
    """Lines `first:last` of `lines` are replaced; a pure insertion has its two neighbours."""

    lines: Sequence[str]
    first: int
    last: int

    def with_neighbour(self) -> Iterator[str]:
        """The region with the nearest non-blank line above it, then with the one below it."""
        above = next((i for i in range(self.first - 1, -1, -1) if self.lines[i].strip()), None)
        below = next((i for i in range(self.last, len(self.lines)) if self.lines[i].strip()), None)
        if above is not None:
            yield "\n".join(self.lines[above : self.last])
        if below is not None:
            yield "\n".join(self.lines[self.first : below + 1])


def changes_only_shown_lines(
    before: Content | None, after: Content | None, shown: Iterable[str]
) -> bool:
    """Whether every region that the edit changes stands, with a neighbour, in a shown text.

    False also where that cannot be known: a binary file, a large one, nothing shown.
    """
    texts = [f"\n{text}\n" for text in shown]
    old, new = text_lines(before), text_lines(after)
    if not texts or old is None or new is None:
        return False
    return all(
        any(f"\n{lines}\n" in text for lines in region.with_neighbour() for text in texts)
        for region in _edited_regions(old, new)
    )


def lines_after_edit(before: Content | None, after: Content | None) -> Iterator[str]:
    """Each changed range as it is after the edit, with a few lines around it."""
    old, new = text_lines(before), text_lines(after)
    if old is not None and new is not None:
        for span in changed_spans(old, new):
            first = max(span.b0 - _CONTEXT_LINES, 0)
            yield "\n".join(new[first : span.b1 + _CONTEXT_LINES])


def text_lines(content: Content | None) -> list[str] | None:
    """The lines of a file as a reader is shown them; None if it is binary or large."""
    if content is None or content.size > MOST_BYTES:
        return None
    data = content.tobytes()
    form = detect(data)
    if form is None:
        return None
    lines = [line.removesuffix("\r") for line in form.show(form.decode(data)).split("\n")]
    if not lines[-1]:
        del lines[-1]
    return lines


def _edited_regions(old: Sequence[str], new: Sequence[str]) -> Iterator[EditedRegion]:
    for span in changed_spans(old, new):
        if span.a1 > span.a0:
            yield EditedRegion(old, span.a0, span.a1)
        else:
            yield EditedRegion(old, max(span.a0 - 1, 0), min(span.a0 + 1, len(old)))
