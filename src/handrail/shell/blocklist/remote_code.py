"""Text from another machine that is run as a program."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from handrail.core.commands import Reason
from handrail.shell.analyze.invocation import Invocation
from handrail.shell.blocklist import messages
from handrail.shell.blocklist.deletes import input_sources
from handrail.shell.blocklist.interpreters import INPUT, Interpreter, find_interpreter
from handrail.shell.blocklist.program_calls import ExpandedCommand, program_basename
from handrail.shell.parse.syntax import (
    Braces,
    Opaque,
    Part,
    Script,
    SimpleCommand,
    Substitution,
    Text,
    Variable,
    Word,
    all_simple_commands,
)
from handrail.shell.tables.catastrophes import WRAPPERS, fetches_text

_SOCKETS: Final = ("/dev/tcp/", "/dev/udp/")
_DEEPEST: Final = 8
# They run a program by its address.
_LOADERS: Final = frozenset(
    ("deno", "bun", "jbang", "kscript", "scala-cli", "npx", "bunx", "uvx", "pnpx")
)
# Where programs are published under the name of somebody.
_PUBLISHED: Final = re.compile(
    r"https?://(?:[\w-]+\.)*(?:github|gitlab|codeberg|bitbucket)\.\w+/.*"
)
# They run what they read: make as rules, parallel as commands.
_INPUT_PROGRAMS: Final[Mapping[str, Callable[[Sequence[str]], bool]]] = {
    **dict.fromkeys(
        ("make", "gmake", "just", "ninja"),
        lambda told: any(one in ("-f-", "-f/dev/stdin", "-", "/dev/stdin") for one in told),
    ),
    "parallel": lambda told: all(one.startswith("-") or one.isdigit() for one in told),
    "crontab": lambda _: True,
    "at": lambda _: True,
    "batch": lambda _: True,
}
# They connect what they read with another machine.
_CONNECTS: Final[Mapping[str, Callable[[Sequence[str]], bool]]] = {
    **dict.fromkeys(("nc", "ncat", "netcat", "telnet", "websocat", "cryptcat", "pwncat"), bool),
    "openssl": lambda told: "s_client" in told,
    "gnutls-cli": bool,
    "socat": bool,
}
_SERVED_SHELLS: Final = frozenset(
    ("ttyd", "gotty", "wetty", "shellinaboxd", "tmate", "upterm", "sshx")
)


def find_remote_code(command: ExpandedCommand) -> Iterator[Reason]:
    """Reasons to refuse invocations that run downloaded text."""
    tracker = RemoteCodeTracker(command)
    # `ztcp host port` of zsh opens a connection whose number is in a variable.
    connected = any(one.program == "ztcp" for one in command.flat.invocations)
    for one in command.flat.invocations:
        if connected and _is_redirected_shell(one):
            yield Reason(f"{messages.REVERSE_SHELL}; {messages.DOWNLOAD_FIRST}", one.source)
        elif tracker.runs(one):
            yield Reason(f"{messages.RUNS_DOWNLOAD}; {messages.DOWNLOAD_FIRST}", one.source)
        elif _opens_a_shell(one):
            yield Reason(f"{messages.REVERSE_SHELL}; {messages.DOWNLOAD_FIRST}", one.source)


class RemoteCodeTracker:
    """Follows downloaded text through pipes, substitutions and variables."""

    def __init__(self, command: ExpandedCommand) -> None:
        self._command = command
        self._known: dict[int, bool] = {}
        self._read = {
            word.value
            for one in command.flat.invocations
            if one.program in ("read", "mapfile", "readarray")
            for word in one.words[1:]
        }

    def runs(self, one: Invocation) -> bool:
        """Whether the invocation runs downloaded text."""
        if one.words and self._fetched_word(one.words[0]):
            return True
        if one.words and self._reads_its_program(one):
            return True
        if self._feeds_a_shell(one):
            return True
        name = program_basename(one.program or "")
        if name == "eval":
            fetched = any(map(self._fetched_word, one.words[1:]))
            return fetched or (self._fed(one) and any(map(_has_variable, one.words[1:])))
        if name in ("source", "."):
            given = one.words[1:2]
            by_input = any(word.value in INPUT for word in given)
            fed = by_input and (self._fed(one) or self._redirected(one))
            return fed or any(map(self._fetched_word, given))
        runner = find_interpreter(one.words)
        return self._runs_input(name, one) or (runner is not None and self._interprets(one, runner))

    def _runs_input(self, name: str, one: Invocation) -> bool:
        """`deno run https://…`, `curl … | make -f -`."""
        told = [word.value or "" for word in one.words[1:]]
        program = [field for field in told if not field.startswith("-") and field != "run"][:1]
        address = "".join(program)
        if name in _LOADERS and address.startswith(("http://", "https://")):
            if name in ("npx", "bunx", "uvx", "pnpx") and _PUBLISHED.fullmatch(address):
                return False
            return "run" in told or name not in ("deno", "bun")
        return name in _INPUT_PROGRAMS and self._fed(one) and _INPUT_PROGRAMS[name](told)

    def _reads_its_program(self, one: Invocation) -> bool:
        """`curl … | while read x; do $x; done`."""
        names = [part.name for part in one.words[0].parts if isinstance(part, Variable)]
        return any(name in self._read for name in names) and self._fed(one)

    def _interprets(self, one: Invocation, runner: Interpreter) -> bool:
        if any(map(self._fetched_word, runner.programs)):
            return True
        fed = self._fed(one)
        if runner.reads_input and (fed or self._redirected(one)):
            return True
        return fed and one.extra_arguments and "xargs" in one.wrapped_by

    def _fed(self, one: Invocation) -> bool:
        feeds = input_sources(one, self._command.flat.invocations)
        return any(self._fetches(other, 0) for other in feeds)

    def _fetches(self, one: Invocation, depth: int) -> bool:
        # Remembered: every command of a stage is fed by every command of the one before.
        if id(one) not in self._known:
            self._known[id(one)] = False
            self._known[id(one)] = (
                is_download(one.words)
                or any(map(self._fetched_word, one.words))
                or self._redirected(one)
                or (depth < _DEEPEST and any(self._fetches(o, depth + 1) for o in one.piped_from))
            )
        return self._known[id(one)]

    def _redirected(self, one: Invocation) -> bool:
        for redirect in one.redirects:
            if not redirect.operator.startswith("<"):
                continue
            if (redirect.target.value or "").startswith(_SOCKETS):
                return True
            words = [redirect.target, *([redirect.body] if redirect.body else [])]
            if any(map(self._fetched_word, words)):
                return True
        return False

    def _feeds_a_shell(self, one: Invocation) -> bool:
        """`curl … | tee >(sh)`, `curl … > >(sh)`."""
        words = [*one.words, *(redirect.target for redirect in one.redirects)]
        sinks = [
            part
            for word in words
            for part in word.parts
            if isinstance(part, Substitution) and part.kind == ">"
        ]
        if not any(_has_shell(sink.script) for sink in sinks):
            return False
        return is_download(one.words) or self._fed(one)

    def _fetched_word(self, word: Word, depth: int = 0) -> bool:
        if depth > _DEEPEST:
            return False
        return any(self._fetched_part(part, depth) for part in word.parts)

    def _fetched_part(self, part: Part, depth: int) -> bool:
        match part:
            case Substitution():
                return any(
                    self._fetching(simple, depth) for simple in all_simple_commands(part.script)
                )
            case Variable():
                binding = self._command.expander.bindings.get(part.name)
                given = () if binding is None else binding.assigned
                return any(self._fetched_word(word, depth + 1) for word in (*given, *part.inner))
            case Opaque():
                return any(self._fetched_word(word, depth + 1) for word in part.inner)
            case Braces():
                return any(self._fetched_word(word, depth + 1) for word in part.alternatives)
            case Text():
                return False

    def _fetching(self, simple: SimpleCommand, depth: int) -> bool:
        told = (*simple.words, *(one.value for one in simple.assignments if one.value))
        return is_download(simple.words) or any(self._fetched_word(one, depth + 1) for one in told)


def is_download(words: Sequence[Word]) -> bool:
    """Whether a simple command downloads text."""
    for number, word in enumerate(words):
        name = program_basename(word.value or "")
        if fetches_text(name, [one.value for one in words[number + 1 :]]):
            return True
        wrapping = name in WRAPPERS or name.startswith("-") or "=" in name or name.isdigit()
        if not wrapping or (number == 0 and name not in WRAPPERS):
            return False
    return False


def _is_fed_by_a_shell(one: Invocation) -> bool:
    found = [find_interpreter(other.words) for other in one.piped_from]
    return any(each is not None and each.shell and each.reads_input for each in found)


def _is_redirected_shell(one: Invocation) -> bool:
    """Whether a shell reads from, or writes to, an open connection."""
    runner = find_interpreter(one.words)
    numbered = any(each.operator in (">&", "<&") for each in one.redirects)
    return runner is not None and runner.shell and numbered


def _has_variable(word: Word) -> bool:
    return any(isinstance(part, Variable) for part in word.parts)


def _has_shell(script: Script) -> bool:
    found = [find_interpreter(simple.words) for simple in all_simple_commands(script)]
    return any(one is not None and one.reads_input for one in found)


def _opens_a_shell(one: Invocation) -> bool:
    name = program_basename(one.program or "")
    told = [word.value or "" for word in one.words[1:]]
    if name in _CONNECTS and _CONNECTS[name](told) and _is_fed_by_a_shell(one):
        return True
    if name in ("nc", "ncat", "netcat"):
        options = ("-e", "-c", "--exec", "--sh-exec", "--lua-exec")
        return any(field in options for field in told)
    if name in _SERVED_SHELLS and told not in (["--version"], ["--help"], ["-h"]):
        return True
    if name == "socat":
        return any(field.upper().startswith(("EXEC:", "SYSTEM:")) for field in told)
    shells = any(find_interpreter(one.words[start:]) for start in range(min(len(one.words), 4)))
    if not shells:
        return False
    targets = [redirect.target.value or "" for redirect in one.redirects]
    return any(target.startswith(_SOCKETS) for target in targets)
