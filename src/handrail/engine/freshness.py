"""Whether a model knows what it changes: files it never read, and files that changed since.

An edit names the text it replaces, so a change elsewhere in the file cannot hurt it and is
only said. An overwrite names nothing: if the file is not what the model saw, it is refused.
"""

from __future__ import annotations

import difflib
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import Final, Literal

from handrail.core.content import Content
from handrail.core.context import ReadRecord, ReadState
from handrail.core.places import Form, Kind, Place, Stat
from handrail.core.plan import Change, Plan
from handrail.core.ports import Files
from handrail.core.problems import Problem, ProblemRaised

Mode = Literal["off", "warn", "strict"]
_SHOWN_LINES: Final = 60


class Freshness:
    """Checks plans against what was read; `mode` off: nothing is checked."""

    def __init__(self, mode: Mode, reads: ReadState, files: Files) -> None:
        self._mode = mode
        self._reads = reads
        self._files = files
        # Files that were changed unread, which is said once of each.
        self._unread: set[str] = set()

    def check(self, plan: Plan) -> list[str]:
        """Notes for the model; raises `stale` for what must not happen."""
        if self._mode == "off" or plan.relies_on == "nothing":
            return []
        return [
            note
            for change in plan.changes
            if change.before is not None and (note := self._note(change, plan)) is not None
        ]

    def explain(self, problem: Problem, places: list[Place]) -> Problem:
        """A text that was not found may have been there when the model looked: say so."""
        if self._mode == "off" or problem.code not in ("no_match", "ambiguous"):
            return problem
        for place in places:
            text = self._reads.text(place.absolute)
            if text is None or place.kind is not Kind.FILE:
                continue
            diff = _since(text, self._files.read(place).content.tobytes())
            if diff:
                message = f"{problem.message}\nSince you read it, the file changed:\n{diff}"
                return replace(problem, message=message)
        return problem

    def renew(self, plan: Plan) -> None:
        """What was written is what the model knows now."""
        for change in plan.changes:
            absolute = change.place.absolute
            written = change.after is not None and change.after_form is Form.FILE
            whole = plan.relies_on == "all" or change.before is None
            known = self._reads.get(absolute)
            if written and known is None and not whole:
                # What the model has not seen it knows no better for having changed a part of it.
                if plan.relies_on != "nothing":
                    self._unread.add(absolute)
                continue
            stat = self._stat(change) if written else None
            if change.after is None or stat is None:
                self._reads.forget(absolute)
                self._unread.discard(absolute)
                continue
            if known is None and change.before is not None:
                self._unread.add(absolute)
            if not whole and known is not None and not self._same(known, change):
                # Edited without knowing what else had changed: that is still not known.
                continue
            if whole or (known is not None and known.whole):
                record = ReadRecord(time.time(), 1, 0, stat, True, change.after.digest)
                self._reads.record_read(absolute, record, _text(change.after.tobytes()))
            elif known is not None:
                self._reads.record_read(
                    absolute, known._replace(stat=stat, digest=change.after.digest)
                )

    def knows(self, place: Place, digest: str | None) -> bool:
        """Whether what the model saw of a file last is of this content."""
        known = self._reads.get(place.absolute)
        return known is not None and known.digest is not None and known.digest == digest

    def follow(
        self, place: Place, before: str | None, after: Content | None, stat: Stat | None
    ) -> None:
        """The model was told how a file became another one: if it knew the old, it knows this."""
        known = self._reads.get(place.absolute)
        if known is None or after is None or stat is None or known.digest != before:
            return
        record = known._replace(read_at=time.time(), stat=stat, digest=after.digest)
        text = _text(after.tobytes()) if known.whole else None
        self._reads.record_read(place.absolute, record, text)

    def _stat(self, change: Change) -> Stat | None:
        try:
            return self._files.stat(change.place)
        except ProblemRaised:
            # The change has happened, and that nobody could look at it is no failure of it.
            return None

    def _note(self, change: Change, plan: Plan) -> str | None:
        record = self._reads.get(change.place.absolute)
        if record is None:
            if self._mode == "strict":
                raise ProblemRaised(
                    "stale",
                    f"{change.path!r} has not been read in this session",
                    hint="read the file first, then change it",
                    field="path",
                )
            if change.place.absolute in self._unread:
                return None
            return f"{change.path} was changed without having been read first"
        if self._same(record, change):
            return None if record.whole or plan.relies_on == "part" else self._in_part(change)
        if plan.relies_on == "all":
            raise self._drifted(record, change)
        return f"{change.path} had changed since it was read; the edit was made on what it is now"

    def _in_part(self, change: Change) -> str:
        if self._mode == "strict":
            raise ProblemRaised(
                "stale",
                f"only a part of {change.path!r} has been read, and all of it would be replaced",
                hint="read the whole file first, or change the part with an edit",
                field="path",
            )
        return f"{change.path} was replaced although only a part of it had been read"

    def _same(self, record: ReadRecord, change: Change) -> bool:
        if change.seen is not None and record.stat.settled and record.stat.same_as(change.seen):
            return True
        return record.digest is not None and record.digest == change.before_hash

    def _drifted(self, record: ReadRecord, change: Change) -> ProblemRaised:
        modified = change.seen.mtime_ns / 1e9 if change.seen is not None else time.time()
        when = f"read at {_clock(record.read_at)}, modified at {_clock(modified)}"
        text = self._reads.text(change.place.absolute)
        before = change.before.tobytes() if change.before is not None else b""
        diff = _since(text, before) if text is not None else ""
        return ProblemRaised(
            "stale",
            f"{change.path!r} changed since it was read ({when})" + (f":\n{diff}" if diff else ""),
            hint="read the file again, then write what should be in it now",
            field="path",
        )


def _since(seen: str, now: bytes) -> str:
    text = _text(now)
    if text is None or text == seen:
        return ""
    lines = difflib.unified_diff(
        seen.split("\n"), text.split("\n"), "as you read it", "as it is now", lineterm="", n=1
    )
    shown = list(lines)
    if len(shown) > _SHOWN_LINES:
        shown = [*shown[:_SHOWN_LINES], f"… {len(shown) - _SHOWN_LINES} more lines"]
    return "\n".join(shown)


def _text(data: bytes) -> str | None:
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text.replace("\r\n", "\n").removesuffix("\n")


def _clock(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%H:%M:%S.%f")[:-3]
