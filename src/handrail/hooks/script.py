"""The command of a hook as a script that gets the file as `$1`.

A file's name never becomes part of a script, this one or one inside it (`sh -c "…"`, `sed`,
`ssh`): what stands for it is a quoted parameter, and where it cannot be told for certain that
this is all it is, the command is refused.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from handrail.core.problems import ProblemRaised

FILE: Final = "{file}"
# Constructs inside which a quote does not mean what it means outside of them, or words are
# worked out once more.
_NESTED: Final = ("`", "$(", "${", "<<", "$'", '$"', "((", "[[")
_EVALUATE: Final = re.compile(
    r"(?:.*/)?(?:eval|let|trap|alias|declare|typeset|local|export|readonly|ssh|su|parallel|watch"
    r"|tmux|screen|script|expect|entr|docker|podman|kubectl)"
)
_INTERPRETERS: Final = re.compile(
    r"(?:.*/)?(?:(?:ba|da|k|z|c|tc|fi)?sh|python[\d.]*|node|deno|bun|perl|ruby|php|lua|[gmn]?awk"
    r"|g?sed|jq|yq|xargs|find|env|git|vim?|nvim|emacs|ed|ex|osascript|make|psql|mysql|sqlite3)"
)
# Options behind which code stands, and words that are a file and nothing else.
_CODE: Final = re.compile(r"-[a-zA-Z]*[ceEpr]|--(?:eval|exec|command|expression|print)")
_PLAIN: Final = re.compile(r"(?:-{1,2}[\w-]+=)?\{file\}[\w.]*")
_BREAKS: Final = frozenset(" \t\n;|&<>()")
_UNQUOTED: Final = '"$1"'
_BETWEEN: Final = {'"': "${1}", "'": "'\"$1\"'"}


def script_of(command: str) -> str:
    """The command with every `{file}` as a parameter; raises `invalid_arguments`."""
    if FILE not in command:
        return command
    for nested in _NESTED:
        if nested in command:
            raise _refused(f"in a command with {nested}")
    scanned = _scan(command)
    _check(scanned.words)
    return scanned.script


class _Scanned(NamedTuple):
    """The script, and the words of the command with their quotes taken off."""

    script: str
    words: list[str]


def _scan(command: str) -> _Scanned:
    script: list[str] = []
    words = [""]
    quote = ""
    position = 0
    while position < len(command):
        letter = command[position]
        taken = letter
        if command.startswith(FILE, position):
            taken = FILE
            script.append(_BETWEEN.get(quote, _UNQUOTED))
            words[-1] += FILE
        elif letter == "\\" and quote != "'":
            taken = command[position : position + 2]
            script.append(taken)
            words[-1] += taken[1:]
        else:
            script.append(letter)
            if letter in "'\"" and quote in ("", letter):
                quote = "" if quote else letter
            elif not quote and letter in _BREAKS:
                words.append("")
            elif not quote and letter == "#":
                raise _refused("in a command with a # outside of quotes")
            else:
                words[-1] += letter
        position += len(taken)
    return _Scanned("".join(script), [word for word in words if word])


def _check(words: list[str]) -> None:
    interpreted = any(_INTERPRETERS.fullmatch(word) for word in words)
    for before, word in zip(["", *words], words, strict=False):
        if _EVALUATE.fullmatch(word):
            raise _refused(f"in a command with {word!r}, which reads words once more")
        if FILE not in word or not interpreted:
            continue
        if _CODE.fullmatch(before) or not _PLAIN.fullmatch(word):
            raise _refused("inside of what another program reads as code")


def _refused(where: str) -> ProblemRaised:
    return ProblemRaised(
        "invalid_arguments",
        f"{FILE} cannot stand {where}",
        hint='write "$1" where the file is meant, as an argument of its own',
    )
