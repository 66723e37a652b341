"""Plans how one file is reverted over several changes at once, or finds the conflict.

The file is followed back through its recorded states. A state that was not recorded means that the
file was changed outside the recorded calls: that is the conflict. Only reads; blocks, so the caller runs it in a thread.
"""

from __future__ import annotations

import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from handrail.core.places import Form, Place, Stat
from handrail.core.plan import Change, content_hash
from handrail.core.ports.machine import Blobs, Files
from handrail.core.problems import ProblemRaised
from handrail.core.text.content import Content
from handrail.history.before_images import compare_with_image, form_before, load_image
from handrail.history.undo.recorded_changes import FileChange

_ESCAPED: Final = re.compile(r"\\u(dc[89a-f][0-9a-f])")


@dataclass(frozen=True, slots=True)
class CurrentFile:
    """The current state of a path; `content` None: it does not exist. `unsupported`: Handrail cannot
    have written it, such as a pipe, or a path that a link redirects.
    """

    place: Place
    content: Content | None = None
    seen: Stat | None = None
    form: Form = Form.FILE
    unsupported: bool = False

    @property
    def digest(self) -> str | None:
        """The hash of the content and form."""
        return content_hash(self.content, self.form)

    @property
    def mode(self) -> int | None:
        """The permissions; None for a link."""
        if self.seen is None or self.form is Form.LINK:
            return None
        return stat.S_IMODE(self.seen.mode)


class Conflict(NamedTuple):
    """Where the states of a file do not connect: after the change `below`, the file got the state
    `digest`, which was not recorded. `above` is the next recorded change; None: the state is current.
    """

    digest: str | None
    below: FileChange
    above: FileChange | None = None


@dataclass(frozen=True, slots=True)
class FileRevert:
    """How one file is reverted: the changes to revert, newest first, and the resulting mode.

    `done` are changes that are reverted already. `kept_back` are changes that cannot be reverted because
    their old content was not stored. `conflict` is where somebody else changed the file; with `force`,
    that state is overwritten, and `forced` is set.
    """

    path: str
    now: CurrentFile
    steps: tuple[FileChange, ...]
    mode: int | None = None
    done: tuple[FileChange, ...] = ()
    kept_back: tuple[FileChange, ...] = ()
    conflict: Conflict | None = None
    forced: bool = False

    @property
    def target(self) -> FileChange | None:
        """The change whose old content the file gets, None if nothing is reverted."""
        return self.steps[-1] if self.steps else None

    @property
    def changes_nothing(self) -> bool:
        """Whether the file is already in its final state."""
        target = self.target
        if target is None:
            return True
        same = target.described["before_hash"] == self.now.digest
        return same and (self.now.content is None or self.mode in (None, self.now.mode))


@dataclass(slots=True)
class _RevertWalk:
    """Follows one file back through its changes. `digest` and `mode` are its state so far; `last` is the
    last change that matched the state, and `unmatched` are the changes since then, which did not.
    """

    digest: str | None
    mode: int | None
    last: FileChange | None = None
    taken: list[FileChange] = field(default_factory=list)
    done: list[FileChange] = field(default_factory=list)
    without_hashes: list[FileChange] = field(default_factory=list)
    unmatched: list[FileChange] = field(default_factory=list)

    def meet(self, step: FileChange, *, force: bool = False) -> None:
        """Follow the file back over one change."""
        if not {"before_hash", "after_hash"} <= step.described.keys():
            # Neither the old content nor hashes were recorded.
            self.without_hashes.append(step)
            return
        state = self._state(step)
        if state == "other" and not force:
            # The file may have been restored to an earlier recorded state.
            self.unmatched.append(step)
            return
        self.done += self.unmatched
        self.unmatched.clear()
        self.last = step
        if state == "before":
            self.done.append(step)
        else:
            self._back(step)

    def conflict(self) -> Conflict | None:
        """The conflict; None if all changes matched."""
        return Conflict(self.digest, self.unmatched[0], self.last) if self.unmatched else None

    def _state(self, step: FileChange) -> str:
        one = step.described
        if one["before_hash"] == one["after_hash"] == self.digest and self.digest is not None:
            after = self.mode == one["after_mode"] != one["before_mode"]
            return "after" if after else "before"
        return compare_with_image(one, self.digest, None)

    def _back(self, step: FileChange) -> None:
        one = step.described
        # A link has no permissions.
        if self.digest is None or self.mode is None or self.mode == one["after_mode"]:
            self.mode = one["before_mode"]
        # Otherwise somebody else has set other permissions since, which are kept.
        self.digest = one["before_hash"]
        self.taken.append(step)


class LostImage(ProblemRaised):
    """The stored old content of a file is lost or damaged."""


def plan_file_revert(
    path: str, steps: Sequence[FileChange], now: CurrentFile, *, force: bool
) -> FileRevert:
    """Plan how one file is reverted over `steps`, its changes, newest first."""
    if now.unsupported or _closed(steps, now):
        return FileRevert(path, now, (), conflict=Conflict(now.digest, steps[0]))
    walk = _walk(steps, now, force=force)
    lost, conflict = tuple(walk.without_hashes), walk.conflict()
    if conflict is not None and (walk.last is not None or not lost):
        return FileRevert(path, now, (), conflict=conflict)
    if walk.last is None:
        return FileRevert(path, now, (), kept_back=lost)
    revert = FileRevert(path, now, tuple(walk.taken), walk.mode, tuple(walk.done), lost)
    if force and not _matches(steps, now):
        revert = replace(revert, forced=True)
    return _limit_to_kept(revert)


def path_spellings(given: str, files: Files) -> tuple[str, ...]:
    r"""The paths of a file in the form of the record; for a link, the link and its target. A name that is
    not valid UTF-8 may be given as it is shown, with `\udc80` to `\udcff` for the invalid bytes.
    """
    bytewise = _ESCAPED.sub(lambda one: chr(int(one[1], 16)), given)
    if bytewise != given:
        return (*_names(bytewise, files), *_names(given, files))
    return _names(given, files)


def _names(given: str, files: Files) -> tuple[str, ...]:
    found = files.named(given)
    if found.form is not Form.LINK:
        return (files.locate(given).path,)
    try:
        return found.place.path, files.locate(given).path
    except ProblemRaised:
        # The target is outside or missing, but the link itself may have changes.
        return (found.place.path,)


def read_current_file(path: str, files: Files) -> CurrentFile:
    """The current state of a path."""
    place, form, content, seen = files.named(path)
    if place.path != path or form is Form.SPECIAL:
        return CurrentFile(place, unsupported=True)
    if form is None:
        return CurrentFile(place)
    if form is Form.FILE:
        content, seen = files.read(place)
    return CurrentFile(place, content, seen, form)


def _closed(steps: Sequence[FileChange], now: CurrentFile) -> bool:
    """Whether the path is now a folder that none of the changes created: it must not be removed."""
    forms = {step.described.get(one) for step in steps for one in ("before_form", "after_form")}
    return now.form is Form.FOLDER and Form.FOLDER not in forms


def _matches(steps: Sequence[FileChange], now: CurrentFile) -> bool:
    walk = _walk(steps, now)
    return walk.conflict() is None and walk.last is not None


def _walk(steps: Iterable[FileChange], now: CurrentFile, *, force: bool = False) -> _RevertWalk:
    walk = _RevertWalk(now.digest, now.mode)
    for step in steps:
        walk.meet(step, force=force)
    return walk


def _limit_to_kept(revert: FileRevert) -> FileRevert:
    """Limit the revert to the last state whose content is stored."""
    steps, back = list(revert.steps), list(revert.kept_back)
    while steps and not _is_kept(steps[-1], revert.now):
        back.append(steps.pop())
    if len(steps) == len(revert.steps):
        return revert
    mode = _walk(steps, revert.now, force=True).mode
    return replace(revert, steps=tuple(steps), kept_back=tuple(back), mode=mode)


def _is_kept(step: FileChange, now: CurrentFile) -> bool:
    one = step.described
    return one["image"] != "none" or one.get("before_hash") == now.digest


def make_change(revert: FileRevert, blobs: Blobs | None, one: Mapping[str, Any]) -> Change:
    """The change that carries out a revert; `one` is the described change of its target, with the old
    content. Raises `LostImage` if that content is lost.
    """
    now = revert.now
    if one.get("before_hash") == now.digest:
        before = now.content
    else:
        try:
            before = load_image(one, blobs)
        except ProblemRaised as raised:
            raise LostImage(
                raised.problem.code,
                f"{revert.path!r} cannot get its old content back: {raised.problem.message}",
                hint="the other files can be named by their paths",
            ) from raised
    made = len(one.get("made", ())) if before is None else 0
    form = Form.FILE if before is None else form_before(one)
    return Change(now.place, now.content, before, now.seen, revert.mode, made, now.form, form)
