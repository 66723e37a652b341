"""Writing: all at once or not at all, and nothing else is touched."""

import os
import stat
import threading

import pytest
from tests.support.changes import change_of, refusal, tree, write
from tests.support.waiting import join_threads

from handrail.core.plan import Change
from handrail.core.problems import ProblemRaised
from handrail.core.text.content import Content
from handrail.host.files.local_files import LocalFiles


@pytest.fixture(params=[False, True], ids=["process", "power"])
def durable(request):
    return request.param


@pytest.fixture
def files(work, opener):
    files = LocalFiles([work])
    yield files
    files.close()


def test_a_file_is_created_with_its_directories(work, files, durable):
    write(files, "new/deep/er.txt", b"hello\n", durable=durable)

    assert tree(work) == {"new": None, "new/deep": None, "new/deep/er.txt": b"hello\n"}


@pytest.mark.feature("E10")
def test_a_file_is_replaced_in_one_step_by_another_inode(work, files, durable):
    (work / "a").write_bytes(b"old")
    with (work / "a").open("rb") as reader:
        write(files, "a", b"new content", durable=durable)

        assert reader.read() == b"old"
    assert tree(work) == {"a": b"new content"}


def test_a_file_is_deleted(work, files, durable):
    (work / "a").write_bytes(b"old")

    write(files, "a", None, durable=durable)

    assert tree(work) == {}


def test_nothing_is_visible_before_publish_and_nothing_is_left_by_discard(work, files):
    (work / "a").write_bytes(b"old")
    staged = files.stage(change_of(files, "a", b"new"), durable=False)
    made = files.stage(change_of(files, "x/y/z", b"new"), durable=False)
    assert (work / "a").read_bytes() == b"old"
    assert not (work / "x/y/z").exists()

    for one in (staged, made, staged, made):
        one.discard()

    assert tree(work) == {"a": b"old"}


def test_discard_keeps_a_directory_that_somebody_used_meanwhile(work, files):
    staged = files.stage(change_of(files, "x/y/z", b"new"), durable=False)
    (work / "x" / "theirs").write_bytes(b"keep")

    staged.discard()

    assert tree(work) == {"x": None, "x/theirs": b"keep"}


def test_revert_puts_everything_back(work, files, durable):
    (work / "a").write_bytes(b"old a")
    (work / "a").chmod(0o640)
    (work / "gone").write_bytes(b"old gone")
    changes = [
        change_of(files, "a", b"new a", mode=0o600),
        change_of(files, "gone", None),
        change_of(files, "d/new", b"new"),
    ]
    staged = [files.stage(change, durable=durable) for change in changes]
    for one in staged:
        one.publish()
    visible = {name: one for name, one in tree(work).items() if ".handrail-" not in name}
    assert visible == {"a": b"new a", "d": None, "d/new": b"new"}

    for one in reversed(staged):
        one.revert()
        one.discard()

    assert tree(work) == {"a": b"old a", "gone": b"old gone"}
    assert stat.S_IMODE((work / "a").stat().st_mode) == 0o640


def test_revert_before_publish_does_nothing(work, files):
    (work / "a").write_bytes(b"old")
    staged = files.stage(change_of(files, "a", b"new"), durable=False)

    staged.revert()
    staged.discard()

    assert tree(work) == {"a": b"old"}


@pytest.mark.parametrize("after", [b"new", None])
def test_revert_refuses_when_somebody_wrote_in_between(work, files, after):
    (work / "a").write_bytes(b"old")
    staged = files.stage(change_of(files, "a", after), durable=False)
    staged.publish()
    (work / "a").write_bytes(b"theirs")

    assert refusal(staged.revert).code == "conflict"

    staged.discard()
    assert tree(work) == {"a": b"theirs"}


def test_mode_bits_stay_and_may_be_set(work, files):
    (work / "tool.sh").write_bytes(b"old")
    (work / "tool.sh").chmod(0o755)
    (work / "a").write_bytes(b"old")

    write(files, "tool.sh", b"new")
    write(files, "a", b"new", mode=0o700)
    write(files, "b", b"new", mode=0o440)

    modes = {name: stat.S_IMODE((work / name).stat().st_mode) for name in ("tool.sh", "a", "b")}
    assert modes == {"tool.sh": 0o755, "a": 0o700, "b": 0o440}


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_a_new_file_gets_its_mode_from_the_umask(work, files, umask):
    old = os.umask(umask)
    try:
        write(files, "a", b"new")
    finally:
        os.umask(old)

    assert stat.S_IMODE((work / "a").stat().st_mode) == 0o666 & ~umask


def test_a_write_takes_set_uid_away_as_any_write_does(work, files):
    (work / "a").write_bytes(b"old")
    (work / "a").chmod(0o4755)

    write(files, "a", b"new")

    assert stat.S_IMODE((work / "a").stat().st_mode) == 0o755


def test_a_symlink_stays_a_symlink(work, files):
    (work / "target").write_bytes(b"old")
    (work / "link").symlink_to("target")

    write(files, "link", b"new")

    assert os.readlink(work / "link") == "target"
    assert (work / "target").read_bytes() == b"new"


def test_a_new_file_does_not_overwrite_one_that_appeared(work, files):
    staged = files.stage(change_of(files, "a", b"ours"), durable=False)
    (work / "a").write_bytes(b"theirs")

    assert refusal(staged.publish).code == "stale"

    staged.discard()
    assert tree(work) == {"a": b"theirs"}


def test_a_changed_file_is_stale_at_stage_and_at_publish(work, files):
    (work / "a").write_bytes(b"old")
    change = change_of(files, "a", b"new")
    staged = files.stage(change, durable=False)
    (work / "a").write_bytes(b"odd")

    assert refusal(staged.publish).code == "stale"
    staged.discard()
    assert refusal(files.stage, change, durable=False).code == "stale"
    assert tree(work) == {"a": b"odd"}


def test_a_file_that_is_gone_is_stale(work, files):
    (work / "a").write_bytes(b"old")
    change = change_of(files, "a", b"new")
    (work / "a").unlink()

    problem = refusal(files.stage, change, durable=False)

    assert problem.code == "stale"
    assert "it is gone" in problem.message
    assert tree(work) == {}


def test_a_touched_file_with_the_same_bytes_is_not_stale(work, files):
    (work / "a").write_bytes(b"old")
    change = change_of(files, "a", b"new")
    os.utime(work / "a")

    staged = files.stage(change, durable=False)
    staged.publish()
    staged.discard()

    assert tree(work) == {"a": b"new"}


def test_a_moved_directory_is_stale_and_nothing_is_written_into_either(tmp_path, work, files):
    (work / "d").mkdir()
    (work / "d" / "a").write_bytes(b"old")
    staged = files.stage(change_of(files, "d/a", b"new"), durable=False)
    (work / "d").rename(tmp_path / "moved")
    (work / "d").mkdir()
    (work / "d" / "a").write_bytes(b"other")

    assert refusal(staged.publish).code == "stale"

    staged.discard()
    assert tree(work) == {"d": None, "d/a": b"other"}
    assert tree(tmp_path / "moved") == {"a": b"old"}


def test_a_directory_swapped_for_a_link_is_never_written_through(tmp_path, work, files):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a").write_bytes(b"theirs")
    (work / "d").mkdir()
    (work / "d" / "a").write_bytes(b"old")
    change = change_of(files, "d/a", b"new")
    new = change_of(files, "d/new", b"new")
    (work / "d").rename(work / "old")
    (work / "d").symlink_to(tmp_path / "outside")

    assert refusal(files.stage, change, durable=False).code == "stale"
    assert refusal(files.stage, new, durable=False).code == "stale"

    assert tree(tmp_path / "outside") == {"a": b"theirs"}


def test_a_target_that_became_a_link_is_not_written_through(tmp_path, work, files):
    (tmp_path / "secret").write_bytes(b"old")
    (work / "a").write_bytes(b"old")
    change = change_of(files, "a", b"new")
    (work / "a").unlink()
    (work / "a").symlink_to(tmp_path / "secret")

    assert refusal(files.stage, change, durable=False).code == "stale"
    assert (tmp_path / "secret").read_bytes() == b"old"


def test_a_hard_linked_file_is_refused_with_a_hint(tmp_path, work, files):
    (tmp_path / "other").write_bytes(b"old")
    os.link(tmp_path / "other", work / "a")

    problem = refusal(files.stage, change_of(files, "a", b"new"), durable=False)

    assert problem.code == "conflict"
    assert "break_hard_links" in problem.hint
    assert tree(work) == {"a": b"old"}


def test_a_hard_link_is_broken_if_that_is_allowed_and_deleting_is_always(tmp_path, work, opener):
    (tmp_path / "other").write_bytes(b"old")
    os.link(tmp_path / "other", work / "a")
    os.link(tmp_path / "other", work / "b")
    files = LocalFiles([work], break_hard_links=True)
    strict = LocalFiles([work])

    write(files, "a", b"new")
    write(strict, "b", None)

    assert tree(work) == {"a": b"new"}
    assert (tmp_path / "other").read_bytes() == b"old"
    files.close()
    strict.close()


def test_only_regular_files_are_written(work, files):
    (work / "d").mkdir()
    os.mkfifo(work / "p")
    codes = {}
    for name in (".", "d", "p"):
        change = Change(files.locate(name), None, Content(b"new"))
        codes[name] = refusal(files.stage, change, durable=False).code

    assert codes == {".": "not_found", "d": "not_found", "p": "not_text"}
    assert tree(work) == {"d": None, "p": None}


def test_a_file_where_a_directory_is_needed_is_named(work, files):
    place = files.locate("a/b")
    (work / "a").write_bytes(b"x")

    problem = refusal(files.stage, Change(place, None, Content(b"new")), durable=False)

    assert problem.code == "not_found"
    assert "is a file" in problem.message


def test_of_many_creators_of_one_file_one_wins(work, files):
    staged = [files.stage(change_of(files, "a", b"%d" % n), durable=False) for n in range(8)]
    outcomes = []

    def run(one):
        try:
            one.publish()
            outcomes.append("won")
        except ProblemRaised as raised:
            outcomes.append(raised.problem.code)
        finally:
            one.discard()

    threads = [threading.Thread(target=run, args=(one,)) for one in staged]
    for thread in threads:
        thread.start()
    for thread in threads:
        join_threads(thread)

    assert sorted(outcomes) == ["stale"] * 7 + ["won"]
    assert list(tree(work)) == ["a"]
