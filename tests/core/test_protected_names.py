"""The table of names that need approval: how its rows are parsed."""

from handrail.core.names.protected_names import NameTable


def test_rows_are_names_folders_globs_or_paths():
    table = NameTable({"Makefile": "a", ".git/": "b", "*.pem": "c", ".vscode/tasks.json": "d"})

    assert table.files == {"makefile": "a"}
    assert table.directories == {".git": "b"}
    assert table.globs == {"*.pem": "c"}
    assert table.spellings == ("Makefile", ".git", ".vscode")
    assert [table.reason(one) for one in ("sub/MAKEFILE", ".git/x", "x/a.pem")] == ["a", "b", "c"]
    assert table.reason(".vscode/tasks.json") == "d"
    assert table.reason(".vscode/other.json") is None
