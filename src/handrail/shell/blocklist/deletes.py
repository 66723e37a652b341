"""Deleting or moving away what cannot be got back: the system, a home, what is around us."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from handrail.core.commands import Reason
from handrail.shell.analyze.invocation import Invocation
from handrail.shell.blocklist.program_calls import ExpandedCommand, ProgramCall, program_basename
from handrail.shell.expand import plain_text, printed_field

_INSTEAD: Final = "name the files below the workspace that should go"
_DELETERS: Final = frozenset(("rm", "unlink", "shred", "srm", "rimraf", "trash", "grm", "wipe"))
# What find may run on each file that leaves nothing of it.
_RUIN: Final = _DELETERS | {"mv", "dd", "truncate", "chmod", "chown", "chgrp", "tee", "cp"}
_FILTERS: Final = frozenset(
    (
        *(
            "-name",
            "-iname",
            "-path",
            "-ipath",
            "-wholename",
            "-regex",
            "-iregex",
            "-newer",
            "-mtime",
        ),
        *("-mmin", "-ctime", "-atime", "-size", "-empty", "-perm", "-user", "-inum", "-samefile"),
    )
)
_RUNNERS: Final = ("-exec", "-execdir", "-ok", "-okdir")


def find_deletions(act: ProgramCall, scene: ExpandedCommand) -> Iterator[Reason]:
    """What the program would delete or move that is refused."""
    if act.name in _DELETERS:
        yield from _gone(act, scene, (*act.operands, *piped_operands(act, scene)))
        if "--no-preserve-root" in act.fields:
            yield act.because("it asks to delete the whole file system", _INSTEAD)
    elif act.name in ("mv", "gmv"):
        yield from _gone(act, scene, _sources(act))
    elif act.name in ("find", "gfind", "fd", "fdfind"):
        yield from _found(act, scene)
    elif act.name == "rsync":
        yield from _synced(act, scene)
    elif act.name in ("tar", "gtar", "bsdtar", "zip", "7z", "git"):
        yield from _gone(act, scene, _swept(act))
    elif act.name == "crontab" and act.has("r"):
        yield act.because("it deletes every scheduled job of the user", "edit the one line meant")


def _gone(act: ProgramCall, scene: ExpandedCommand, fields: Iterable[str]) -> Iterator[Reason]:
    for field in dict.fromkeys(fields):
        what = scene.places.lost(field, act.cwd)
        if what is not None:
            yield act.because(f"it deletes or moves away {what}", _INSTEAD)
            return


def _swept(act: ProgramCall) -> Sequence[str]:
    """What an archiver deletes once it has packed it, and where `git clean` cleans."""
    if act.name == "git":
        place = act.value("C")
        return [place] if place is not None and "clean" in act.fields else []
    packed_away = {"zip": act.has("m", "move"), "7z": "-sdel" in act.fields}
    return act.operands if packed_away.get(act.name, act.has("", "remove-files")) else []


def _sources(act: ProgramCall) -> Sequence[str]:
    """What `mv` takes away: all but the last, unless the target is named by an option."""
    target = act.value("t", "target-directory")
    return act.operands if target is not None else act.operands[:-1]


def _found(act: ProgramCall, scene: ExpandedCommand) -> Iterator[Reason]:
    ruins = "-delete" in act.fields or any(map(_ruinous, _commands(act.fields)))
    if not ruins:
        return
    narrowed = any(field in _FILTERS for field in act.fields)
    for start in _starts(act):
        what = scene.places.lost(start, act.cwd, follow=True)
        # A filter makes it a search among one's own files; in the system nothing is one's own.
        if what is not None and (not narrowed or scene.places.system(start, act.cwd)):
            yield act.because(f"it deletes or changes every file it finds in {what}", _INSTEAD)
            return


def _starts(act: ProgramCall) -> list[str]:
    if act.name in ("fd", "fdfind"):
        return [field for field in act.operands if "/" in field or field in ("~", "..")]
    starts = []
    for field in act.fields:
        if field.startswith("-") and field[:2] in ("-H", "-L", "-P", "-D", "-O"):
            continue
        if field.startswith(("-", "(", "!")):
            break
        starts.append(field)
    return starts or ["."]


def _commands(fields: Sequence[str]) -> Iterator[str]:
    for number, field in enumerate(fields[:-1]):
        if field in (*_RUNNERS, "-x", "-X", "--exec", "--exec-batch"):
            yield " ".join(fields[number + 1 :])


def _ruinous(command: str) -> bool:
    return any(program_basename(plain_text(word)) in _RUIN for word in command.split())


def _synced(act: ProgramCall, scene: ExpandedCommand) -> Iterator[Reason]:
    if any(field.startswith("--del") for field in act.fields):
        yield from _gone(act, scene, act.operands[-1:])
    if act.has("", "remove-source-files"):
        yield from _gone(act, scene, act.operands[:-1])


def piped_operands(act: ProgramCall, scene: ExpandedCommand) -> Iterator[str]:
    """Operands that `xargs` takes from its input, where their text or their origin shows."""
    if not act.invocation.extra:
        return
    for wrapper in wrapping_invocations(act.invocation, scene.flat.invocations):
        for redirect in wrapper.redirects:
            if redirect.operator.startswith("<<"):
                for fields in scene.expander.likely([redirect.body or redirect.target], act.cwd):
                    yield from " ".join(fields).split()
        told = [word.value or "" for word in wrapper.words]
        yield from told[told.index(":::") :] if ":::" in told else ()
    for producer in input_sources(act.invocation, scene.flat.invocations):
        for fields in scene.expander.likely(producer.words, act.cwd):
            yield from _produced(fields, act, producer)


def _produced(fields: Sequence[str], act: ProgramCall, producer: Invocation) -> Iterator[str]:
    name = program_basename(fields[0]) if fields else ""
    if name in ("echo", "printf"):
        yield from printed_field(fields, act.cwd).split()
    elif name in ("find", "fd"):
        yield from _unfiltered(ProgramCall(name, tuple(fields[1:]), act.cwd, producer))
    elif name == "ls":
        yield from (f"{one}/*" for one in fields[1:] if not one.startswith("-"))


def _unfiltered(find: ProgramCall) -> Iterator[str]:
    narrowed = any(field in _FILTERS for field in find.fields)
    for start in _starts(find):
        if not narrowed or start.strip("/.") == "":
            yield start if start != "." else "./*"


def input_sources(invocation: Invocation, among: Sequence[Invocation]) -> tuple[Invocation, ...]:
    """The commands whose output an invocation reads, its wrappers' included."""
    if invocation.feeds:
        return invocation.feeds
    return tuple(
        one for wrapper in wrapping_invocations(invocation, among) for one in wrapper.feeds
    )


def wrapping_invocations(
    invocation: Invocation, among: Sequence[Invocation]
) -> Iterator[Invocation]:
    """The invocations that may wrap this one."""
    if invocation.wrapped_by:
        for other in among:
            if other.wraps and program_basename(other.program or "") in invocation.wrapped_by:
                yield other
