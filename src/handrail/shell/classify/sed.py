"""Recognises sed scripts that only print.

A script that is not fully understood counts as harmful: `e` runs programs, `w` and `W` write
files, `r` and `R` read them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

_ADDRESS: Final = re.compile(r"(?:\d+(?:~\d+)?|\$|[+~]\d+)")
_PLAIN: Final = "pPdDnNgGhHx=zF"
_NUMBERED: Final = "qQlL"
_LABELLED: Final = "btT:"
# They go on with the next line, or end.
_LEAVING: Final = "nNdDqQ"
_LABEL: Final = re.compile(r"[ \t]*([\w.-]*)")
_TEXT: Final = "aic"
_FLAGS: Final = re.compile(r"[gpiIMm0-9]*")
_BRACKET: Final = re.compile(r"\[\^?\]?(?:\[:\w+:\]|[^\]])*\]")


# Where a command may begin: after an address, a brace or another command.
_EXECUTE: Final = re.compile(r"(?:^|[\s;{}!\d$/,IM])e[ \t]*([^\n]*)", re.MULTILINE)
_REPLACED: Final = re.compile(
    r"s(.)((?:(?!\1)[^\\\n]|\\.)*)\1((?:(?!\1)[^\\]|\\.)*)\1([\w ]*?)(e|w[ \t]+[^\n]+)"
)
_WRITE: Final = re.compile(r"(?:^|[\s;{}!\d$/,IM])[wW][ \t]+([^\n]+)", re.MULTILINE)


def executed_commands(script: str) -> Iterator[str]:
    """The shell commands that a script may run, guessed; empty: the text that sed reads."""
    yield from (match[1] for match in _EXECUTE.finditer(script))
    for match in _REPLACED.finditer(script):
        if match[5] == "e":
            yield re.sub(r"\\(.)", r"\1", match[3])


def written_files(script: str) -> Iterator[str]:
    """The files that a script may write, guessed."""
    yield from (match[1].strip() for match in _WRITE.finditer(script))
    for match in _REPLACED.finditer(script):
        if match[5] != "e":
            yield match[5][1:].strip()


class _Step(NamedTuple):
    """A command of a script."""

    letter: str
    # It has an address: it may be left out.
    addressed: bool
    # The braces around it, by their numbers.
    blocks: tuple[int, ...]
    label: str


def only_prints(script: str) -> bool:
    """Whether the script does nothing but print."""
    return _steps(script) is not None


def may_loop_forever(script: str) -> bool:
    """Whether a script jumps backwards without a command on the way that surely reads a line or
    ends. A jump that depends on a replacement (`t`) is not followed.
    """
    steps = _steps(script) or ()
    labels = {step.label: at for at, step in enumerate(steps) if step.letter == ":"}
    return any(
        step.letter in "bT"
        and labels.get(step.label or "\0", at) < at
        and not any(
            _leaves(one, step) and not _skipped(steps, labels, start, labels[step.label])
            for start, one in enumerate(steps[:at])
            if start >= labels[step.label]
        )
        for at, step in enumerate(steps)
    )


def _skipped(steps: Sequence[_Step], labels: Mapping[str, int], at: int, start: int) -> bool:
    """Whether a jump behind `start` leads past a command. One to the end reads the next line."""
    return any(
        step.letter in "btT" and labels.get(step.label or "\0", -1) > at for step in steps[start:at]
    )


def _leaves(one: _Step, jump: _Step) -> bool:
    """Whether a command surely runs before the jump in each round, and goes on in the input."""
    around = jump.blocks[: len(one.blocks)]
    return one.letter in _LEAVING and not one.addressed and one.blocks == around


def _steps(script: str) -> Sequence[_Step] | None:
    """The commands of a script; None if one of them is not harmless."""
    steps: list[_Step] = []
    blocks: list[int] = []
    at = 0
    while at < len(script):
        if script[at] == "#":
            at = _line_end(script, at)
            continue
        if script[at] in " \t\n;{}":
            if script[at] == "{":
                blocks.append(at)
            elif script[at] == "}":
                del blocks[-1:]
            at += 1
            continue
        start, after = _addresses(script, at), _command(script, at)
        if start is None or after is None:
            return None
        letter = script[start]
        label = _LABEL.match(script, start + 1) if letter in _LABELLED else None
        steps.append(_Step(letter, start > at, tuple(blocks), label[1] if label else ""))
        if letter == "{":
            blocks.append(start)
        at = after
    return steps


def _command(script: str, at: int) -> int | None:
    """The end of the command that starts here; None if it is not harmless."""
    start = _addresses(script, at)
    if start is None or start >= len(script):
        return None
    letter, after = script[start], start + 1
    if letter in "sy":
        return _substitute(script, after, letter)
    if letter in _TEXT:
        return _text(script, after)
    if letter in _LABELLED:
        return _past(r"[ \t]*[\w.-]*", script, after)
    return _plain(script, letter, after)


def _plain(script: str, letter: str, after: int) -> int | None:
    if letter == "{":
        return after
    if letter in _PLAIN:
        return _ended(script, after)
    return _ended(script, _past(r"[ \t]*\d*", script, after)) if letter in _NUMBERED else None


def _addresses(script: str, at: int) -> int | None:
    first = _address(script, at)
    if first is None or script[at : at + 1] in ("+", "~"):
        # Only a second address counts from the first.
        return None
    if first > at:
        first = _blanks(script, first)
        if script[first : first + 1] == ",":
            second_at = _blanks(script, first + 1)
            second = _address(script, second_at)
            if second is None or second == second_at:
                return None
            first = second
    return _past(r"[ \t]*(?:![ \t!]*)?", script, first)


def _address(script: str, at: int) -> int | None:
    """The end of an address; its start if there is none; None if it is malformed."""
    match = _ADDRESS.match(script, at)
    if match is not None:
        return match.end()
    if script[at : at + 1] == "/":
        end = _delimited(script, at + 1, "/")
    elif script[at : at + 1] == "\\" and at + 1 < len(script):
        end = _delimited(script, at + 2, script[at + 1])
    else:
        return at
    return None if end is None else _past(r"[IM]*", script, end)


def _substitute(script: str, at: int, letter: str) -> int | None:
    mark = script[at : at + 1]
    if not mark or mark in "\\\n":
        return None
    middle = _delimited(script, at + 1, mark, brackets=letter == "s")
    end = None if middle is None else _delimited(script, middle, mark, brackets=False)
    if end is None:
        return None
    if letter == "s":
        flags = _FLAGS.match(script, end)
        end = flags.end() if flags is not None else end
    return _ended(script, end)


def _text(script: str, at: int) -> int | None:
    """The end of the text of `a`, `i` or `c`: an unescaped end of line."""
    end = at
    while end < len(script) and script[end] != "\n":
        end += 2 if script[end] == "\\" else 1
    # A script that ends in the middle goes on in the next expression.
    return end if end <= len(script) and script[at:end].strip(" \t\\\n") else None


def _delimited(script: str, at: int, mark: str, *, brackets: bool = True) -> int | None:
    """The end of the text up to `mark`; None if it has no end or versions of sed differ."""
    while at < len(script):
        if script[at] == mark:
            return at + 1
        if brackets and script[at] == "[":
            bracket = _BRACKET.match(script, at)
            if bracket is None or mark in bracket[0] or "\\]" in bracket[0]:
                return None
            at = bracket.end()
        else:
            at += 2 if script[at] == "\\" else 1
    return None


def _ended(script: str, at: int) -> int | None:
    at = _blanks(script, at)
    return at if at >= len(script) or script[at] in ";\n}#" else None


def _blanks(script: str, at: int) -> int:
    return _past(r"[ \t]*", script, at)


def _past(pattern: str, script: str, at: int) -> int:
    match = re.compile(pattern).match(script, at)
    return at if match is None else match.end()


def _line_end(script: str, at: int) -> int:
    end = script.find("\n", at)
    return len(script) if end < 0 else end
