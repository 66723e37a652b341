"""Commands that mean the same to every shell, so that the smallest one may run them."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from handrail.shell import trivial

# What bash does itself, and other shells otherwise or not at all; `true` and `false` are alike.
_OWN: Final = frozenset(
    {".", ":", "[", "alias", "bg", "bind", "break", "builtin", "caller", "cd", "command",
     "compgen", "complete", "compopt", "continue", "dirs", "disown", "echo", "enable", "eval",
     "exec", "exit", "fc", "fg", "getopts", "hash", "help", "history", "jobs", "kill", "logout",
     "mapfile", "popd", "printf", "pushd", "pwd", "read", "readarray", "return", "set", "shift",
     "shopt", "source", "suspend", "test", "times", "trap", "type", "ulimit", "umask", "unalias",
     "unset", "wait"}
)  # fmt: skip


def same_in_any_shell(command: str) -> bool:
    """Whether it is nothing but programs with plain words, joined by pipes."""
    return len(command) <= trivial.MAX_LENGTH and _same_in_any_shell(command)


@lru_cache(maxsize=256)
def _same_in_any_shell(command: str) -> bool:
    if trivial.read(command) is None:
        return False
    return all(stage.split()[0] not in _OWN for stage in command.split("|"))
