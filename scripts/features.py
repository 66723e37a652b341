"""Print the state of every row of the acceptance list: shown, decided otherwise, or open.

A row is shown by tests that carry `pytest.mark.feature` with its id as a literal, and decided
otherwise by a decision record that names it on a line `Rows: …`. Nothing is run here.
"""

from __future__ import annotations

import argparse
import ast
import json
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Use:
    """One mark in one test: the id as written, None where it is not a literal."""

    id: str | None
    test: str


def main() -> int:
    """Print the table, or the same as JSON; 1 if a mark names no row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one object per row, as a list")
    parser.add_argument("--open", action="store_true", help="only rows that are open")
    options = parser.parse_args()

    titles = rows()
    shown: dict[str, list[str]] = {}
    for use in uses():
        shown.setdefault(use.id or "?", []).append(use.test)
    decided = decisions()
    table = [_row(id_, title, shown, decided) for id_, title in titles.items()]
    if options.json:
        print(json.dumps(table, indent=2))
    else:
        _print(table, only_open=options.open)
    strangers = sorted(set(shown) - set(titles))
    for id_ in strangers:
        print(f"no such row: {id_} in {', '.join(shown[id_])}", file=sys.stderr)
    return 1 if strangers else 0


def rows() -> dict[str, str]:
    """Id → title, in the order of the list."""
    text = (ROOT / "tests/data/features.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return dict(line.split(" ", 1) for line in lines)


def uses() -> list[Use]:
    """Every mark in every test file."""
    found: list[Use] = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        name = path.relative_to(ROOT / "tests").as_posix()
        found += [Use(id_, test) for id_, test in _marks(tree, name)]
    return found


def decisions() -> dict[str, str]:
    """Id → the decision record that says why it is done otherwise."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "docs/decisions").glob("[0-9]*.md")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("Rows:"):
                found |= dict.fromkeys(re.findall(r"R-\d+|[A-Z]\d\d", line), path.stem)
    return found


def _marks(node: ast.AST, where: str) -> Iterator[tuple[str | None, str]]:
    for child in ast.iter_child_nodes(node):
        inner = where
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{where}::{child.name}"
        elif isinstance(child, ast.Call) and _is_mark(child.func):
            for argument in child.args:
                literal = argument.value if isinstance(argument, ast.Constant) else None
                yield (literal if isinstance(literal, str) else None), where
        yield from _marks(child, inner)


def _is_mark(func: ast.expr) -> bool:
    return (
        isinstance(func, ast.Attribute)
        and func.attr == "feature"
        and isinstance(func.value, ast.Attribute)
        and func.value.attr == "mark"
    )


def _row(
    id_: str, title: str, shown: dict[str, list[str]], decided: dict[str, str]
) -> dict[str, object]:
    tests = list(dict.fromkeys(shown.get(id_, [])))
    state = "shown" if tests else "decided" if id_ in decided else "open"
    return {
        "id": id_,
        "title": title,
        "state": state,
        "tests": tests,
        "decision": decided.get(id_),
    }


def _print(table: list[dict[str, object]], *, only_open: bool) -> None:
    counts = {"shown": 0, "decided": 0, "open": 0}
    for row in table:
        counts[str(row["state"])] += 1
        if only_open and row["state"] != "open":
            continue
        tests = row["tests"]
        assert isinstance(tests, list)
        first = str(tests[0]) if tests else str(row["decision"] or "")
        more = f" (+{len(tests) - 1})" if len(tests) > 1 else ""
        print(f"{row['id']:5} {row['state']:8} {row['title']:45} {first}{more}".rstrip())
    total = sum(counts.values())
    print(
        f"\n{total} rows: {counts['shown']} shown by tests, "
        f"{counts['decided']} decided otherwise, {counts['open']} open"
    )


if __name__ == "__main__":
    raise SystemExit(main())
