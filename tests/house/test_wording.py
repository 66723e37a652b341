"""Tests assert codes, fields and short fragments; the wording itself is in snapshots."""

import ast
import re
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
MOST_PINNED = 30
WORDS = 6
LETTERS = re.compile(r"[A-Za-z]{2}")


def test_few_asserts_pin_a_sentence():
    pinned = [
        f"{path.relative_to(TESTS)}:{node.lineno}"
        for path in sorted(TESTS.rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Assert) and any(map(_is_sentence, _expected(node.test)))
    ]

    assert len(pinned) < MOST_PINNED, "\n".join(pinned)


def _expected(node: ast.AST) -> list[str]:
    """The texts that an assert compares with, without the arguments of the code under test."""
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    parts = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.Call) and _is_under_test(node.func):
        parts = [node.func]
    return [text for part in parts for text in _expected(part)]


def _is_under_test(function: ast.expr) -> bool:
    name = ast.unparse(function).rpartition(".")[2]
    return name not in ("startswith", "endswith", "count", "any", "all") and name[:1].islower()


def _is_sentence(text: str) -> bool:
    lines = [filter(LETTERS.search, line.split()) for line in text.splitlines()]
    return any(len(list(words)) >= WORDS for words in lines)
