"""Determines which programs may read files that contain secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from handrail.core.commands import CommandAnalysis, CommandClass, CommandPart
from handrail.core.names.sensitive import is_sensitive
from handrail.core.ports.processes import Confinement, Sandbox, Strength
from handrail.core.ports.read_denials import HiddenPaths

_GLOB: Final = re.compile(r"[*?\[{]")
# A revision before a path (`HEAD:.env`), an option or operand before a value (`if=.env`).
_PREFIX: Final = re.compile(r"[:=]")
# Options with which git reads files that it does not track.
_UNTRACKED: Final = frozenset({"--untracked", "--no-index", "--no-exclude-standard"})
# The most characters of a brief command, with one more for each word or path: checking a pattern of this
# length takes a few milliseconds.
_BRIEF: Final = 400


@dataclass(frozen=True, slots=True)
class SecretExposure:
    """Determines whether a program may show secrets. `find` returns the sensitive files of the workspace
    that exist now, with `gap` set if git tracks one of them; it blocks.
    """

    find: Callable[[], HiddenPaths]
    roots: tuple[str, ...]
    sandbox: Sandbox

    def hide(self, confinement: Confinement) -> Confinement:
        """The confinement with the sensitive files of the workspace hidden. Its `shows_secrets` says
        whether the program may nevertheless see some. Blocks.
        """
        found = self.find()
        hidden = tuple(dict.fromkeys((*confinement.denied_reads, *found.paths)))
        closed = confinement._replace(denied_reads=hidden)
        seen = not (found.complete and self._closes_outside(closed))
        return closed._replace(shows_secrets=seen or self.sandbox.hiding_gap(closed) is not None)

    def may_show(self, analysis: CommandAnalysis, confinement: Confinement) -> bool:
        """Whether the command may read a sensitive file, judged by the names in its text. If it reads
        whole trees or is not fully understood, the files that exist and are not hidden decide; for git
        commands that read only tracked files, it matters whether git tracks a sensitive file. Blocks.
        """
        known = self.may_show_by_text(analysis)
        if known is not None:
            return known
        trees, anything = _trees(analysis), _reads_anything(analysis)
        closed = self._closes_outside(confinement)
        outside = any(not any(_within(one, root) for root in self.roots) for one in trees)
        if (anything or outside) and not closed:
            return True
        found = self.find()
        if not anything and all(map(_shows_tracked_files, analysis.parts)):
            return found.gap is not None
        if not found.complete:
            return True
        hides = self.sandbox.hiding_gap(confinement) is None
        kept = (*confinement.hidden, *(confinement.denied_reads if hides else ()))
        visible = [path for path in found.paths if not any(_within(path, one) for one in kept)]
        return any(anything or _within(path, top) for path in visible for top in trees or ("/",))

    def may_show_by_text(self, analysis: CommandAnalysis) -> bool | None:
        """Whether the command may read a sensitive file, judged by its text alone; None if that depends
        on the files that exist.
        """
        if any(is_sensitive(name, glob=True) for name in _names(analysis)):
            return True
        return None if _trees(analysis) or _reads_anything(analysis) else False

    def _closes_outside(self, confinement: Confinement) -> bool:
        """Whether the program sees only the workspace and the system."""
        return not confinement.off and self.sandbox.measured["fs_read"] is Strength.ENFORCED


def is_brief(analysis: CommandAnalysis) -> bool:
    """Whether the words and paths of a command are so few and short that checking them is fast."""
    effects, size = analysis.effects, 0
    for words in (effects.reads, effects.writes, *(part.words for part in analysis.parts)):
        for word in words:
            size += 1 if word is None else 1 + len(word)
            if size > _BRIEF:
                return False
    return True


def _names(analysis: CommandAnalysis) -> Iterator[str]:
    """The paths and words of a command that may name a file."""
    yield from analysis.effects.reads
    yield from analysis.effects.writes
    for part in analysis.parts:
        for word in part.words:
            if word:
                yield word
                yield _PREFIX.split(word)[-1]


def _trees(analysis: CommandAnalysis) -> list[str]:
    """The directories that a command searches."""
    return [top for path in analysis.effects.reads if (top := _tree(path)) is not None]


def _reads_anything(analysis: CommandAnalysis) -> bool:
    return (
        analysis.effects.open_ended
        or analysis.safety_class > CommandClass.DEV
        or _has_unknown_operands(analysis)
    )


def _has_unknown_operands(analysis: CommandAnalysis) -> bool:
    """Whether a program gets arguments that are known only when it runs."""
    by_xargs = any(segment.word == "xargs" for segment in analysis.segments)
    return by_xargs or any(None in part.words for part in analysis.parts)


def _shows_tracked_files(part: CommandPart) -> bool:
    """Whether the program is git and reads only files that git tracks."""
    return part.words[:1] == ("git",) and not _UNTRACKED.intersection(part.words)


def _tree(path: str) -> str | None:
    """The directory that a command searches; None for a single file."""
    found = _GLOB.search(path)
    if found is not None:
        return path[: found.start()].rpartition("/")[0] or "/"
    return path.rstrip("/") or "/" if path.endswith("/") else None


def _within(path: str, top: str) -> bool:
    return path == top or path.startswith(f"{top.rstrip('/')}/")
