"""Edits that post-hooks make to the files of a call, which are recorded as part of the call.

Files are compared directly before and after each hook, while no call writes, so that changes by
others are never attributed to a hook. Blocks; the runner uses a thread.
"""

from __future__ import annotations

import difflib
import stat
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Final, NamedTuple

from handrail.core.names.sensitive import is_sensitive
from handrail.core.places import Kind, Place, Stat, shown
from handrail.core.ports.machine import Files
from handrail.core.problems import ProblemRaised
from handrail.core.text.content import Content
from handrail.engine.call_state import CallState
from handrail.engine.planning.planner import Freshness

# The files for which hooks are run, within a limit of the bytes held in memory.
MAX_TRACKED_FILES: Final = 50
MAX_TRACKED_BYTES: Final = 64 << 20
MAX_DIFF_LINES: Final = 40
MAX_DIFF_CHARS: Final = 3000
_MAX_DIFF_INPUT_BYTES: Final = 1 << 20
# The comparison is quadratic in the number of different lines.
_MAX_LINE_PAIRS: Final = 250_000


class TrackedFile(NamedTuple):
    """A file at one moment; `content` is None if it does not exist."""

    place: Place
    content: Content | None = None
    stat: Stat | None = None

    @property
    def digest(self) -> str | None:
        """The hash of the content."""
        return None if self.content is None else self.content.digest

    @property
    def mode(self) -> int | None:
        """The permissions."""
        return None if self.stat is None else stat.S_IMODE(self.stat.mode)


class HookFileNote(NamedTuple):
    """The note about a change for the model, and for the user, who may see all files."""

    model: str
    user: str


class HookFileTracker:
    """Tracks what hooks change in the files of one call."""

    def __init__(self, state: CallState, files: Files, freshness: Freshness) -> None:
        self._state = state
        self._files = files
        self._freshness = freshness
        self._reader = state.prepared.principal.reader
        self._before: dict[str, TrackedFile] = {}
        self._notes: list[HookFileNote] = []
        self._shown: list[tuple[TrackedFile, TrackedFile]] = []

    def snapshot(self) -> None:
        """Remember the files; called before a hook runs."""
        self._before = self._track_files()

    def compare(self, hook: str) -> None:
        """Record what the hook changed as part of the call; called after the hook ran."""
        before, self._before = self._before, {}
        after = self._track_files() if before else {}
        for path, was in before.items():
            now = after.get(path)
            if now is None or (was.digest, was.mode) == (now.digest, now.mode):
                continue
            self._notes.append(self._note(hook, was, now))
            self._record(hook, path, was, now)

    def pop_notes(self) -> list[HookFileNote]:
        """Return and clear the pending notes."""
        notes, self._notes = self._notes, []
        return notes

    def mark_shown(self) -> None:
        """Record that the model was shown the changes: files it had read count as read again."""
        reader = self._reader
        if reader is None:
            return
        for was, now in self._shown:
            self._freshness.update_after_hook(now.place, was.digest, now.content, now.stat, reader)

    def _track_files(self) -> dict[str, TrackedFile]:
        found: dict[str, TrackedFile] = {}
        room = MAX_TRACKED_BYTES
        for change in self._state.effects.changes[:MAX_TRACKED_FILES]:
            seen = self._track_file(change.path, room)
            if seen is not None:
                found[change.path] = seen
                room -= 0 if seen.content is None else seen.content.size
        return found

    def _track_file(self, path: str, room: int) -> TrackedFile | None:
        """Return the file; None if it is too large or cannot be read as a file."""
        try:
            place = self._files.locate(path)
            if place.path != path:
                return None
            if place.kind is Kind.MISSING:
                return TrackedFile(place)
            content, stat_ = self._files.read(place, max_bytes=room)
        except ProblemRaised:
            return None
        return TrackedFile(place, content, stat_)

    def _note(self, hook: str, was: TrackedFile, now: TrackedFile) -> HookFileNote:
        name = shown(now.place.path)
        what = f"Hook {hook} changed {name}"
        if was.content is None or now.content is None:
            what = f"Hook {hook} {'removed' if now.content is None else 'recreated'} {name}"
            return HookFileNote(f"[{what}]", f"[{what}]")
        if was.digest == now.digest:
            what = f"Hook {hook} changed the permissions of {name}"
            return HookFileNote(f"[{what}]", f"[{what}]")
        diff = None if is_sensitive(now.place.rel) else _diff(was.content, now.content)
        full = f"[{what}]" if diff is None else f"[{what}]\n{diff}"
        # A file that the model has not read is not shown to it in this way either.
        if diff is None or not self._was_shown(was):
            return HookFileNote(f"[{what}; read it before you change it again]", full)
        self._shown.append((was, now))
        return HookFileNote(full, full)

    def _was_shown(self, was: TrackedFile) -> bool:
        """Return whether the model had read this content, or was shown it after an earlier hook."""
        shown = ((now.place.absolute, now.digest) for _, now in self._shown)
        if (was.place.absolute, was.digest) in shown:
            return True
        reader = self._reader
        return reader is not None and self._freshness.has_read(was.place, was.digest, reader)

    def _record(self, hook: str, path: str, was: TrackedFile, now: TrackedFile) -> None:
        state = self._state
        change = next(one for one in state.effects.changes if one.path == path)
        if change.after_hash != was.digest:
            # Another process wrote the file after the call, or the call has no hash to compare it
            # with.
            return
        became = {"after_hash": now.digest, "after_mode": now.mode}
        state.effects.changes = tuple(
            replace(one, after_hash=now.digest) if one is change else one
            for one in state.effects.changes
        )
        effects: dict[str, Any] = dict(state.effects.recorded or {})
        entry = {"path": path, "hook": hook, "before_hash": was.digest, **became}
        effects["hooks"] = [*effects.get("hooks", ()), entry]
        if "changes" in effects:
            effects["changes"] = [
                {**one, **became} if one["path"] == path else one for one in effects["changes"]
            ]
        state.effects.recorded = effects


# The tracker of the call whose post-hooks are running in this context.
current_hook_tracker: ContextVar[HookFileTracker | None] = ContextVar("handrail_left", default=None)


def _diff(before: Content, after: Content) -> str | None:
    """Return the complete diff; None if the content is not text or the diff is too long."""
    if before.size + after.size > _MAX_DIFF_INPUT_BYTES:
        return None
    try:
        old, new = (one.tobytes().decode("utf-8").split("\n") for one in (before, after))
    except UnicodeDecodeError:
        return None
    if old[-1] == new[-1] == "":
        # Both end with a line break, after which there is no line.
        del old[-1], new[-1]
    head = _common_prefix(old, new)
    tail = _common_prefix(old[head:][::-1], new[head:][::-1])
    if (len(old) - head - tail) * (len(new) - head - tail) > _MAX_LINE_PAIRS:
        return None
    lines = list(difflib.unified_diff(old, new, lineterm="", n=1))[2:]
    text = "\n".join(lines)
    return text if len(lines) <= MAX_DIFF_LINES and len(text) <= MAX_DIFF_CHARS else None


def _common_prefix(one: Sequence[str], other: Sequence[str]) -> int:
    pairs = zip(one, other, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(one), len(other)))
