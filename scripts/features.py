"""Print the state of every row of three lists: acceptance list, findings and threats.

A row is covered by tests that carry its mark (`pytest.mark.feature`, `finding` or `threat`) with
its id as a literal. A row of the acceptance list may also be decided differently, by a decision
record that names it on a line `Rows: …`. No test is run.
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
# Maps each mark to the file in tests/data with its ids and titles. An id may be in several lists.
LISTS = {"feature": "features.txt", "finding": "findings.txt", "threat": "threats.txt"}
HEADINGS = {"feature": "Acceptance list", "finding": "Findings", "threat": "Threats"}


@dataclass(frozen=True)
class Use:
    """One mark in one test: which mark, and the id as written; None if it is not a literal."""

    mark: str
    id: str | None
    test: str


def main() -> int:
    """Print the tables, or JSON; return 1 if a mark names no row."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", action="store_true", help="one object per row, as a list")
    parser.add_argument("--open", action="store_true", help="only rows that are open")
    parser.add_argument("--list", choices=LISTS, help="only this list")
    options = parser.parse_args()

    found = uses()
    marks = [options.list] if options.list else list(LISTS)
    tables = {mark: _table(mark, found) for mark in marks}
    if options.json:
        print(json.dumps([row for table in tables.values() for row in table], indent=2))
    else:
        for mark, table in tables.items():
            print(f"{HEADINGS[mark]} (pytest.mark.{mark})")
            _print(table, only_open=options.open)
    unknown = unknown_uses(found)
    for use in unknown:
        print(f"no such row: {use.mark} {use.id} in {use.test}", file=sys.stderr)
    return 1 if unknown else 0


def rows(mark: str = "feature") -> dict[str, str]:
    """Return the title of each id, in the order of the list."""
    text = (ROOT / "tests/data" / LISTS[mark]).read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return dict(line.split(" ", 1) for line in lines)


def uses() -> list[Use]:
    """Every mark in every test file."""
    found: list[Use] = []
    for path in sorted((ROOT / "tests").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        name = path.relative_to(ROOT / "tests").as_posix()
        found += _marks(tree, name)
    return found


def unknown_uses(found: list[Use]) -> list[Use]:
    """Return marks whose id is not a literal or is in no row of their list."""
    known = {mark: rows(mark) for mark in LISTS}
    return [use for use in found if use.id not in known[use.mark]]


def decisions() -> dict[str, str]:
    """Return for each id the decision record that says why it is done differently."""
    found: dict[str, str] = {}
    for path in sorted((ROOT / "docs/decisions").glob("[0-9]*.md")):
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("Rows:"):
                found |= dict.fromkeys(re.findall(r"R-\d+|[A-Z]\d\d", line), path.stem)
    return found


def _marks(node: ast.AST, where: str) -> Iterator[Use]:
    for child in ast.iter_child_nodes(node):
        inner = where
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            inner = f"{where}::{child.name}"
        elif isinstance(child, ast.Call) and (mark := _mark_name(child.func)) in LISTS:
            for argument in child.args:
                literal = argument.value if isinstance(argument, ast.Constant) else None
                yield Use(mark, literal if isinstance(literal, str) else None, where)
        yield from _marks(child, inner)


def _mark_name(func: ast.expr) -> str:
    """Return the name of a pytest mark that is called; empty for any other call."""
    is_mark = (
        isinstance(func, ast.Attribute)
        and isinstance(func.value, ast.Attribute)
        and func.value.attr == "mark"
    )
    return func.attr if is_mark and isinstance(func, ast.Attribute) else ""


def _table(mark: str, found: list[Use]) -> list[dict[str, object]]:
    decided = decisions() if mark == "feature" else {}
    shown: dict[str, list[str]] = {}
    for use in found:
        if use.mark == mark and use.id is not None:
            shown.setdefault(use.id, []).append(use.test)
    return [{"list": mark, **_row(id_, title, shown, decided)} for id_, title in rows(mark).items()]


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
        f"{counts['decided']} decided otherwise, {counts['open']} open\n"
    )


if __name__ == "__main__":
    raise SystemExit(main())
