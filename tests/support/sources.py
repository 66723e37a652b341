"""The syntax trees of the package for tests of its form, parsed once and only where one runs."""

import ast
from functools import cache
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2] / "src" / "handrail"


@cache
def source_trees() -> dict[str, ast.Module]:
    """The tree of each file of the package, by its path in it."""
    return {
        path.relative_to(SOURCE).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(SOURCE.rglob("*.py"))
    }
