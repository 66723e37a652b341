"""A plan happens as a whole or not at all."""

import os
from contextlib import suppress
from pathlib import Path

import pytest

from handrail.core.plan import Change, Plan
from handrail.core.problems import ProblemRaised
from handrail.core.text.content import Content
from handrail.history.before_images import INLINE_BYTES, describe_changes, load_image
from handrail.history.commit import BlobRetention, CommitResidue, commit
from handrail.host.files.local_files import LocalFiles
from handrail.host.state.blobs import DirectoryBlobs, MemoryBlobs


@pytest.fixture
def files(tmp_path):
    root = tmp_path / "work"
    root.mkdir()
    local = LocalFiles([root])
    yield local
    local.close()


def change(files, path, after):
    place = files.locate(path)
    stat = files.stat(place)
    before = files.read(place).content if stat else None
    return Change(place, before, None if after is None else Content(after), stat)


def tree(files):
    root = Path(files.roots[0])
    return {str(p.relative_to(root)): p.read_bytes() for p in root.rglob("*") if p.is_file()}


def fill(files, **contents):
    for name, content in contents.items():
        (Path(files.roots[0]) / name).write_bytes(content)


def test_all_changes_of_a_plan_happen(files):
    fill(files, a=b"old a", b=b"old b")
    changes = [
        change(files, "a", b"new a"),
        change(files, "b", None),
        change(files, "d/c", b"new c"),
    ]

    records = commit(Plan(tuple(changes), "done"), files, durable=True, token="t")

    assert tree(files) == {"a": b"new a", "d/c": b"new c"}
    assert [(one.path, one.operation) for one in records] == [
        ("a", "write"),
        ("b", "delete"),
        ("d/c", "create"),
    ]


@pytest.mark.parametrize("bad", [0, 1, 2, 3])
def test_if_one_file_changed_meanwhile_none_is_touched(files, bad):
    fill(files, a=b"a", b=b"b", c=b"c")
    names = ["a", "b", "c", "new/d"]
    changes = [change(files, name, b"new") for name in names[:2]]
    changes += [change(files, "c", None), change(files, "new/d", b"new")]
    if names[bad] == "new/d":
        (Path(files.roots[0]) / "new").mkdir()
        (Path(files.roots[0]) / "new/d").write_bytes(b"somebody else's")
    else:
        fill(files, **{names[bad]: b"somebody else's"})
    before = tree(files)

    with pytest.raises(ProblemRaised) as caught:
        commit(Plan(tuple(changes), ""), files, durable=False, token="t")

    assert caught.value.problem.code in ("stale", "exists", "conflict")
    assert tree(files) == before


def test_old_contents_are_described_inline_or_kept_as_blobs(files, tmp_path):
    fill(files, small=b"s", large=b"l" * (INLINE_BYTES + 1))
    plan = Plan(
        (
            change(files, "small", b"x"),
            change(files, "large", b"x"),
            change(files, "fresh", b"x"),
        ),
        "",
    )
    blobs = DirectoryBlobs(tmp_path / "blobs")

    small, large, fresh = describe_changes(plan, blobs)
    commit(
        plan,
        files,
        durable=True,
        token="t",
        wait_for_intent=lambda: BlobRetention(blobs, frozenset([1])),
    )

    assert (small["image"], large["image"], fresh["image"]) == ("inline", "blob", "absent")
    assert load_image(small, blobs) == Content(b"s")
    assert load_image(large, blobs) == Content(b"l" * (INLINE_BYTES + 1))
    assert load_image(fresh, blobs) is None
    assert [one["image"] for one in describe_changes(plan, None)] == ["none"] * 3
    assert tree(files) == {"small": b"x", "large": b"x", "fresh": b"x"}
    with pytest.raises(ProblemRaised, match="not kept"):
        load_image(describe_changes(plan, None)[0], None)


@pytest.mark.parametrize("last", [1, 2, 3])
def test_if_one_file_changes_at_the_last_moment_the_others_are_put_back(files, last):
    fill(files, a=b"a", b=b"b", c=b"c", d=b"d")
    changes = [
        change(files, "a", b"new"),
        change(files, "b", None),
        change(files, "c", b"new"),
        change(files, "d", b"new"),
    ]
    name = "abcd"[last]

    class Sly:
        """Files, but somebody writes to one of them once all is staged."""

        def stage(self, one, temp, *, durable, wait_for_intent):
            staged = files.stage(one, temp, durable=durable)
            if one.path == "d":
                fill(files, **{name: b"theirs"})
            return staged

    with pytest.raises(ProblemRaised) as caught:
        commit(Plan(tuple(changes), ""), Sly(), durable=False, token="t")

    assert caught.value.problem.code == "stale"
    expected = {one: one.encode() for one in "abcd"} | {name: b"theirs"}
    assert tree(files) == expected


def test_what_another_process_wrote_over_a_published_file_stays(files):
    fill(files, a=b"a", b=b"b")
    changes = (change(files, "a", b"new"), change(files, "b", b"new"))

    class Disturbed:
        """A staged file that is published after somebody has written to both."""

        def __init__(self, staged):
            self.staged = staged

        def __getattr__(self, name):
            return getattr(self.staged, name)

        def publish(self):
            fill(files, a=b"theirs", b=b"theirs")
            self.staged.publish()

    class Sly:
        def stage(self, one, temp, *, durable, wait_for_intent):
            staged = files.stage(one, temp, durable=durable)
            return Disturbed(staged) if one.path == "b" else staged

    residue = CommitResidue()
    with pytest.raises(ProblemRaised) as caught:
        commit(Plan(changes, ""), Sly(), durable=False, token="t", residue=residue)

    assert caught.value.problem.code == "stale"
    assert "disk" not in str(caught.value)
    assert residue.partially_applied
    assert tree(files) == {"a": b"theirs", "b": b"theirs"}


def test_if_the_old_content_cannot_be_kept_nothing_changes(files, tmp_path):
    fill(files, a=b"a" * (INLINE_BYTES + 1))
    (tmp_path / "blobs").write_bytes(b"in the way")
    plan = Plan((change(files, "a", b"new"),), "")

    with pytest.raises((ProblemRaised, OSError)):
        keeping = BlobRetention(DirectoryBlobs(tmp_path / "blobs"), frozenset([0]))
        commit(plan, files, durable=False, token="t", wait_for_intent=lambda: keeping)

    assert tree(files) == {"a": b"a" * (INLINE_BYTES + 1)}


def test_beyond_the_quota_an_old_content_is_not_kept_and_said_so(files, tmp_path):
    fill(files, a=b"a" * (INLINE_BYTES + 1))
    plan = Plan((change(files, "a", b"new"),), "")
    blobs = DirectoryBlobs(tmp_path / "blobs", quota_bytes=10)

    described = describe_changes(plan, blobs)

    assert described[0]["image"] == "none"


def test_blobs_are_packed_and_dropped_when_nobody_needs_them(tmp_path):
    blobs = DirectoryBlobs(tmp_path / "blobs")
    kept, dropped = (blobs.keep(Content(letter * 100_000)) for letter in (b"k", b"d"))

    freed = blobs.drop_all_but({kept})
    saved = blobs.pack()

    assert (freed, saved > 90_000) == (100_000, True)
    assert blobs.load(kept) == b"k" * 100_000
    assert blobs.keep(Content(b"k" * 100_000)) == kept
    with pytest.raises(ProblemRaised):
        blobs.load(dropped)


@pytest.mark.parametrize("kind", ["directory", "memory"])
def test_blobs_are_found_by_their_hash_and_damage_is_noticed(tmp_path, kind):
    blobs = DirectoryBlobs(tmp_path / "blobs") if kind == "directory" else MemoryBlobs()
    digest = blobs.keep(Content(b"one", b"two"))

    assert blobs.load(digest) == b"onetwo"
    assert blobs.keep(Content(b"onetwo")) == digest
    with pytest.raises(ProblemRaised, match="no content"):
        blobs.load("0" * 64)
    if kind == "directory":
        (tmp_path / "blobs" / digest).write_bytes(b"else")
        with pytest.raises(ProblemRaised, match="damaged"):
            blobs.load(digest)
        assert (tmp_path / "blobs").stat().st_mode & 0o077 == 0


def test_a_blob_that_cannot_be_written_is_a_problem(tmp_path):
    (tmp_path / "blobs").write_bytes(b"a file where the directory should be")

    with pytest.raises(ProblemRaised) as caught:
        DirectoryBlobs(tmp_path / "blobs").keep(Content(b"x"))

    assert caught.value.problem.code == "unavailable"


def test_room_is_counted_for_the_plan_as_a_whole(files, tmp_path):
    fill(files, a=b"a" * 150_000, b=b"b" * 150_000)
    plan = Plan((change(files, "a", b"x"), change(files, "b", b"x")), "")
    blobs = DirectoryBlobs(tmp_path / "blobs", quota_bytes=200_000)

    described = describe_changes(plan, blobs)
    commit(
        plan,
        files,
        durable=False,
        token="t",
        wait_for_intent=lambda: BlobRetention(blobs, frozenset([0])),
    )

    assert [one["image"] for one in described] == ["blob", "none"]
    assert not blobs.has_room(100_000)


@pytest.mark.parametrize("how", ["open", "link"])
def test_a_replaced_file_that_others_can_still_write_is_copied(files, tmp_path, how):
    import os

    old = b"a" * (INLINE_BYTES + 1)
    fill(files, a=old)
    path = Path(files.roots[0]) / "a"
    blobs = DirectoryBlobs(tmp_path / "blobs")
    plan = Plan((change(files, "a", None),), "")
    if how == "link":
        os.link(path, tmp_path / "other")

    with open(path if how == "open" else tmp_path / "other", "ab") as writer:
        if how == "link":
            writer.close()
        commit(
            plan,
            files,
            durable=False,
            token="t",
            wait_for_intent=lambda: BlobRetention(blobs, frozenset([0])),
        )
        with open(tmp_path / "other", "ab") if how == "link" else writer as late:
            late.write(b"late")

    assert blobs.load(Content(old).digest) == old


def test_a_damaged_blob_is_kept_anew(tmp_path):
    blobs = DirectoryBlobs(tmp_path / "blobs")
    digest = blobs.keep(Content(b"good"))
    (tmp_path / "blobs" / digest).write_bytes(b"bad!")

    blobs.keep(Content(b"good"))

    assert blobs.load(digest) == b"good"


def test_a_large_old_file_is_gone_when_its_change_is_told_and_let_go_of_afterwards(files):
    root = Path(files.roots[0])
    fill(files, a=b"x" * 100_000, b=b"y" * 100_000)
    was = root.joinpath("a").stat().st_ino
    told = []

    def done(changes):
        told.append(([one.path for one in changes], sorted(os.listdir(root)), held(was)))

    changes = [change(files, "a", b"new"), change(files, "b", None)]
    commit(Plan(tuple(changes), ""), files, durable=False, token="t", done=done)

    assert told == [(["a", "b"], ["a"], True)]
    assert not held(was)
    assert tree(files) == {"a": b"new"}


def test_a_commit_that_fails_holds_nothing_back(files):
    fill(files, a=b"x" * 100_000, b=b"y")
    was = Path(files.roots[0], "a").stat().st_ino
    changes = [change(files, "a", b"new"), change(files, "b", b"new")]
    fill(files, b=b"somebody else's")
    told = []

    with pytest.raises(ProblemRaised):
        commit(Plan(tuple(changes), ""), files, durable=False, token="t", done=told.append)

    assert (told, held(was)) == ([], False)


def held(inode):
    """Whether this process has a handle of a file that has no name any more, or has one."""
    for name in os.listdir("/proc/self/fd"):
        with suppress(OSError):
            if os.stat(f"/proc/self/fd/{name}").st_ino == inode:
                return True
    return False
