"""Files of a git repository: its index, its history and where its configuration lies."""

import os
import subprocess

import pytest

from handrail.host.repository_files import (
    describe_history_change,
    embedded_repositories,
    history_mark,
    read_git_configs,
    tracked_paths,
)

pytestmark = pytest.mark.usefixtures("no_open_files")

OLD, NEW, LAST = "1" * 40, "2" * 40, "3" * 40
NONE = "0" * 40
LINK, FILE = 0o160000, 0o100644


def entry(name, mode=FILE, extended=False, length=None):
    """One entry of an index."""
    flags = (0x4000 if extended else 0) | (min(len(name), 0xFFF) if length is None else length)
    made = bytes(24) + mode.to_bytes(4, "big") + bytes(12) + bytes(20) + flags.to_bytes(2, "big")
    made += (b"\0\0" if extended else b"") + name
    return made + bytes(8 - len(made) % 8)


def index(*entries, version=2, magic=b"DIRC", count=None):
    number = len(entries) if count is None else count
    head = magic + version.to_bytes(4, "big") + number.to_bytes(4, "big")
    return head + b"".join(entries) + bytes(20)


def paths_in(tmp_path, data):
    (tmp_path / "index").write_bytes(data)
    return list(tracked_paths(tmp_path / "index"))


@pytest.mark.parametrize(
    ("data", "names"),
    [
        (index(), []),
        (index(entry(b"a")), ["a"]),
        (index(entry(b"a"), entry(b"b/c"), entry(b"d" * 100)), ["a", "b/c", "d" * 100]),
        (index(entry(b"ab", extended=True), entry(b"c"), version=3), ["ab", "c"]),
        (index(entry(b"x" * 5000), entry(b"y")), ["x" * 5000, "y"]),
        (index(*[entry(b"n" * size) for size in range(1, 12)]), ["n" * at for at in range(1, 12)]),
        (index(entry(b"a", LINK)), ["a"]),
    ],
)
def test_the_paths_of_an_index(tmp_path, data, names):
    assert paths_in(tmp_path, data) == names


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"DIRC",
        index(entry(b"a"), magic=b"TREE"),
        index(entry(b"a"), version=1),
        index(entry(b"a"), version=4),
        index(entry(b"a"), count=2),
        index(entry(b"ab", length=1)),
        index(entry(b"ab", length=3)),
        index(entry(b"")),
    ],
)
def test_an_index_that_cannot_be_read_is_an_error(tmp_path, data):
    with pytest.raises(ValueError):
        paths_in(tmp_path, data)


def git(folder, *words):
    subprocess.run(["git", *words], cwd=folder, check=True, timeout=30)


def test_the_index_of_git_is_read(tmp_path):
    git(tmp_path, "init", "-q", ".")
    for name in ("a", "bc", "d/e f", "\u00fc"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    git(tmp_path, "add", ".")

    assert sorted(tracked_paths(tmp_path / ".git/index")) == ["a", "bc", "d/e f", "\u00fc"]
    assert embedded_repositories(tmp_path / ".git") == []


def test_the_other_half_of_a_split_index_is_not_read(tmp_path):
    (tmp_path / "sharedindex.1").write_bytes(index(entry(b"b")))

    with pytest.raises(ValueError):
        paths_in(tmp_path, index(entry(b"a")))


def test_repositories_inside_are_the_links_of_the_index(tmp_path):
    assert embedded_repositories(tmp_path) == []

    (tmp_path / "index").write_bytes(index(entry(b"a"), entry(b"sub/b", LINK), entry(b"c")))

    assert embedded_repositories(tmp_path) == ["sub/b"]


def test_links_in_a_shared_index_are_an_error(tmp_path):
    shared = tmp_path / "sharedindex.1"
    shared.write_bytes(index(entry(b"a")))
    assert embedded_repositories(tmp_path) == []

    shared.write_bytes(index(entry(b"a", LINK)))

    with pytest.raises(ValueError):
        embedded_repositories(tmp_path)


def make_repository(folder, config):
    (folder / "objects").mkdir(parents=True)
    (folder / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / "config").write_text(config)
    return folder


def test_the_configurations_that_git_may_read(tmp_path):
    top = make_repository(tmp_path / ".git", "top")
    (top / "config.worktree").write_text("top tree")
    make_repository(top / "modules" / "one", "one")
    make_repository(top / "modules" / "group" / "two", "two")
    make_repository(top / "modules" / "one" / "modules" / "three", "three")
    make_repository(tmp_path / "inner" / ".git", "inner")
    make_repository(tmp_path / "sub" / ".git", "sub")
    (top / "index").write_bytes(index(entry(b"sub", LINK), entry(b"gone", LINK)))
    bare = make_repository(tmp_path / "inner" / "bare.git", "bare")

    assert sorted(read_git_configs(str(tmp_path)) or ()) == sorted(
        ["top", "top tree", "one", "two", "three", "sub"]
    )
    assert set(read_git_configs(str(bare)) or ()) >= {"bare", "inner", "top"}


def test_a_working_tree_has_its_own_and_the_shared_configuration(tmp_path):
    main = make_repository(tmp_path / "main" / ".git", "shared")
    own = main / "worktrees" / "w"
    own.mkdir(parents=True)
    (own / "commondir").write_text("../..\n")
    (own / "config.worktree").write_text("own")
    (tmp_path / "w").mkdir()
    (tmp_path / "w" / ".git").write_text(f"gitdir: {own}\n")

    assert sorted(read_git_configs(str(tmp_path / "w")) or ()) == ["own", "shared"]


def test_no_repository_has_no_configuration(tmp_path):
    (tmp_path / "HEAD").write_text("not a repository without objects")

    assert read_git_configs(str(tmp_path)) == ()


@pytest.mark.parametrize("what", ["pointer", "bytes", "long", "deep", "index"])
def test_it_is_unknown_where_it_is_not_certain(tmp_path, what):
    if what == "pointer":
        (tmp_path / ".git").write_text("elsewhere")
    else:
        top = make_repository(tmp_path / ".git", "top")
    if what == "bytes":
        (top / "config").write_bytes(b"\xff")
    if what == "long":
        (top / "config").write_bytes(b"x" * ((1 << 20) + 1))
    if what == "deep":
        (top / "modules" / "/".join("abcdefgh")).mkdir(parents=True)
    if what == "index":
        (top / "index").write_bytes(b"DIRC" + LINK.to_bytes(4, "big"))

    assert read_git_configs(str(tmp_path)) is None


def test_the_longest_configuration_is_read(tmp_path):
    top = make_repository(tmp_path / ".git", "x" * (1 << 20))
    (top / "modules" / "/".join("abcdef")).mkdir(parents=True)

    assert read_git_configs(str(tmp_path)) == ("x" * (1 << 20),)


def move(old, new, why):
    return f"{old} {new} A <a@example.org> 1700000000 +0000\t{why}\n"


def log(folder, *moves, head="ref: refs/heads/main\n"):
    (folder / ".git" / "logs").mkdir(parents=True, exist_ok=True)
    (folder / ".git" / "HEAD").write_text(head)
    (folder / ".git" / "logs" / "HEAD").write_text("".join(moves))


@pytest.mark.parametrize(
    ("moves", "head", "expected"),
    [
        ([], "ref: refs/heads/main\n", ""),
        (
            [move(OLD, NEW, "commit: x")],
            "ref: refs/heads/main\n",
            f"made commit {NEW[:10]} on main, which stays; `git reset --soft {OLD[:10]}` takes it back",
        ),
        (
            [move(OLD, NEW, "commit (amend): x")],
            NEW,
            f"made commit {NEW[:10]}, which stays; `git reset --soft {OLD[:10]}` takes it back",
        ),
        (
            [move(NONE, NEW, "commit (initial): x")],
            "ref: refs/heads/a/b\n",
            f"made commit {NEW[:10]} on a/b, which stays",
        ),
        (
            [move(OLD, NEW, "commit: x"), move(NEW, LAST, "commit: y")],
            "ref: refs/heads/main",
            f"made 2 commits up to {LAST[:10]} on main, which stay; "
            f"`git reset --soft {OLD[:10]}` takes them back",
        ),
        (
            [move(OLD, NEW, "commit: x"), move(NEW, LAST, "reset: moving")],
            "ref: refs/heads/main\n",
            f"HEAD moved from {OLD[:10]} to {LAST[:10]}, and stays there",
        ),
        (
            [move(OLD, NEW, "committed")],
            "",
            f"HEAD moved from {OLD[:10]} to {NEW[:10]}, and stays there",
        ),
        (["rubbish\n"], "", ""),
    ],
)
def test_a_change_of_the_history_is_described(tmp_path, moves, head, expected):
    log(tmp_path, *moves, head=head)

    assert describe_history_change(str(tmp_path / ".git"), None) == expected


def test_only_what_was_logged_since_the_mark_is_described(tmp_path):
    log(tmp_path, move(OLD, NEW, "checkout: x"))
    handle = os.open(tmp_path, os.O_RDONLY)
    try:
        before = history_mark(handle, ".git")
        assert history_mark(handle, ".git") == before
        assert history_mark(handle, "missing") is None
        log(tmp_path, move(OLD, NEW, "checkout: x"), move(NEW, LAST, "commit: y"))
        after = history_mark(handle, ".git")
    finally:
        os.close(handle)

    assert after != before
    assert before is not None
    assert before[-1] == len(move(OLD, NEW, "checkout: x"))
    assert "made commit 3333333333 on main" in describe_history_change(
        str(tmp_path / ".git"), before
    )


def test_a_repository_without_a_log_has_a_mark_and_no_description(tmp_path):
    (tmp_path / ".git" / "refs" / "heads").mkdir(parents=True)
    handle = os.open(tmp_path, os.O_RDONLY)
    try:
        mark = history_mark(handle, ".git")
    finally:
        os.close(handle)

    assert mark is not None
    assert mark[-1] == 0
    assert [bool(one) for one in mark] == [False, False, False, True, False, False]
    assert describe_history_change(str(tmp_path / ".git"), mark) == ""
    assert describe_history_change(str(tmp_path / "missing"), mark) == ""
