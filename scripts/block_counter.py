"""Compiles the package so that each block of its functions reports that it was entered.

Used by mutation_map.py in the process of the tests and, through a `sitecustomize` module, in the
Python processes that tests start. Compiled modules are kept in the folder `.mutation-map`.
"""

from __future__ import annotations

import ast
import atexit
import builtins
import hashlib
import importlib.machinery
import marshal
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from importlib.abc import MetaPathFinder
from pathlib import Path
from types import CodeType, ModuleType
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "src" / "handrail"
FOLDER = ROOT / ".mutation-map"
COUNTER = "__handrail_entered__"
REPORTS = "HANDRAIL_MUTATION_MAP"


class Block(NamedTuple):
    """A list of statements of a function, and its name in the map."""

    name: str
    statements: list[ast.stmt]

    def holds(self, line: int) -> bool:
        """Return whether a line of the file belongs to the block."""
        last = self.statements[-1]
        return self.statements[0].lineno <= line <= (last.end_lineno or last.lineno)


def find_blocks(tree: ast.AST, path: str) -> Iterator[Block]:
    """Every list of statements inside a function, outer ones before those within them."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef):
            for number, statements in enumerate([child.body, *_inner_blocks(child.body)]):
                yield Block(f"{path}:{child.name}#{number}", statements)
            yield from find_blocks(child, f"{path}:{child.name}")
        elif isinstance(child, ast.ClassDef):
            yield from find_blocks(child, f"{path}:{child.name}")
        else:
            yield from find_blocks(child, path)


def _inner_blocks(block: Sequence[ast.AST]) -> Iterator[list[ast.stmt]]:
    for statement in block:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        for _, value in ast.iter_fields(statement):
            if isinstance(value, list) and value and isinstance(value[0], ast.stmt):
                yield value
                yield from _inner_blocks(value)
            elif isinstance(value, list):
                branches = ast.ExceptHandler | ast.match_case
                yield from _inner_blocks([one for one in value if isinstance(one, branches)])


class CountingLoader(importlib.machinery.SourceFileLoader):
    """Compiles a module so that each block of its functions reports its name."""

    def get_code(self, fullname: str) -> CodeType:
        path = Path(self.get_filename(fullname))
        source = path.read_bytes()
        version = sys.implementation.cache_tag.encode()
        digest = hashlib.sha256(b"\0".join([version, bytes(path), source])).hexdigest()
        compiled = FOLDER / "code" / digest
        if compiled.exists():
            code: CodeType = marshal.loads(compiled.read_bytes())
            return code
        code = self._compile(source, path)
        compiled.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=compiled.parent, delete=False) as file:
            file.write(marshal.dumps(code))
        os.replace(file.name, compiled)
        return code

    def _compile(self, source: bytes, path: Path) -> CodeType:
        tree = ast.parse(source)
        for name, statements in list(find_blocks(tree, path.relative_to(ROOT).as_posix())):
            place = 1 if _is_docstring(statements[0]) else 0
            report = ast.Expr(ast.Call(ast.Name(COUNTER, ast.Load()), [ast.Constant(name)], []))
            ast.copy_location(report, statements[0])
            ast.fix_missing_locations(report)
            statements.insert(place, report)
        code: CodeType = compile(tree, str(path), "exec", dont_inherit=True)
        return code


def _is_docstring(statement: ast.stmt) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


class _Finder(MetaPathFinder):
    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] != "handrail":
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.origin and Path(spec.origin).is_relative_to(PACKAGE):
            spec.loader = CountingLoader(name, spec.origin)
        return spec


def record_process() -> None:
    """Count in a process that a test started, and write a report for the test when the process
    ends.
    """
    folder = os.environ.get(REPORTS)
    if not folder:
        return
    entered = start_counting()

    def leave_report() -> None:
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, suffix=".part") as file:
            file.write("\n".join(entered))
        os.replace(file.name, file.name.removesuffix(".part"))

    atexit.register(leave_report)


def start_counting() -> set[str]:
    entered: set[str] = set()
    setattr(builtins, COUNTER, entered.add)
    sys.meta_path.insert(0, _Finder())
    return entered
