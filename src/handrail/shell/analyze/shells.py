"""Shells, and the builtins that run text: `bash -c`, `eval`, `trap`, `source`.

Text for another shell is parsed as bash would parse it. Syntax that the two read differently is a
doubt.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from handrail.shell.analyze.invocation import UnwrapResult, WrappedRun
from handrail.shell.parse.syntax import Text, Word
from handrail.shell.parse.words import static_prefix

_BASH: Final = frozenset({"bash", "rbash"})
_POSIX: Final = frozenset({"sh", "dash", "ash"})
_OTHER: Final = frozenset(
    {"zsh", "ksh", "ksh93", "mksh", "pdksh", "oksh", "yash", "fish", "csh", "tcsh", "rc", "es",
     "elvish", "nu", "xonsh", "osh", "posh", "rksh", "rzsh", "pwsh", "lksh", "loksh", "bosh"}
)  # fmt: skip
SHELLS: Final = _BASH | _POSIX | _OTHER
_LONG_VALUES: Final = ("--rcfile", "--init-file", "--emulate")
_LONG_FLAGS: Final = frozenset(
    {"--login", "--norc", "--noprofile", "--posix", "--noediting", "--restricted", "--verbose",
     "--no-globalrcs", "--no-rcs", "--debugger", "--no-config", "--private"}
)  # fmt: skip
_LONG: Final = _LONG_FLAGS.union(_LONG_VALUES)
# What dash and other shells read differently; also inside quotes, to be on the safe side.
_BASHISMS: Final = re.compile(
    r"\[\[|\(\(|[<>=]\(|\$['\"\[]|&>|<<<|\|&|>&[^0-9-]|\{[^{}]*(?:,|\.\.)|\$\{!|[@?*+!]\("
    r"|(?:^|[\s;&|(])(?:function|select|coproc|time|source|let|declare|typeset)\b"
)


def unwrap_shell(name: str, words: Sequence[Word]) -> UnwrapResult | None:
    """What a shell or a text-reading builtin runs; None for any other program."""
    if name in SHELLS:
        return _shell(name, words[1:])
    if name in ("busybox", "toybox") and len(words) > 1 and words[1].value in SHELLS:
        return _shell("sh", words[2:])
    if name == "eval":
        rest = words[2:] if len(words) > 1 and words[1].value == "--" else words[1:]
        return UnwrapResult(
            (WrappedRun("text", tuple(rest), inside=True, dialect="bash"),) if rest else ()
        )
    if name == "trap":
        return _trap(words[1:])
    if name in ("source", "."):
        return _source(words[1:])
    return None


def dialect_doubt(dialect: str, text: str) -> str | None:
    """Why this shell may read the text differently from bash; None if it does not."""
    if dialect in _BASH:
        return None
    if dialect not in _POSIX:
        return f"{dialect} does not read text as bash does"
    odd = _BASHISMS.search(text)
    return f"{dialect} may not read {odd[0].strip()!r} as bash does" if odd else None


def _shell(name: str, words: Sequence[Word]) -> UnwrapResult:
    if [word.value for word in words] in (["--version"], ["--help"]):
        return UnwrapResult(())
    doubts: list[str] = []
    command = stdin = unrun = False
    index = 0
    while index < len(words):
        value = words[index].value
        start = static_prefix(words[index])
        if value is None and start[:1] in ("", "-", "+"):
            doubts.append(f"{name} has an argument that is not known")
        if start[:1] not in ("-", "+") or start in ("-", "--", "+"):
            index += start in ("-", "--")
            break
        index += 1
        # bash takes its long options with one dash as well.
        if start.startswith("--") or "-" + start.partition("=")[0] in _LONG:
            index += _long(name, "--" + start.lstrip("-"), doubts)
            continue
        letters = start[1:]
        if "i" in letters:
            doubts.append(f"{name} is interactive: it runs files of its own and knows aliases")
        command = command or ("c" in letters and start[0] == "-")
        stdin = stdin or "s" in letters
        if start == "-n":
            unrun = True
            if name not in _BASH | _POSIX:
                doubts.append(f"{name} may read files of its own first")
        index += letters.count("o") + letters.count("O")
    runs = _runs(name, words[index:], command=command, stdin=stdin)
    if unrun and name in _BASH | _POSIX and len(words) == 2 and not (command or stdin or doubts):
        # `bash -n script` only reads the script.
        return UnwrapResult(())
    return UnwrapResult(runs, tuple(doubts), open=not words[index:])


def _long(name: str, start: str, doubts: list[str]) -> int:
    """The number of further words that a long option takes."""
    option, equals, _ = start.partition("=")
    if option in _LONG_VALUES:
        doubts.append(f"{name} runs the file after {option}")
        return 0 if equals else 1
    if option not in _LONG_FLAGS:
        doubts.append(f"{name} has the option {start!r}, which is not understood")
    return 0


def _runs(
    name: str, operands: Sequence[Word], *, command: bool, stdin: bool
) -> tuple[WrappedRun, ...]:
    if command:
        code, given = tuple(operands[:1]), tuple(operands[1:])
        return (WrappedRun("text", code, dialect=name, arguments=given),) if operands else ()
    shell = Word(name, (Text(name, quoted=True),))
    if stdin or not operands:
        return (WrappedRun("input", dialect=name, arguments=(shell, *operands)),)
    return (WrappedRun("file", (operands[0],), dialect=name, arguments=tuple(operands)),)


def _trap(words: Sequence[Word]) -> UnwrapResult:
    if words and words[0].value == "--":
        words = words[1:]
    text = words[0].value if words else ""
    if text in ("", "-") or (len(words) == 1 and text is not None):
        return UnwrapResult(())
    if text is not None and re.fullmatch(r"-[lpP]+|\d+", text):
        return UnwrapResult(())
    # It runs later, wherever the shell is by then.
    return UnwrapResult((WrappedRun("text", (words[0],), inside=True, moves=True, dialect="bash"),))


def _source(words: Sequence[Word]) -> UnwrapResult:
    if words and words[0].value == "--":
        words = words[1:]
    return UnwrapResult(
        (WrappedRun("file", (words[0],), inside=True, dialect="bash"),) if words else ()
    )
