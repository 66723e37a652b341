"""Programs that run other programs: separates the options of the wrapper from the command it runs.

What is not understood becomes a doubt. The words are still read as far as possible, because the
blocklist must see the command behind an unknown option.
"""

from __future__ import annotations

import posixpath
import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, Final

from handrail.shell.analyze import shells
from handrail.shell.analyze.invocation import UnwrapResult, WrappedRun
from handrail.shell.languages.awk import parse_awk, program_argument
from handrail.shell.parse.syntax import Assignment, Text, Word
from handrail.shell.parse.words import (
    drop_prefix,
    mark_placeholder,
    may_split,
    quoted_variable,
    static_prefix,
)

_FIND_RUNS: Final = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_FD_RUNS: Final = frozenset({"--exec", "--exec-batch"})
_FD: Final = frozenset({"fd", "fdfind"})
# A file, its name, its directory, and both without the ending.
_FD_MARKS: Final = ("{/}", "{//}", "{/.}", "{.}")
_FD_VALUES: Final = "cCdeEjoSt"

Options = frozenset[str]
_NONE: Final[Options] = frozenset()
_LISTS: Final = frozenset(
    {"long", "text", "idle", "shell", "bare", "moves", "replaces", "only", "program", "until"}
)


@dataclass(frozen=True, slots=True)
class WrapperSpec:
    """How a wrapper's arguments are read; `wrapper_options.toml` explains each field."""

    flags: str = ""
    values: str = ""
    attached: str = ""
    long: Options = _NONE
    operands: int = 0
    rest: str = "words"
    assigns: bool = False
    permutes: bool = False
    # `-5` is a number, no option.
    numbers: bool = False
    text: Options = _NONE
    idle: Options = _NONE
    shell: Options = _NONE
    bare: Options = _NONE
    moves: Options = _NONE
    replaces: Options = _NONE
    # What remains is a program only with one of them, or although it is text otherwise.
    only: Options = _NONE
    program: Options = _NONE
    # Words at which the command ends.
    until: Options = _NONE
    extra_arguments: bool = False
    remote: bool = False
    # It stays in the shell that reads the command: there `cd` lasts.
    inside: bool = False
    # Why its command cannot be vouched for, whatever the words are.
    doubt: str = ""


@cache
def wrapper_specs() -> Mapping[str, WrapperSpec]:
    """Every known wrapper by the name of its program."""
    text = Path(__file__).with_name("wrapper_options.toml").read_text("utf-8")
    return {name: _wrapper(row) for name, row in tomllib.loads(text).items()}


def _wrapper(row: Mapping[str, Any]) -> WrapperSpec:
    fields: dict[str, Any] = {
        key: frozenset(value.split()) if key in _LISTS else value for key, value in row.items()
    }
    return WrapperSpec(**fields)


AWKS: Final = frozenset({"awk", "gawk", "mawk", "nawk"})
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_SPLITTABLE: Final = re.compile(r"[\w./=:,+@% -]*", re.ASCII)
_NO_VALUE: Final = Word("", (Text(""),))


def unwrap(words: Sequence[Word]) -> UnwrapResult | None:
    """What a wrapper runs; None if the program is not a wrapper."""
    program = words[0].value
    if program is None:
        return None
    name = posixpath.basename(program)
    for reads in (shells.unwrap_shell, unwrap_finder, unwrap_awk):
        found = reads(name, words)
        if found is not None:
            return found
    wrapper = wrapper_specs().get(name)
    return None if wrapper is None else _WrapperArguments(name, wrapper, list(words[1:])).result()


def unwrap_awk(name: str, words: Sequence[Word]) -> UnwrapResult | None:
    """The commands that an awk program runs, where they are constant; None for another program."""
    values = [word.value for word in words[1:]]
    if name not in AWKS or None in values:
        return None
    text, _ = program_argument([value or "" for value in values])
    program = None if text is None else parse_awk(text)
    if program is None or None in program.commands or not program.commands:
        return None
    texts = [Word(one or "", (Text(one or "", quoted=True),)) for one in program.commands]
    return UnwrapResult(tuple(WrappedRun("text", (word,)) for word in texts))


def wrapper_option_names(words: Sequence[Word]) -> frozenset[str]:
    """The options that a wrapper is given: `--output` for `--out=x`, `-a` and `-o` for `-ao x`."""
    name = posixpath.basename(words[0].value or "")
    wrapper = wrapper_specs().get(name)
    if wrapper is None:
        return frozenset()
    reading = _WrapperArguments(name, wrapper, list(words[1:]))
    reading.result()
    return frozenset(reading.options)


@dataclass()
class _WrapperArguments:
    """Reads the arguments of one wrapper by its entry in the table."""

    name: str
    wrapper: WrapperSpec
    words: list[Word]
    doubts: list[str] = field(default_factory=list)
    options: dict[str, Word] = field(default_factory=dict)
    assignments: list[Assignment] = field(default_factory=list)

    def result(self) -> UnwrapResult:
        """All that the wrapper runs."""
        if self.wrapper.doubt:
            self._doubt(self.wrapper.doubt)
        self._take_options()
        if self.wrapper.assigns:
            self._take_assignments()
        if self._given(self.wrapper.idle):
            return UnwrapResult((), tuple(self.doubts))
        texts = sorted(self.wrapper.text & self.options.keys())
        runs = [
            self._dressed(WrappedRun("text", (self.options[o],))) for o in texts
        ] or self._rest()
        return UnwrapResult(tuple(runs), tuple(self.doubts), open=not runs)

    def _rest(self) -> list[WrappedRun]:
        own, rest = self.words[: self.wrapper.operands], self.words[self.wrapper.operands :]
        if any(word.value is None for word in own):
            self._doubt("has an argument that is not known")
        for word in own:
            self._stays_one(word)
        # flock takes its `-c` behind the file as well.
        if rest and rest[0].value in self.wrapper.text:
            return [self._dressed(WrappedRun("text", tuple(rest[1:2])))]
        if self.wrapper.only and not self._given(self.wrapper.only):
            return []
        if not rest or self.wrapper.rest == "none":
            return [self._dressed(WrappedRun("input"))] if self._given(self.wrapper.bare) else []
        if self._reads_text():
            return [self._dressed(WrappedRun("text", tuple(self._until(rest))))]
        return [self._dressed(WrappedRun("words", self._replaced(rest)))]

    def _reads_text(self) -> bool:
        if self.wrapper.rest == "text":
            return not self._given(self.wrapper.program)
        return self._given(self.wrapper.shell)

    def _until(self, rest: Sequence[Word]) -> Sequence[Word]:
        ends = [i for i, word in enumerate(rest) if word.value in self.wrapper.until]
        return rest[: ends[0]] if ends else rest

    def _dressed(self, run: WrappedRun) -> WrappedRun:
        return replace(
            run,
            assignments=tuple(self.assignments),
            extra_arguments=self.wrapper.extra_arguments,
            moves=self._given(self.wrapper.moves),
            remote=self.wrapper.remote,
            inside=self.wrapper.inside,
        )

    def _given(self, options: Options) -> bool:
        return "always" in options or not options.isdisjoint(self.options)

    def _replaced(self, words: Sequence[Word]) -> tuple[Word, ...]:
        for option in self.wrapper.replaces & self.options.keys():
            mark = self.options[option].value
            if mark is None:
                self._doubt("has a placeholder that is not known")
            else:
                words = [mark_placeholder(word, mark or "{}") for word in words]
        return tuple(words)

    def _take_options(self) -> None:
        operands: list[Word] = []
        while self.words and self._is_own(self.words[0]):
            word = self.words.pop(0)
            start = static_prefix(word)
            if word.value == "--":
                break
            if not start.startswith("-") or start == "-":
                operands.append(word)
            elif start.startswith("--"):
                self._long(word, start)
            else:
                self._short(word, start)
        # The lone `-` of `env -` and `su -` is no operand.
        self.words[:0] = [word for word in operands if word.value != "-"]

    def _is_own(self, word: Word) -> bool:
        """Whether this word still belongs to the wrapper."""
        start = static_prefix(word)
        if word.value is None and not start and self.wrapper.operands:
            self._doubt("has an argument that is not known")
        if start == "-":
            return self.name in ("env", "su", "runuser")
        return start.startswith("-") or self.wrapper.permutes

    def _long(self, word: Word, start: str) -> None:
        name, equals, _ = start[2:].partition("=")
        known = self.wrapper.long
        exact = {option for option in known if option.rstrip("=") == name}
        fitting = exact or {option for option in known if option.startswith(name)}
        if len(fitting) != 1:
            self._doubt(f"has the option {start!r}, which is not understood")
        option = min(fitting, default=name)
        given = _NO_VALUE
        if equals:
            given = drop_prefix(word, len("--") + len(name) + len("="))
        elif option.endswith("="):
            given = self._next()
        self._keep("--" + option.rstrip("="), given)

    def _short(self, word: Word, start: str) -> None:
        if self.wrapper.numbers and start[1:].isdigit():
            return
        for index, letter in enumerate(start[1:], 1):
            rest = drop_prefix(word, index + 1)
            if letter in self.wrapper.values:
                self._keep("-" + letter, rest if rest.parts else self._next())
                return
            if letter in self.wrapper.attached:
                self._keep("-" + letter, rest)
                return
            if letter not in self.wrapper.flags:
                self._doubt(f"has the option '-{letter}', which is not understood")
            self._keep("-" + letter, _NO_VALUE)
        if word.value is None:
            self._doubt("has an option that is not known")

    def _next(self) -> Word:
        if not self.words:
            return _NO_VALUE
        self._stays_one(self.words[0])
        return self.words.pop(0)

    def _stays_one(self, word: Word) -> None:
        """Add a doubt if a word may split: its second part would be the program."""
        if may_split(word):
            self._doubt(f"{word.source!r} may become several words")

    def _keep(self, option: str, value: Word) -> None:
        self.options[option] = value
        if self.name == "env" and option in ("-S", "--split-string"):
            self._split(value)

    def _split(self, word: Word) -> None:
        """Split a word as `env -S` does; its quoting rules are not implemented."""
        text = word.value or ""
        pieces = text.split()
        if word.value is None or not _SPLITTABLE.fullmatch(text):
            self._doubt("splits a text by rules of its own")
            with suppress(ValueError):
                pieces = shlex.split(text)
        self.words[:0] = [Word(piece, (Text(piece, quoted=True),)) for piece in pieces]

    def _take_assignments(self) -> None:
        while self.words and "=" in static_prefix(self.words[0]):
            word = self._next()
            match = _ASSIGNMENT.match(static_prefix(word))
            if match:
                self.assignments.append(Assignment(match[1], drop_prefix(word, match.end())))
            else:
                self._doubt("sets a variable with an odd name")

    def _doubt(self, text: str) -> None:
        self.doubts.append(f"{self.name}: {text}")


def unwrap_finder(name: str, words: Sequence[Word]) -> UnwrapResult | None:
    """What find or fd runs; None for another program."""
    if name in ("find", "gfind", "bfs"):
        return _find(words)
    if name in _FD:
        return _fd(words)
    return None


def _find(words: Sequence[Word]) -> UnwrapResult:
    runs: list[WrappedRun] = []
    doubts: list[str] = []
    places: set[str] = set()
    index = 1
    while index < len(words):
        word = words[index]
        index += 1
        variable = quoted_variable(word)
        if word.value is None and variable is not None:
            places.add(variable)
        elif word.value is None and not _a_place(word):
            doubts.append("find has an argument that is not known")
        if word.value not in _FIND_RUNS:
            continue
        end = next((i for i in range(index, len(words)) if _ends(words, i)), len(words))
        if end > index:
            runs.append(_run(words[index:end], moves=word.value in ("-execdir", "-okdir")))
        index = end + 1
    return UnwrapResult(tuple(runs), tuple(doubts), open=True, places=frozenset(places))


def _a_place(word: Word) -> bool:
    """Whether a word with this beginning can only be a path, never an option or a test."""
    return static_prefix(word)[:1] not in ("", "-", "(", "!", ",")


def _ends(words: Sequence[Word], index: int) -> bool:
    value = words[index].value
    return value == ";" or (value == "+" and words[index - 1].value == "{}")


def _run(words: Sequence[Word], *, moves: bool) -> WrappedRun:
    return WrappedRun(
        "words",
        tuple(mark_placeholder(word, "{}") for word in words),
        extra_arguments=True,
        moves=moves,
    )


def _fd(words: Sequence[Word]) -> UnwrapResult:
    for index, word in enumerate(words[1:], 1):
        start = static_prefix(word)
        if start == "--":
            break
        attached = _after_long(word, start) if start.startswith("--") else _after_short(word, start)
        if attached is not None:
            inner = [attached] if attached.parts else []
            return _fd_runs([*inner, *words[index + 1 :]])
    return UnwrapResult((), open=True)


def _after_long(word: Word, start: str) -> Word | None:
    name, equals, _ = start.partition("=")
    # `--ex` could still become `--exclude` or `--extension`.
    if not (name.startswith("--exe") and any(option.startswith(name) for option in _FD_RUNS)):
        return None
    return drop_prefix(word, len(name) + len(equals))


def _after_short(word: Word, start: str) -> Word | None:
    if not start.startswith("-"):
        return None
    for index, letter in enumerate(start[1:], 1):
        if letter in "xX":
            return drop_prefix(word, index + 1)
        if letter in _FD_VALUES:
            return None
    return None


def _fd_runs(inner: list[Word]) -> UnwrapResult:
    end = next((i for i, word in enumerate(inner) if word.value == ";"), len(inner))
    words = inner[:end]
    for mark in _FD_MARKS:
        words = [mark_placeholder(word, mark) for word in words]
    runs = [_run(words, moves=False)] if words else []
    doubts = () if end >= len(inner) - 1 else ("fd has words after its command",)
    return UnwrapResult(tuple(runs), doubts, open=True)
