"""The command of a hook as a script that gets the file as `$1`.

A file's name never becomes part of the script: what stands for it is a quoted parameter, and
where the quotes around it cannot be told for certain the command is refused.
"""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemRaised

FILE: Final = "{file}"
# Constructs inside which a quote does not mean what it means outside of them.
_NESTED: Final = ("`", "$(", "${", "<<", "$'", '$"')
_UNQUOTED: Final = '"$1"'
_BETWEEN: Final = {'"': "${1}", "'": "'\"$1\"'"}


def script_of(command: str) -> str:
    """The command with every `{file}` as a parameter; raises `invalid_arguments`."""
    if FILE not in command:
        return command
    for nested in _NESTED:
        if nested in command:
            raise ProblemRaised(
                "invalid_arguments",
                f"{FILE} cannot stand in a command with {nested}",
                hint='write "$1" where the file is meant',
            )
    return "".join(_pieces(command))


def _pieces(command: str) -> list[str]:
    found: list[str] = []
    quote = ""
    position = 0
    while position < len(command):
        letter = command[position]
        if command.startswith(FILE, position):
            found.append(_BETWEEN.get(quote, _UNQUOTED))
            position += len(FILE)
            continue
        if letter == "\\" and quote != "'":
            found.append(command[position : position + 2])
            position += 2
            continue
        if letter in "'\"" and quote in ("", letter):
            quote = "" if quote else letter
        elif letter == "#" and not quote:
            raise ProblemRaised(
                "invalid_arguments",
                f"{FILE} cannot stand in a command with a # outside of quotes",
                hint='write "$1" where the file is meant',
            )
        found.append(letter)
        position += 1
    return found
