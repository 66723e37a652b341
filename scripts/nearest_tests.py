"""The tests that are nearest to a line of the package."""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict, deque
from collections.abc import Sequence
from math import fsum
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from mutation_map import CodeMap, TimedTest
from word_nearness import WordNearness

# How long the tests of one file run before the next file has its turn.
TURN_S = 0.25
# What pytest itself takes for a test; the clock of processor time does not see it.
LEAST_S = 0.005
MOST_TESTS = 1_500
MOST_FILES = 12
# Nearest by words and by file count about the same.
WORDS_WEIGHT = 12.0
FUNCTIONS = 80


class Selection(NamedTuple):
    """Tests to run first, and test functions, `file::name`, whose cases run afterwards."""

    first: list[str]
    functions: list[str]


class NearestTests:
    """Finds the tests for a line: from the map if a recorded test enters it, then by nearness."""

    def __init__(self, root: Path, recorded: CodeMap, far: Sequence[str]) -> None:
        self._recorded = recorded
        self._ranking = FileRanking(root, far)
        self._words = WordNearness(root, self._ranking.files)

    @property
    def known(self) -> int:
        return len(self._recorded)

    def select(self, path: str, line: int, seconds: float) -> Selection:
        """At most `seconds` of recorded time; the nearest files have the first turns."""
        nearness = self._ranking.measure(path)
        ranked = sorted(nearness, key=lambda file: (-nearness[file], file))
        entering: dict[str, list[TimedTest]] = defaultdict(list)
        for test in self._recorded.find_tests(path, line):
            entering[test.file].append(test)
        chosen: list[TimedTest] = []
        # The other half is for what a module computes once, or in a process that was killed:
        # the map does not know it.
        left = seconds / 2
        files = [file for file in ranked if file in entering][:MOST_FILES]
        while files and len(chosen) < MOST_TESTS:
            for file in list(files):
                turn = take_turn(entering[file], left)
                del entering[file][: len(turn)]
                chosen += turn
                left -= _cost(turn)
                if not entering[file] or not turn:
                    files.remove(file)
        likeness = self._words.measure(path, line)
        score = {
            name: nearness[name.partition("::")[0]] + WORDS_WEIGHT * likeness[name]
            for name in likeness
        }
        functions = sorted(score, key=lambda name: (-score[name], name))
        return Selection([test.id for test in chosen[:MOST_TESTS]], functions[:FUNCTIONS])


def take_turn(tests: Sequence[TimedTest], left: float) -> list[TimedTest]:
    """The first tests that fit into a turn, at least one if it fits into the time that is left."""
    turn: list[TimedTest] = []
    for test in tests:
        if _cost([*turn, test]) > (min(TURN_S, left) if turn else left):
            break
        turn.append(test)
    return turn


def _cost(tests: Sequence[TimedTest]) -> float:
    return fsum(max(test.seconds, LEAST_S) for test in tests)


class FileRanking:
    """Orders test files by how near they are to a module: name, folder, imports, mentions."""

    def __init__(self, root: Path, far: Sequence[str] = ()) -> None:
        """Tests in the folders `far` are never run, so they have no place in the order."""
        self._root = root
        self._imported: dict[str, set[str]] = {}
        self._names: dict[str, set[str]] = {}
        self._tests: dict[str, set[str]] = {}
        self._words: dict[str, set[str]] = {}
        for path in sorted((root / "src").rglob("*.py")):
            name = _module(path, root / "src")
            tree = ast.parse(path.read_text("utf-8"))
            self._imported[name] = _imports(tree)
            self._names[name] = {
                node.name
                for node in ast.walk(tree)
                if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            }
        for path in sorted((root / "tests").rglob("test_*.py")):
            file = path.relative_to(root).as_posix()
            if file.split("/")[1] in far:
                continue
            text = path.read_text("utf-8")
            self._tests[file] = _imports(ast.parse(text))
            self._words[file] = set(re.findall(r"\w+", text))
        self._spread = Counter(word for words in self._words.values() for word in words)

    @property
    def files(self) -> list[str]:
        """All test files that may be run."""
        return list(self._tests)

    def rank(self, path: str) -> list[str]:
        """All test files, nearest first."""
        nearness = self.measure(path)
        return sorted(nearness, key=lambda file: (-nearness[file], file))

    def measure(self, path: str) -> dict[str, float]:
        """How near each test file is to a module."""
        module = _module(self._root / path, self._root / "src")
        distances = self._distances(module)
        folder = PurePosixPath("tests", *PurePosixPath(path).parts[2:-1])
        stem = PurePosixPath(path).stem.strip("_")
        tools = {one.rpartition(".")[2] for one in distances if one.startswith("handrail.tools.")}

        def nearness(file: str) -> float:
            own = PurePosixPath(file)
            shared = len(_path_words(path) & _path_words(file))
            near = min((distances.get(one, 9) for one in self._tests[file]), default=9)
            mentions = sum(
                1 / self._spread[name] for name in self._names[module] & self._words[file]
            )
            named = any(tool in own.stem for tool in tools) if tools else False
            return (
                6 * (own.stem == f"test_{stem}")
                + 4 * (own.parent == folder)
                + 2 * (own.parent in folder.parents and len(own.parent.parts) > 1)
                + 2 * shared
                + max(0.0, 3 - near)
                + min(4.0, 4 * mentions)
                + 2 * named
            )

        return {file: nearness(file) for file in self._tests}

    def _distances(self, module: str) -> dict[str, int]:
        """How many imports lie between each module and this one, up to three."""
        importers: dict[str, set[str]] = defaultdict(set)
        for name, imported in self._imported.items():
            for one in imported:
                importers[one].add(name)
        found = {module: 0}
        todo = deque([module])
        while todo:
            here = todo.popleft()
            for one in sorted(importers[here] - found.keys()) if found[here] < 3 else ():
                found[one] = found[here] + 1
                todo.append(one)
        return found


def _imports(tree: ast.Module) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
    return {one for one in found if one.split(".")[0] == "handrail"}


def _module(path: Path, source: Path) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _path_words(path: str) -> set[str]:
    return set(re.findall(r"[a-z]+", path)) - {"src", "handrail", "tests", "test", "py", "spec"}
