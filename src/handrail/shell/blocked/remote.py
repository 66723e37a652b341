"""Text from another machine that is run as a program, in whatever way it gets there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from handrail.core.commands import Reason
from handrail.shell.blocked.acts import Scene, base
from handrail.shell.blocked.deletes import origins
from handrail.shell.blocked.interpreters import Interpreter, interpreter_of
from handrail.shell.blocked.tables import FETCHERS, WRAPPERS
from handrail.shell.invocation import Invocation
from handrail.shell.syntax import (
    Block,
    Braces,
    Chain,
    Command,
    Compound,
    Function,
    Opaque,
    Part,
    Pipeline,
    Script,
    Simple,
    Statement,
    Substitution,
    Text,
    Variable,
    Word,
)

_WHAT: Final = "it runs a program straight from the network"
_INSTEAD: Final = "download it to a file, read it, then run that file"
_SOCKETS: Final = ("/dev/tcp/", "/dev/udp/")
_DEEPEST: Final = 8


def remote(scene: Scene) -> Iterator[Reason]:
    """Every place where the command would run what it fetched."""
    seen = Remote(scene)
    for one in scene.flat.invocations:
        if seen.runs(one):
            yield Reason(f"{_WHAT}; {_INSTEAD}", one.source)
        elif _opens_a_shell(one):
            yield Reason(f"it gives a shell to another machine; {_INSTEAD}", one.source)


class Remote:
    """Follows fetched text through pipes, substitutions and variables."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def runs(self, one: Invocation) -> bool:
        """Whether the invocation runs fetched text."""
        if one.words and self._fetched_word(one.words[0]):
            return True
        if self._feeds_a_shell(one):
            return True
        name = base(one.program or "")
        if name == "eval":
            return any(map(self._fetched_word, one.words[1:]))
        if name in ("source", "."):
            return any(map(self._fetched_word, one.words[1:2]))
        runner = interpreter_of(one.words)
        return runner is not None and self._interprets(one, runner)

    def _interprets(self, one: Invocation, runner: Interpreter) -> bool:
        if any(map(self._fetched_word, runner.programs)):
            return True
        fed = self._fed(one)
        if runner.reads_input and (fed or self._redirected(one)):
            return True
        return fed and one.extra and "xargs" in one.wrapped_by

    def _fed(self, one: Invocation) -> bool:
        feeds = origins(one, self._scene.flat.invocations)
        return any(self._fetches(other, 0) for other in feeds)

    def _fetches(self, one: Invocation, depth: int) -> bool:
        if depth > _DEEPEST:
            return False
        if fetches(one.words) or any(map(self._fetched_word, one.words)) or self._redirected(one):
            return True
        return any(self._fetches(other, depth + 1) for other in one.feeds)

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
        return fetches(one.words) or self._fed(one)

    def _fetched_word(self, word: Word, depth: int = 0) -> bool:
        if depth > _DEEPEST:
            return False
        return any(self._fetched_part(part, depth) for part in word.parts)

    def _fetched_part(self, part: Part, depth: int) -> bool:
        match part:
            case Substitution():
                return any(self._fetching(simple, depth) for simple in simples(part.script))
            case Variable():
                given = self._scene.values.words(part.name)
                return any(self._fetched_word(word, depth + 1) for word in (*given, *part.inner))
            case Opaque():
                return any(self._fetched_word(word, depth + 1) for word in part.inner)
            case Braces():
                return any(self._fetched_word(word, depth + 1) for word in part.alternatives)
            case Text():
                return False

    def _fetching(self, simple: Simple, depth: int) -> bool:
        told = (*simple.words, *(one.value for one in simple.assignments if one.value))
        return fetches(simple.words) or any(self._fetched_word(one, depth + 1) for one in told)


def fetches(words: Sequence[Word]) -> bool:
    """Whether a simple command brings text from another machine."""
    for number, word in enumerate(words):
        name = base(word.value or "")
        if name in FETCHERS:
            return True
        wrapping = name in WRAPPERS or name.startswith("-") or "=" in name or name.isdigit()
        if not wrapping or (number == 0 and name not in WRAPPERS):
            return False
    return False


def simples(script: Script) -> Iterator[Simple]:
    """Every simple command in a script, at whatever depth."""
    for statement in script.statements:
        yield from _simples(statement)


def _simples(statement: Statement) -> Iterator[Simple]:
    command = statement.command
    if isinstance(command, Simple):
        yield command
        return
    for below in _statements(command):
        yield from _simples(below)


def _statements(command: Command) -> Iterable[Statement]:
    match command:
        case Pipeline():
            return command.stages
        case Chain():
            return (command.first, command.second)
        case Block():
            return command.script.statements
        case Compound():
            return [one for script in command.scripts for one in script.statements]
        case Function():
            return (command.body,)
        case Simple():
            return ()


def _has_shell(script: Script) -> bool:
    found = [interpreter_of(simple.words) for simple in simples(script)]
    return any(one is not None and one.reads_input for one in found)


def _opens_a_shell(one: Invocation) -> bool:
    name = base(one.program or "")
    told = [word.value or "" for word in one.words[1:]]
    if name in ("nc", "ncat", "netcat"):
        return any(field in ("-e", "-c", "--exec", "--sh-exec", "--lua-exec") for field in told)
    if name == "socat":
        return any(field.upper().startswith(("EXEC:", "SYSTEM:")) for field in told)
    if interpreter_of(one.words) is None:
        return False
    targets = [redirect.target.value or "" for redirect in one.redirects]
    return any(target.startswith(_SOCKETS) for target in targets)
