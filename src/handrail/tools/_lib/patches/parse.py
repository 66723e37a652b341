"""One patch, whatever its format."""

from __future__ import annotations

from functools import lru_cache

from handrail.tools._lib.patches.envelope import is_envelope, parse_envelope
from handrail.tools._lib.patches.model import Action, FilePatch, malformed
from handrail.tools._lib.patches.text import patch_lines, starts_file
from handrail.tools._lib.patches.unified import parse_unified


# A call asks three times: for what it touches, for its risk, and for the plan.
@lru_cache(maxsize=8)
def parse_patch(text: str) -> tuple[FilePatch, ...]:
    """The files a patch is about, in order; raises `invalid_arguments` with what is wrong."""
    lines = patch_lines(text)
    if not any(line.strip() for line in lines):
        raise malformed("the patch is empty")
    files = _read(lines)
    if not files:
        raise malformed("this is not a patch: it names no file and has no hunk")
    for file in files:
        if file.action is Action.UPDATE and not file.hunks and file.executable is None:
            name = f" of {file.name!r}" if file.name else ""
            raise malformed(
                f"the patch changes nothing: its part{name} has no line to add or to remove",
                "mark lines to remove with '-' and lines to add with '+'",
            )
    return tuple(files)


def _read(lines: list[str]) -> list[FilePatch]:
    for at, line in enumerate(lines):
        if line.startswith(("diff --git ", "@@")) or starts_file(lines, at):
            break
        if is_envelope(line):
            return parse_envelope(lines)
        if line.startswith("***************"):
            raise malformed("this is a context diff", "send a unified diff (diff -u)")
    return parse_unified(lines)
