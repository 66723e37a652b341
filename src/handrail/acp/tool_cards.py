"""How a call looks in an editor: its kind, the files it touches, its output and its diffs."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from acp.schema import (
    ContentToolCallContent,
    FileEditToolCallContent,
    TextContentBlock,
    ToolCallLocation,
    ToolKind,
)

from handrail.assembly.extras.record_reader import EndedCall
from handrail.core.text.content import Content
from handrail.core.text.safe_text import safe_text

CardContent = ContentToolCallContent | FileEditToolCallContent
_MAX_TEXT: Final = 20_000
_MAX_DIFF_BYTES: Final = 1_000_000
_MAX_TITLE: Final = 300
_FENCES: Final = re.compile(r"`{3,}")
_KINDS: Final[Mapping[str, ToolKind]] = {
    "read_file": "read",
    "list_files": "read",
    "file_info": "read",
    "show_changes": "read",
    "job_output": "read",
    "job_list": "read",
    "write_file": "edit",
    "edit_file": "edit",
    "apply_patch": "edit",
    "notebook_edit": "edit",
    "lsp_rename": "edit",
    "undo": "edit",
    "delete_file": "delete",
    "find_files": "search",
    "grep": "search",
    "lsp": "search",
    "tool_search": "search",
    "run_command": "execute",
    "execute_code": "execute",
    "job_write": "execute",
    "job_kill": "execute",
    "web_fetch": "fetch",
    "web_search": "fetch",
    "screenshot": "fetch",
    "todo_write": "think",
    "task_create": "think",
    "task_update": "think",
    "subagent": "think",
    "enter_plan_mode": "switch_mode",
    "exit_plan_mode": "switch_mode",
}


def tool_kind(tool: str) -> ToolKind:
    """Return the kind of call that the editor shows; "other" for tools that are not built in."""
    return _KINDS.get(tool, "other")


def card_title(text: str) -> str:
    """Return a title on one line."""
    shown = safe_text(text, one_line=True)
    return shown if len(shown) <= _MAX_TITLE else f"{shown[:_MAX_TITLE]}…"


def find_locations(footprint: Iterable[str]) -> list[ToolCallLocation]:
    """Return the files of a footprint such as ("write file:/project/a.py",)."""
    paths = [key.partition("file:")[2] for key in footprint if " file:" in key]
    return [ToolCallLocation(path=safe_text(path, one_line=True)) for path in dict.fromkeys(paths)]


def text_content(text: str) -> ContentToolCallContent:
    """Return text that the editor may render as Markdown."""
    block = TextContentBlock(type="text", text=safe_text(text))
    return ContentToolCallContent(type="content", content=block)


def verbatim_content(text: str) -> ContentToolCallContent:
    """Return text of programs and files, in a fence that it cannot end."""
    return text_content(fence(truncate(text.strip("\n"))))


def fence(text: str, language: str = "") -> str:
    """Return the text as a block of code in Markdown."""
    longest = max(map(len, _FENCES.findall(text)), default=2)
    marks = "`" * (longest + 1)
    return f"{marks}{language}\n{text}\n{marks}"


def truncate(text: str) -> str:
    """Return the beginning and the end of a text."""
    if len(text) <= _MAX_TEXT:
        return text
    half = _MAX_TEXT // 2
    return f"{text[:half]}\n[… {len(text) - 2 * half:,} characters left out …]\n{text[-half:]}"


def ended_content(call: EndedCall, root: Path) -> list[CardContent]:
    """Return the content of the card of an ended call: its diffs, else the text of its result."""
    shown = (
        diff_content(content.path, content.before, content.after, root) for content in call.contents
    )
    diffs = [diff for diff in shown if diff is not None]
    completed: Mapping[str, Any] = call.call.completed or {}
    text = str(completed.get("text") or "")
    if diffs and not completed.get("is_error"):
        return list(diffs)
    return [*diffs, verbatim_content(text)] if text else list(diffs)


def diff_content(
    path: str, before: Content | None, after: Content | None, root: Path
) -> FileEditToolCallContent | None:
    """Return a file before and after; None if a content is not text, or too large to be shown."""
    try:
        old, new = _diff_text(before), _diff_text(after)
    except ValueError:
        return None
    absolute = safe_text(posixpath.join(str(root), path), one_line=True)
    return FileEditToolCallContent(type="diff", path=absolute, old_text=old, new_text=new or "")


def _diff_text(content: Content | None) -> str | None:
    """Return the text of a content; raises ValueError for content that is not shown."""
    if content is None:
        return None
    if content.size > _MAX_DIFF_BYTES:
        raise ValueError("too large")
    return safe_text(content.tobytes().decode("utf-8"))
