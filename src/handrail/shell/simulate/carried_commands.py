"""Shell commands that containers, other machines, or a later login run."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import Final

from handrail.shell.tables.word_list import word_set

_HOST_MOUNT: Final = re.compile(
    r"(?:-v|--volume=)?(/[^:\s,=]*):(/[^:\s]*)(?::[\w,]+)?"
    r"|(?:--mount=)?(?:[^,\s]+,)*(?:source|src)=(/[^,]*),(?:target|dst|destination)=([^,]+).*"
)
_CONTAINER_PROGRAMS: Final = word_set("rm chroot sh bash dd find chmod chown mv cp tee shred")
_RUNS: Final = frozenset(("exec", "run", "debug", "rsh"))
_COMMAND_VALUE: Final = re.compile(r"--(?:command|scripts)|-a|--args")
_COMMAND_LIST: Final = re.compile(r"commands=\[?(.+?)\]?", re.DOTALL)
_LIST_ITEM: Final = re.compile(r"[\"']([^\"']+)[\"']")
# Read by every new shell, or by the service manager and the desktop.
_STARTUP_FILES: Final = word_set("""
    .bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zprofile .zshenv .zlogin .kshrc
    .cshrc .tcshrc .login .xinitrc .xsession .xprofile .bash_aliases config.fish
""")
_UNITS: Final = (".service", ".timer", ".desktop", ".path", ".socket")
_UNIT_COMMAND: Final = re.compile(r"^\s*Exec\w*=[-@:+!]*(.+)$", re.MULTILINE)


def quoted_command(words: Sequence[str]) -> str:
    """The words as one shell text that means the same words."""
    return " ".join("'" + word.replace("'", "'\\''") + "'" for word in words)


def container_commands(arguments: Sequence[str], _: str) -> Iterator[str]:
    """The commands of a container that sees directories of the host: they act on them."""
    if not {"run", "create", "exec"}.intersection(arguments):
        return
    mounts = [
        (match[1] or match[3], match[2] or match[4])
        for one in arguments
        for match in [_HOST_MOUNT.fullmatch(one)]
        if match is not None
    ]
    for outside, inside in mounts:
        there = re.compile(rf"(?<![\w./-]){re.escape(inside.rstrip('/'))}(?=/|$|[\s;&|\"'])")
        joined = [there.sub(outside.rstrip("/"), one) or "/" for one in arguments]
        for start in range(1, len(joined)):
            if joined[start - 1][:1] != "-" and joined[start] in _CONTAINER_PROGRAMS:
                yield quoted_command(joined[start:])


def pod_commands(arguments: Sequence[str], _: str) -> Iterator[str]:
    """What `kubectl exec POD -- command` runs."""
    if "--" in arguments and not _RUNS.isdisjoint(arguments[: arguments.index("--")]):
        yield quoted_command(arguments[arguments.index("--") + 1 :])


def fleet_commands(arguments: Sequence[str], _: str) -> Iterator[str]:
    """What `ansible -a`, `gcloud compute ssh --command` and `aws ssm send-command` run."""
    for number, one in enumerate(arguments):
        name, equals, value = one.partition("=")
        if _COMMAND_VALUE.fullmatch(name):
            yield value if equals else "".join(arguments[number + 1 : number + 2])
        listed = _COMMAND_LIST.fullmatch(one)
        if listed is not None:
            yield from _LIST_ITEM.findall(listed[1]) or [listed[1]]


def startup_commands(path: str, content: str) -> Iterator[str]:
    """The shell texts that run at the next login or start if a file has this content."""
    name = posixpath.basename(path)
    if name in _STARTUP_FILES:
        yield content
    elif name.endswith(_UNITS):
        yield from _UNIT_COMMAND.findall(content)
