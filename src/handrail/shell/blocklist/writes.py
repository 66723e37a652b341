"""Overwriting what the machine needs: system files, disks, file systems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from handrail.core.commands import ExecutionContext, Reason
from handrail.shell.analyze.invocation import Invocation
from handrail.shell.blocklist.critical_paths import CriticalPaths
from handrail.shell.blocklist.program_calls import ExpandedCommand, ProgramCall
from handrail.shell.expand import plain_text
from handrail.shell.tables.catastrophes import DISK, DISK_TOOLS, DISK_VERBS, LOOKING

_INSTEAD: Final = "write below the workspace, and let the person install it"
_WRITERS: Final = frozenset(("tee", "truncate", "sponge", "shred", "fallocate"))
_COPIERS: Final = frozenset(("cp", "mv", "ln", "install", "rsync", "scp", "ditto", "gcp", "gmv"))
_OUTPUTS: Final = frozenset((">", ">>", ">|", "&>", "&>>", "<>", ">&"))
_DOWNLOADS: Final = {"curl": ("o", "output"), "wget": ("O", "output-document")}


def find_overwrites(act: ProgramCall, scene: ExpandedCommand) -> Iterator[Reason]:
    """What the program itself would overwrite that is refused."""
    if act.name in ("dd", "dcfldd", "gdd"):
        targets = [field[3:] for field in act.fields if field.startswith("of=")]
        yield from _overwritten(act, scene, targets)
    elif act.name in _WRITERS:
        yield from _overwritten(act, scene, act.operands)
    elif act.name in _COPIERS:
        target = act.value("t", "target-directory") if act.name != "scp" else None
        last = act.operands[-1:] if len(act.operands) > 1 else []
        follow = act.name not in ("mv", "ln")
        yield from _overwritten(act, scene, [target] if target else last, follow=follow)
    elif act.name in ("sed", "gsed", "perl", "ruby"):
        if any(_in_place(act.name, field) for field in act.options):
            yield from _overwritten(act, scene, act.operands)
    elif act.name in _DOWNLOADS:
        yield from _downloaded(act, scene)
    elif act.name in ("tar", "bsdtar", "unzip", "7z"):
        yield from _unpacked(act, scene)


def find_redirect_overwrites(invocation: Invocation, scene: ExpandedCommand) -> Iterator[Reason]:
    """What a redirect of the command would overwrite that is refused."""
    for redirect in invocation.redirects:
        if redirect.operator not in _OUTPUTS:
            continue
        for cwd in scene.cwds(invocation):
            for fields in scene.expander.likely([redirect.target], cwd):
                for field in fields:
                    what = scene.places.system(field, cwd)
                    if what is not None:
                        yield Reason(f"it overwrites {what}; {_INSTEAD}", invocation.source)
                        return


def find_system_writes(paths: Iterable[str], where: ExecutionContext) -> Iterator[Reason]:
    """What the files that a command is known to write would overwrite that is refused."""
    places = CriticalPaths(where)
    for path in paths:
        what = places.system(path, None)
        if what is not None:
            yield Reason(f"it changes {what}; {_INSTEAD}", path)
            return


def find_disk_damage(act: ProgramCall, scene: ExpandedCommand) -> Iterator[Reason]:
    """Tools for disks, where they name one and do more than look."""
    verbs = DISK_VERBS.get(act.name, frozenset())
    named = any(scene.places.device(field) for field in _values(act.fields))
    if not verbs.isdisjoint(act.fields) or (act.name in DISK_TOOLS and named and not _looks(act)):
        yield act.because(*DISK)
    elif act.name in ("mount", "umount") and act.operands:
        for field in act.operands:
            if scene.places.lost(field, act.cwd, follow=True) is not None:
                yield act.because(f"it covers or removes {plain_text(field)}", "leave mounts alone")
                return


def _looks(act: ProgramCall) -> bool:
    """Whether it is asked for nothing but a look at the disk."""
    looking = LOOKING.get(act.name, frozenset())
    rest = [field for field in act.fields if not field.startswith("/dev/")]
    return bool(rest) and looking.issuperset(rest)


def _values(fields: Iterable[str]) -> Iterator[str]:
    for field in fields:
        yield field
        yield field.rpartition("=")[2]


def _overwritten(
    act: ProgramCall, scene: ExpandedCommand, fields: Iterable[str], *, follow: bool = True
) -> Iterator[Reason]:
    for field in dict.fromkeys(fields):
        what = scene.places.system(field, act.cwd, follow=follow)
        if what is not None:
            yield act.because(f"it changes {what}", _INSTEAD)
            return


def _in_place(name: str, option: str) -> bool:
    if name in ("sed", "gsed"):
        if option.startswith("--"):
            return option.startswith("--i")
        return "i" in option[1:].partition("e")[0]
    return "i" in option[1:].partition("e")[0] and not option.startswith("--")


def _downloaded(act: ProgramCall, scene: ExpandedCommand) -> Iterator[Reason]:
    short, name = _DOWNLOADS[act.name]
    targets = [act.value(short, name)]
    if act.name == "wget":
        targets.append(act.value("P", "directory-prefix"))
    yield from _overwritten(act, scene, [one for one in targets if one])


def _unpacked(act: ProgramCall, scene: ExpandedCommand) -> Iterator[Reason]:
    if act.name in ("tar", "bsdtar"):
        cluster = act.fields[0].lstrip("-") if act.fields else ""
        if not ("x" in cluster or act.has("x", "extract", "get")):
            return
        target = act.value("C", "directory")
    else:
        target = act.value("d") if act.name == "unzip" else act.value("o")
    yield from _overwritten(act, scene, [target] if target else [])
