"""The tokens and expressions of awk programs; `languages.awk` adds the statements.

A slash begins a regular expression where the grammar expects an operand, and divides elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, NamedTuple

_TOKEN: Final = re.compile(
    r"(?P<space>(?:[ \t\r]|\\\r?\n|#[^\n]*)+)|(?P<newline>\n)"
    r"|(?P<number>(?:0[xX][0-9a-fA-F]+|\d+\.?\d*(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?))"
    r'|(?P<string>"(?:[^"\\\n]|\\(?:.|\n))*")|(?P<name>[A-Za-z_]\w*)'
    r"|(?P<sign>\*\*=|\|&|\*\*|&&|\|\||\+\+|--|\+=|-=|\*=|/=|%=|\^=|==|<=|>=|!=|!~|>>"
    r"|[{}()\[\];,+\-*/%^!<>|?:~$=])"
)
_REGEX: Final = re.compile(
    r"/((?:[^/\\\n\[]|\\[^\n]|\[\^?\]?(?:\[:\w+:\]|[^\]\n\\]|\\[^\n])*\])*)/"
)
_ESCAPES: Final = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "/": "/", "r": "\r"} | {
    f"{number:03o}": chr(number) for number in range(1, 128)
}
_ESCAPE: Final = re.compile(r"\\([0-7]{3}|.)", re.DOTALL)
_FUNCTIONS: Final = frozenset(
    (
        *("length", "substr", "index", "split", "sub", "gsub", "match", "sprintf", "sin", "cos"),
        *("atan2", "exp", "log", "sqrt", "int", "rand", "srand", "tolower", "toupper", "close"),
        *("fflush", "gensub", "strftime", "systime", "mktime", "strtonum", "and", "or", "xor"),
        *("lshift", "rshift", "compl", "system", "asort", "asorti"),
    )
)
_BARE_FUNCTIONS: Final = frozenset(("length", "rand", "srand", "systime"))
_WORDS: Final = frozenset(
    (
        *("if", "else", "while", "do", "for", "break", "continue", "next", "nextfile", "exit"),
        *("return", "delete", "print", "printf", "in", "getline", "function", "func", "BEGIN"),
        *("END", "switch", "case", "default", "BEGINFILE", "ENDFILE"),
    )
)
# Names that reach the arguments, the environment or other variables.
_REACHING: Final = frozenset(("ARGV", "ARGC", "SYMTAB", "FUNCTAB", "PROCINFO", "LINT"))
_HARMLESS_VARIABLES: Final = frozenset(("HOME", "PATH", "PWD", "USER", "LANG", "SHELL", "TERM"))
_ASSIGNMENTS: Final = frozenset(("=", "+=", "-=", "*=", "/=", "%=", "^=", "**="))
_RELATIONS: Final = frozenset(("<", "<=", "==", "!=", ">", ">="))
# Each level takes some 20 frames of the stack, of which callers may have used many already.
MAX_DEPTH: Final = 30


class AwkSyntaxError(Exception):
    """The program uses syntax that is not accepted."""


class AwkToken(NamedTuple):
    kind: str
    text: str
    end: int


class AwkValue(NamedTuple):
    """An expression: its constant parts, and what else is known about it."""

    # Strings and names of variables; None for any other part.
    parts: tuple[tuple[str, str] | None, ...] = (None,)
    is_target: bool = False
    is_getline: bool = False

    @property
    def constant(self) -> str | None:
        """The text of the expression if it is one string."""
        only = self.parts[0] if len(self.parts) == 1 else None
        return only[1] if only is not None and only[0] == "text" else None


@dataclass()
class AwkProgram:
    """The effects of a program."""

    # Shell commands that it runs, files that it reads and writes; None: computed.
    commands: list[str | None] = field(default_factory=list)
    reads: list[str | None] = field(default_factory=list)
    writes: list[str | None] = field(default_factory=list)
    # Why it is not harmless besides: names of variables that reach elsewhere, loops without end.
    doubts: list[str] = field(default_factory=list)


class AwkExpressionParser:
    """Recursive descent over the expressions of a program; collects their effects."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._found = AwkProgram()
        # Inside the list of a `print`, where `>` is no comparison.
        self._prints = False
        self._called: set[str] = set()
        self._defined: set[str] = set()
        self.command_values: list[AwkValue] = []
        self.written_values: list[AwkValue] = []
        # What is printed to which command.
        self.printed_to: list[tuple[AwkValue, AwkValue]] = []
        self.printed_values: list[AwkValue] = []
        self.assigned: dict[str, list[AwkValue]] = {}
        self._next = self._lex()

    def _lex(self) -> AwkToken:
        while True:
            match = _TOKEN.match(self._text, self._at)
            if match is None:
                if self._at >= len(self._text):
                    return AwkToken("end", "", self._at)
                raise AwkSyntaxError
            if match.lastgroup != "space":
                return AwkToken(match.lastgroup or "", match[0], match.end())
            self._at = match.end()

    def _advance(self) -> AwkToken:
        token, self._at = self._next, self._next.end
        self._next = self._lex()
        return token

    def _is(self, *texts: str) -> bool:
        return self._next.kind in ("sign", "name") and self._next.text in texts

    def _accept(self, *texts: str) -> bool:
        if self._is(*texts):
            self._advance()
            return True
        return False

    def _expect(self, text: str) -> None:
        if not self._accept(text):
            raise AwkSyntaxError

    def _skip_newlines(self) -> None:
        while self._next.kind == "newline":
            self._advance()

    def _skip_ends(self) -> None:
        while self._next.kind == "newline" or self._is(";"):
            self._advance()

    def _name(self) -> str:
        token = self._advance()
        if token.kind != "name" or token.text in _WORDS or token.text in _FUNCTIONS:
            raise AwkSyntaxError
        return token.text

    def _run(self, command: AwkValue) -> None:
        self.command_values.append(command)
        self._found.commands.append(command.constant)

    def _expression(self) -> AwkValue:
        return self._ternary()

    def _ternary(self) -> AwkValue:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise AwkSyntaxError
        left = self._or()
        if left.is_target and self._is(*_ASSIGNMENTS):
            left = self._assign(left)
        elif self._accept("?"):
            self._skip_newlines()
            self._ternary()
            self._skip_newlines()
            self._expect(":")
            self._skip_newlines()
            self._ternary()
            left = AwkValue()
        self._depth -= 1
        return left

    def _assign(self, left: AwkValue) -> AwkValue:
        self._advance()
        self._skip_newlines()
        right = self._ternary()
        target = left.parts[0]
        if target is not None:
            self.assigned.setdefault(target[1], []).append(right)
        return AwkValue()

    def _or(self) -> AwkValue:
        return self._left(("||",), self._and, newlines=True)

    def _and(self) -> AwkValue:
        return self._left(("&&",), self._in, newlines=True)

    def _in(self) -> AwkValue:
        left = self._match()
        while self._accept("in"):
            self._mention(self._name())
            left = AwkValue()
        return left

    def _match(self) -> AwkValue:
        return self._left(("~", "!~"), self._relation)

    def _left(
        self, signs: tuple[str, ...], operand: Callable[[], AwkValue], *, newlines: bool = False
    ) -> AwkValue:
        left = operand()
        while self._is(*signs):
            self._advance()
            if newlines:
                self._skip_newlines()
            right = operand()
            left = AwkValue()
            if right.is_target and self._is(*_ASSIGNMENTS):
                # `a && b = c` assigns to b.
                self._assign(right)
        return left

    def _relation(self) -> AwkValue:
        left = self._piped()
        signs = _RELATIONS - {">"} if self._prints else _RELATIONS
        if self._is(*signs):
            self._advance()
            self._piped()
            return AwkValue()
        return left

    def _piped(self) -> AwkValue:
        """`command | getline`."""
        left = self._concatenation()
        while self._is("|", "|&"):
            at, token = self._at, self._next
            self._advance()
            if not self._accept("getline"):
                self._at, self._next = at, token
                return left
            self._run(left)
            self._getline_target()
            left = AwkValue(is_getline=True)
        return left

    def _getline_target(self) -> None:
        if self._is("$") or (self._next.kind == "name" and self._next.text not in _WORDS):
            self._field()

    def _concatenation(self) -> AwkValue:
        left = self._additive()
        while self._starts_operand():
            right = self._additive()
            left = AwkValue((*left.parts, *right.parts))
        return left

    def _starts_operand(self) -> bool:
        if self._next.kind in ("number", "string"):
            return True
        if self._next.kind == "name":
            return self._next.text not in _WORDS
        return self._is("$", "(")

    def _additive(self) -> AwkValue:
        return self._left(("+", "-"), self._multiplicative)

    def _multiplicative(self) -> AwkValue:
        return self._left(("*", "/", "%"), self._unary)

    def _unary(self) -> AwkValue:
        if self._accept("!", "-", "+"):
            self._unary()
            return AwkValue()
        left = self._postfix()
        if self._accept("^", "**"):
            self._unary()
            return AwkValue()
        return left

    def _postfix(self) -> AwkValue:
        if self._accept("++", "--"):
            self._field()
            return AwkValue()
        value = self._field()
        if value.is_target and self._accept("++", "--"):
            return AwkValue()
        return value

    def _field(self) -> AwkValue:
        if self._accept("$"):
            self._accept("++", "--", "-", "+")
            self._field()
            return AwkValue(is_target=True)
        return self._primary()

    def _primary(self) -> AwkValue:
        if self._is("/", "/="):
            return self._regex()
        token = self._advance()
        if token.kind == "number":
            return AwkValue()
        if token.kind == "string":
            return _string(token.text)
        if token.text == "(":
            return self._group()
        if token.text == "getline":
            return self._getline()
        if token.kind == "name" and token.text not in _WORDS:
            return self._named(token)
        raise AwkSyntaxError

    def _regex(self) -> AwkValue:
        start = self._next.end - len(self._next.text)
        match = _REGEX.match(self._text, start)
        if match is None or "/" in match[1].replace("\\/", ""):
            # Of `[/]` some awks end at the slash.
            raise AwkSyntaxError
        self._at = match.end()
        self._next = self._lex()
        return AwkValue()

    def _group(self) -> AwkValue:
        given = self._arguments(")")
        # Its parts may still be a command or the name of a file.
        return given[0]._replace(is_target=False) if len(given) == 1 else AwkValue()

    def _getline(self) -> AwkValue:
        self._getline_target()
        if self._accept("<"):
            source = self._postfix()
            if self._starts_operand():
                # Awks disagree on where the name of the file ends.
                raise AwkSyntaxError
            self._found.reads.append(source.constant)
        return AwkValue(is_getline=True)

    def _named(self, token: AwkToken) -> AwkValue:
        name = token.text
        called = self._text[token.end : token.end + 1] == "("
        if name in _FUNCTIONS:
            return self._builtin(name)
        if called:
            self._called.add(name)
            self._advance()
            self._arguments(")")
            return AwkValue()
        if self._accept("["):
            key = self._index(name)
            return AwkValue((("name", f"{name}[{key}]"),), is_target=True)
        self._mention(name)
        return AwkValue((("name", name),), is_target=True)

    def _index(self, name: str) -> str:
        """Read an index; returns the name of the variable for the environment, else nothing."""
        keys = self._arguments("]")
        if name != "ENVIRON":
            self._mention(name)
            return ""
        key = keys[0].constant if len(keys) == 1 else None
        if key not in _HARMLESS_VARIABLES:
            self._found.doubts.append(name)
        return key or ""

    def _mention(self, name: str) -> None:
        if name in _REACHING or name == "ENVIRON":
            self._found.doubts.append(name)

    def _builtin(self, name: str) -> AwkValue:
        if not self._accept("("):
            if name not in _BARE_FUNCTIONS or self._is("/", "/="):
                # Awks disagree on whether a regular expression may follow.
                raise AwkSyntaxError
            return AwkValue()
        given = self._arguments(")")
        if name.startswith("asort") and len(given) > 2:
            # The third argument names a function that is called.
            raise AwkSyntaxError
        if name == "system":
            self._run(given[0] if len(given) == 1 else AwkValue())
        return AwkValue()

    def _arguments(self, end: str) -> list[AwkValue]:
        found: list[AwkValue] = []
        prints, self._prints = self._prints, False
        self._skip_newlines()
        while not self._is(end):
            if found:
                self._expect(",")
                self._skip_newlines()
            found.append(self._expression())
            self._skip_newlines()
        self._prints = prints
        self._advance()
        return found


def _string(literal: str) -> AwkValue:
    """The value of a string; not constant with escapes that each awk reads in its own way."""
    text = literal[1:-1]
    if any(one not in _ESCAPES for one in _ESCAPE.findall(text)):
        return AwkValue()
    return AwkValue((("text", _ESCAPE.sub(lambda match: _ESCAPES[match[1]], text)),))
