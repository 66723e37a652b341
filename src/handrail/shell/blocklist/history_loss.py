"""Losing the history of the repository: its objects, or everything that still names them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from itertools import pairwise
from typing import Final

from handrail.core.commands import Reason
from handrail.shell.blocklist import messages
from handrail.shell.blocklist.deletes import (
    input_sources,
    is_deletion,
    replaced_tree,
    search_starts,
)
from handrail.shell.blocklist.program_calls import ExpandedCommand, ProgramCall
from handrail.shell.expand import plain_text
from handrail.shell.languages.linear_patterns import compile_pattern
from handrail.shell.tables.word_list import word_set

# Forgets what old commits are called, then deletes what nothing names.
_FORGETS: Final = re.compile(
    r"git (?:-\S+ )*reflog expire (?=.*--expire(?:-unreachable)?=(?:now|all|0)).*"
)
_COLLECTS: Final = re.compile(
    r"git (?:-\S+ )*(?:gc (?=.*--prune=(?:now|all|0)).*|prune(?: .*)?|repack .*-\w*d.*)"
)
_EVERY_REF: Final = re.compile(r"git (?:-\S+ )*for-each-ref (?=.*delete ).*")
_BY_LIST: Final = re.compile(r"git (?:-\S+ )*update-ref (?:.* )?--stdin(?: .*)?")
_TESTS: Final = word_set("""
    -name -iname -path -ipath -wholename -iwholename -regex -iregex -samefile
""")
_ACTIONS: Final = frozenset(("-delete", "-exec", "-execdir", "-ok", "-okdir"))
_NARROWING: Final = frozenset(("-name", "-iname", "-mtime", "-size", "-empty"))
_PRINTS: Final = frozenset(("-print", "-print0", "-printf", "-ls"))
_FIND: Final = ("find", "gfind")
_FD: Final = ("fd", "fdfind")
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


def _flatten(fields: Sequence[str]) -> list[str]:
    """The fields without parentheses and negated groups; `! -name` is one field, `!-name`."""
    kept: list[str] = []
    left_out = [False]
    negated = False
    for field in fields:
        if field in _NOT:
            negated = not negated
            continue
        if field == "(":
            left_out.append(left_out[-1] or negated)
        elif field == ")":
            left_out = left_out[:-1] or [False]
        elif not left_out[-1]:
            kept.append(f"!{field}" if negated else field)
        negated = False
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
        for group in _alternatives(_flatten(acting)):
            tests = [each for each in pairwise(group) if each[0].removeprefix("!") in _TESTS]
            wanted = any(not test.startswith("!") for test, _ in tests)
            found = any(_passes(one, tests) for one in (".git", "./.git", "./.git/objects"))
            if wanted and found and not _passes("./src", tests):
                return True
    return False


def _passes(path: str, tests: Sequence[tuple[str, str]]) -> bool:
    return all(
        _passes_test(path, test.removeprefix("!"), pattern) is not test.startswith("!")
        for test, pattern in tests
    )


def _passes_test(path: str, test: str, pattern: str) -> bool:
    if test.startswith("-i"):
        test, pattern = f"-{test[2:]}", pattern.lower()
    if test == "-samefile":
        return path.removeprefix("./") == pattern.removeprefix("./").rstrip("/")
    if test == "-regex":
        # Emacs marks groups and alternatives by a backslash, other dialects do not.
        found = compile_pattern(re.sub(r"\\([(|)])", r"\1", pattern))
        return found is None or found.fullmatch(path) is not None
    return fnmatchcase(path.rpartition("/")[2] if test == "-name" else path, pattern)


def _deletes_repository(call: ProgramCall, command: ExpandedCommand) -> bool:
    places = command.critical_paths
    if call.name in ("mv", "gmv"):
        away = call.operands[-1:] == ["/dev/null"]
        return away and any(places.is_repository(one, call.cwd) for one in call.operands[:-1])
    if any(places.is_repository(one, call.cwd) for one in replaced_tree(call)):
        return True
    if not is_deletion(call):
        return False
    if call.name not in _FIND:
        recursive = call.has_option("rR", "recursive") or call.name != "rm"
        recursive = recursive or any("*" in one for one in call.operands)
        named = any(places.is_repository(one, call.cwd) for one in call.operands)
        return recursive and (named or _is_given_repository(call, command))
    starts = search_starts(call)
    if _finds_repository(call) and not _starts_deeper(call):
        return any(places.is_root(one, call.cwd) for one in starts)
    narrowed = any(one in _NARROWING for one in call.arguments)
    return not narrowed and any(places.is_repository(one, call.cwd) for one in starts)


def _is_given_repository(call: ProgramCall, command: ExpandedCommand) -> bool:
    """Whether `find` or `fd` prints the name of the repository for a deletion by xargs."""
    feeds = input_sources(call.invocation, command.flat.invocations)
    if any(_names_repository(one) for one in command.calls if one.invocation in feeds):
        return True
    return any(
        _finds_repository(one, prints=True)
        and not _starts_deeper(one)
        and any(command.critical_paths.is_root(start, one.cwd) for start in search_starts(one))
        for one in command.calls
        if one.name in _FIND and one.invocation in feeds
    )


def _names_repository(call: ProgramCall) -> bool:
    """Whether `fd` is given a pattern that matches the name of the repository, and not any name."""
    if call.name not in _FD or not call.has_option("Hu", "hidden", "unrestricted"):
        return False
    # One of the operands is the pattern; the others are values of options, or directories.
    patterns = filter(None, (compile_pattern(plain_text(one)) for one in call.operands))
    return any(found.search(".git") and not found.search("src") for found in patterns)


def _starts_deeper(call: ProgramCall) -> bool:
    """Whether `find` leaves out what is directly in the directory where it starts."""
    depths = [after for test, after in pairwise(call.arguments) if test == "-mindepth"]
    # The last one counts.
    return bool(depths) and depths[-1].isdecimal() and int(depths[-1][:9]) > 1
