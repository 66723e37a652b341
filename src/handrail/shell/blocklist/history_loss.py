"""Losing the history of the repository: its objects, or everything that still names them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Final

from handrail.core.commands import Reason
from handrail.shell.blocklist import messages
from handrail.shell.blocklist.deletes import input_sources, is_deletion, search_starts
from handrail.shell.blocklist.program_calls import ExpandedCommand, ProgramCall
from handrail.shell.expand import plain_text

# Forgets what old commits are called, then deletes what nothing names.
_FORGETS: Final = re.compile(
    r"git (?:-\S+ )*reflog expire (?=.*--expire(?:-unreachable)?=(?:now|all|0)).*"
)
_COLLECTS: Final = re.compile(
    r"git (?:-\S+ )*(?:gc (?=.*--prune=(?:now|all|0)).*|prune(?: .*)?|repack .*-\w*d.*)"
)
_EVERY_REF: Final = re.compile(r"git (?:-\S+ )*for-each-ref (?=.*delete ).*")
_BY_LIST: Final = re.compile(r"git (?:-\S+ )*update-ref (?:.* )?--stdin(?: .*)?")
_NAME_TESTS: Final = frozenset(("-name", "-iname", "-path", "-ipath", "-wholename"))
_ACTIONS: Final = frozenset(("-delete", "-exec", "-execdir", "-ok", "-okdir"))
_PRINTS: Final = frozenset(("-print", "-print0", "-printf", "-ls"))
_FIND: Final = ("find", "gfind")
_OR: Final = ("-o", "-or", ",")
_NOT: Final = ("!", "-not")


def find_history_losses(command: ExpandedCommand) -> Iterator[Reason]:
    """Reasons to refuse commands after which the history of the workspace's repository is gone."""
    told = [
        (call, " ".join((call.name, *map(plain_text, call.arguments))))
        for call in command.calls
        if call.name == "git"
    ]
    for first, second in ((_FORGETS, _COLLECTS), (_EVERY_REF, _BY_LIST)):
        if any(first.fullmatch(text) for _, text in told):
            found = [call for call, text in told if second.fullmatch(text)]
            yield from (call.reason(*_LOSS) for call in found[:1])
    for call in command.calls:
        if _deletes_repository(call, command):
            yield call.reason(*_LOSS)


_LOSS: Final = (messages.LOSES_HISTORY, messages.ASK_THE_USER)


def _alternatives(fields: Sequence[str]) -> Iterator[list[str]]:
    """The parts of what `find` is told between which `-o` stands, outside of parentheses."""
    part: list[str] = []
    depth = 0
    for field in fields:
        depth += {"(": 1, ")": -1}.get(field, 0)
        if field in _OR and depth <= 0:
            yield part
            part = []
        else:
            part.append(field)
    yield part


def _without_negated(fields: Sequence[str]) -> list[str]:
    """The fields without parentheses, and without the tests and groups that leave something out."""
    kept: list[str] = []
    left_out = [False]
    skips = False
    for before, field in pairwise(("", *fields)):
        if field == "(":
            left_out.append(left_out[-1] or before in _NOT)
        elif field == ")":
            left_out = left_out[:-1] or [False]
        elif not left_out[-1] and field not in _NOT and before not in _NOT and not skips:
            kept.append(field)
        # The pattern of a test goes with it.
        skips = before in _NOT and field in _NAME_TESTS
    return kept


def _finds_repository(call: ProgramCall, *, prints: bool = False) -> bool:
    """Whether `find` does something to what the repository is called, or prints it, and not
    everything.
    """
    fields = [plain_text(one) for one in call.arguments]
    actions = _PRINTS if prints else _ACTIONS
    for acting in _alternatives(fields):
        # Without any action, what is found is printed.
        implied = prints and actions.isdisjoint(fields)
        if actions.isdisjoint(acting) and not implied:
            continue
        # Each name of a group is one of those that are found.
        for group in _alternatives(_without_negated(acting)):
            tests = [each for each in pairwise(group) if each[0] in _NAME_TESTS]
            found = any(_passes(one, tests) for one in (".git", "./.git", "./.git/objects"))
            if tests and found and not _passes("./src", tests):
                return True
    return False


def _passes(path: str, tests: Sequence[tuple[str, str]]) -> bool:
    return all(
        fnmatchcase(
            path.rpartition("/")[2] if test in ("-name", "-iname") else path,
            pattern.lower() if test.startswith("-i") else pattern,
        )
        for test, pattern in tests
    )


def _deletes_repository(call: ProgramCall, command: ExpandedCommand) -> bool:
    places = command.critical_paths
    if call.name in ("mv", "gmv"):
        away = call.operands[-1:] == ["/dev/null"]
        return away and any(places.is_repository(one, call.cwd) for one in call.operands[:-1])
    if not is_deletion(call):
        return False
    if call.name not in _FIND:
        recursive = call.has_option("rR", "recursive") or call.name != "rm"
        named = any(places.is_repository(one, call.cwd) for one in call.operands)
        return recursive and (named or _is_given_repository(call, command))
    starts = search_starts(call)
    if _finds_repository(call) and not _starts_deeper(call):
        return any(places.is_root(one, call.cwd) for one in starts)
    narrowed = any(one in ("-name", "-iname", "-mtime", "-size") for one in call.arguments)
    return not narrowed and any(places.is_repository(one, call.cwd) for one in starts)


def _is_given_repository(call: ProgramCall, command: ExpandedCommand) -> bool:
    """Whether `find` prints the name of the repository for a deletion by xargs."""
    feeds = input_sources(call.invocation, command.flat.invocations)
    return any(
        _finds_repository(one, prints=True)
        and not _starts_deeper(one)
        and any(command.critical_paths.is_root(start, one.cwd) for start in search_starts(one))
        for one in command.calls
        if one.name in _FIND and one.invocation in feeds
    )


def _starts_deeper(call: ProgramCall) -> bool:
    """Whether `find` leaves out what is directly in the directory where it starts."""
    depth = next((after for test, after in pairwise(call.arguments) if test == "-mindepth"), "0")
    return depth not in ("0", "1")
