"""Break the package in small ways, one at a time, and see whether the nearest tests notice.

A mutation flips a comparison, a condition, a constant or drops a statement. It is drawn by a
seed that is printed, so that a run can be repeated, and is tried in a copy of the tree against
the test files that are nearest to the module by the import graph. A mutation is caught if a test
fails, survives if all pass, and hangs if the tests do not end in time.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("src", "tests", "docs", "scripts", "pyproject.toml", "README.md", "CONTRIBUTING.md")
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


@dataclass(frozen=True)
class Mutation:
    """Characters `start:end` of a file, and what stands there instead."""

    path: str
    line: int
    start: int
    end: int
    text: str
    what: str


def main() -> int:
    """Run the mutations and print a line for each, then the rate; 1 below the required rate."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--files", type=int, default=10, help="how many nearest test files to run")
    parser.add_argument("--seconds", type=int, default=300, help="time limit for one mutation")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--require", type=float, default=85.0, help="per cent to be caught")
    parser.add_argument("--only", default="", help="mutate files whose path contains this")
    options = parser.parse_args()

    print(f"seed {options.seed}, {options.count} mutations", flush=True)
    drawn = draw_mutations(random.Random(options.seed), options.count, options.only)
    graph = ImportGraph(ROOT)
    outcomes: Counter[str] = Counter()
    with tempfile.TemporaryDirectory(prefix="handrail-mutants-") as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(options.workers):
            copies.put(_copy_tree(Path(folder, str(number))))

        def attempt(mutation: Mutation) -> str:
            copy = copies.get()
            try:
                tests = graph.nearest_tests(mutation.path, options.files)
                return try_mutation(mutation, copy, tests, options.seconds)
            finally:
                copies.put(copy)

        with ThreadPoolExecutor(options.workers) as pool:
            for mutation, outcome in zip(drawn, pool.map(attempt, drawn), strict=True):
                outcomes[outcome] += 1
                print(f"{outcome:8} {mutation.path}:{mutation.line} {mutation.what}", flush=True)
    rate = 100 * outcomes["caught"] / max(len(drawn), 1)
    print(f"seed {options.seed}: {dict(outcomes)}, caught {rate:.1f} %")
    return 0 if rate >= options.require and not outcomes["hangs"] else 1


def draw_mutations(rng: random.Random, count: int, only: str) -> list[Mutation]:
    """`count` different mutations, spread over the package by how much code a file has."""
    found: list[Mutation] = []
    for path in sorted((ROOT / "src").rglob("*.py")):
        if only in path.as_posix():
            found += find_mutations(path.relative_to(ROOT).as_posix(), path.read_text("utf-8"))
    return rng.sample(found, min(count, len(found)))


def find_mutations(path: str, source: str) -> list[Mutation]:
    """Every mutation of one file, in order."""
    tree = ast.parse(source)
    lines = [0]
    for line in source.split("\n"):
        lines.append(lines[-1] + len(line) + 1)
    columns = source.split("\n")

    def at(line: int, column: int) -> int:
        return lines[line - 1] + len(columns[line - 1].encode()[:column].decode())

    return [
        Mutation(path, node.lineno, at(*start), at(*end), text, what)
        for node, start, end, text, what in _candidates(tree, source)
    ]


_Place = tuple[int, int]


def _candidates(
    tree: ast.Module, source: str
) -> Iterator[tuple[ast.expr | ast.stmt, _Place, _Place, str, str]]:
    for node in _executable(tree):
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            swap = _SWAPS[type(node.ops[0])]
            left, right = node.left, node.comparators[0]
            text = f"{_segment(source, left)} {swap} {_segment(source, right)}"
            yield (node, _start(node), _end(node), f"({text})", f"comparison is {swap!r}")
        elif isinstance(node, ast.BoolOp):
            word = "or" if isinstance(node.op, ast.And) else "and"
            text = f" {word} ".join(f"({_segment(source, one)})" for one in node.values)
            yield (node, _start(node), _end(node), f"({text})", f"joined by {word!r}")
        elif isinstance(node, ast.If | ast.While):
            test = node.test
            text = f"not ({_segment(source, test)})"
            yield (test, _start(test), _end(test), text, "condition negated")
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            text = f"({_segment(source, node.operand)})"
            yield (node, _start(node), _end(node), text, "negation dropped")
        elif isinstance(node, ast.Constant) and type(node.value) in (bool, int):
            other = not node.value if isinstance(node.value, bool) else node.value + 1
            yield (node, _start(node), _end(node), repr(other), f"{node.value!r} is {other!r}")
        elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call | ast.Await):
            yield (node, _start(node), _end(node), "pass", "statement dropped")
        elif isinstance(node, ast.Return) and node.value is not None and _is_plain(node.value):
            yield (node, _start(node), _end(node), "return None", "returns None")


def _executable(tree: ast.Module) -> Iterator[ast.AST]:
    """Nodes inside functions, in order; annotations, defaults and docstrings are left out."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for statement in node.body:
                if not isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                    yield from _walk_code(statement)


def _walk_code(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for name, value in ast.iter_fields(node):
        if name in ("annotation", "returns"):
            continue
        for child in value if isinstance(value, list) else [value]:
            # What is drawn from a nested function is drawn there; f-strings hold no code of note.
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.JoinedStr):
                continue
            if isinstance(child, ast.AST):
                yield from _walk_code(child)


def _is_plain(value: ast.expr) -> bool:
    return not (isinstance(value, ast.Constant) and value.value is None)


def _segment(source: str, node: ast.expr) -> str:
    return ast.get_source_segment(source, node) or ast.unparse(node)


def _start(node: ast.expr | ast.stmt) -> _Place:
    return node.lineno, node.col_offset


def _end(node: ast.expr | ast.stmt) -> _Place:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


class ImportGraph:
    """Which module imports which, and from which of them each test file starts."""

    def __init__(self, root: Path) -> None:
        self._modules: dict[str, set[str]] = {}
        self._tests: dict[str, set[str]] = {}
        for path in sorted((root / "src").rglob("*.py")):
            self._modules[_module(path, root / "src")] = _imports(path)
        for path in sorted((root / "tests").rglob("test_*.py")):
            self._tests[path.relative_to(root).as_posix()] = _imports(path)

    def nearest_tests(self, path: str, most: int) -> list[str]:
        """Test files by their distance to a source file; the nearest names break a tie."""
        module = _module(ROOT / path, ROOT / "src")
        distances = self._distances(module)
        words = _words(path)

        def rank(test: str) -> tuple[int, int, str]:
            near = min((distances.get(one, 99) for one in self._tests[test]), default=99)
            shared = len(words & _words(test))
            return (near - 2 * shared, near, test)

        return sorted(self._tests, key=rank)[:most]

    def _distances(self, module: str) -> dict[str, int]:
        """How many imports lie between each module and this one."""
        importers: dict[str, set[str]] = {}
        for name, imported in self._modules.items():
            for one in imported:
                importers.setdefault(one, set()).add(name)
        found = {module: 0}
        todo = deque([module])
        while todo:
            here = todo.popleft()
            for one in importers.get(here, ()):
                if one not in found:
                    found[one] = found[here] + 1
                    todo.append(one)
        return found


def _imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {one.name for one in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
    return {one for one in found if one.split(".")[0] == "handrail"}


def _module(path: Path, source: Path) -> str:
    parts = path.relative_to(source).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _words(path: str) -> set[str]:
    return set(re.findall(r"[a-z]+", path)) - {"src", "handrail", "tests", "test", "py", "spec"}


def try_mutation(mutation: Mutation, copy: Path, tests: Sequence[str], seconds: int) -> str:
    """`caught`, `survived` or `hangs`; the copy is as before afterwards."""
    target = copy / mutation.path
    original = target.read_text("utf-8")
    mutated = original[: mutation.start] + mutation.text + original[mutation.end :]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    environment.pop("CI", None)
    try:
        target.write_text(mutated, "utf-8")
        done = subprocess.run(
            [*command, "--timeout=60"],
            cwd=copy,
            env=environment,
            timeout=seconds,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "hangs"
    finally:
        target.write_text(original, "utf-8")
    return "survived" if done.returncode == 0 else "caught"


def _copy_tree(target: Path) -> Path:
    target.mkdir(parents=True)
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__", "*.pyc")
            shutil.copytree(source, target / name, ignore=ignored, symlinks=True)
        else:
            shutil.copy2(source, target / name)
    return target


if __name__ == "__main__":
    raise SystemExit(main())
