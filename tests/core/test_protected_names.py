"""The table of names that need approval: how its rows are parsed."""

import pytest

from handrail.core.names.protected_names import NameTable, command_rows, row_globs
from handrail.core.names.protected_table import WRITTEN_BY_PROGRAM


def test_rows_are_names_folders_globs_or_paths():
    table = NameTable({"Makefile": "a", ".git/": "b", "*.pem": "c", ".vscode/tasks.json": "d"})

    assert table.files == {"makefile": "a"}
    assert table.directories == {".git": "b"}
    assert table.globs == {"*.pem": "c"}
    assert table.spellings == ("Makefile", ".git", ".vscode")
    assert [table.reason(one) for one in ("sub/MAKEFILE", ".git/x", "x/a.pem")] == ["a", "b", "c"]
    assert table.reason(".vscode/tasks.json") == "d"
    assert table.reason(".vscode/other.json") is None


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("a/b", "whole"),
        ("a/b/c/d", "whole"),
        ("x/a/b/c", "whole"),
        ("A./b ", "whole"),
        ("a", None),
        ("b", None),
        ("x/a", None),
        ("a/x/b", None),
        ("c/d", "exact"),
        ("x/c/d", "exact"),
        ("c/d/e", None),
        ("d", None),
        ("dir/x", "dir"),
        ("x/./dir//y", "dir"),
        ("", None),
    ],
)
def test_a_row_with_several_names_matches_at_any_depth(path, reason):
    table = NameTable({"a/b/": "whole", "c/d": "exact", "dir/": "dir"})

    assert table.reason(path) == reason


def test_rows_as_globs():
    assert row_globs(["Makefile", ".git/", "a/b"]) == (
        "**/Makefile",
        "**/.git",
        "**/.git/**",
        "**/a/b",
    )
    assert row_globs([]) == ()


def test_in_a_directory_that_programs_write_only_parts_are_protected():
    row, parts = next(iter(WRITTEN_BY_PROGRAM.items()))

    assert command_rows({"Makefile": "a"}) == {"Makefile": "a"}
    assert command_rows({"Makefile": "a", row: "b"}) == {
        "Makefile": "a",
        **{f"{row}{part}": "b" for part in parts},
    }
