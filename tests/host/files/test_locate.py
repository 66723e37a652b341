"""What a path means, and what it can never mean."""

import errno
import os

import pytest
from tests.support.handles import open_handles

from handrail.core.places import Kind, Place
from handrail.core.problems import ProblemRaised
from handrail.host.files import locate, roots
from handrail.host.files.local_files import LocalFiles


def refusal(files, path):
    with pytest.raises(ProblemRaised) as raised:
        files.locate(path)
    return raised.value.problem


@pytest.fixture
def files(work, opener):
    files = LocalFiles([work])
    yield files
    files.close()


def test_a_plain_path_is_its_own_canonical_name(work, files):
    (work / "src").mkdir()
    (work / "src" / "a.py").write_text("x")

    assert files.locate("src/a.py") == Place(
        0, "src/a.py", "src/a.py", str(work / "src" / "a.py"), Kind.FILE
    )


def test_the_workspace_itself_is_shown_as_a_dot(work, files):
    assert files.locate(".") == Place(0, "", ".", str(work), Kind.DIRECTORY)
    assert files.locate(str(work)) == files.locate(f"{work}/") == files.locate(".")


def test_a_missing_file_in_missing_directories_is_a_place(work, files):
    rel = "new/deep/er.txt"

    assert files.locate(rel) == Place(0, rel, rel, f"{work}/{rel}", Kind.MISSING, missing_above=2)
    assert files.locate("new/er.txt").missing_above == 1
    assert files.locate("er.txt").missing_above == 0
    assert files.locate("new/./er.txt").rel == "new/er.txt"


@pytest.mark.parametrize(
    "path", ["", "\0", "a\0b", "\ud800", "x" * 256, "a/" * 2100 + "a", "missing/" + "y" * 300]
)
def test_what_can_be_no_path_is_invalid(files, path):
    assert refusal(files, path).code == "invalid_arguments"


def test_an_absurdly_long_path_is_not_repeated_in_full(files):
    assert len(refusal(files, "a/" * 2100).message) < 400


def test_a_slash_at_the_end_is_never_dropped(work, files):
    (work / "file.txt").write_text("x")
    (work / "dir").mkdir()

    assert files.locate("dir/").kind is Kind.DIRECTORY
    assert refusal(files, "file.txt/").code == "not_found"
    assert refusal(files, "file.txt/.").code == "not_found"
    assert refusal(files, "new.txt/").code == "invalid_arguments"
    assert refusal(files, "new.txt/.").code == "invalid_arguments"


def test_a_file_is_not_a_directory_on_the_way(work, files):
    (work / "file.txt").write_text("x")

    assert refusal(files, "file.txt/x").code == "not_found"
    assert refusal(files, "file.txt/../other").code == "not_found"


def test_going_up_from_a_missing_directory_is_refused(files):
    assert refusal(files, "missing/../x").code == "not_found"


def test_dot_dot_after_a_link_is_the_parent_of_where_it_led(work, files):
    (work / "a" / "b").mkdir(parents=True)
    (work / "link").symlink_to("a/b")
    (work / "a" / "x").write_text("x")

    assert files.locate("link/../x").rel == "a/x"


def test_a_link_with_a_slash_at_its_end_wants_a_directory(work, files):
    (work / "file.txt").write_text("x")
    (work / "link").symlink_to("file.txt/")

    assert refusal(files, "link").code == "not_found"


def test_forty_links_are_followed_and_forty_one_are_not(work, files):
    (work / "l0").write_text("x")
    for n in range(1, 42):
        (work / f"l{n}").symlink_to(f"l{n - 1}")

    assert files.locate("l40").rel == "l0"
    assert refusal(files, "l41").code == "not_found"


def test_a_loop_through_a_directory_ends(work, files):
    (work / "d").mkdir()
    (work / "d" / "up").symlink_to("../d")
    (work / "a").symlink_to("b/x")
    (work / "b").symlink_to("a/x")

    assert files.locate("d/" + "up/" * 40).rel == "d"
    assert refusal(files, "d/" + "up/" * 41 + "x").code == "not_found"
    assert refusal(files, "a").code == "not_found"


def test_an_outside_path_is_told_where_inside_is(work, files):
    problem = refusal(files, "/etc/passwd")

    assert problem.code == "outside_workspace"
    assert str(work) in problem.hint


def test_a_link_that_leads_out_is_called_one(work, files):
    (work / "out").symlink_to("/etc")

    assert "symbolic link" in refusal(files, "out/passwd").message


def test_additional_directories_can_be_reached_by_path_and_by_link(tmp_path, work, opener):
    other = tmp_path / "other"
    other.mkdir()
    (other / "x.txt").write_text("x")
    (work / "there").symlink_to(other)
    (other / "back").symlink_to(work)
    (work / "w.txt").write_text("w")
    files = LocalFiles([work, other])

    there = Place(1, "x.txt", str(other / "x.txt"), str(other / "x.txt"), Kind.FILE)
    assert files.locate(str(other / "x.txt")) == there
    assert files.locate("there/x.txt")._replace(via=()) == there
    assert files.locate("../other/x.txt") == there
    assert files.locate(str(other / "back" / "w.txt")).rel == files.locate("w.txt").rel
    files.close()


def test_a_root_may_be_named_by_the_link_that_leads_to_it(tmp_path, work, opener):
    (work / "a.txt").write_text("x")
    link = tmp_path / "link"
    link.symlink_to(work)
    files = LocalFiles([link])

    assert files.roots == (str(work),)
    assert files.locate(str(link / "a.txt")) == files.locate("a.txt")
    assert files.locate(f"{link}/./a.txt") == files.locate("a.txt")
    files.close()


def test_of_nested_roots_a_file_has_one_name(tmp_path, work, opener):
    (work / "a.txt").write_text("x")
    files = LocalFiles([work, tmp_path])

    assert files.locate(str(work / "a.txt")).path == "a.txt"
    assert files.locate(f"{tmp_path}/missing").path == f"{tmp_path}/missing"
    (tmp_path / "c").mkdir()
    assert files.locate(f"{tmp_path}/c/../work/a.txt") == files.locate("a.txt")
    assert files.locate("../c").root == 1
    files.close()


def test_a_hidden_directory_cannot_be_reached_or_seen(work, opener):
    hidden = work / ".state" / "handrail"
    hidden.mkdir(parents=True)
    (hidden / "store.db").write_text("x")
    (work / "link").symlink_to(".state/handrail")
    files = LocalFiles([work], hidden=[str(hidden)])

    for path in (".state/handrail", ".state/handrail/store.db", "link/store.db", f"{hidden}/new"):
        assert refusal(files, path).code == "outside_workspace"
    assert files.scan(files.locate(".state")) == []
    forged = Place(0, ".state/handrail/store.db", "x", "x", Kind.FILE)
    with pytest.raises(ProblemRaised) as raised:
        files.read(forged)
    assert raised.value.problem.code == "outside_workspace"
    files.close()


def test_a_forged_place_cannot_lead_out(tmp_path, work, files):
    (tmp_path / "secret.txt").write_text("SECRET")
    (work / "out").symlink_to("..")

    for rel in ("../secret.txt", str(tmp_path / "secret.txt"), "out/secret.txt", "a\0b"):
        with pytest.raises((ProblemRaised, ValueError)):
            files.read(Place(0, rel, rel, rel, Kind.FILE))


def test_a_link_to_a_name_that_is_no_text_is_refused(work, files):
    (work / "link").symlink_to(os.fsdecode(b"bad\xff"))

    assert refusal(files, "link").code == "invalid_arguments"


def test_a_root_that_is_missing_or_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")

    for path in (tmp_path / "missing", tmp_path / "file"):
        with pytest.raises(ProblemRaised) as raised:
            LocalFiles([tmp_path, path])
        assert raised.value.problem.code == "not_found"


def test_no_descriptor_is_left_open(work, files):
    (work / "a").mkdir()
    (work / "a" / "link").symlink_to("../b")
    before = open_handles()

    for path in ("a/link", "a/../a/link/x", "..", "a/./.", "b/../x", "/etc", "a/link/"):
        try:
            files.locate(path)
        except ProblemRaised:
            continue

    assert open_handles() - before == set()


def test_a_link_that_became_a_directory_meanwhile_is_looked_at_again(work, files, monkeypatch):
    (work / "link").symlink_to("a")
    (work / "a").mkdir()
    (work / "a" / "x").write_text("x")
    real, failed = os.readlink, []

    def swapped_once(name, *, dir_fd):
        if not failed:
            failed.append(name)
            (work / "link").unlink()
            (work / "a").rename(work / "link")
            raise OSError(errno.EINVAL, "not a link")
        return real(name, dir_fd=dir_fd)

    monkeypatch.setattr(locate.os, "readlink", swapped_once)

    assert files.locate("link/x").rel == "link/x"


def test_a_path_that_never_stands_still_is_given_up(work, files, monkeypatch):
    (work / "link").symlink_to("a")

    def never(name, *, dir_fd):
        raise OSError(errno.EINVAL, "not a link")

    monkeypatch.setattr(locate.os, "readlink", never)

    assert refusal(files, "link/x").code == "not_found"


def test_what_the_system_denies_on_the_way_is_told(work, files, monkeypatch):
    (work / "d").mkdir()
    real = os.stat

    def deny(name, **kwargs):
        if name == "d":
            raise PermissionError(errno.EACCES, "denied")
        return real(name, **kwargs)

    monkeypatch.setattr(locate.os, "stat", deny)

    assert refusal(files, "./d/x").code == "denied"


def test_without_openat2_the_walk_is_used(monkeypatch):
    assert roots.choose_opener() is not roots.walk_beneath

    def missing():
        def fail(handle, path, flags):
            raise OSError(errno.ENOSYS, "no such call")

        return fail

    monkeypatch.setattr(roots, "kernel_opener", missing)

    assert roots.choose_opener() is roots.walk_beneath


@pytest.mark.parametrize("flags", [roots.READ, roots.LIST, roots.LOOK, roots.LOOK_IN])
@pytest.mark.parametrize("name", [b"file", b"folder", b"link", b"way", b"none", b"..", b".", b""])
def test_a_single_name_is_opened_as_the_kernel_opens_a_path(work, flags, name):
    (work / "file").write_text("x")
    (work / "folder").mkdir()
    (work / "link").symlink_to("file")
    (work / "way").symlink_to("folder")
    handle = os.open(work, roots.LOOK_IN)

    def outcome(opener, path):
        try:
            descriptor = opener(handle, path, flags)
        except OSError as error:
            return error.errno
        try:
            return os.fstat(descriptor).st_ino
        finally:
            os.close(descriptor)

    opener = roots.kernel_opener()
    try:
        # A path of two names takes the long way: by the kernel alone.
        by_kernel = outcome(opener, b"./" + name if name else b"")
        assert outcome(opener, name) == by_kernel
    finally:
        os.close(handle)


def test_a_root_gives_its_handle_to_whoever_starts_a_process_there(work, files):
    assert os.path.samestat(os.stat(files.handle(0)), os.stat(work))


def test_a_root_whose_name_is_no_text_is_refused(tmp_path):
    bad = tmp_path / os.fsdecode(b"bad\xff")
    bad.mkdir()

    with pytest.raises(ProblemRaised) as raised:
        LocalFiles([bad])

    assert raised.value.problem.code == "invalid_arguments"


def test_a_root_with_a_nul_in_its_name_is_refused():
    with pytest.raises(ProblemRaised) as raised:
        LocalFiles(["a\0b"])

    assert raised.value.problem.code == "invalid_arguments"


def test_a_place_remembers_the_names_it_was_reached_by(work, files):
    (work / "real").mkdir()
    (work / "one").symlink_to("real")
    (work / "two").symlink_to("one")

    assert files.locate("real/x").via == ()
    assert files.locate("real/./x").via == ()
    assert files.locate("two/x").via == (str(work / "two/x"), str(work / "one/x"))
    assert files.locate("two/../two/x").via == (
        str(work / "two/x"),
        str(work / "two"),
        str(work / "one"),
        str(work / "one/x"),
    )


def exchanged(work, outside, monkeypatch, times):
    """A directory that is a link for a moment between every look and the opening."""
    (work / "sub" / "lib").mkdir(parents=True)
    (outside / "lib").mkdir(parents=True)
    real, canonical = os.path.realpath, roots.open_canonical
    left = [times]

    def look(path, **options):
        found = real(path, **options)
        if str(path).endswith("sub/lib") and left[0]:
            left[0] -= 1
            os.rename(work / "sub", work / "aside")
            (work / "sub").symlink_to(outside)
        return found

    def opened(opener, path):
        try:
            return canonical(opener, path)
        finally:
            if (work / "sub").is_symlink():
                (work / "sub").unlink()
                os.rename(work / "aside", work / "sub")

    monkeypatch.setattr(roots.os.path, "realpath", look)
    monkeypatch.setattr(roots, "open_canonical", opened)


def test_a_root_is_never_opened_through_a_link_that_appeared(tmp_path, work, opener, monkeypatch):
    exchanged(work, tmp_path / "outside", monkeypatch, times=3)

    files = LocalFiles([work, work / "sub" / "lib"])

    assert os.readlink(f"/proc/self/fd/{files.handle(1)}") == files.roots[1]
    assert files.roots[1] == str(work / "sub" / "lib")
    files.close()


def test_a_root_that_never_stands_still_is_given_up(tmp_path, work, opener, monkeypatch):
    exchanged(work, tmp_path / "outside", monkeypatch, times=1000)

    with pytest.raises(ProblemRaised) as raised:
        LocalFiles([work, work / "sub" / "lib"])

    assert raised.value.problem.code == "stale"


def test_a_root_that_is_named_twice_is_one_root(work):
    files = LocalFiles([work, str(work), work / "."])

    assert files.roots == (str(work),)
    files.close()
