"""The files of one patch while it is worked out in memory; nothing is written.

Each part of the patch sees what the parts before it did, so a file may be named twice. The hunks of
a part are placed on the file as it is, because that is what a diff describes; only if one of them
builds on another are they applied one after the other.
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
    """The new bytes, the changed lines, and a note on each hunk that did not match literally."""

    data: bytes
    shown: Sequence[diff.DiffHunk]
    notes: Sequence[str]


def patch_bytes(data: bytes, hunks: Sequence[PatchHunk], path: str) -> PatchedBytes:
    """The file with all hunks applied; raises `no_match`, `ambiguous` or `already_applied`."""
    done = _apply_hunks(data, hunks, path)
    after = apply_splices(data, done.splices).tobytes()
    if not done.splices:
        return PatchedBytes(after, (), done.notes)
    file = _byte_text(data, hunks)
    line = file.lines_between(0, done.splices[0].start) + 1
    return PatchedBytes(after, make_hunks(file, done.splices, line), done.notes)


class AppliedHunks(NamedTuple):
    """The splices of some hunks, and notes on those that did not match literally."""

    splices: Sequence[Splice]
    notes: Sequence[str]


def _apply_hunks(data: bytes, hunks: Sequence[PatchHunk], path: str) -> AppliedHunks:
    """Apply all hunks in as few rounds as they need: in each, all that fit the file as it is then.

    The first hunk that does not fit, or that changes what another one changes, begins the next
    round; a round whose first hunk does not fit raises.
    """
    file = _file(data, hunks, path)
    hunks = without_wide_marks(hunks, file)
    done = AppliedHunks((), ())
    grown = 0
    rest = list(hunks)
    while rest:
        placed_now = _one_round(file, rest, grown, raises=len(hunks) == 1)
        splices = sorted([splice for one in placed_now for splice in one.splices])
        notes = [one.note for one in placed_now if one.note]
        done = AppliedHunks(
            compose_splices(done.splices, splices) if done.splices else splices,
            [*done.notes, *notes],
        )
        now, rest = rest[: len(placed_now)], rest[len(placed_now) :]
        grown += sum(len(hunk.new) - len(hunk.old) for hunk in now)
        if rest:
            file = _file(apply_splices(data, done.splices).tobytes(), hunks, path)
    return done


def _one_round(
    file: FileLines, hunks: Sequence[PatchHunk], grown: int, *, raises: bool
) -> list[PlacedHunk]:
    """The first hunks that fit the file together; raises if not even the first one does.

    `grown` is by how many lines earlier rounds made the file longer.
    """
    done: list[PlacedHunk] = []
    taken: list[Splice] = []
    for hunk in hunks:
        try:
            one = _placed(file, _moved(hunk, grown))
        except ProblemRaised as raised:
            if raises or not done or raised.problem.code != "no_match":
                raise
            break
        if any(_collides(taken, splice) for splice in one.splices):
            break
        for splice in one.splices:
            insort(taken, splice)
        done.append(one)
    _refuse_doubtful_numbers(hunks[: len(done)], done)
    return done


def _moved(hunk: PatchHunk, grown: int) -> PatchHunk:
    if hunk.line is None or not grown:
        return hunk
    return replace(hunk, line=max(hunk.line + grown, 0 if hunk.numbered else 1))


def _collides(taken: Sequence[Splice], splice: Splice) -> bool:
    """Whether a splice changes what one of these, which are in order, changes."""
    at = bisect_left(taken, splice)
    return any(_collide(*sorted((splice, one))) for one in taken[max(at - 1, 0) : at + 1])


def _refuse_doubtful_numbers(hunks: Sequence[PatchHunk], done: Sequence[PlacedHunk]) -> None:
    """Refuse a hunk that only its line number places if other hunks show numbers to be wrong."""
    numbered = next((hunk for hunk in hunks if hunk.numbered), None)
    shifted = next((one for one in done if one.shift), None)
    if numbered is not None and shifted is not None:
        raise ProblemRaised(
            "no_match",
            f"hunk {numbered.number} has no context lines, and its line number cannot be trusted: "
            f"another hunk was found {abs(shifted.shift)} lines away from the line it states",
            hint="read the file and give lines of context around the insertion",
            field="patch",
        )


def _collide(one: Splice, two: Splice) -> bool:
    return two.start < one.end or (one.start, one.end) == (two.start, two.end)


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
    """A file before and now; `data` None: it does not exist (any more)."""

    place: Place
    seen: FileContent | None
    data: bytes | None
    mode: int | None = None

    @property
    def before(self) -> bytes | None:
        """Its bytes before the patch."""
        return None if self.seen is None else self.seen.content.tobytes()

    def change(self) -> Change | None:
        """What has to be written, None if nothing."""
        if self.data == self.before and self.mode is None:
            return None
        before, stat = self.seen if self.seen is not None else (None, None)
        after = None if self.data is None else Content(self.data)
        return Change(self.place, before, after, stat, None if after is None else self.mode)


class PatchStep(NamedTuple):
    """What one part of the patch did, in words, and as a diff."""

    target: Target
    words: str
    preview: str
    notes: Sequence[str] = ()


class PatchWorkspace:
    """Carries out the parts of a patch on copies."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self.sheets: dict[str, FileDraft] = {}

    def carry_out(self, target: Target) -> PatchStep:
        """One part; raises the problem that stops the whole patch."""
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
        """All changes, deletions last: no content is ever in no file."""
        changes = [change for sheet in self.sheets.values() if (change := sheet.change())]
        return tuple(sorted(changes, key=lambda change: change.after is None))

    def _create(self, target: Target) -> PatchStep:
        sheet = self._sheet(target.target)
        hunks = [_only_added(hunk, target.path) for hunk in target.patch.hunks]
        data = UTF8.encode(join_added_lines(hunks))
        _require_free(sheet, data)
        sheet.data = data
        sheet.mode = 0o755 if target.patch.executable else None
        lines = split_lines(UTF8.decode(data))
        preview = render_diff(target.path, [diff.DiffHunk((), lines)], created=True)
        return PatchStep(
            target, f"created {target.path} ({format_count(len(lines), 'line')})", preview
        )

    def _delete(self, target: Target) -> PatchStep:
        sheet = self._sheet(target.source)
        data = self._content(sheet)
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
        sheet.data, sheet.mode = None, None
        size = format_count(len(data), "byte")
        return PatchStep(
            target, f"deleted {target.path} ({size})", f"delete {target.path} ({size})"
        )

    def _update(self, target: Target) -> PatchStep:
        sheet = self._sheet(target.source)
        result = self._patch(sheet, target)
        how = format_count(len(target.patch.hunks), "hunk") if target.patch.hunks else "mode"
        return PatchStep(
            target, f"updated {target.path} ({how})", _preview(target, sheet, result), result.notes
        )

    def _move(self, target: Target) -> PatchStep:
        source, goal = self._sheet(target.source), self._sheet(target.target)
        # A copy is of the file as it was; other parts of the patch may change that file.
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

    def _patch(self, sheet: FileDraft, target: Target) -> PatchedBytes:
        data, hunks = self._content(sheet), target.patch.hunks
        if data or any(hunk.old for hunk in hunks):
            result = patch_bytes(data, hunks, sheet.place.path)
        else:
            result = _filled(hunks)
        sheet.data = result.data
        if target.patch.executable is not None:
            old = _permissions(sheet)
            new = _executable(old, on=target.patch.executable)
            sheet.mode = new if new != old or sheet.mode is not None else None
        return result

    def _sheet(self, place: Place | None) -> FileDraft:
        if place is None:
            raise LookupError("this part of a patch has no such file")
        sheet = self.sheets.get(place.absolute)
        if sheet is None:
            sheet = self.sheets[place.absolute] = self._opened(place)
        return sheet

    def _opened(self, place: Place) -> FileDraft:
        require_file(place, "a patch changes files; name a file")
        if place.kind is Kind.MISSING:
            return FileDraft(place, None, None)
        size_to_change(place, self._files.stat(place))
        seen = self._files.read(place)
        return FileDraft(place, seen, seen.content.tobytes())

    def _content(self, sheet: FileDraft) -> bytes:
        if sheet.data is None and sheet.seen is None:
            # Raises what there is to say about a file that is not there.
            return self._files.read(sheet.place).content.tobytes()
        if sheet.data is None:
            raise malformed_problem(f"{sheet.place.path!r} is used after the patch has removed it")
        return sheet.data


def _filled(hunks: Sequence[PatchHunk]) -> PatchedBytes:
    """An empty file with its first lines."""
    text = join_added_lines(hunks)
    shown = [diff.DiffHunk((), split_lines(text))] if text else []
    return PatchedBytes(UTF8.encode(text), shown, ())


def _preview(target: Target, sheet: FileDraft, result: PatchedBytes) -> str:
    mode = "" if sheet.mode is None else f"mode {sheet.mode:04o} {target.path}"
    diffed = render_diff(target.path, result.shown)
    return "\n".join([part for part in (mode, diffed) if part])


def _only_added(hunk: PatchHunk, path: str) -> PatchHunk:
    return replace(hunk, lines=added_lines(hunk.lines, path))


def _require_free(sheet: FileDraft, data: bytes | None) -> None:
    if sheet.data is None:
        return
    path = sheet.place.path
    if data is not None and sheet.data == data:
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


def _permissions(sheet: FileDraft) -> int | None:
    if sheet.mode is not None:
        return sheet.mode
    return S_IMODE(sheet.seen.stat.mode) if sheet.seen is not None else None


def _executable(mode: int | None, *, on: bool) -> int:
    if mode is None:
        return 0o755 if on else 0o644
    # Who may read may execute, or nobody; that is all that git knows of modes.
    return mode | (mode & 0o444) >> 2 if on else mode & ~0o111


def total_size(files: Files, targets: Sequence[Target]) -> int:
    """How many bytes the files of a patch have."""
    stats = [files.stat(one.source) for one in targets if one.source is not None]
    return sum(stat.size for stat in stats if isinstance(stat, Stat))
