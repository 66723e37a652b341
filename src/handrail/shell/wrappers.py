"""What a program that runs other programs would run: its own words parted from the command's.

What is not understood is a doubt, and the words are still read as well as they can be: the
blocklist wants to see the command behind an option that nobody knows.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from handrail.shell import finders, shells
from handrail.shell.expand import after, marked, start_of
from handrail.shell.syntax import Assignment, Text, Word
from handrail.shell.wrapped import Run, Unwrapped
from handrail.shell.wrapper_table import TABLE, Wrapper

_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=")
_SPLITTABLE: Final = re.compile(r"[\w./=:,+@% -]*", re.ASCII)


def unwrap(words: Sequence[Word]) -> Unwrapped | None:
    """What a program would run; None if it is no program that runs others."""
    program = words[0].value
    if program is None:
        return None
    name = posixpath.basename(program)
    for reads in (shells.unwrap, finders.unwrap):
        found = reads(name, words)
        if found is not None:
            return found
    wrapper = TABLE.get(name)
    return None if wrapper is None else _Reading(name, wrapper, list(words[1:])).result()


@dataclass
class _Reading:
    """One wrapper's words on their way through the table."""

    name: str
    wrapper: Wrapper
    words: list[Word]
    doubts: list[str] = field(default_factory=list)
    options: dict[str, Word] = field(default_factory=dict)
    assignments: list[Assignment] = field(default_factory=list)

    def result(self) -> Unwrapped:
        """The runs of the wrapper."""
        if self.wrapper.doubt:
            self.doubts.append(self.wrapper.doubt)
        self._take_options()
        if self.wrapper.assigns:
            self._take_assignments()
        if any(option in self.wrapper.idle for option in self.options):
            return Unwrapped((), tuple(self.doubts))
        runs = [self._text_run((self.options[o],)) for o in self.wrapper.text & self.options.keys()]
        if not runs:
            runs = self._rest()
        return Unwrapped(tuple(runs), tuple(self.doubts))

    def _rest(self) -> list[Run]:
        skipped, rest = self.words[: self.wrapper.operands], self.words[self.wrapper.operands :]
        if any(word.value is None for word in skipped):
            self._doubt("has an argument that is not known")
        if self.name == "jobs":
            rest = self.words if "-x" in self.options else []
        # flock takes its `-c` after the file as well.
        if rest and self.wrapper.text and rest[0].value in self.wrapper.text:
            return [self._text_run(rest[1:2])] if len(rest) > 1 else []
        if not rest:
            return []
        as_text = self.wrapper.rest == "text" or bool(self.wrapper.shell & self.options.keys())
        if self.name == "watch" and self.options.keys() & {"-x", "--exec"}:
            as_text = False
        if as_text:
            return [self._text_run(self._cut(rest))]
        if self.wrapper.rest != "words":
            return []
        run = Run("words", tuple(rest))
        return [replace(self._dressed(run), words=self._replaced(rest))]

    def _cut(self, rest: Sequence[Word]) -> list[Word]:
        """GNU parallel's own arguments start at `:::`."""
        if self.name != "parallel":
            return list(rest)
        ends = [i for i, word in enumerate(rest) if word.value in (":::", "::::", ":::+")]
        return list(rest[: ends[0]] if ends else rest)

    def _text_run(self, words: Sequence[Word]) -> Run:
        return self._dressed(Run("text", tuple(words)))

    def _dressed(self, run: Run) -> Run:
        moves = self.wrapper.moves
        return replace(
            run,
            assignments=tuple(self.assignments),
            extra=self.wrapper.extra,
            moves="" in moves or bool(moves & self.options.keys()),
            remote=self.wrapper.remote,
            inside=self.wrapper.inside,
        )

    def _replaced(self, words: Sequence[Word]) -> tuple[Word, ...]:
        for option in self.wrapper.replaces & self.options.keys():
            mark = self.options[option].value
            if mark is None:
                self._doubt("has a placeholder that is not known")
            else:
                words = [marked(word, mark or "{}") for word in words]
        return tuple(words)

    def _take_options(self) -> None:
        while self.words:
            word = self.words[0]
            start = start_of(word)
            if word.value is None and not start.startswith("-"):
                if not (self.wrapper.assigns and _ASSIGNMENT.match(start)):
                    self._doubt("has a word that is not known before the command")
                return
            if not start.startswith("-") or (start == "-" and self.name != "env"):
                return
            self.words.pop(0)
            if start == "--":
                return
            if start == "-":
                continue
            if start.startswith("--"):
                self._long(word, start)
            else:
                self._short(word, start)

    def _long(self, word: Word, start: str) -> None:
        name, equals, _ = start[2:].partition("=")
        known = self.wrapper.long.split()
        fitting = {o for o in known if o.rstrip("=") == name} or {
            o for o in known if o.startswith(name)
        }
        if len(fitting) != 1:
            self._doubt(f"has the option {start!r}, which is not understood")
        option = min(fitting, default=name)
        if equals:
            given = after(word, len(name) + 3)
        elif option.endswith("=") and self.words:
            given = self.words.pop(0)
        else:
            given = Word("", (Text(""),))
        self._keep("--" + option.rstrip("="), given)

    def _short(self, word: Word, start: str) -> None:
        if self.name in ("nice", "chrt") and re.fullmatch(r"-\d+", start):
            return
        for index in range(1, len(start)):
            letter = start[index]
            rest = after(word, index + 1)
            if letter in self.wrapper.values:
                empty = not rest.parts or rest.value == ""
                given = self.words.pop(0) if empty and self.words else rest
                self._keep("-" + letter, given)
                return
            if letter in self.wrapper.attached:
                self._keep("-" + letter, rest)
                return
            if letter not in self.wrapper.flags:
                self._doubt(f"has the option '-{letter}', which is not understood")
            self._keep("-" + letter, Word("", (Text(""),)))
        if word.value is None:
            self._doubt("has an option that is not known")

    def _keep(self, option: str, value: Word) -> None:
        self.options[option] = value
        if self.name == "env" and option in ("-S", "--split-string"):
            self._split(value)

    def _split(self, word: Word) -> None:
        """`env -S` makes words of one; its own quoting rules are not worked out."""
        text = word.value
        if text is None or not _SPLITTABLE.fullmatch(text):
            self._doubt("splits a text by rules of its own")
        pieces = (text or "").split()
        self.words[:0] = [Word(piece, (Text(piece, quoted=True),)) for piece in pieces]

    def _take_assignments(self) -> None:
        while self.words:
            match = _ASSIGNMENT.match(start_of(self.words[0]))
            if not match:
                odd = "=" in start_of(self.words[0])
                if not odd:
                    return
                self._doubt("sets a variable with an odd name")
                self.words.pop(0)
                continue
            word = self.words.pop(0)
            self.assignments.append(Assignment(match[1], after(word, match.end())))

    def _doubt(self, text: str) -> None:
        self.doubts.append(f"{self.name} {text}")
