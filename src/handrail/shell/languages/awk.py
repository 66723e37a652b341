"""A parser for awk programs: what a program runs, reads and writes besides its operands.

Only syntax that every awk reads alike is accepted. For anything else `parse_awk` returns None,
and the program counts as unknown code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import Final

from handrail.shell.languages.awk_expressions import (
    MAX_DEPTH,
    AwkExpressionParser,
    AwkProgram,
    AwkSyntaxError,
    AwkValue,
)

_CONTINUED_COMMENT: Final = re.compile(r"#[^\n]*\\\r?\n")
_SHELL: Final = re.compile(r"(?:^|/)(?:ba|da|z|k)?sh\b")
_LEAVING: Final = re.compile(r"\b(?:break|exit|return|next|nextfile)\b")
# Strings, regular expressions and comments: names in them change nothing.
_LITERAL: Final = re.compile(r'"(?:\\.|[^"\\\n])*"|/(?:\\.|[^/\\\n])*/|#[^\n]*')
_NAME: Final = re.compile(r"(?<![\w$])[A-Za-z_]\w*")
_FIELD_CHANGE: Final = re.compile(
    r"\$\s*\S+?\s*(?:\+\+|--|[-+*/%^]?=(?!=))|\bg?sub\s*\(|\bgetline\b|\bNF\s*(?:--|[-+]?=(?!=))"
)
# At the end of the input it returns 0, and -1 if there is no such file.
_GETLINE: Final = re.compile(
    r"[\s(]*getline(?:\s+\$?\w+(?:\[[^\]]*\])?)?(?:\s*<\s*\(?(?:\"\"|[\w\[\]$]+)\)?)?"
    r"[\s)]*(?:>\s*0|==\s*1|>=\s*1)[\s)]*"
)
_MAX_TEXT: Final = 20_000
_MAX_VALUES: Final = 64


def parse_awk(text: str) -> AwkProgram | None:
    """The effects of an awk program; None if it is not understood."""
    if len(text) > _MAX_TEXT or _CONTINUED_COMMENT.search(text):
        return None
    try:
        return _AwkParser(text).program()
    except (AwkSyntaxError, RecursionError):
        return None


def program_argument(arguments: Sequence[str]) -> tuple[str | None, dict[str, str]]:
    """The program among the arguments of awk, and the variables that `-v` sets."""
    values: dict[str, str] = {}
    left = list(arguments)
    while left:
        one = left.pop(0)
        if one == "--":
            break
        if one in ("-v", "--assign") and left:
            name, _, value = left.pop(0).partition("=")
            values[name] = value
        elif one.startswith("-v"):
            name, _, value = one[2:].partition("=")
            values[name] = value
        elif one in ("-F", "--field-separator") and left:
            left.pop(0)
        elif one in ("-f", "--file"):
            return None, values
        elif not one.startswith("-"):
            return one, values
    return (left[0] if left else None), values


def likely_commands(text: str, values: Mapping[str, str], line: str = "") -> Iterator[str]:
    """The shell commands that a program may run, computed ones guessed.

    `values` are set by `-v`; `line` is the first one of the input, for what is not constant.
    """
    parser = _guess(text, values)
    if parser is not None:
        yield from parser.guessed(parser.command_values, line)
        for printed, command in parser.printed_to:
            if command.constant is not None and re.search(
                r"(?:^|/)(?:ba|da|z|k)?sh\b", command.constant
            ):
                yield from parser.guessed([printed])


def likely_output(text: str, values: Mapping[str, str]) -> list[str]:
    """The lines that a program may print, where nothing in them comes from its input."""
    parser = _guess(text, values)
    printed = [] if parser is None else parser.printed_values
    known = [one for one in printed if None not in one.parts]
    return [one for one in parser.guessed(known) if one.strip()] if parser is not None else []


def likely_files(text: str, values: Mapping[str, str]) -> Iterator[str]:
    """The files that a program may write, computed ones guessed."""
    parser = _guess(text, values)
    if parser is not None:
        yield from parser.guessed(parser.written_values)


def _guess(text: str, values: Mapping[str, str]) -> _AwkParser | None:
    try:
        parser = _AwkParser(text[:_MAX_TEXT])
    except AwkSyntaxError:
        return None
    for name, value in values.items():
        parser.assigned.setdefault(name, []).append(AwkValue((("text", value),)))
    with suppress(AwkSyntaxError, RecursionError):
        parser.program()
    return parser


class _AwkParser(AwkExpressionParser):
    """Recursive descent over the items and statements of a program."""

    def guessed(self, values: Sequence[AwkValue], line: str = "") -> Iterator[str]:
        """The texts that expressions may have, variables filled in with their last value."""
        for value in values[:_MAX_VALUES]:
            texts = []
            for part in value.parts:
                if part == ("name", "ENVIRON[HOME]"):
                    texts.append("~")
                elif part is not None and part[0] == "name":
                    known = self.assigned.get(part[1], [])
                    texts.append((known[-1].constant or "") if known else "")
                else:
                    texts.append(line if part is None else part[1])
            yield "".join(texts)

    def program(self) -> AwkProgram:
        """Parse the whole program."""
        self._skip_ends()
        while self._next.kind != "end":
            self._item()
            self._skip_ends()
        if not self._called <= self._defined:
            raise AwkSyntaxError
        return self._found

    def _item(self) -> None:
        if self._accept("function", "func"):
            self._function()
        elif self._accept("BEGIN", "END") or self._is("{"):
            self._block()
        else:
            self._expression()
            if self._accept(","):
                self._skip_newlines()
                self._expression()
            if self._is("{"):
                self._block()
            elif not (self._next.kind in ("newline", "end") or self._is(";")):
                raise AwkSyntaxError

    def _function(self) -> None:
        self._defined.add(self._name())
        self._expect("(")
        while not self._accept(")"):
            self._name()
            self._accept(",")
            self._skip_newlines()
        self._skip_newlines()
        self._block()

    def _block(self) -> None:
        self._expect("{")
        self._skip_ends()
        while not self._accept("}"):
            self._statement()
            self._skip_ends()

    def _statement(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise AwkSyntaxError
        word = self._next.text if self._next.kind == "name" else ""
        handler = {
            "if": self._if,
            "while": self._while,
            "do": self._do,
            "for": self._for,
        }.get(word)
        if self._is("{"):
            self._block()
        elif handler is not None:
            self._advance()
            handler()
        elif not self._is(";"):
            self._simple_statement()
            self._end_statement()
        self._depth -= 1

    def _end_statement(self) -> None:
        if not (self._next.kind in ("newline", "end") or self._is(";", "}")):
            raise AwkSyntaxError

    def _body(self) -> None:
        self._skip_newlines()
        if self._accept(";"):
            return
        self._statement()

    def _if(self) -> None:
        self._expect("(")
        self._expression()
        self._expect(")")
        self._body()
        at, token = self._at, self._next
        self._skip_ends()
        if self._accept("else"):
            self._body()
        else:
            self._at, self._next = at, token

    def _while(self) -> None:
        start = self._next.end
        self._expect("(")
        condition = self._expression()
        self._expect(")")
        header = self._text[start : self._at]
        self._loop(header, header, endless=condition.is_getline)

    def _do(self) -> None:
        body = self._at
        self._body()
        self._skip_ends()
        self._expect("while")
        self._expect("(")
        start = self._at
        condition = self._expression()
        header = self._text[start : self._at]
        self._expect(")")
        if condition.is_getline or not _may_end(header, self._text[body : self._at]):
            self._found.doubts.append("loop")

    def _for(self) -> None:
        self._expect("(")
        if not self._is(";"):
            self._simple_statement()
        if self._accept(")"):
            self._body()
            return
        self._expect(";")
        self._skip_newlines()
        start = self._at
        if not self._is(";"):
            self._expression()
        header = self._text[start : self._at]
        self._expect(";")
        self._skip_newlines()
        if not self._is(")"):
            self._simple_statement()
        self._expect(")")
        self._loop(header.rstrip("; \t\n"), self._text[start : self._at])

    def _loop(self, header: str, changing: str, *, endless: bool = False) -> None:
        """The body of a loop. `changing` is what else runs in every round."""
        start = self._at
        self._body()
        body = self._text[start : self._at]
        if endless or not (_LEAVING.search(body) or _may_end(header, f"{changing};{body}")):
            self._found.doubts.append("loop")

    def _simple_statement(self) -> None:
        if self._accept("print", "printf"):
            self._print()
        elif self._accept("break", "continue", "next", "nextfile"):
            pass
        elif self._accept("exit", "return"):
            if not (self._next.kind in ("newline", "end") or self._is(";", "}")):
                self._expression()
        elif self._accept("delete"):
            self._mention(self._name())
            if self._accept("["):
                self._arguments("]")
        else:
            self._expression()

    def _print(self) -> None:
        printed = AwkValue(())
        ends = self._next.kind in ("newline", "end") or self._is(";", "}", ">", ">>", "|", "|&")
        self._prints = True
        if not ends:
            printed = self._ternary()
            while self._accept(","):
                self._skip_newlines()
                printed = AwkValue((*printed.parts, ("text", " "), *self._ternary().parts))
        if self._accept(">", ">>"):
            target = self._concatenation()
            self.written_values.append(target)
            self._found.writes.append(target.constant)
        elif self._accept("|", "|&"):
            command = self._concatenation()
            self._run(command)
            self.printed_to.append((printed, command))
        else:
            self.printed_values.append(printed)
        self._prints = False


def _may_end(header: str, changing: str) -> bool:
    """Whether something that a loop's condition depends on changes in the loop."""
    if _is_constant(header):
        return False
    condition, changing = _LITERAL.sub('""', header), _LITERAL.sub('""', changing)
    if "getline" in condition and not re.search(r"(?<!\|)\|(?!\|)", condition):
        return _GETLINE.fullmatch(condition) is not None
    names = set(_NAME.findall(condition))
    reads_fields = "$" in condition or "NF" in names
    return any(_changes(name, changing) for name in names) or (
        reads_fields and _FIELD_CHANGE.search(changing) is not None
    )


def _changes(name: str, text: str) -> bool:
    """Whether the text assigns the variable, or calls the function."""
    place = rf"\b{name}\b(?:\[[^\]]*\])?"
    return (
        re.search(
            rf"{place}\s*(?:\+\+|--|[-+*/%^]?=(?!=))|(?:\+\+|--)\s*{place}"
            rf"|\b(?:sub|gsub|split|delete|getline)\b[^;\n]*\b{name}\b",
            text,
        )
        is not None
    )


def _is_constant(header: str) -> bool:
    """Whether a loop's condition never changes: `1`, `(1)`, nothing, `"a"`, `!0`."""
    return (
        re.fullmatch(r"[\s();]*(?:[!\s]*(?:\d+|\"[^\"]*\")?[\s();]*)(?:==\s*\d+[\s();]*)?", header)
        is not None
    )
