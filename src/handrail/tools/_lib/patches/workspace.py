"""Applies a patch to copies of its files in memory; nothing is written.

Each part of the patch sees the results of earlier parts, so a file may occur twice. The hunks of a
part are placed in the file as it is, because that is what a diff describes; only if one builds on
another are they applied one after the other.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence
from dataclasses import dataclass, replace
from stat import S_IMODE
from typing import NamedTuple

from handrail.core.places import Kind, Place, Stat, shown
from handrail.core.plan import Change
from handrail.core.ports.machine import FileContent, Files
from handrail.core.problems import ProblemRaised
from handrail.core.text.content import Content
from handrail.core.text.encoding import UTF8
from handrail.tools._lib import diff
from handrail.tools._lib.byte_text import (
    ByteText,
    Splice,
    apply_splices,
    compose_splices,
    detect_form,
)
from handrail.tools._lib.diff import make_hunks, render_diff, split_lines
from handrail.tools._lib.matching.lines import FileLines
from handrail.tools._lib.patches.envelope import added_lines
from handrail.tools._lib.patches.model import (
    Action,
    PatchHunk,
    Target,
    join_added_lines,
    malformed_problem,
)
from handrail.tools._lib.patches.placing import PlacedHunk, place_hunk, without_wide_marks
from handrail.tools._lib.tool_base import format_count, require_file, size_to_change


class PatchedBytes(NamedTuple):
    """The new bytes, the changed lines, and a note on each hunk that did not match exactly."""

    data: bytes
    shown: Sequence[diff.DiffHunk]
    notes: Sequence[str]


def patch_bytes(data: bytes, hunks: Sequence[PatchHunk], path: str) -> PatchedBytes:
    """Return the file with all hunks applied; raises `no_match`, `ambiguous` or `already_applied`."""
    applied = _apply_hunks(data, hunks, path)
    after = apply_splices(data, applied.splices).tobytes()
    if not applied.splices:
        return PatchedBytes(after, (), applied.notes)
    file = _byte_text(data, hunks)
    line = file.lines_between(0, applied.splices[0].start) + 1
    return PatchedBytes(after, make_hunks(file, applied.splices, line), applied.notes)


class AppliedHunks(NamedTuple):
    """The splices of some hunks, and notes on those that did not match exactly."""

    splices: Sequence[Splice]
    notes: Sequence[str]


def _apply_hunks(data: bytes, hunks: Sequence[PatchHunk], path: str) -> AppliedHunks:
    """Apply all hunks in as few rounds as possible; each round applies the hunks that fit the
    current file.

    The first hunk that does not fit, or that changes the same bytes as another one, begins the next
    round; a round whose first hunk does not fit raises.
    """
    file = _file(data, hunks, path)
    hunks = without_wide_marks(hunks, file)
    applied = AppliedHunks((), ())
    grown = 0
    rest = list(hunks)
    while rest:
        placed_now = _one_round(file, rest, grown, raises=len(hunks) == 1)
        splices = sorted([splice for placed in placed_now for splice in placed.splices])
        notes = [placed.note for placed in placed_now if placed.note]
        applied = AppliedHunks(
            compose_splices(applied.splices, splices) if applied.splices else splices,
            [*applied.notes, *notes],
        )
        now, rest = rest[: len(placed_now)], rest[len(placed_now) :]
        grown += sum(len(hunk.new) - len(hunk.old) for hunk in now)
        if rest:
            file = _file(apply_splices(data, applied.splices).tobytes(), hunks, path)
    return applied


def _one_round(
    file: FileLines, hunks: Sequence[PatchHunk], grown: int, *, raises: bool
) -> list[PlacedHunk]:
    """Return the first hunks that fit the file together; raises if the first one does not fit.

    `grown` is the number of lines that earlier rounds added.
    """
    placed_hunks: list[PlacedHunk] = []
    splices: list[Splice] = []
    for hunk in hunks:
        try:
            placed = _placed(file, _moved(hunk, grown))
        except ProblemRaised as raised:
            if raises or not placed_hunks or raised.problem.code != "no_match":
                raise
            break
        if any(_collides(splices, splice) for splice in placed.splices):
            break
        for splice in placed.splices:
            insort(splices, splice)
        placed_hunks.append(placed)
    _refuse_doubtful_numbers(hunks[: len(placed_hunks)], placed_hunks)
    return placed_hunks


def _moved(hunk: PatchHunk, grown: int) -> PatchHunk:
    if hunk.line is None or not grown:
        return hunk
    return replace(hunk, line=max(hunk.line + grown, 0 if hunk.numbered else 1))


def _collides(splices: Sequence[Splice], splice: Splice) -> bool:
    """Return whether a splice changes the same bytes as one of `splices`, which are in order."""
    at = bisect_left(splices, splice)
    return any(_collide(*sorted((splice, other))) for other in splices[max(at - 1, 0) : at + 1])


def _refuse_doubtful_numbers(
    hunks: Sequence[PatchHunk], placed_hunks: Sequence[PlacedHunk]
) -> None:
    """Raise `no_match` for a hunk placed by its line number alone, if other hunks show that the
    numbers are wrong.
    """
    numbered = next((hunk for hunk in hunks if hunk.numbered), None)
    shifted = next((placed for placed in placed_hunks if placed.shift), None)
    if numbered is not None and shifted is not None:
        raise ProblemRaised(
            "no_match",
            f"hunk {numbered.number} has no context lines, and its line number cannot be trusted: "
            f"another hunk was found {abs(shifted.shift)} lines away from the line it states",
            hint="read the file and give lines of context around the insertion",
            field="patch",
        )


def _collide(first: Splice, second: Splice) -> bool:
    return second.start < first.end or (first.start, first.end) == (second.start, second.end)


def _file(data: bytes, hunks: Sequence[PatchHunk], path: str) -> FileLines:
    return FileLines(_byte_text(data, hunks), path)


def _byte_text(data: bytes, hunks: Sequence[PatchHunk]) -> ByteText:
    return ByteText(data, detect_form(data, *[line.text for hunk in hunks for line in hunk.lines]))


def _placed(file: FileLines, hunk: PatchHunk) -> PlacedHunk:
    try:
        return place_hunk(file, hunk)
    except ProblemRaised as raised:
        problem = raised.problem
        message = f"hunk {hunk.number} of {file.path!r}: {problem.message}"
        raise ProblemRaised.of(replace(problem, message=message, field="patch")) from raised


@dataclass(slots=True)
class FileDraft:
    """A file before the patch and now; `data` is None if it does not exist (any more)."""

    place: Place
    seen: FileContent | None
    data: bytes | None
    mode: int | None = None

    @property
    def before(self) -> bytes | None:
        """The bytes before the patch."""
        return None if self.seen is None else self.seen.content.tobytes()

    def change(self) -> Change | None:
        """Return the change to write, None if there is none."""
        if self.data == self.before and self.mode is None:
            return None
        before, stat = self.seen if self.seen is not None else (None, None)
        after = None if self.data is None else Content(self.data)
        return Change(self.place, before, after, stat, None if after is None else self.mode)


class PatchStep(NamedTuple):
    """The description of one part of the patch, and its diff."""

    target: Target
    words: str
    preview: str
    notes: Sequence[str] = ()


class PatchWorkspace:
    """Applies the parts of a patch to copies."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self.sheets: dict[str, FileDraft] = {}

    def carry_out(self, target: Target) -> PatchStep:
        """Apply one part; raises the problem that stops the whole patch."""
        match target.action:
            case Action.CREATE:
                return self._create(target)
            case Action.DELETE:
                return self._delete(target)
            case Action.UPDATE:
                return self._update(target)
            case Action.RENAME | Action.COPY:
                return self._move(target)

    def changes(self) -> tuple[Change, ...]:
        """Return all changes, deletions last, so that content that moves is never in no file."""
        changes = [change for draft in self.sheets.values() if (change := draft.change())]
        return tuple(sorted(changes, key=lambda change: change.after is None))

    def _create(self, target: Target) -> PatchStep:
        draft = self._draft(target.target)
        hunks = [_only_added(hunk, target.path) for hunk in target.patch.hunks]
        data = UTF8.encode(join_added_lines(hunks))
        _require_free(draft, data)
        draft.data = data
        draft.mode = 0o755 if target.patch.executable else None
        lines = split_lines(UTF8.decode(data))
        preview = render_diff(target.path, [diff.DiffHunk((), lines)], created=True)
        return PatchStep(
            target, f"created {target.path} ({format_count(len(lines), 'line')})", preview
        )

    def _delete(self, target: Target) -> PatchStep:
        draft = self._draft(target.source)
        data = self._content(draft)
        if target.patch.hunks:
            rest = patch_bytes(data, target.patch.hunks, target.path).data
            if detect_form(data).decode(rest).strip():
                raise ProblemRaised(
                    "no_match",
                    f"the patch deletes {target.path!r}, but the file has more lines than "
                    "the patch takes away",
                    hint="read the file and give all of its lines, or use *** Delete File:",
                    field="patch",
                )
        draft.data, draft.mode = None, None
        size = format_count(len(data), "byte")
        return PatchStep(
            target, f"deleted {target.path} ({size})", f"delete {target.path} ({size})"
        )

    def _update(self, target: Target) -> PatchStep:
        draft = self._draft(target.source)
        result = self._patch(draft, target)
        how = format_count(len(target.patch.hunks), "hunk") if target.patch.hunks else "mode"
        return PatchStep(
            target, f"updated {target.path} ({how})", _preview(target, draft, result), result.notes
        )

    def _move(self, target: Target) -> PatchStep:
        source, goal = self._draft(target.source), self._draft(target.target)
        # A copy has the original content; other parts of the patch may change that file.
        old = source.before if target.action is Action.COPY else None
        copied = replace(source, data=self._content(source) if old is None else old)
        result = self._patch(copied, target)
        _require_free(goal, None)
        goal.data = copied.data
        goal.mode = copied.mode if copied.mode is not None else _permissions(source)
        what = "copied"
        if target.action is Action.RENAME:
            source.data, source.mode, what = None, None, "renamed"
        words = f"{what} {source.place.shown} to {shown(target.path)}"
        preview = "\n".join([line for line in (words, _preview(target, copied, result)) if line])
        return PatchStep(target, words, preview, result.notes)

    def _patch(self, draft: FileDraft, target: Target) -> PatchedBytes:
        data, hunks = self._content(draft), target.patch.hunks
        if data or any(hunk.old for hunk in hunks):
            result = patch_bytes(data, hunks, draft.place.path)
        else:
            result = _filled(hunks)
        draft.data = result.data
        if target.patch.executable is not None:
            old = _permissions(draft)
            new = _executable(old, on=target.patch.executable)
            draft.mode = new if new != old or draft.mode is not None else None
        return result

    def _draft(self, place: Place | None) -> FileDraft:
        if place is None:
            raise LookupError("this part of a patch has no such file")
        draft = self.sheets.get(place.absolute)
        if draft is None:
            draft = self.sheets[place.absolute] = self._opened(place)
        return draft

    def _opened(self, place: Place) -> FileDraft:
        require_file(place, "a patch changes files; name a file")
        if place.kind is Kind.MISSING:
            return FileDraft(place, None, None)
        size_to_change(place, self._files.stat(place))
        content = self._files.read(place)
        return FileDraft(place, content, content.content.tobytes())

    def _content(self, draft: FileDraft) -> bytes:
        if draft.data is None and draft.seen is None:
            # Raises the problem of a missing file.
            return self._files.read(draft.place).content.tobytes()
        if draft.data is None:
            raise malformed_problem(f"{draft.place.path!r} is used after the patch has removed it")
        return draft.data


def _filled(hunks: Sequence[PatchHunk]) -> PatchedBytes:
    """Return an empty file with its first lines added."""
    text = join_added_lines(hunks)
    shown = [diff.DiffHunk((), split_lines(text))] if text else []
    return PatchedBytes(UTF8.encode(text), shown, ())


def _preview(target: Target, draft: FileDraft, result: PatchedBytes) -> str:
    mode = "" if draft.mode is None else f"mode {draft.mode:04o} {target.path}"
    diffed = render_diff(target.path, result.shown)
    return "\n".join([part for part in (mode, diffed) if part])


def _only_added(hunk: PatchHunk, path: str) -> PatchHunk:
    return replace(hunk, lines=added_lines(hunk.lines, path))


def _require_free(draft: FileDraft, data: bytes | None) -> None:
    if draft.data is None:
        return
    path = draft.place.path
    if data is not None and draft.data == data:
        raise ProblemRaised(
            "already_applied",
            f"{path!r} exists already, with exactly this content",
            hint="leave this file out of the patch",
            field="patch",
        )
    raise ProblemRaised(
        "exists",
        f"the patch would create {path!r}, but it exists",
        hint="change it with hunks, or choose another name",
        field="patch",
    )


def _permissions(draft: FileDraft) -> int | None:
    if draft.mode is not None:
        return draft.mode
    return S_IMODE(draft.seen.stat.mode) if draft.seen is not None else None


def _executable(mode: int | None, *, on: bool) -> int:
    if mode is None:
        return 0o755 if on else 0o644
    # Everyone who may read may execute, or no one; git knows no other modes.
    return mode | (mode & 0o444) >> 2 if on else mode & ~0o111


def total_size(files: Files, targets: Sequence[Target]) -> int:
    """Return the total size of the files of a patch."""
    stats = [files.stat(target.source) for target in targets if target.source is not None]
    return sum(stat.size for stat in stats if isinstance(stat, Stat))
