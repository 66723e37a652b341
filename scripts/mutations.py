"""Small ways to break the package, from which mutate.py draws.

A mutation flips a comparison, a condition or a constant, drops a statement or returns None. Code
whose change no user can see is left out: docstrings, annotations, `__repr__`, log lines, texts with
values in them, and how long something may wait.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
_SWAPS: dict[type[ast.cmpop], str] = {
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Is: "is not",
    ast.IsNot: "is",
    ast.In: "not in",
    ast.NotIn: "in",
}


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_WAITS = ("timeout", "timeout_s", "maxsize", "stacklevel")


@dataclass(frozen=True)
class Mutation:
    """Characters `start:end` of a file, and the text that replaces them."""

    path: str
    line: int
    start: int
    end: int
    text: str
    what: str


def draw_mutations(rng: random.Random, count: int, only: str) -> list[Mutation]:
    """Return `count` different mutations, spread over the package by the amount of code in each
    file.
    """
    found: list[Mutation] = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        if only in path.as_posix():
            found += find_mutations(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))
    return rng.sample(found, min(count, len(found)))


def find_mutations(path: str, source: str) -> list[Mutation]:
    """Every mutation of one file, in order."""
    text = _Text(source)
    return [
        Mutation(path, node.lineno, text.start(node), text.end(node), instead, what)
        for node, instead, what in _candidates(ast.parse(source), text)
    ]


class _Text:
    """A source, and the positions of its nodes."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._lines = source.split("\n")
        self._offsets = [0]
        for line in self._lines:
            self._offsets.append(self._offsets[-1] + len(line) + 1)

    def start(self, node: ast.expr | ast.stmt) -> int:
        return self._at(node.lineno, node.col_offset)

    def end(self, node: ast.expr | ast.stmt) -> int:
        return self._at(node.end_lineno or node.lineno, node.end_col_offset or node.col_offset)

    def of(self, node: ast.expr | ast.stmt) -> str:
        return self._source[self.start(node) : self.end(node)]

    def _at(self, line: int, column: int) -> int:
        """Return an offset in characters; the parser counts columns in bytes."""
        text = self._lines[line - 1]
        return self._offsets[line - 1] + len(text.encode()[:column].decode())


def _candidates(tree: ast.Module, text: _Text) -> Iterator[tuple[ast.expr | ast.stmt, str, str]]:
    """Yield nodes, the replacement of each, and its name."""
    for node in _executable(tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            swap = _SWAPS[type(node.ops[0])]
            instead = f"({text.of(node.left)} {swap} {text.of(node.comparators[0])})"
            yield node, instead, f"comparison is {swap!r}"
        elif isinstance(node, ast.BoolOp):
            word = "or" if isinstance(node.op, ast.And) else "and"
            instead = f" {word} ".join(f"({text.of(one)})" for one in node.values)
            yield node, f"({instead})", f"joined by {word!r}"
        elif isinstance(node, ast.If | ast.While):
            yield node.test, f"not ({text.of(node.test)})", "condition negated"
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            yield node, f"({text.of(node.operand)})", "negation dropped"
        elif isinstance(node, ast.Constant) and isinstance(node.value, int):
            other = not node.value if isinstance(node.value, bool) else node.value + 1
            yield node, repr(other), f"{node.value!r} is {other!r}"
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await):
            yield node, "pass", "statement dropped"
        elif isinstance(node, ast.Return) and not _is_false(node.value):
            yield node, "return None", "returns None"


def _executable(tree: ast.Module) -> Iterator[ast.AST]:
    """Return nodes inside functions, in order; annotations, defaults and docstrings are
    left out.
    """
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS) and node.name != "__repr__":
            for statement in node.body:
                if not isinstance(statement, (*_FUNCTIONS, ast.ClassDef)):
                    yield from _walk_code(statement)


def _walk_code(node: ast.AST) -> Iterator[ast.AST]:
    if _is_log_line(node) or (isinstance(node, ast.keyword) and node.arg in _WAITS):
        return
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            # Nested functions are visited by themselves; f-strings contain little code.
            if isinstance(child, (*_FUNCTIONS, ast.JoinedStr)):
                continue
            if isinstance(child, ast.AST):
                yield from _walk_code(child)


def _is_log_line(node: ast.AST) -> bool:
    """Whether a statement does nothing but write to a logger."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Call)
        and isinstance(node.value.func, ast.Attribute)
        and isinstance(node.value.func.value, ast.Name)
        and node.value.func.value.id.strip("_").lower() in ("log", "logger")
    )


def _is_false(value: ast.expr | None) -> bool:
    """Return whether callers that test for truth cannot distinguish None from the value."""
    return value is None or (isinstance(value, ast.Constant) and value.value in (None, False))
