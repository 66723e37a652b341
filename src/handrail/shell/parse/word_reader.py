"""Converts the words of shfmt's tree: quotes removed, expansions named. Every substitution in a
word, at any depth, is in its parts or in their `inner` words.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final

from handrail.core.commands import UnreadableCommand
from handrail.shell.parse.braces import find_braces
from handrail.shell.parse.printed_numbers import printed_number, prints_commit
from handrail.shell.parse.shfmt_nodes import (
    CommandSource,
    Node,
    check_node,
    items,
    node_type,
    offset,
    text,
)
from handrail.shell.parse.syntax import Opaque, Part, Script, Substitution, Text, Variable, Word

_SIMPLE: Final = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r",
    "t": "\t", "v": "\v", "\\": "\\", "'": "'", '"': '"', "?": "?",
}  # fmt: skip
# Control characters (\cx), NUL and bytes above 0x7f are left to "cannot be decoded".
_ANSI: Final = re.compile(
    r"\\(?:(?P<simple>[abeEfnrtv\\'\"?])|x(?P<hex>[0-9A-Fa-f]{1,2})|(?P<octal>[0-7]{1,3})"
    r"|u(?P<short>[0-9A-Fa-f]{1,4})|U(?P<long>[0-9A-Fa-f]{1,8})|(?P<other>.|\Z))",
    re.DOTALL,
)
_HIGHEST_BYTE: Final = 0x7F

# Extended globs are kept as one text by the parser: nothing may hide in it.
_PLAIN_PATTERN: Final = re.compile(r"[\w.*?/|+@%:,^~=-]*", re.ASCII)
_PROCESS: Final = re.compile(r"[<>]\(")
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NUMBER: Final = re.compile(r"(?:0[xX][0-9A-Fa-f]+|[0-9]+(?:#[0-9A-Za-z@_]+)?)")
_ASSIGNING: Final = frozenset({"=", ":="})
# The value, an element or the length of a variable: what is evaluated is only what stands in it.
_VALUE: Final = re.compile(r'"?(?:\$\w+|\w+\[[\w@*$]*\]|\$\{\w+(?:\[[\w@*$]*\])?\})"?')
_LENGTH: Final = re.compile(r'"?\$\{#\w+(?:\[[\w@*$]*\])?\}"?')
_DIGITS: Final = re.compile(r"[0-9]+#(?:\$\w+|\$\{\w+\})")
_COUNTS: Final = frozenset("#?$!")


class WordReader:
    """Converts words, and collects the names in `evaluates`, `assigns` and `texts`."""

    def __init__(self, source: CommandSource, script: Callable[[list[Any]], Script]) -> None:
        self.evaluates: set[str] = set()
        self.assigns: set[str] = set()
        self.texts: set[str] = set()
        # What is evaluated unless the array is an associative one.
        self.keys: dict[str, set[str]] = {}
        # Programs that print numbers, and variables with files for them to read.
        self.programs: set[str] = set()
        self.places: set[str] = set()
        self._source = source
        self._script = script

    def word(self, node: object, *, expands_braces: bool = False) -> Word:
        """Convert one word."""
        known = check_node(node, "Word")
        source = self._source.of(known)
        with self._source:
            parts = self._parts(known, quoted=False)
        return Word(source, find_braces(source, parts) if expands_braces else parts)

    def optional(self, node: object) -> tuple[Word, ...]:
        """Convert a word that may be missing."""
        return () if node is None else (self.word(node),)

    def literal(self, node: object) -> str:
        """The text of a bare name."""
        return text(check_node(node, "Lit"), "Value")

    def document(self, node: object, *, literal: bool, tabs: bool) -> Word:
        """The content of a here-document. `tabs`: leading tabs of each line are removed."""
        inside = items(check_node(node, "Word"), "Parts")
        start, end = offset(inside[0], "Pos"), offset(inside[-1], "End")
        # The parser counts the end mark in.
        source = self._source.between(start, end).rpartition("\n")[0] + "\n"
        if literal:
            letters = "".join(self.literal(part) for part in inside)
            return Word(source, (Text(_untabbed(letters, tabs=tabs), quoted=True),))
        parts: list[Part] = []
        with self._source:
            for part in inside:
                if node_type(part) == "Lit":
                    letters = here_document_text(self.literal(part))
                    parts.append(Text(_untabbed(letters, tabs=tabs, first=not parts), quoted=True))
                else:
                    parts += self._part(part, quoted=True)
        return Word(source, tuple(parts))

    def arithmetic(self, node: object) -> tuple[Word, ...]:
        """The words of an arithmetic expression; records the names it evaluates and assigns."""
        if node is None:
            return ()
        match node_type(node):
            case "Word":
                return (self._operand(check_node(node, "Word")),)
            case "BinaryArithm":
                return self._binary(check_node(node, "BinaryArithm"))
            case "UnaryArithm":
                known = check_node(node, "UnaryArithm")
                with self._source:
                    inner = self.arithmetic(known.get("X"))
                if known.get("Op") in ("++", "--"):
                    self._note_assigned(inner)
                return _negated(inner) if known.get("Op") == "-" else inner
            case "ParenArithm":
                with self._source:
                    return self.arithmetic(check_node(node, "ParenArithm").get("X"))
            case other:
                raise UnreadableCommand(f"it uses {other} in arithmetic, which is not understood")

    def _binary(self, node: Node) -> tuple[Word, ...]:
        with self._source:
            left = self.arithmetic(node.get("X"))
            right = self.arithmetic(node.get("Y"))
        operator = text(node, "Op")
        if operator.endswith("=") and operator not in ("==", "!=", "<=", ">="):
            self._note_assigned(left)
        return left + right

    def _note_assigned(self, words: tuple[Word, ...]) -> None:
        for word in words:
            if word.value is not None:
                self.assigns.update(_NAME.findall(word.value))
            self.assigns.update(p.name for p in word.parts if isinstance(p, Variable))

    def _operand(self, node: Node) -> Word:
        word = self.word(node)
        self.operand(word)
        return word

    def operand(self, word: Word) -> None:
        """Record what the shell evaluates in a word."""
        if word.value is not None:
            self.evaluate(word.value)
        elif not self._is_number(word):
            self._evaluate_computed(word)

    def _evaluate_computed(self, word: Word) -> None:
        only = word.parts[0] if len(word.parts) == 1 else None
        if isinstance(only, Variable) and _VALUE.fullmatch(word.source):
            self.evaluates.add(only.name)
        elif _DIGITS.fullmatch(word.source):  # `10#$x`: digits, whatever the base.
            self.evaluates.update(part.name for part in word.parts if isinstance(part, Variable))
        else:
            self.evaluates.add(word.source)

    def _is_number(self, word: Word) -> bool:
        """Whether the shell computes the number: a length, a count, a sum, or a program does."""
        if len(word.parts) != 1:
            return False
        match word.parts[0]:
            case Variable(name=name):
                counts = name in _COUNTS and word.source.strip('"') in (f"${name}", f"${{{name}}}")
                return counts or bool(_LENGTH.fullmatch(word.source))
            case Opaque(source=source):
                return source.startswith(("$((", "$["))
            case Substitution(script, "output"):
                if number := printed_number(script):
                    self.places |= number.places
                return number is not None
        return False

    def evaluate(self, letters: str) -> None:
        """Record the names in an evaluated text. Raises `UnreadableCommand`."""
        letters = letters.removeprefix("-")
        if _NAME.fullmatch(letters):
            self.evaluates.add(letters)
        elif not _NUMBER.fullmatch(letters):
            raise UnreadableCommand(
                f"{letters!r} is evaluated as arithmetic, which can run commands"
            )

    def _parts(self, node: Node, *, quoted: bool) -> tuple[Part, ...]:
        parts: list[Part] = []
        for part in items(node, "Parts"):
            parts += self._part(part, quoted=quoted)
        return tuple(parts)

    def _part(self, node: object, *, quoted: bool) -> tuple[Part, ...]:
        kind = node_type(node)
        known = check_node(node, kind)
        if kind == "DblQuoted":
            return self._double(known)
        if kind == "Lit" and not quoted:
            return self._bare(text(known, "Value"))
        return (self._one_part(kind, known, quoted=quoted),)

    def _bare(self, letters: str) -> tuple[Part, ...]:
        parts = unquoted_parts(letters)
        if any(not part.quoted and _PROCESS.search(part.text) for part in parts):
            # Inside `${x:-…}` the parser takes it for letters, bash runs it.
            raise UnreadableCommand("it has a process substitution where it could be overlooked")
        return parts

    def _one_part(self, kind: str, node: Node, *, quoted: bool) -> Part:
        part: Part
        match kind:
            case "Lit":
                part = Text(double_quoted_text(text(node, "Value")), quoted=True)
            case "SglQuoted":
                part = self._single(node)
            case "ParamExp":
                part = self._variable(node, quoted=quoted)
            case "CmdSubst":
                part = self._output(node, quoted=quoted)
            case "ProcSubst":
                part = self._process(node)
            case "ArithmExp":
                part = Opaque(self._source.of(node), self.arithmetic(node.get("X")))
            case "ExtGlob":
                part = self._extended_glob(node)
            case _:
                raise UnreadableCommand(f"it uses {kind} in a word, which is not understood")
        return part

    def _output(self, node: Node, *, quoted: bool) -> Part:
        script = self._script(items(node, "Stmts"))
        if number := printed_number(script):
            self.programs |= number.programs
        if prints_commit(script):
            self.programs.add("git")
        return Substitution(script, "output", quoted)

    def _single(self, node: Node) -> Part:
        if not node.get("Dollar"):
            return Text(text(node, "Value"), quoted=True)
        value = ansi_c_text(text(node, "Value"))
        return Opaque(self._source.of(node)) if value is None else Text(value, quoted=True)

    def _double(self, node: Node) -> tuple[Part, ...]:
        with self._source:
            parts = self._parts(node, quoted=True) or (Text("", quoted=True),)
        if node.get("Dollar"):
            # Translated by a catalogue that anybody may have written.
            source = self._source.of(node)
            return (Opaque(source, (Word(source, parts),)),)
        return parts

    def _process(self, node: Node) -> Part:
        operator = text(node, "Op")
        if operator not in ("<(", ">("):
            raise UnreadableCommand(f"it uses {operator!r}, which is not understood")
        return Substitution(self._script(items(node, "Stmts")), operator[0])

    def _extended_glob(self, node: Node) -> Part:
        if not _PLAIN_PATTERN.fullmatch(self.literal(node.get("Pattern"))):
            # Without extglob, bash reads `!(rm x)` as a command.
            raise UnreadableCommand("it uses an extended glob that could hide a command")
        return Opaque(self._source.of(node))

    def _variable(self, node: Node, *, quoted: bool) -> Variable:
        name = self.literal(node.get("Param"))
        with self._source:
            # In arithmetic `m[$k]` is evaluated twice, whatever the array is.
            twice = not self._source.of(node).startswith("$")
            index = self.subscript(node.get("Index"), "" if twice else name)
            inner = (*index, *self._slice(node), *self._replaced(node))
            inner += self._operator(node, name)
        # With more behind the brackets it is not the keys: the value names what is expanded.
        more = any(node.get(field) for field in ("Exp", "Slice", "Repl"))
        lists_keys = bool(index) and index[0].value in ("@", "*") and not more
        if node.get("Excl") and not (node.get("Names") or lists_keys):
            self.evaluates.add(name)
        plain = not any(map(node.get, ("Excl", "Length", "Index", "Slice", "Repl", "Names", "Exp")))
        return Variable(name, quoted, plain, inner, _operator_sign(node), index)

    def subscript(self, node: object, name: str) -> tuple[Word, ...]:
        """The words of `[…]` behind a name: `@`, `*`, a text key, or arithmetic."""
        if node is None or node_type(node) != "Word":
            return self.arithmetic(node)
        word = self.word(node)
        before, self.evaluates = self.evaluates, set()
        if word.value is not None:
            self._key(word.value)
        elif not self._is_number(word):
            self._evaluate_computed(word)
        self.keys.setdefault(name, set()).update(self.evaluates)
        self.evaluates = before
        return (word,)

    def _key(self, letters: str) -> None:
        if any(one in letters for one in "$`["):
            raise UnreadableCommand(
                f"the subscript {letters!r} is evaluated, which can run commands"
            )
        self.evaluates.update(_NAME.findall(letters))

    def _slice(self, node: Node) -> tuple[Word, ...]:
        if node.get("Slice") is None:
            return ()
        known = check_node(node["Slice"], "Slice")
        return self.arithmetic(known.get("Offset")) + self.arithmetic(known.get("Length"))

    def _replaced(self, node: Node) -> tuple[Word, ...]:
        if node.get("Repl") is None:
            return ()
        known = check_node(node["Repl"], "Replace")
        return self.optional(known.get("Orig")) + self.optional(known.get("With"))

    def _operator(self, node: Node, name: str) -> tuple[Word, ...]:
        if node.get("Exp") is None:
            return ()
        known = check_node(node["Exp"], "Expansion")
        operator = text(known, "Op")
        inner = self.optional(known.get("Word"))
        if operator == "@" and not (inner and inner[0].value in tuple("QEAaUuLKk")):
            raise UnreadableCommand(f"${{{name}@…}} runs what stands in the variable")
        if operator in _ASSIGNING:
            self.assigns.add(name)
            self.texts.add(name)
        return inner


def _negated(words: tuple[Word, ...]) -> tuple[Word, ...]:
    """A number with its sign; any other operand as it is, since its value is not computed."""
    value = words[0].value if len(words) == 1 else None
    if value is None or not value.isdigit():
        return words
    return (Word(f"-{value}", (Text(f"-{value}"),)),)


def _operator_sign(node: Node) -> str:
    if node.get("Exp"):
        return text(node["Exp"], "Op")
    if node.get("Repl"):
        return "//" if node["Repl"].get("All") else "/"
    if node.get("Slice"):
        return ":"
    if node.get("Length"):
        return "length"
    return "!" if node.get("Excl") else ""


def _untabbed(letters: str, *, tabs: bool, first: bool = True) -> str:
    if not tabs:
        return letters
    return re.sub(r"(\A|\n)\t+" if first else r"(\n)\t+", r"\1", letters)


def unquoted_parts(text: str) -> tuple[Text, ...]:
    """Unquoted text; a backslash quotes the next character, and joins lines."""
    parts: list[Text] = []
    for index, piece in enumerate(re.split(r"\\(.)", text, flags=re.DOTALL)):
        quoted = index % 2 == 1
        # A backslash at the very end stands for itself.
        if piece and not (quoted and piece == "\n"):
            parts.append(Text(piece, quoted))
    return tuple(parts)


def double_quoted_text(text: str) -> str:
    r"""The text inside `"…"`, where a backslash is special only before `$`, `` ` ``, `"`, `\`."""
    return re.sub(r'\\(?:([$`"\\])|\n)', _kept, text)


def here_document_text(text: str) -> str:
    """The text of a here-document: as inside `"…"`, except that `"` is not special."""
    return re.sub(r"\\(?:([$`\\])|\n)", _kept, text)


def _kept(match: re.Match[str]) -> str:
    return match[1] or ""


def ansi_c_text(text: str) -> str | None:
    """The text of `$'…'`; None if a part of it depends on the encoding or is NUL."""
    whole: list[str] = []
    last = 0
    for match in _ANSI.finditer(text):
        letter = _letter(match)
        if letter is None:
            return None
        whole += [text[last : match.start()], letter]
        last = match.end()
    return "".join([*whole, text[last:]])


def _letter(match: re.Match[str]) -> str | None:
    if simple := match["simple"]:
        return _SIMPLE[simple]
    byte = match["hex"] or match["octal"]
    if byte:
        code = int(byte, 16 if match["hex"] else 8)
        return chr(code) if 0 < code <= _HIGHEST_BYTE else None
    if point := match["short"] or match["long"]:
        code = int(point, 16)
        # Outside ASCII the result depends on the locale.
        return chr(code) if 0 < code <= _HIGHEST_BYTE else None
    return None
