"""How near a test is to a line of the package by the words that both use.

The name of a test is a sentence about behaviour, and so is the docstring of a function: words that
few tests use say most about which of them belong together.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

# The function that is mutated says more than the rest of its module, which may only use it.
MODULE_WEIGHT = 0.3
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_Words = dict[str, float]


class WordNearness:
    """Compares the words of test functions with those of the code around a line."""

    def __init__(self, root: Path, files: Iterable[str]) -> None:
        self._root = root
        self._tests: dict[str, set[str]] = {}
        for file in files:
            for name, text in _test_functions(root.joinpath(file).read_text("utf-8")):
                self._tests.setdefault(f"{file}::{name}", set()).update(split_words(text))
        spread = Counter(word for words in self._tests.values() for word in words)
        self._rarity = {word: math.log(len(self._tests) / n) for word, n in spread.items()}
        self._lengths = {name: self._measure_length(own) for name, own in self._tests.items()}

    def measure(self, path: str, line: int) -> dict[str, float]:
        """How near each test function, `file::name`, is to a line: 1 is the nearest, 0 is far."""
        source = self._root.joinpath(path).read_text("utf-8")
        weights: _Words = dict.fromkeys(split_words(source), MODULE_WEIGHT)
        weights |= dict.fromkeys(split_words(_function_text(source, line)), 1.0)
        worth = {
            word: weight * self._rarity[word] ** 2
            for word, weight in weights.items()
            if word in self._rarity
        }
        found = {
            name: sum(worth[word] for word in words & worth.keys()) / self._lengths[name]
            for name, words in self._tests.items()
        }
        most = max(found.values(), default=0.0) or 1.0
        return {name: value / most for name, value in found.items()}

    def _measure_length(self, words: Iterable[str]) -> float:
        return math.sqrt(sum(self._rarity[word] ** 2 for word in words)) or 1.0


def split_words(text: str) -> set[str]:
    """The names in a text and the words of which they consist, in lower case."""
    names = set(re.findall(r"\w+", text))
    return {name.lower() for name in names} | {
        part.lower() for name in names for part in _PARTS.findall(name)
    }


def _test_functions(text: str) -> Iterable[tuple[str, str]]:
    """The test functions of a file, by name, with their decorators: these hold tables of cases."""
    lines = text.split("\n")
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith(
            "test"
        ):
            first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
            yield node.name, "\n".join(lines[first - 1 : node.end_lineno])


def _function_text(text: str, line: int) -> str:
    """The innermost function around a line; nothing if the line is outside of functions."""
    around = [
        node
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.lineno <= line <= (node.end_lineno or node.lineno)
    ]
    if not around:
        return ""
    inner = max(around, key=lambda node: node.lineno)
    return "\n".join(text.split("\n")[inner.lineno - 1 : inner.end_lineno])
