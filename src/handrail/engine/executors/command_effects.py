"""Records what a command changes: a snapshot before it, a comparison after it, and a report.

A failed snapshot does not stop the command; its result then says that it cannot be undone.
"""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from handrail.core.commands import CommandAnalysis, CommandClass
from handrail.core.footprint import Access, Footprint
from handrail.core.ports.machine import Clock, Files
from handrail.core.ports.snapshots import ObservedWrites
from handrail.core.problems import ProblemRaised
from handrail.engine.messages import COPYING_FILES
from handrail.engine.timing import run_in_thread_uncancellable
from handrail.history.command_effects.effects_report import CommandInterval, EffectsReport, Evidence
from handrail.history.command_effects.report_builder import OUTSIDE, EffectStorage, build_report

_log = logging.getLogger("handrail")
_PROGRESS_S: Final = 1.0
_OFF: Final = "the setting `shadow` is off"
_ELSEWHERE: Final = "outside of the workspace"
# Programs that copy links or whole trees, and with them those that put links, or further names of
# files, where the next one may write to them.
_COPYING: Final = frozenset(("cp", "rsync", "tar", "bsdtar", "cpio", "unzip", "7z", "git", "patch"))
_PLACING: Final = _COPYING | {"mv", "ln", "link"}
# Programs that change the names themselves, never what links lead to.
_NOT_FOLLOWING: Final = frozenset(("rm", "rmdir", "unlink", "mv"))
_GLOB: Final = re.compile(r"[*?\[]")


class SnapshotExtent(Protocol):
    """The extent of a snapshot: `whole` for all roots, `open_ended` if anything may be written."""

    @property
    def whole(self) -> bool: ...

    @property
    def open_ended(self) -> bool: ...


@dataclass(slots=True)
class CommandSnapshot:
    """A command whose changes are tracked. `before` is None if the snapshot failed. `derived` are
    the paths that its text shows as written. `whole`: the snapshot covers all roots.
    """

    before: Any
    derived: tuple[str, ...]
    whole: bool
    open_ended: bool
    looked_ns: int
    started_ns: int = 0
    notes: str = ""


class CommandChangeTracker:
    """Tracks the changes of commands by snapshots. If not `whole`, commands that may write anything
    get no snapshot of all roots, only of the paths that they name.
    """

    def __init__(self, keeping: EffectStorage, clock: Clock, *, whole: bool) -> None:
        self.keeping = keeping
        self._clock = clock
        self._whole = whole

    async def begin(
        self,
        footprint: Footprint,
        report: Callable[[str], None] | None = None,
        *,
        others: bool = False,
    ) -> CommandSnapshot | None:
        """Take a snapshot of what the call may change; return None for a call that only reads.
        `report` is called with progress texts. `others`: another job of this runtime may write
        meanwhile.
        """
        analysis = footprint.command
        if analysis is None or (
            analysis.safety_class is CommandClass.SAFE and not analysis.unconfined
        ):
            return None
        open_ended = footprint.open_ended or _may_write_elsewhere(analysis)
        tracked = CommandSnapshot(
            None,
            tuple(_written_paths(footprint)),
            open_ended and self._whole,
            open_ended,
            self._clock.now_ns(),
        )

        progress = None if report is None else _CopyProgress(report, self._clock)

        def look() -> None:
            scopes = None if tracked.whole else self._scopes(tracked.derived)
            try:
                tracked.before = self.keeping.shadow.capture(scopes, progress)
                # With no other writer, every change at a path that the text shows as written is the
                # command's.
                if tracked.whole or others or not self.keeping.shadow.is_only_runtime():
                    tracked.notes = self.keeping.shadow.new_write_log()
            except OSError as error:
                _log.warning("what a command changes cannot be kept: %s", error)

        await run_in_thread_uncancellable(look)
        return tracked

    def describe(self, tracked: CommandSnapshot) -> dict[str, Any]:
        """Return the part of the intent by which the snapshot is found after a crash."""
        if tracked.before is None:
            return {}
        reference = self.keeping.shadow.crash_reference(tracked.before, tracked.notes)
        return {"shadow": dict(reference)} if reference else {}

    def start(self, tracked: CommandSnapshot) -> str:
        """Note that the command starts now; the file for the writes that are traced, if any."""
        tracked.started_ns = self._clock.now_ns()
        return tracked.notes

    async def end(self, tracked: CommandSnapshot, *, confined: bool, others: bool) -> EffectsReport:
        """Return what the command changed. `confined`: it could write nothing outside. `others`:
        something else in this runtime may have written meanwhile.
        """
        report = EffectsReport(blind=True)
        window = CommandInterval(tracked.looked_ns, tracked.started_ns, self._clock.now_ns())

        def look() -> None:
            nonlocal report
            if tracked.before is None:
                return
            try:
                found = self.keeping.shadow.diff(tracked.before)
                noted = self._traced_writes(tracked)
                alone = self.keeping.shadow.is_only_runtime()
            except OSError as error:
                _log.warning("what a command changed is not known: %s", error)
                return
            evidence = Evidence(window, tracked.derived, noted, others or not alone)
            report = build_report(found, evidence, self.keeping)

        await run_in_thread_uncancellable(look)
        if not report.blind:
            self.limit(report, tracked, confined=confined)
        return report

    def unfinished(
        self, intent: Mapping[str, Any], ended_ns: int | None = None
    ) -> EffectsReport | None:
        """Return what a command changed whose runtime ended before the command did, by its intent;
        None if that is unknown. `ended_ns` is the time of its end, if known. Blocks.
        """
        reference = intent.get("shadow")
        if not isinstance(reference, Mapping):
            return None
        try:
            found = self.keeping.shadow.diff_since(reference)
        except OSError as error:
            _log.warning("what a command changed is not known: %s", error)
            return None
        if found is None:
            return None
        look, noted = found
        if ended_ns is None:
            now_ns = self._clock.now_ns()
            ended_ns = now_ns if noted is None or noted.blind else noted.written_ns
        analysis = intent.get("effects")
        writes = analysis.get("writes", ()) if isinstance(analysis, Mapping) else ()
        # Other programs may have written since, so only changes with evidence for the command are
        # attributed to it.
        evidence = Evidence(CommandInterval(0, 0, ended_ns), tuple(writes), noted, others=True)
        return build_report(look, evidence, self.keeping)

    def close(self) -> None:
        """Release the copies."""
        self.keeping.shadow.close()

    def _traced_writes(self, tracked: CommandSnapshot) -> ObservedWrites | None:
        return self.keeping.shadow.read_write_log(tracked.notes) if tracked.notes else None

    def limit(self, report: EffectsReport, tracked: SnapshotExtent, *, confined: bool) -> None:
        """Add to the report what the snapshot did not cover."""
        if tracked.open_ended and not tracked.whole:
            report.left_out["."] = _OFF
        if not confined:
            report.left_out[_ELSEWHERE] = OUTSIDE

    def _scopes(self, derived: tuple[str, ...]) -> list[tuple[int, str]]:
        """Return the paths to snapshot, by root: each path where it leads, and as it is written."""
        found: dict[tuple[int, str], None] = {}
        files = self.keeping.files
        for path in derived:
            above, _, name = path.rstrip("/").rpartition("/")
            place = _locate(files, path)
            if place is not None:
                found[place] = None
            folder = _locate(files, above)
            if folder is not None:
                found[folder[0], f"{folder[1]}/{name}" if folder[1] else name] = None
        return list(found)


def _may_write_elsewhere(analysis: CommandAnalysis) -> bool:
    """Return whether a command may write to other files than its text shows: where links lead that
    it makes or moves itself, that a pattern matches, or that lie in trees into which it copies.
    """
    programs = frozenset(analysis.effects.programs)
    if not programs <= _NOT_FOLLOWING and any(map(_GLOB.search, analysis.effects.writes)):
        return True
    if not programs & _PLACING:
        return False
    # Without an option, a program copies single files.
    copies_trees = bool(programs & _COPYING) and " -" in analysis.text
    return copies_trees or len(analysis.effects.programs) > 1


class _CopyProgress:
    """Reports, from another thread, how many files were copied: once a second."""

    def __init__(self, report: Callable[[str], None], clock: Clock) -> None:
        self._report = report
        self._clock = clock
        self._loop = asyncio.get_running_loop()
        self._next_s = self._clock.monotonic() + _PROGRESS_S

    def __call__(self, files: int) -> None:
        if self._clock.monotonic() >= self._next_s:
            self._next_s += _PROGRESS_S
            self._loop.call_soon_threadsafe(self._report, COPYING_FILES.format(files=files))


def _written_paths(footprint: Footprint) -> list[str]:
    """Return the paths that a call's text shows as written, trees with a trailing slash."""
    found = []
    for touch in footprint.touches:
        kind, _, path = touch.key.partition(":")
        if touch.access is Access.WRITE and kind in ("file", "tree"):
            found.append(path if kind == "file" else f"{path.rstrip('/')}/")
    return found


def _locate(files: Files, path: str) -> tuple[int, str] | None:
    try:
        place = files.locate(path or "/")
    except ProblemRaised:
        # The path lies outside the roots, so nothing of it is kept.
        return None
    return place.root, place.rel
