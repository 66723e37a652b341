"""Several changes reverted as one: for each file, from what it is now to what it was, or the conflict.

A file is walked back through the states that were recorded; what nobody recorded is somebody
else's work and stops the walk. Only reads; blocks, so the caller runs it in a thread.
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
    """What bears a name now; `content` None: nothing does. `strange`: it cannot be ours, as
    with a pipe, or a path that leads elsewhere.
    """

    place: Place
    content: Content | None = None
    seen: Stat | None = None
    form: Form = Form.FILE
    strange: bool = False

    @property
    def digest(self) -> str | None:
        """What tells it from others."""
        return content_hash(self.content, self.form)

    @property
    def mode(self) -> int | None:
        """The permissions; a link has none of its own."""
        if self.seen is None or self.form is Form.LINK:
            return None
        return stat.S_IMODE(self.seen.mode)


class Conflict(NamedTuple):
    """Where a walk ended: the file was in the state `digest` after `below`, which left another,
    and before `above`; None: it still is.
    """

    digest: str | None
    below: FileChange
    above: FileChange | None = None


@dataclass(frozen=True, slots=True)
class FileRevert:
    """How one file gets back: the steps to take, newest first, and the mode it ends with.

    `kept_back`: steps that cannot be taken because their old content was not kept.
    `conflict`: where somebody changed the file; with `force` it is `forced` over.
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
        """The step whose old content the file gets, None if it needs none."""
        return self.steps[-1] if self.steps else None

    @property
    def changes_nothing(self) -> bool:
        """Whether the file is already as it would become."""
        target = self.target
        if target is None:
            return True
        same = target.described["before_hash"] == self.now.digest
        return same and (self.now.content is None or self.mode in (None, self.now.mode))


@dataclass(slots=True)
class _RevertWalk:
    """One file on its way back: its state so far. `last` is the newest step that it knew, and
    `strange` are those since which it did not.
    """

    digest: str | None
    mode: int | None
    last: FileChange | None = None
    taken: list[FileChange] = field(default_factory=list)
    done: list[FileChange] = field(default_factory=list)
    bare: list[FileChange] = field(default_factory=list)
    strange: list[FileChange] = field(default_factory=list)

    def meet(self, step: FileChange, *, force: bool = False) -> None:
        """Go back over one step."""
        if not {"before_hash", "after_hash"} <= step.described.keys():
            # Nothing of it was kept, not even what to recognise it by.
            self.bare.append(step)
            return
        state = self._state(step)
        if state == "other" and not force:
            # Perhaps the file was put back to an earlier state that we know.
            self.strange.append(step)
            return
        self.done += self.strange
        self.strange.clear()
        self.last = step
        if state == "before":
            self.done.append(step)
        else:
            self._back(step)

    def gap(self) -> Conflict | None:
        """Where the walk did not get any further."""
        return Conflict(self.digest, self.strange[0], self.last) if self.strange else None

    def _state(self, step: FileChange) -> str:
        one = step.described
        if one["before_hash"] == one["after_hash"] == self.digest and self.digest is not None:
            after = self.mode == one["after_mode"] != one["before_mode"]
            return "after" if after else "before"
        return compare_with_image(one, self.digest, None)

    def _back(self, step: FileChange) -> None:
        one = step.described
        if self.digest is None or self.mode == one["after_mode"]:
            self.mode = one["before_mode"]
        # Else somebody has set other permissions since; those are not ours to take back.
        self.digest = one["before_hash"]
        self.taken.append(step)


class LostImage(ProblemRaised):
    """The old content of one file was kept and is gone or damaged."""


def plan_file_revert(
    path: str, steps: Sequence[FileChange], now: CurrentFile, *, force: bool
) -> FileRevert:
    """How one file gets back over its steps, which come newest first."""
    if now.strange or _closed(steps, now):
        return FileRevert(path, now, (), conflict=Conflict(now.digest, steps[0]))
    walk = _walk(steps, now, force=force)
    bare, gap = tuple(walk.bare), walk.gap()
    if gap is not None and (walk.last is not None or not bare):
        return FileRevert(path, now, (), conflict=gap)
    if walk.last is None:
        return FileRevert(path, now, (), kept_back=bare)
    way = FileRevert(path, now, tuple(walk.taken), walk.mode, tuple(walk.done), bare)
    if force and not _matches(steps, now):
        way = replace(way, forced=True)
    return _limit_to_kept(way)


def path_spellings(given: str, files: Files) -> tuple[str, ...]:
    r"""A file as the record shows it; of a link, itself and the file behind it. A name that is
    not valid UTF-8 may be given as it is shown, with `\udc80` to `\udcff` for bytes that are not.
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
        # It leads outside or nowhere, but it may have a history of its own.
        return (found.place.path,)


def read_current_file(path: str, files: Files) -> CurrentFile:
    """What bears the name now."""
    place, form, content, seen = files.named(path)
    if place.path != path or form is Form.SPECIAL:
        return CurrentFile(place, strange=True)
    if form is None:
        return CurrentFile(place)
    if form is Form.FILE:
        content, seen = files.read(place)
    return CurrentFile(place, content, seen, form)


def _closed(steps: Sequence[FileChange], now: CurrentFile) -> bool:
    """Whether a folder stands where there was none: what is in it is not ours to remove."""
    forms = {step.described.get(one) for step in steps for one in ("before_form", "after_form")}
    return now.form is Form.FOLDER and Form.FOLDER not in forms


def _matches(steps: Sequence[FileChange], now: CurrentFile) -> bool:
    walk = _walk(steps, now)
    return walk.gap() is None and walk.last is not None


def _walk(steps: Iterable[FileChange], now: CurrentFile, *, force: bool = False) -> _RevertWalk:
    walk = _RevertWalk(now.digest, now.mode)
    for step in steps:
        walk.meet(step, force=force)
    return walk


def _limit_to_kept(way: FileRevert) -> FileRevert:
    """Stop at the last state whose content is still there."""
    steps, back = list(way.steps), list(way.kept_back)
    while steps and not _is_kept(steps[-1], way.now):
        back.append(steps.pop())
    if len(steps) == len(way.steps):
        return way
    mode = _walk(steps, way.now, force=True).mode
    return replace(way, steps=tuple(steps), kept_back=tuple(back), mode=mode)


def _is_kept(step: FileChange, now: CurrentFile) -> bool:
    one = step.described
    return one["image"] != "none" or one.get("before_hash") == now.digest


def make_change(way: FileRevert, blobs: Blobs | None, one: Mapping[str, Any]) -> Change:
    """The change that a way comes to; `one` is the described change that the file goes back
    to, with its old content. Raises `LostImage` if that content is gone.
    """
    now = way.now
    if one.get("before_hash") == now.digest:
        before = now.content
    else:
        try:
            before = load_image(one, blobs)
        except ProblemRaised as raised:
            raise LostImage(
                raised.problem.code,
                f"{way.path!r} cannot get its old content back: {raised.problem.message}",
                hint="the other files can be named by their paths",
            ) from raised
    made = len(one.get("made", ())) if before is None else 0
    form = Form.FILE if before is None else form_before(one)
    return Change(now.place, now.content, before, now.seen, way.mode, made, now.form, form)
