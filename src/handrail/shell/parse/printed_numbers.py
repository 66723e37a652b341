"""What a substitution surely prints, whatever the files are that its programs read: numbers, or the
name of a commit.

Text that others have written may not be evaluated as arithmetic, and may not stand where a program
looks for options; these may.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from handrail.shell.parse.syntax import (
    PipelineCommand,
    Redirect,
    Script,
    SimpleCommand,
    Statement,
    Word,
)
from handrail.shell.parse.words import quoted_variable

# The arguments with which programs print numbers and blanks, each argument ended by a newline. NUL
# stands for the value of a variable. With two files grep prints names; without -v od prints `*`.
_FILE: Final = r"(?:--\n)?(?!-)[^\n]+\n"
_REVISION: Final = r"[\w@][\w@^~{}/.-]*\n"
_NUMBERS: Final[Mapping[str, re.Pattern[str]]] = {
    name: re.compile(pattern)
    for name, pattern in {
        "date": r"(?:(?:-u|--utc|-d\n[^\n]*|--date=[^\n]*)\n)*\+(?:%[sYmdHMSjuwyCGgVU]|\d)+\n",
        "wc": r"(?:-[lwcmL]|--lines|--words|--bytes|--chars)\n",
        "grep": rf"(?:-[EFGPivwxas]+\n)*-[EFGPivwxas]*c[EFGPivwxas]*\n(?!-)[^\n\0]*\n(?:{_FILE})?",
        "stat": rf"(?:-L\n)?(?:-c\n|--format=)%[sYXZWahugi]\n{_FILE}",
        "od": rf"(?=(?:.*\n)*-An\n)(?=(?:.*\n)*-v\n)(?=(?:.*\n)*-t\n?[ud][1248]\n)"
        rf"(?:(?:-An|-v|-t\n?[ud][1248]|-[Nj]\n?\d+)\n)+(?:{_FILE})?",
        "nproc": r"(?:--all\n)?",
        "id": r"-[ug]\n",
        "seq": r"(?:\d+\n){1,3}",
        "git": rf"rev-list\n--count\n{_REVISION}",
    }.items()
}
# With which git prints the name of a commit, or what it was asked for.
_COMMIT: Final = re.compile(
    rf"rev-parse\n(?:(?:--short(?:=\d+)?|--verify|-q|--quiet)\n)*{_REVISION}|merge-base\n(?:{_REVISION}){{2}}"
)
_DELETES: Final = re.compile(r"-d\n(?!-)[^\n]*\n")


class PrintedNumber(NamedTuple):
    """Why the output is a number: what must hold for that."""

    # They are programs, and no functions.
    programs: frozenset[str]
    # Their values do not begin with a dash.
    places: frozenset[str] = frozenset()


def printed_number(script: Script) -> PrintedNumber | None:
    """What must hold for the output to be numbers and blanks; None if it may be anything."""
    stages = _stages(script)
    if len(stages) > 1 and _matches(stages[-1], "tr", _DELETES):
        stages = stages[:-1]
    if not stages:
        return None
    last = stages[-1].command
    if not isinstance(last, SimpleCommand) or not last.words:
        return None
    name = last.words[0].value or ""
    if name not in _NUMBERS or not _matches(stages[-1], name, _NUMBERS[name]):
        return None
    places = frozenset(filter(None, map(quoted_variable, last.words)))
    return PrintedNumber(frozenset((name, "tr")), places)


def prints_commit(script: Script) -> bool:
    """Whether the output is the name of a commit, so that it does not begin with a dash."""
    stages = _stages(script)
    return len(stages) == 1 and _matches(stages[0], "git", _COMMIT)


def _stages(script: Script) -> Sequence[Statement]:
    if len(script.statements) != 1:
        return ()
    only = script.statements[0]
    if isinstance(only.command, PipelineCommand):
        return () if only.redirects or only.negated or only.background else only.command.stages
    return script.statements


def _matches(stage: Statement, name: str, pattern: re.Pattern[str]) -> bool:
    """Whether a stage is this program with such arguments, and prints nothing else."""
    command = stage.command
    if not isinstance(command, SimpleCommand) or command.assignments or command.declares:
        return False
    if stage.background or not all(map(_keeps_apart, stage.redirects)):
        return False
    texts = list(_texts(command.words))
    if not texts or texts[0] != name or None in texts or any("\n" in (one or "") for one in texts):
        return False
    return pattern.fullmatch("".join(f"{one}\n" for one in texts[1:])) is not None


def _keeps_apart(redirect: Redirect) -> bool:
    """Whether the output stays what it is: errors are not among it."""
    reads = redirect.operator == "<" and redirect.fd in ("", "0")
    hides = redirect.operator == ">" and redirect.fd == "2" and redirect.target.value == "/dev/null"
    return reads or hides


def _texts(words: Sequence[Word]) -> Iterator[str | None]:
    for word in words:
        if word.value is not None:
            yield None if word.globs or word.tilde else word.value
        else:
            yield "\0" if quoted_variable(word) else None
