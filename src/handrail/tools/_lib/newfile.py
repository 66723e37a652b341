"""The plan that creates a file."""

from __future__ import annotations

from handrail.core.places import Place
from handrail.core.plan import Change, Plan
from handrail.core.text.content import Content
from handrail.core.text.encoding import UTF8
from handrail.tools._lib.diff import count_lines, render_creation
from handrail.tools._lib.lines import counted


def creation(place: Place, text: str) -> Plan:
    """A new UTF-8 file with exactly this text; directories above it are made as needed."""
    content = Content(UTF8.encode(text))
    lines = count_lines(text)
    size = f"{counted(lines, 'line')}, {counted(len(content), 'byte')}"
    return Plan(
        changes=(Change(place, None, content),),
        text=f"created {place.shown} ({size})",
        preview=render_creation(place.path, text),
        data={"path": place.path, "created": True, "lines": lines, "bytes": len(content)},
    )
