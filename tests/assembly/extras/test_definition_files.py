"""Files that define agents: which are read, and why one is not."""

import os

import pytest

from handrail.assembly.extras.definition_files import (
    MAX_BYTES,
    MAX_FILES,
    DefinitionFolder,
    read_folder,
)

TEXT = "---\nname: a\n---\n\nDo it.\n"


@pytest.fixture
def folder(tmp_path):
    """The folder `agents/mine` of a workspace."""
    found = DefinitionFolder(tmp_path, ("agents", "mine"), "project")
    found.path.mkdir(parents=True)
    return found


def test_definitions_are_read_in_the_order_of_their_names(folder):
    for name in ("b.md", "a.md", "c.txt"):
        (folder.path / name).write_text(TEXT)

    found = read_folder(folder)

    assert [one.path for one in found] == [str(folder.path / name) for name in ("a.md", "b.md")]
    assert {(one.source, one.text, one.body, one.problem) for one in found} == {
        ("project", TEXT, "Do it.", None)
    }
    assert found[0].values == {"name": "a"}
    assert len(found[0].digest) == 64


def test_a_missing_folder_has_no_definitions(tmp_path):
    assert read_folder(DefinitionFolder(tmp_path, ("agents",), "user")) == []


def test_a_folder_behind_a_link_is_not_entered_but_the_base_may_be_one(folder, tmp_path):
    (folder.path / "a.md").write_text(TEXT)
    (tmp_path / "link").symlink_to(tmp_path / "agents")
    (tmp_path / "base").symlink_to(tmp_path)

    assert read_folder(DefinitionFolder(tmp_path, ("link", "mine"), "user")) == []
    assert len(read_folder(DefinitionFolder(tmp_path / "base", ("agents", "mine"), "user"))) == 1


def test_no_more_than_the_first_files_are_read(folder):
    for number in range(MAX_FILES + 2):
        (folder.path / f"{number:03}.md").write_text(TEXT)

    found = read_folder(folder)

    assert len(found) == MAX_FILES
    assert found[-1].path.endswith(f"{MAX_FILES - 1:03}.md")


def test_a_file_of_the_largest_size_is_read_and_a_larger_one_is_not(folder):
    (folder.path / "a.md").write_text(TEXT.ljust(MAX_BYTES))
    (folder.path / "b.md").write_text(TEXT.ljust(MAX_BYTES + 1))

    small, large = read_folder(folder)

    assert small.problem is None
    assert large.problem == "it has more than 64 kB"
    assert (large.text, large.digest) == ("", "")


def test_what_is_not_a_text_file_has_a_problem(folder, tmp_path):
    (tmp_path / "other.md").write_text(TEXT)
    (folder.path / "folder.md").mkdir()
    (folder.path / "latin.md").write_bytes(b"caf\xe9")
    (folder.path / "link.md").symlink_to(tmp_path / "other.md")
    os.mkfifo(folder.path / "pipe.md")
    (folder.path / "unended.md").write_text("---\nname: a\n")

    found = {os.path.basename(one.path): one for one in read_folder(folder)}

    special = "it is a link or a special file"
    problems = {name: one.problem for name, one in found.items()}
    assert [problems[f"{name}.md"] for name in ("folder", "link", "pipe")] == [special] * 3
    assert problems["latin.md"] == "it is not UTF-8"
    assert problems["unended.md"]
    assert found["unended.md"].text == "---\nname: a\n"
    assert len(found["unended.md"].digest) == 64


def test_a_file_that_goes_away_meanwhile_has_a_problem(folder, monkeypatch):
    (folder.path / "a.md").write_text(TEXT)
    real = os.open

    def open_unless_file(name, *more, **at):
        if name == "a.md":
            raise FileNotFoundError(2, "No such file\nor directory")
        return real(name, *more, **at)

    monkeypatch.setattr(os, "open", open_unless_file)

    (found,) = read_folder(folder)

    assert found.problem.endswith(": No such file\\nor directory")


def test_nothing_stays_open(folder, monkeypatch):
    (folder.path / "a.md").write_text(TEXT)
    (folder.path / "b.md").symlink_to("a.md")
    opened = []
    monkeypatch.setattr(os, "open", record_opened(os.open, opened))

    read_folder(folder)
    read_folder(folder._replace(inner=("agents", "none")))

    assert len(opened) > 2
    for handle in set(opened):
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(handle)


def test_a_file_that_becomes_a_directory_stays_not_open(folder, monkeypatch):
    (folder.path / "a.md").write_text(TEXT)
    real = os.stat

    def stat_then_replace(name, *more, **at):
        found = real(name, *more, **at)
        if name == "a.md":
            (folder.path / "a.md").unlink()
            (folder.path / "a.md").mkdir()
        return found

    monkeypatch.setattr(os, "stat", stat_then_replace)
    opened = []
    monkeypatch.setattr(os, "open", record_opened(os.open, opened))

    (found,) = read_folder(folder)

    assert "cannot be read" in found.problem
    for handle in opened:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(handle)


def record_opened(real, opened):
    def open_and_record(*arguments, **options):
        opened.append(real(*arguments, **options))
        return opened[-1]

    return open_and_record
