"""How big a file and a function may be, and what an `__init__.py` may hold."""

import ast

from tests.support.sources import SOURCE, source_trees

MAX_FILE_LINES = 400
MAX_FUNCTION_LINES = 60
MAX_OPENING_LINES = 5


def test_every_file_stays_within_the_wall():
    lengths = {
        name: (SOURCE / name).read_text(encoding="utf-8").count("\n") for name in source_trees()
    }

    assert {name: lines for name, lines in lengths.items() if lines > MAX_FILE_LINES} == {}


def test_functions_fit_on_a_screen():
    lengths = {
        f"{name}:{node.name}": node.end_lineno - node.lineno + 1
        for name, tree in source_trees().items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }

    assert {name: lines for name, lines in lengths.items() if lines > MAX_FUNCTION_LINES} == {}


def test_a_module_opens_with_a_few_lines_on_what_lives_here():
    openings = {name: ast.get_docstring(tree) or "" for name, tree in source_trees().items()}
    lengths = {
        name: len([line for line in text.splitlines() if line.strip()])
        for name, text in openings.items()
    }

    assert {name: n for name, n in lengths.items() if not 1 <= n <= MAX_OPENING_LINES} == {}


def test_a_package_file_holds_only_imports_and_tables():
    strangers = {
        f"{name}: {ast.unparse(node).splitlines()[0]}"
        for name, tree in source_trees().items()
        if name.endswith("__init__.py")
        for node in tree.body[1:]
        if not _is_table(node) and not (name == "__init__.py" and _belongs_to_the_face(node))
    }

    assert strangers == set()


def _is_table(node: ast.stmt) -> bool:
    return isinstance(node, ast.Import | ast.ImportFrom | ast.Assign | ast.AnnAssign)


def _belongs_to_the_face(node: ast.stmt) -> bool:
    """The package's own names are lazy (PEP 562); on Windows it says what to do instead."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test) in ("TYPE_CHECKING", "sys.platform == 'win32'")
    return isinstance(node, ast.FunctionDef) and node.name in ("__getattr__", "__dir__")
