"""Sources give a workspace its files, and nothing else: no name leads out, nothing is run."""

import gzip
import io
import lzma
import os
import random
import subprocess
import tarfile
import tracemalloc

import pytest

from handrail.core.problems import ProblemRaised
from handrail.scale.sources.git_files import GitCache
from handrail.scale.sources.prepare_workspace import prepare_workspace
from handrail.scale.sources.tree_writer import TreeLimits
from handrail.scale.tasks import SourceSpec

LIMITS = TreeLimits(1 << 20, 1_000)


def prepare(source, root, limits=LIMITS):
    return prepare_workspace(source, root / "made", limits, GitCache(root / "git", limits))


def refusal(source, root, limits=LIMITS):
    """The code of the problem; what was refused leaves nothing."""
    with pytest.raises(ProblemRaised) as raised:
        prepare(source, root, limits)
    assert not (root / "made").exists()
    assert not (root / "made.part").exists()
    return raised.value.problem.code


def member(name, kind=tarfile.REGTYPE, link="", content=b"", mode=0o644):
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size, info.mode = kind, link, len(content), mode
    return info, content


def archive(path, members, kind="gz"):
    with tarfile.open(path, f"w:{kind}") as tar:
        for info, content in members:
            tar.addfile(info, io.BytesIO(content))
    return SourceSpec("tarball", str(path))


def files(root):
    return {
        str(path.relative_to(root)): os.readlink(path) if path.is_symlink() else path.read_text()
        for path in root.rglob("*")
        if path.is_symlink() or path.is_file()
    }


def test_a_tarball_is_extracted(tmp_path):
    source = archive(
        tmp_path / "a.tgz",
        [
            member("./", tarfile.DIRTYPE),
            member("./dir", tarfile.DIRTYPE),
            member("./dir/run.sh", content=b"#!/bin/sh\n", mode=0o4755),
            member("./copy", tarfile.LNKTYPE, "./dir/run.sh"),
            member("./dir/up", tarfile.SYMTYPE, "../copy"),
        ],
    )

    made = prepare(source, tmp_path)

    assert files(made) == {
        "dir/run.sh": "#!/bin/sh\n",
        "copy": "#!/bin/sh\n",
        "dir/up": "../copy",
    }
    # Executable, without the bits that give other rights.
    assert (made / "dir/run.sh").stat().st_mode & 0o7777 in (0o755, 0o775, 0o700, 0o750)


@pytest.mark.parametrize(
    "members",
    [
        [member("/etc/cron.d/x", content=b"x")],
        [member("../x", content=b"x")],
        [member("a/../../x", content=b"x")],
        [member("a\\..\\x", tarfile.SYMTYPE, "/etc")],
        [member("a", tarfile.SYMTYPE, "..")],
        [member("a", tarfile.SYMTYPE, "b/../../x")],
        [member("a", tarfile.LNKTYPE, "/etc/passwd")],
        [member("a", tarfile.LNKTYPE, "../outside")],
        [member("a", tarfile.SYMTYPE, "b"), member("a/x", content=b"x")],
        [member("a", content=b"1"), member("a", content=b"2")],
        [member("a", content=b"1"), member("a/b", content=b"2")],
        [member("fifo", tarfile.FIFOTYPE)],
        [member("sda", tarfile.BLKTYPE)],
        [member("null", tarfile.CHRTYPE)],
        [
            member("d/e/f/back", tarfile.SYMTYPE, "../../.."),
            member("out", tarfile.SYMTYPE, "d/e/f/back/.."),
        ],
        [
            member("d/back", tarfile.SYMTYPE, ".."),
            member("d/back/x", tarfile.SYMTYPE, "y"),
            member("d/back/../z", tarfile.SYMTYPE, "y"),
        ],
    ],
    ids=lambda members: "+".join(f"{info.name}>{info.linkname}" for info, _ in members),
)
def test_a_hostile_tarball_is_refused(members, tmp_path):
    (tmp_path / "outside").write_text("secret")
    source = archive(tmp_path / "a.tgz", members)

    assert refusal(source, tmp_path) in ("untrusted", "unavailable")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz"])
def test_a_tarball_bomb_is_refused_without_filling_memory_or_disk(kind, tmp_path):
    source = archive(tmp_path / "a.tgz", [member("zeros", content=bytes(48 << 20))], kind)
    assert (tmp_path / "a.tgz").stat().st_size < 1 << 17

    tracemalloc.start()
    code = refusal(source, tmp_path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert code == "too_large"
    assert most < 16 << 20


def test_a_long_header_is_refused_before_it_is_read(tmp_path):
    info, content = member("pax", tarfile.XHDTYPE, content=bytes(32 << 20))
    source = archive(tmp_path / "a.tgz", [(info, content)])

    assert refusal(source, tmp_path) == "unavailable"


def pax_header(kind, records):
    """A header with records, in the blocks of an archive."""
    lines = []
    for key, value in records:
        body = f" {key}={value}\n".encode()
        size = next(n for n in range(len(body), len(body) + 9) if len(str(n)) + len(body) == n)
        lines.append(str(size).encode() + body)
    data = b"".join(lines)
    info = tarfile.TarInfo("header")
    info.type, info.size = kind, len(data)
    return info.tobuf(tarfile.USTAR_FORMAT) + data + bytes(-len(data) % 512)


def sparse_file(*, old):
    """A sparse file whose map does not end, in the old form and in that of pax headers."""
    info = tarfile.TarInfo("sparse")
    info.size = 0 if old else 1 << 40
    if not old:
        records = [("GNU.sparse.major", 1), ("GNU.sparse.minor", 0), ("GNU.sparse.realsize", 9)]
        head = pax_header(tarfile.XHDTYPE, records) + info.tobuf(tarfile.GNU_FORMAT)
        return head + b"999999999\n" + b"1\n" * (8 << 20)
    info.type = tarfile.GNUTYPE_SPARSE
    head = bytearray(info.tobuf(tarfile.GNU_FORMAT))
    head[482] = 1
    head[148:156] = b"%06o\0 " % (sum(head[:148]) + sum(head[156:512]) + 256)
    more = bytearray(b"%011o " % 1 * 42 + bytes(8))
    more[504] = 1
    return bytes(head) + bytes(more) * 20_000


@pytest.mark.parametrize(
    "blocks",
    [
        lambda: sparse_file(old=False),
        lambda: sparse_file(old=True),
        lambda: pax_header(tarfile.XHDTYPE, [("a", "b")]) * 5_000,
        lambda: pax_header(tarfile.GNUTYPE_LONGNAME, [("a", "b")]) * 5_000,
        lambda: b"".join(
            pax_header(tarfile.XGLTYPE, [(f"key{n}", "v" * 100_000)])
            + tarfile.TarInfo(f"f{n}").tobuf()
            for n in range(200)
        ),
    ],
    ids=["sparse map", "old sparse map", "headers", "long names", "headers for all"],
)
def test_headers_without_an_end_are_refused_before_they_fill_the_memory(blocks, tmp_path):
    with gzip.open(tmp_path / "a.tgz", "wb", compresslevel=1) as file:
        file.write(blocks())

    tracemalloc.start()
    code = refusal(SourceSpec("tarball", str(tmp_path / "a.tgz")), tmp_path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert code == "unavailable"
    assert most < 16 << 20


@pytest.mark.parametrize("damage", ["cut", "overwritten"])
def test_half_of_an_archive_is_not_a_workspace(damage, tmp_path):
    path = tmp_path / "a.tar"
    source = archive(path, [member(name, content=b"x" * 600) for name in "abc"], "")
    whole = path.read_bytes()
    # The header of the second file is at the fourth block.
    path.write_bytes(whole[: 3 * 512] + (b"#" * 512 + whole[2048:]) * (damage == "overwritten"))

    assert refusal(source, tmp_path) == "unavailable"


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: os.symlink("/dev/zero", path)])
def test_what_is_not_a_regular_file_is_no_archive(make, tmp_path):
    make(tmp_path / "a.tar")

    assert refusal(SourceSpec("tarball", str(tmp_path / "a.tar")), tmp_path) == "unavailable"


def test_links_make_no_directory_outside(tmp_path):
    victim = tmp_path / "victim"
    victim.mkdir()
    deep = "/".join("d" * 40)
    up = "../" * 40
    members = [
        member(f"{deep}/back", tarfile.SYMTYPE, up),
        # By its letters it stays inside; by way of the link above it leads to the root and down.
        member("out", tarfile.SYMTYPE, f"{deep}/back/{'../' * 30}{victim}"),
        member("out/made/link", tarfile.SYMTYPE, "x"),
    ]

    assert refusal(archive(tmp_path / "a.tgz", members), tmp_path) == "untrusted"
    assert os.listdir(victim) == []


def compress_xz(data, dictionary=1 << 20):
    return lzma.compress(data, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": dictionary}])


def test_xz_with_a_dictionary_of_gigabytes_is_refused(tmp_path):
    path = tmp_path / "a.tar"
    source = archive(path, [member("a", content=b"x" * 5_000)], "")
    # The size stands in the header of a block, with its checksum: nothing of it is used here.
    path.write_bytes(compress_xz(path.read_bytes(), 512 << 20))

    assert refusal(source, tmp_path) == "unavailable"


def test_xz_in_several_streams_is_extracted(tmp_path):
    path = tmp_path / "a.tar"
    content = random.Random(3).randbytes(300_000)
    source = archive(path, [member("a", content=content), member("b")], "")
    whole = path.read_bytes()
    parts = whole[:7], whole[7:200_000], whole[200_000:]
    path.write_bytes(b"\0\0\0\0".join(compress_xz(part) for part in parts) + bytes(8))

    assert (prepare(source, tmp_path) / "a").read_bytes() == content

    path.write_bytes(path.read_bytes()[:-5_000])
    assert refusal(source._replace(place=str(path)), tmp_path / "cut") == "unavailable"


def test_too_many_entries_are_refused(tmp_path):
    source = archive(tmp_path / "a.tgz", [member(f"{n}") for n in range(50)])

    assert refusal(source, tmp_path, TreeLimits(1 << 20, 20)) == "too_large"


def test_a_damaged_or_missing_tarball_is_a_problem(tmp_path):
    (tmp_path / "a.tgz").write_bytes(b"\x1f\x8b\x08\x00 nothing")

    assert refusal(SourceSpec("tarball", str(tmp_path / "a.tgz")), tmp_path) == "unavailable"
    assert refusal(SourceSpec("tarball", str(tmp_path / "b.tgz")), tmp_path) == "not_found"


def test_a_directory_is_copied_within_limits(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "a").write_text("x" * 100)
    spec = SourceSpec("directory", str(source))

    assert refusal(spec, tmp_path, TreeLimits(50, 10)) == "too_large"
    assert files(prepare(spec, tmp_path)) == {"a": "x" * 100}
    assert prepare(spec._replace(in_place=True), tmp_path) == source


def test_the_state_of_the_fleet_is_not_copied_into_itself(tmp_path):
    (tmp_path / "a").write_text("x")
    state = tmp_path / "tasks.jsonl.fleet"
    target = state / "tasks" / "1" / "workspace"
    spec = SourceSpec("directory", str(tmp_path))

    made = prepare_workspace(spec, target, LIMITS, GitCache(state / "git", LIMITS), str(state))

    assert files(made) == {"a": "x"}


def test_the_state_of_the_fleet_is_not_inside_a_workspace_that_is_used_itself(tmp_path):
    state = tmp_path / "tasks.jsonl.fleet"
    spec = SourceSpec("directory", str(tmp_path), in_place=True)

    with pytest.raises(ProblemRaised) as raised:
        prepare_workspace(spec, state / "w", LIMITS, GitCache(state / "git", LIMITS), str(state))

    assert raised.value.problem.code == "invalid_arguments"


def test_a_directory_with_too_long_a_name_is_not_there(tmp_path):
    assert refusal(SourceSpec("directory", "/" + "x" * 5000), tmp_path) == "not_found"


def test_a_git_that_was_killed_does_not_stop_the_next_one(repository, tmp_path):
    spec = repository.commit_tree([("100644", b"a", b"x")])
    cache = GitCache(tmp_path / "git", LIMITS)
    with cache._guard("init"):
        cache._git(spec.place, "init", "--quiet", "--bare", str(cache.repository(spec.place)))
    (cache.repository(spec.place) / "shallow.lock").touch()
    # Only the fetch of a single commit takes that lock; this one is on no branch.
    repository.git("update-ref", "-d", "refs/heads/main")
    repository.git("update-ref", "refs/other/x", spec.commit)
    repository.git("config", "uploadpack.allowAnySHA1InWant", "true")

    assert files(prepare(spec, tmp_path)) == {"a": "x"}


def test_what_a_killed_process_left_is_made_again(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "a").write_text("whole")
    (tmp_path / "made.part").mkdir(mode=0o500)

    assert files(prepare(SourceSpec("directory", str(source)), tmp_path)) == {"a": "whole"}


def test_an_fsspec_url_is_copied(tmp_path):
    import fsspec

    memory = fsspec.filesystem("memory")
    memory.pipe({f"/{tmp_path.name}/a.txt": b"one", f"/{tmp_path.name}/sub/b.txt": b"two"})

    made = prepare(SourceSpec("fsspec", f"memory://{tmp_path.name}"), tmp_path)

    assert files(made) == {"a.txt": "one", "sub/b.txt": "two"}


def test_a_password_of_an_fsspec_url_is_in_no_problem(tmp_path):
    source = SourceSpec("fsspec", "ftp://user:p@ss-phrase@127.0.0.1:1/x")
    with pytest.raises(ProblemRaised) as raised:
        prepare(source, tmp_path)

    assert "ftp://127.0.0.1:1/x" in raised.value.problem.message
    assert "ss-phrase" not in str(raised.value.problem.to_dict())


def test_links_of_an_fsspec_url_do_not_lead_out(tmp_path):
    source = tmp_path / "source"
    source.mkdir()
    (source / "link").symlink_to("/etc/passwd")

    assert refusal(SourceSpec("fsspec", source.as_uri()), tmp_path) == "untrusted"


@pytest.mark.parametrize("url", ["memory://nothing-there", "nosuchscheme://x", "file:///dev/null"])
def test_an_fsspec_url_that_cannot_be_read_is_a_problem(url, tmp_path):
    assert refusal(SourceSpec("fsspec", url), tmp_path) in ("not_found", "unavailable")


@pytest.mark.parametrize("error", [RuntimeError, IndexError, AttributeError])
def test_any_error_of_a_file_system_is_a_problem_without_its_login(error, tmp_path, monkeypatch):
    from fsspec.implementations.memory import MemoryFileSystem

    def fail(*given, **options):
        raise error("no access to s3://me:hidden@bucket")

    monkeypatch.setattr(MemoryFileSystem, "isdir", fail)
    with pytest.raises(ProblemRaised) as raised:
        prepare(SourceSpec("fsspec", "memory://x"), tmp_path)

    assert raised.value.problem.code == "unavailable"
    assert "hidden" not in raised.value.problem.message


class Repository:
    """A git repository that a hostile author made."""

    def __init__(self, path):
        self.path = path
        self.git("init", "-q", "-b", "main", str(path), at=path.parent)

    def git(self, *words, at=None, feed=b""):
        command = ["git", "-c", "user.name=x", "-c", "user.email=x@example.org", *words]
        done = subprocess.run(
            command, cwd=at or self.path, input=feed, capture_output=True, check=True, timeout=60
        )
        return done.stdout.decode().strip()

    def commit_tree(self, entries):
        """A commit of raw entries (mode, name, content); names are not checked by git."""
        raw = b""
        for mode, name, content in entries:
            made = content
            if mode != "160000":
                kind = "tree" if mode == "40000" else "blob"
                made = self.git(
                    "hash-object", "-t", kind, "-w", "--literally", "--stdin", feed=content
                )
            raw += mode.encode() + b" " + name + b"\0" + bytes.fromhex(made)
        tree = self.git("hash-object", "-t", "tree", "-w", "--literally", "--stdin", feed=raw)
        commit = self.git("commit-tree", tree, "-m", "x")
        self.git("update-ref", "refs/heads/main", commit)
        return SourceSpec("git", self.path.as_uri(), commit)


@pytest.fixture
def repository(tmp_path):
    path = tmp_path / "hostile"
    path.mkdir()
    return Repository(path)


def test_a_hostile_repository_runs_nothing(repository, tmp_path, monkeypatch):
    ran = tmp_path / "ran"
    act = f"touch {ran}; cat"
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    settings = (
        f'[filter "evil"]\n smudge = {act}\n clean = {act}\n required\n[core]\n fsmonitor = {act}\n'
    )
    (tmp_path / "home" / ".gitconfig").write_text(settings)
    with (repository.path / ".git" / "config").open("a") as config:
        config.write(settings + f"[uploadpack]\n packObjectsHook = {act}\n")
    for name in ("post-checkout", "pre-receive", "post-merge", "reference-transaction"):
        hook = repository.path / ".git" / "hooks" / name
        hook.parent.mkdir(exist_ok=True)
        hook.write_text(f"#!/bin/sh\n{act} </dev/null\n")
        hook.chmod(0o755)
    modules = (
        f'[submodule "m"]\n path = m\n url = ext::sh -c "touch {ran}"\n update = !touch {ran}\n'
    )
    source = repository.commit_tree(
        [
            ("100644", b".gitattributes", b"* filter=evil ident export-subst\n*.b export-ignore\n"),
            ("100644", b".gitmodules", modules.encode()),
            ("100644", b".lfsconfig", b"[lfs]\n url = http://127.0.0.1:1/\n"),
            ("100644", b"a.txt", b"$Id$ $Format:%H$\r\n"),
            ("100644", b"left.b", b"kept"),
            ("120000", b"link", b"a.txt"),
            ("160000", b"m", "1" * 40),
            ("100755", b"run", b"#!/bin/sh\n"),
        ]
    )
    if ran.exists():
        ran.unlink()  # Making the commit ran the author's own hooks.

    made = prepare(source, tmp_path)

    assert not ran.exists()
    assert set(files(made)) == {
        ".gitattributes", ".gitmodules", ".lfsconfig", "a.txt", "left.b", "link", "run",
    }  # fmt: skip
    assert (made / "a.txt").read_bytes() == b"$Id$ $Format:%H$\r\n"
    assert os.access(made / "run", os.X_OK)


@pytest.mark.parametrize(
    "entry",
    [
        ("120000", b"link", b"/etc/passwd"),
        ("120000", b"link", b"../../x"),
        ("100644", b"..", b"x"),
        ("100644", b"../x", b"x"),
        ("100644", b".git", b"gitdir: /tmp"),
        ("100644", b".GIT", b"gitdir: /tmp"),
        ("120000", b".git", b"a-directory-of-the-author"),
        # Characters that macOS leaves out of names.
        ("100644", b".g\xe2\x80\x8cit", b"gitdir: /tmp"),
        ("100644", b"/x", b"x"),
    ],
    ids=lambda entry: f"{entry[1].decode()}>{entry[2].decode()}",
)
def test_a_hostile_tree_does_not_escape(entry, repository, tmp_path):
    source = repository.commit_tree([entry])

    assert refusal(source, tmp_path) in ("untrusted", "unavailable")
    assert not (tmp_path / "x").exists()


def test_a_repository_beyond_the_limits_is_refused(repository, tmp_path):
    source = repository.commit_tree([("100644", b"big", b"x" * 10_000)])

    assert refusal(source, tmp_path, TreeLimits(5_000, 10)) == "too_large"


def test_a_few_objects_that_name_billions_of_files_are_refused(repository, tmp_path):
    made = repository.git("hash-object", "-w", "--stdin", feed=b"x")
    mode = b"100644"
    for _ in range(10):
        raw = b"".join(b"%s %d\0" % (mode, n) + bytes.fromhex(made) for n in range(10))
        made = repository.git("hash-object", "-t", "tree", "-w", "--stdin", feed=raw)
        mode = b"40000"
    commit = repository.git("commit-tree", made, "-m", "x")
    repository.git("update-ref", "refs/heads/main", commit)

    tracemalloc.start()
    code = refusal(SourceSpec("git", repository.path.as_uri(), commit), tmp_path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert code == "too_large"
    assert most < 16 << 20


@pytest.mark.parametrize("kind", ["tree", "tag"])
def test_what_is_not_a_commit_is_refused_before_anybody_works_on_it(kind, repository, tmp_path):
    source = repository.commit_tree([("100644", b"a", b"x")])
    named = repository.git("rev-parse", f"{source.commit}^{{tree}}")
    if kind == "tag":
        text = f"object {source.commit}\ntype commit\ntag t\ntagger x <x@y> 0 +0000\n\n"
        named = repository.git("hash-object", "-t", "tag", "-w", "--stdin", feed=text.encode())
    repository.git("update-ref", f"refs/tags/{kind}", named)

    assert refusal(source._replace(commit=named), tmp_path) == "unavailable"


def test_a_commit_has_nothing_from_behind_a_link(repository, tmp_path):
    source = repository.commit_tree([("100644", b"a.txt", b"1\n")])
    cache = GitCache(tmp_path / "git", LIMITS)
    made = prepare_workspace(source, tmp_path / "made", LIMITS, cache)
    secret = tmp_path / "secret"
    secret.mkdir()
    (secret / "key").write_text("secret")
    # A file was written there, then a command replaced its directory.
    (made / "sub").symlink_to(secret)

    commit = cache.commit_changes(source.place, source.commit, made, ["sub", "sub/key"])

    there = cache.repository(source.place)
    shown = repository.git(f"--git-dir={there}", "ls-tree", "-r", commit).splitlines()
    assert [line.split()[0] + line.split()[3] for line in shown] == ["100644a.txt", "120000sub"]


def test_a_commit_that_is_not_there_is_a_problem(repository, tmp_path):
    source = repository.commit_tree([("100644", b"a", b"x")])

    assert refusal(source._replace(commit="2" * 40), tmp_path) == "unavailable"


def test_a_commit_is_made_of_changed_files(repository, tmp_path):
    source = repository.commit_tree([("100644", b"a.txt", b"1\n"), ("100644", b"gone", b"2\n")])
    cache = GitCache(tmp_path / "git", LIMITS)
    made = prepare_workspace(source, tmp_path / "made", LIMITS, cache)
    (made / "a.txt").write_text("changed\n")
    (made / "gone").unlink()
    (made / "sub").mkdir()
    (made / "sub" / "new").write_text("3\n")
    changed = ["a.txt", "gone", "sub/new"]

    commit = cache.commit_changes(source.place, source.commit, made, changed)

    there = cache.repository(source.place)
    shown = repository.git(f"--git-dir={there}", "ls-tree", "-r", "--name-only", commit)
    assert shown.splitlines() == ["a.txt", "sub/new"]
    assert repository.git(f"--git-dir={there}", "show", f"{commit}:a.txt") == "changed"
    assert repository.git(f"--git-dir={there}", "rev-parse", f"{commit}^") == source.commit
