"""Which files a patch is about: its names, resolved beneath the roots.

Every name goes through `Files.locate`, so none leaves the workspace. A diff tool's `a/` and
`b/` are taken off; where that is not certain, the file that exists decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from handrail.core.places import Kind, Place
from handrail.core.ports.machine import Files
from handrail.tools._lib.patches.model import Action, FilePatch, malformed

# What git puts before the two names of one file; the second row only with `mnemonicPrefix`,
# so it counts only where the two names differ in nothing else.
_PREFIXES: Final = ("a/", "b/", "./")
_MNEMONIC: Final = ("i/", "w/", "c/", "o/", *_PREFIXES)


@dataclass(frozen=True, slots=True)
class Target:
    """One file of a patch: what is read (None: it is new) and what is written (None: it goes)."""

    action: Action
    patch: FilePatch
    source: Place | None
    target: Place | None

    @property
    def path(self) -> str:
        """How the file is shown."""
        place = self.target or self.source
        return place.path if place is not None else self.patch.name


def targets_of(files: Files, patch: Sequence[FilePatch], only: Place | None) -> list[Target]:
    """Where every file of a patch is; raises `outside_workspace`, `invalid_arguments`.

    With `only`, the patch must be about that file, and need not name it.
    """
    found = [_target(files, part, only) for part in patch]
    if only is not None:
        for one in found:
            for place in (one.source, one.target):
                if place is not None and place.absolute != only.absolute:
                    raise malformed(
                        f"the patch is about {place.path!r}, but path is {only.path!r}",
                        "leave path out for a patch that names other files",
                    )
    return found


def _target(files: Files, part: FilePatch, only: Place | None) -> Target:
    match part.action:
        case Action.CREATE:
            name = _without(part.new, _PREFIXES) if part.prefixed else part.new
            return Target(part.action, part, None, files.locate(name))
        case Action.DELETE:
            return Target(part.action, part, _existing(files, part, part.old), None)
        case Action.RENAME | Action.COPY:
            return _moved(files, part)
        case Action.UPDATE:
            return _updated(part, _one_file(files, part, only))


def _updated(part: FilePatch, place: Place) -> Target:
    # `@@ -0,0` over additions only: the diff of a new file that lost its /dev/null.
    new = bool(part.hunks) and all(hunk.line == 0 and not hunk.old for hunk in part.hunks)
    if new and place.kind is Kind.MISSING:
        return Target(Action.CREATE, part, None, place)
    return Target(Action.UPDATE, part, place, place)


def _moved(files: Files, part: FilePatch) -> Target:
    source = files.locate(part.old)
    new = part.new
    if source.kind is Kind.MISSING and part.old.startswith("a/") and new.startswith("b/"):
        shorter = files.locate(part.old[2:])
        if shorter.kind is not Kind.MISSING:
            source, new = shorter, new[2:]
    return Target(part.action, part, source, files.locate(new))


def _one_file(files: Files, part: FilePatch, only: Place | None) -> Place:
    old, new = part.old, part.new
    if not old and not new:
        if only is None:
            raise malformed(
                "the patch names no file",
                "put '--- a/path' and '+++ b/path' above the first @@ line, or give path",
            )
        return only
    if old == new:
        return _existing(files, part, new)
    if _without(old, _MNEMONIC) == _without(new, _MNEMONIC):
        return files.locate(_without(new, _MNEMONIC))
    return _chosen(files, part)


def _chosen(files: Files, part: FilePatch) -> Place:
    """The file of two different names: of `x.orig` and `x`, the one that exists."""
    before = files.locate(_without(part.old, _PREFIXES))
    after = files.locate(_without(part.new, _PREFIXES))
    top_old, _, rest_old = part.old.partition("/")
    top_new, _, rest_new = part.new.partition("/")
    if rest_old and rest_old == rest_new and top_old != top_new:
        shared = files.locate(rest_new)
        if shared.kind is Kind.FILE:
            return shared
    if before.kind is Kind.MISSING and after.kind is Kind.FILE:
        return after
    raise malformed(
        f"the patch names two files, {part.old!r} and {part.new!r}",
        "give the same name twice; to rename, add lines 'rename from …' and 'rename to …'",
    )


def _existing(files: Files, part: FilePatch, name: str) -> Place:
    """The place of a name that may carry a prefix: the more likely one of those that exist."""
    shorter = _without(name, _PREFIXES)
    if shorter == name:
        return files.locate(name)
    # A deletion has only one name, and a diff tool's prefix is the rule there.
    likely = [shorter, name] if part.prefixed and part.action is Action.DELETE else [name, shorter]
    places = [files.locate(one) for one in likely]
    # If neither exists, the problem that is told names the path without prefix.
    return next((one for one in places if one.kind is not Kind.MISSING), files.locate(shorter))


def _without(name: str, prefixes: tuple[str, ...]) -> str:
    return name[2:] if name.startswith(prefixes) and len(name) > 2 else name
