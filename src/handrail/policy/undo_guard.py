"""Asks before a deletion that undo could not restore.

The guard covers what a command is known to delete (`rm`, `unlink`, `find -delete`) and the files
that a plan deletes. Deletions that the text of a command does not show are not detected here.
"""

from __future__ import annotations

import posixpath
import shlex
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from handrail.core.footprint import Footprint
from handrail.core.names.sensitive import is_sensitive
from handrail.core.places import shown
from handrail.core.plan import Plan
from handrail.core.verdicts import Effect, Verdict
from handrail.policy import messages
from handrail.policy.policy_input import PolicyInput

if TYPE_CHECKING:
    from handrail.core.commands import CommandAnalysis, CommandSegment
    from handrail.core.ports.snapshots import Removal, UnkeptFile

RULE: Final = "undo:unkept"
_NAMED: Final = 4
_FINDERS: Final = frozenset({"find", "gfind"})
_REMOVERS: Final = frozenset({"rm", "unlink", "shred"})
_NAMES: Final = frozenset({"-name", "-iname"})


# Returns the files of a deletion that would be lost; empty if undo could restore all of them.
UndoForecast = Callable[["Sequence[Removal]"], "Sequence[UnkeptFile]"]


class UndoGuard:
    """The guard of one workspace."""

    ignores_reads: Final = True
    only_deletions: Final = True

    def __init__(self, find_unkept: UndoForecast) -> None:
        self._find_unkept = find_unkept
        # Cached, because a call is evaluated several times with the same footprint object.
        self._last: tuple[Footprint, Verdict | None] | None = None

    def __call__(self, subject: PolicyInput) -> Verdict | None:
        """ASK for a deletion that cannot be undone, naming the files and the reasons."""
        if subject.footprint.command is not None:
            return self._of_command(subject.footprint, subject.footprint.command)
        if subject.plan is not None and not subject.traits.reverts_changes:
            return _ask_verdict(_unrecoverable_in_plan(subject.plan))
        return None

    def _of_command(self, footprint: Footprint, analysis: CommandAnalysis) -> Verdict | None:
        last = self._last
        if last is not None and last[0] is footprint:
            return last[1]
        from handrail.core.ports.snapshots import Removal

        removals = [
            *(Removal(path) for path in analysis.effects.removes),
            *_searched_removals(analysis),
        ]
        verdict = _ask_verdict(self._find_unkept(removals)) if removals else None
        self._last = (footprint, verdict)
        return verdict


def _unrecoverable_in_plan(plan: Plan) -> list[UnkeptFile]:
    """The files that a plan deletes and that are not copied."""
    from handrail.core.ports.snapshots import SENSITIVE, UnkeptFile

    return [
        UnkeptFile(change.path, SENSITIVE)
        for change in plan.changes
        if change.after is None
        and change.before is not None
        and not change.of_folder
        and is_sensitive(change.place.rel)
    ]


def _searched_removals(analysis: CommandAnalysis) -> Iterator[Removal]:
    """Yield what `find` deletes itself or passes to a program that deletes it."""
    searches = [words for one in analysis.segments if (words := _find_words(one))]
    handed = any(_deletes_piped_files(part.words) for part in analysis.parts)
    for words in searches:
        if handed or "-delete" in words:
            yield from _removals(words, analysis.cwd)


def _find_words(segment: CommandSegment) -> list[str]:
    """The words of a `find` command; empty for any other program."""
    if segment.word is None or posixpath.basename(segment.word) not in _FINDERS:
        return []
    try:
        return shlex.split(segment.source)
    except ValueError:
        return []


def _deletes_piped_files(words: Sequence[str | None]) -> bool:
    """Whether a program deletes files that its text does not name."""
    if not words or words[0] is None or posixpath.basename(words[0]) not in _REMOVERS:
        return False
    operands = [word for word in words[1:] if word is None or not word.startswith("-")]
    return not operands or None in operands


def _removals(words: Sequence[str], cwd: str) -> Iterator[Removal]:
    from handrail.core.ports.snapshots import Removal

    words = list(words[1:])
    if "-empty" in words or ("-type", "d") in pairwise(words):
        # Only empty files and folders are deleted, and those can always be restored.
        return
    options = [number for number, word in enumerate(words) if word.startswith(("-", "(", "!"))]
    starts = words[: options[0] if options else len(words)] or ["."]
    names = tuple(two for one, two in pairwise(words) if one in _NAMES)
    for start in starts:
        path = posixpath.normpath(posixpath.join(cwd, start))
        yield Removal(f"{path}/", names or None)


def _ask_verdict(lost: Sequence[UnkeptFile]) -> Verdict | None:
    if not lost:
        return None
    named = ", ".join(f"{shown(one.path)} ({one.why})" for one in lost[:_NAMED])
    more = f" and {len(lost) - _NAMED} or more others" if len(lost) > _NAMED else ""
    return Verdict.from_template(
        Effect.ASK, messages.DELETION_NOT_UNDOABLE, RULE, files=f"{named}{more}"
    )
