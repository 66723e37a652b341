"""Deleting or moving the system, a home directory, or the directories around the workspace."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from typing import Final

from handrail.core.commands import Reason
from handrail.shell.analyze.invocation import Invocation
from handrail.shell.analyze.narrowed_lists import are_narrowed, feeding_stages
from handrail.shell.blocklist import messages
from handrail.shell.blocklist.critical_paths import CriticalPaths, is_wildcard
from handrail.shell.blocklist.program_calls import ExpandedCommand, ProgramCall, program_basename
from handrail.shell.expand import UNKNOWN, plain_text, printed_field
from handrail.shell.tables.word_list import word_set

_DELETERS: Final = word_set("""
    rm unlink shred srm rimraf trash grm wipe trash-put secure-delete sfill zf_rm del-cli
""")
# They take patterns and look for the files themselves.
_OWN_GLOBS: Final = frozenset(("rimraf", "del-cli", "trash"))
_MOVERS: Final = frozenset(("mv", "gmv", "cp", "gcp", "install", "ln"))
# Programs that delete with one of their subcommands.
_DELETING_VERBS: Final = {
    "cmake": frozenset(("rm", "remove", "remove_directory")),
    "gio": frozenset(("trash", "remove")),
    "rclone": frozenset(("purge", "delete", "rmdirs")),
    "kioclient": frozenset(("remove",)),
    "kioclient5": frozenset(("remove",)),
}
_NONE: Final[frozenset[str]] = frozenset()
# Their first operand says how files are renamed.
_RENAMERS: Final = frozenset(("rename", "prename", "perl-rename", "mmv", "vidir"))
# What find may run on each file that leaves nothing of it.
_RUIN: Final = _DELETERS | {"mv", "dd", "truncate", "chmod", "chown", "chgrp", "tee", "cp"}
# What git does to a whole work tree, if it is forced.
_REPLACING: Final = frozenset(("checkout", "reset", "restore", "switch", "checkout-index"))
_FILTERS: Final = word_set("""
    -name -iname -path -ipath -wholename -regex -iregex -newer -mtime -mmin -ctime -atime -size
    -empty -perm -user -inum -samefile
""")
# Filters that leave nothing out: the last years, any size, any mode.
_MATCHES_ALL: Final = re.compile(
    r"-[mca](?:time -\d{3,}|min -\d{6,})|-[mca]time \+?-?0|-size (?:\+0|-\d+[GT]|\+-1)\w?|-perm [-/]?0+|-(?:i?path|wholename|i?regex) (?:/?\*+|\.\*|/\.\*)"
)
# They print every path below the one they are given.
_LISTERS: Final = frozenset(("locate", "plocate", "mlocate", "tree", "du"))
# A redirect to the file that was found.
_EMPTIES: Final = re.compile(r"(?<![0-9&>])>\|?\s*[\"']?(?:\$|\{\})")
# They print most of the lines that they read.
_PASSING: Final = word_set("grep egrep sort uniq tac head tail shuf")
_RUNNERS: Final = ("-exec", "-execdir", "-ok", "-okdir")
# A directory with nothing in it, by its name or since it was just made.
_EMPTY_SOURCE: Final = re.compile(
    r"(?:.*/)?(?:empty[\w.-]*|null|void|nothing|none|blank|e)/?|/tmp/tmp\.simulated/?"
)
_MOST_EARLIER: Final = 100
_FILL_NOTHING: Final = word_set("mkdir cd echo set export true : sleep rm ssh sshpass")
_NEGATIONS: Final = ("!", "-not")
# Filters by age or size; without one a search for a kind of file finds all that is worth keeping.
_BY_AGE: Final = word_set("""
    -newer -mtime -mmin -ctime -cmin -atime -amin -size -empty -newermt -anewer -cnewer
""")
_NAMES: Final = word_set("-name -iname -path -ipath -wholename -regex -iregex")
_ENCRYPTS: Final = re.compile(
    r"\bopenssl (?:enc|smime|pkeyutl|rsautl|cms)\b|\bgpg2?\b|\bage\b|\bccrypt\b|\bmcrypt\b|\b(?:7z|zip)\b.* -\w*[pPe]"
)
# They overwrite a file from its beginning, or cut it off.
_BLANKS: Final = frozenset(("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/full"))
_OVERWRITES: Final = (">", ">|", "&>")
_PRINTS_NOTHING: Final = re.compile(
    r"|:|true|false|cat /dev/null|echo -n|echo|printf ?|printf %s ?"
)


def find_deletions(call: ProgramCall, command: ExpandedCommand) -> Iterator[Reason]:
    """Reasons to refuse what the program deletes or moves."""
    if call.name in _DELETERS:
        yield from _gone(call, command, (*_named(call), *piped_operands(call, command)))
        if "--no-preserve-root" in call.arguments:
            yield call.reason(messages.DELETES_ROOT, messages.NAME_THE_FILES)
    elif call.name in _MOVERS:
        yield from _gone(call, command, _sources(call))
    elif call.name in ("truncate", "dd", "tee", "sponge"):
        yield from _blanked(call, command)
    elif call.name in ("find", "gfind", "fd", "fdfind"):
        yield from _found(call, command)
    elif call.name == "rsync":
        yield from _synced(call, command)
    elif call.name in ("tar", "gtar", "bsdtar", "zip", "7z", "git"):
        yield from _gone(call, command, _swept(call))
    elif call.name in _RENAMERS or not _DELETING_VERBS.get(call.name, _NONE).isdisjoint(
        call.operands[:1]
    ):
        yield from _gone(call, command, call.operands[1:])
    elif call.name == "crontab" and call.has_option("r"):
        yield call.reason(messages.DELETES_CRONTAB, messages.EDIT_ONE_LINE)


def _named(call: ProgramCall) -> Sequence[str]:
    """What a program is told to delete, with the patterns that it expands itself."""
    return list(map(plain_text, call.operands)) if call.name in _OWN_GLOBS else call.operands


def _gone(call: ProgramCall, command: ExpandedCommand, fields: Iterable[str]) -> Iterator[Reason]:
    places = command.critical_paths
    moves = call.name in _MOVERS
    for field in dict.fromkeys(fields):
        what = places.irreplaceable(field, call.cwd)
        # What is moved is not lost, unless the machine or the user needs it where it was.
        if moves and what is not None and places.critical_loss(field, call.cwd) is None:
            what = what if places.is_private_key(field, call.cwd) else None
        if what is not None:
            yield call.reason(messages.DELETES.format(what=what), messages.NAME_THE_FILES)
            return


def _blanked(call: ProgramCall, command: ExpandedCommand) -> Iterator[Reason]:
    """Reasons to refuse what leaves nothing of a key: other contents may be the same key again."""
    targets = call.operands
    if call.name == "dd":
        told = dict(one.partition("=")[::2] for one in call.arguments)
        targets = [told["of"]] if "of" in told and told.get("if") in _BLANKS else []
    elif call.name != "truncate":
        fed = [*call.invocation.redirects]
        empty = any(one.operator == "<" and one.target.value in _BLANKS for one in fed)
        targets = targets if empty else []
    for field in targets:
        places = command.critical_paths
        if places.is_private_key(field, call.cwd) or places.is_service_data(field, call.cwd):
            yield call.reason(
                messages.DELETES.format(what=plain_text(field)), messages.NAME_THE_FILES
            )
            return


def find_emptied_keys(invocation: Invocation, command: ExpandedCommand) -> Iterator[Reason]:
    """Reasons to refuse a redirect that leaves an empty file in the place of a key."""
    told = " ".join(word.value or "<unknown>" for word in invocation.words[:3])
    if _PRINTS_NOTHING.fullmatch(told) is None:
        return
    for redirect in invocation.redirects:
        for cwd in command.cwds(invocation) if redirect.operator in _OVERWRITES else ():
            for fields in command.expander.likely([redirect.target], cwd):
                if any(command.critical_paths.is_private_key(one, cwd) for one in fields):
                    what = messages.DELETES.format(what=plain_text(" ".join(fields)))
                    yield Reason(f"{what}; {messages.NAME_THE_FILES}", invocation.source)
                    return


def _swept(call: ProgramCall) -> Sequence[str]:
    """What an archiver deletes after packing it, and the directory that `git clean` cleans."""
    if call.name == "git":
        place = call.option_value("", "work-tree") or call.option_value("C") or call.cwd
        forced = call.has_option("f", "force", "hard")
        swept = "clean" in call.arguments or (
            forced and not _REPLACING.isdisjoint(call.arguments) and place != call.cwd
        )
        return [place] if place is not None and swept else []
    packed_away = {"zip": call.has_option("m", "move"), "7z": "-sdel" in call.arguments}
    return call.operands if packed_away.get(call.name, call.has_option("", "remove-files")) else []


def _sources(call: ProgramCall) -> Sequence[str]:
    """What `mv` moves away: all operands but the last, or all if an option names the target.

    What `/dev/null` is copied over is gone, too.
    """
    if call.name not in ("mv", "gmv"):
        return call.operands[-1:] if "/dev/null" in call.operands[:-1] else ()
    target = call.option_value("t", "target-directory")
    return call.operands if target is not None else call.operands[:-1]


def replaced_tree(call: ProgramCall) -> Sequence[str]:
    """The directory in which `rsync --delete` keeps only what it copies, if it does."""
    deletes = any(one.startswith("--del") for one in call.arguments)
    return call.operands[-1:] if call.name == "rsync" and deletes and not call.is_dry_run else ()


def is_deletion(call: ProgramCall) -> bool:
    """Whether a program deletes the paths that it is given, or those that it finds."""
    if call.name in ("find", "gfind"):
        return "-delete" in call.arguments or any(map(_ruinous, _commands(call.arguments)))
    return call.name in _DELETERS


def _found(call: ProgramCall, command: ExpandedCommand) -> Iterator[Reason]:
    commands = [*_commands(call.arguments)]
    ruins = "-delete" in call.arguments or any(map(_ruinous, commands))
    if not ruins:
        return
    places = command.critical_paths
    narrowed = _narrows(call.arguments)
    encrypts = any(map(_ENCRYPTS.search, commands))
    by_age = not _BY_AGE.isdisjoint(call.arguments)
    patterns = [after for one, after in _asked(call.arguments) if one in ("-name", "-iname")]
    for start in search_starts(call):
        what = places.critical_loss(start, call.cwd, follow=True)
        # A filter makes it a search among one's own files; in the system nothing is one's own.
        every = not narrowed or encrypts or places.system_target(start, call.cwd) is not None
        if not by_age and places.keeps_backups(start, call.cwd):
            what, every = what or plain_text(start), True
        keys = (f"{start.rstrip('/')}/{plain_text(one)}" for one in patterns)
        if any(places.is_private_key(one, call.cwd) for one in keys):
            what, every = what or plain_text(start), True
        if what is not None and every:
            yield call.reason(messages.DELETES_FOUND.format(what=what), messages.NAME_THE_FILES)
            return


def _asked(fields: Sequence[str]) -> Iterator[tuple[str, str]]:
    """The tests of `find` that are not negated, each with its value."""
    for before, one, after in zip(("", *fields), fields, (*fields[1:], ""), strict=False):
        if before not in _NEGATIONS:
            yield one, after


def _narrows(fields: Sequence[str]) -> bool:
    """Whether `find` leaves much out: `-name '*'` and `! -name x` leave almost everything."""
    negated = any(one in _NEGATIONS for one in fields)
    tests = _asked(fields) if negated else pairwise((*fields, ""))
    return any(
        one in _FILTERS
        and not (one.endswith("name") and is_wildcard(plain_text(after)))
        and _MATCHES_ALL.fullmatch(f"{one} {plain_text(after)}") is None
        for one, after in tests
    ) or (negated and any(one in _FILTERS - _NAMES for one in fields))


def search_starts(call: ProgramCall) -> list[str]:
    """The directories in which `find` or `fd` searches."""
    if call.name in ("fd", "fdfind"):
        return [field for field in call.operands if "/" in field or field in ("~", "..")]
    starts = []
    for field in call.arguments:
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
    text = plain_text(command)
    if _EMPTIES.search(text):
        return True
    return any(program_basename(word) in _RUIN for word in text.split())


def _synced(call: ProgramCall, command: ExpandedCommand) -> Iterator[Reason]:
    nothing = has_empty_source(call, command) or any(
        one.rstrip("/") == UNKNOWN for one in call.operands[:-1]
    )
    replaced = replaced_tree(call)
    # A deployment replaces a site by its next version.
    if nothing or not any(command.critical_paths.is_site(one, call.cwd) for one in replaced):
        yield from _gone(call, command, replaced)
    if not call.is_dry_run and call.has_option("", "remove-source-files"):
        yield from _gone(call, command, call.operands[:-1])


def has_empty_source(call: ProgramCall, command: ExpandedCommand) -> bool:
    """Whether a program copies a directory with nothing in it: by its name, or since it was just made."""
    sources = [plain_text(one) for one in call.operands[:-1]]
    if any(map(_EMPTY_SOURCE.fullmatch, sources)):
        return True
    earlier = command.flat.invocations[:_MOST_EARLIER]
    made = {
        _plain_path(word.value)
        for one in earlier
        for word in one.words[1:]
        if program_basename(one.program or "") == "mkdir"
    }
    # Any other program may have put something into it.
    others = {program_basename(one.program or "") for one in earlier if one.words} - {call.name}
    return others <= _FILL_NOTHING and any(_plain_path(one) in made for one in sources)


def _plain_path(word: str | None) -> str:
    return (word or "").removeprefix("./").rstrip("/")


def find_listed_losses(call: ProgramCall, command: ExpandedCommand) -> Iterator[Reason]:
    """Reasons to refuse a program that deletes every path it reads."""
    yield from _gone(call, command, listed_paths(call, command))


def listed_paths(call: ProgramCall, command: ExpandedCommand) -> Iterator[str]:
    """The paths that other programs of a pipe print for this one, where nothing is left out."""
    for producer in input_sources(call.invocation, command.flat.invocations):
        passing = program_basename(producer.program or "") in _PASSING
        # What leaves out a little leaves almost everything.
        stages = feeding_stages([producer]) if passing else [producer]
        if passing and are_narrowed([producer], stages):
            continue
        for stage in stages:
            for fields in command.expander.likely(stage.words, call.cwd):
                yield from _produced(fields, call, stage, command.critical_paths)


def piped_operands(call: ProgramCall, command: ExpandedCommand) -> Iterator[str]:
    """The operands that `xargs` reads, where the command contains them."""
    if not call.invocation.extra_arguments:
        return
    for wrapper in wrapping_invocations(call.invocation, command.flat.invocations):
        for redirect in wrapper.redirects:
            if redirect.operator.startswith("<<"):
                for fields in command.expander.likely([redirect.body or redirect.target], call.cwd):
                    yield from " ".join(fields).split()
        told = [word.value or "" for word in wrapper.words]
        yield from told[told.index(":::") :] if ":::" in told else ()
    yield from listed_paths(call, command)


def _produced(
    fields: Sequence[str], call: ProgramCall, producer: Invocation, places: CriticalPaths
) -> Iterator[str]:
    name = program_basename(fields[0]) if fields else ""
    if name in ("echo", "printf"):
        yield from printed_field(fields, call.cwd).split()
    elif name in ("find", "fd"):
        find = ProgramCall(name, tuple(fields[1:]), call.cwd, producer)
        yield from _unfiltered(find, places)
    elif name in _LISTERS:
        yield from (one for one in fields[1:] if not one.startswith("-"))
    elif name == "ls":
        whole = any(one[:1] == "-" and one[:2] != "--" and "d" in one for one in fields[1:])
        yield from (one if whole else f"{one}/*" for one in fields[1:] if not one.startswith("-"))


def _unfiltered(find: ProgramCall, places: CriticalPaths) -> Iterator[str]:
    narrowed = _narrows(find.arguments)
    for start in search_starts(find):
        # In the system nothing is one's own.
        system = start.startswith("/") and places.system_target(start, find.cwd) is not None
        if not narrowed or system or start.strip("/.") == "":
            yield start if start != "." else "./*"


def input_sources(invocation: Invocation, among: Sequence[Invocation]) -> tuple[Invocation, ...]:
    """The invocations whose output an invocation reads, directly or through its wrappers."""
    if invocation.piped_from:
        return invocation.piped_from
    return tuple(
        one for wrapper in wrapping_invocations(invocation, among) for one in wrapper.piped_from
    )


def wrapping_invocations(
    invocation: Invocation, among: Sequence[Invocation]
) -> Iterator[Invocation]:
    """The invocations that may wrap this one."""
    if invocation.wrapped_by:
        for other in among:
            if other.is_wrapper and program_basename(other.program or "") in invocation.wrapped_by:
                yield other
