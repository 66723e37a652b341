"""How big a file and a function may be, and what an `__init__.py` may hold."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "handrail"
FILES = sorted(SOURCE.rglob("*.py"))
MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60


def name(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


@pytest.mark.parametrize("path", FILES, ids=name)
def test_a_file_stays_within_the_wall(path):
    lines = path.read_text(encoding="utf-8").count("\n")

    assert lines <= MAX_FILE_LINES, f"{lines} lines: split it by reason to change"


@pytest.mark.parametrize("path", FILES, ids=name)
def test_functions_fit_on_a_screen(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))

    long = {
        node.name: node.end_lineno - node.lineno + 1
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.end_lineno - node.lineno + 1 > MAX_FUNCTION_LINES
    }

    assert long == {}


@pytest.mark.parametrize("path", FILES, ids=name)
def test_a_module_opens_with_one_to_five_lines_on_what_lives_here(path):
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))

    assert docstring
    assert len([line for line in docstring.splitlines() if line.strip()]) <= 5


@pytest.mark.parametrize("path", [p for p in FILES if p.name == "__init__.py"], ids=name)
def test_a_package_file_holds_only_imports_and_tables(path):
    body = ast.parse(path.read_text(encoding="utf-8")).body[1:]
    # The package's own face is lazy (PEP 562), which takes these two functions.
    lazy = {"__getattr__", "__dir__"} if path.parent == SOURCE else set()

    strangers = [
        ast.unparse(node).splitlines()[0]
        for node in body
        if not isinstance(node, ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign)
        and not _is_type_checking(node)
        and getattr(node, "name", None) not in lazy
    ]

    assert strangers == []


def _is_type_checking(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
