"""The plan that creates a file."""

from __future__ import annotations

from handrail.core.content import Content
from handrail.core.places import Place
from handrail.core.plan import Change, Plan
from handrail.core.text import UTF8
from handrail.tools._lib.diff import Hunk, render_diff, split_lines
from handrail.tools._lib.lines import counted


def creation(place: Place, text: str) -> Plan:
    """A new UTF-8 file with exactly this text; directories above it are made as needed."""
    content = Content(UTF8.encode(text))
    lines = split_lines(text)
    size = f"{counted(len(lines), 'line')}, {counted(len(content), 'byte')}"
    return Plan(
        changes=(Change(place, None, content),),
        text=f"created {place.path} ({size})",
        preview=render_diff(place.path, [Hunk((), lines, 1, 1)], created=True),
        data={"path": place.path, "created": True, "lines": len(lines), "bytes": len(content)},
    )
