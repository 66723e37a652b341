"""Writes the files of a commit. Git only transfers objects and checks nothing out, so hooks,
filters, attributes, submodules and links of a repository have no effect.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from io import BytesIO
from pathlib import Path
from typing import IO, Final, NamedTuple

from handrail.host.processes.unconfined import run_program, stream_program
from handrail.scale import messages
from handrail.scale.sources.tree_writer import TreeLimits, TreeWriter, is_inside

_FETCH_S: Final = 600.0
_READ_S: Final = 600.0
_CHUNK: Final = 1 << 20
# The limit for the listing of a tree: about 100 bytes per file.
_MAX_LISTING: Final = 256 << 20
_MAX_LINK: Final = 4096
_FILE, _PROGRAM, _LINK, _SUBMODULE = "100644", "100755", "120000", "160000"
# Characters that a file system of macOS ignores when it compares names.
_INVISIBLE: Final = dict.fromkeys(
    [*range(0x200C, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF]
)
_OPTIONS: Final = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.attributesFile=/dev/null",
    "credential.helper=",
    "fetch.recurseSubmodules=false",
    "fetch.unpackLimit=1",
    "gc.auto=0",
    "http.followRedirects=false",
    "maintenance.auto=false",
    "protocol.allow=never",
    "protocol.file.allow=always",
    "protocol.https.allow=always",
    "protocol.ssh.allow=always",
    "submodule.recurse=false",
)


class CommitEntry(NamedTuple):
    """One file of a commit."""

    mode: str
    object_id: str
    size: int
    name: str


class GitCache:
    """Bare repositories with the fetched commits, one for each URL, in a directory of the fleet."""

    def __init__(self, directory: Path, limits: TreeLimits) -> None:
        self._directory = directory
        self._limits = limits

    def write_files(self, url: str, commit: str, writer: TreeWriter) -> None:
        """Write the files of a commit. Raises `unavailable` if it cannot be fetched, `too_large`,
        `untrusted` for links that leave the workspace.
        """
        with self._guard("fetch"):
            self.fetch(url, commit)
        with self._guard("ls-tree"):
            entries = self._list(url, commit, writer)
        with self._guard("cat-file"):
            self._write(url, entries, writer)
        writer.finish()

    def fetch(self, url: str, commit: str) -> None:
        """Fetch a commit without its history into the cache; raises OSError."""
        with self._locked(url) as repository:
            if not (repository / "HEAD").exists():
                self._git(url, "init", "--quiet", "--bare", "--template=", str(repository))
            if self._has(url, commit):
                return
            # Left by a git that was killed; it would refuse every later one.
            (repository / "shallow.lock").unlink(missing_ok=True)
            fetch_options = (
                "--no-tags",
                "--no-recurse-submodules",
                "--no-write-fetch-head",
                "--quiet",
            )
            try:
                self._git(url, "fetch", *fetch_options, "--depth=1", "--", url, commit)
            except OSError:
                # For a server that serves only the commits of its branches.
                self._git(url, "fetch", *fetch_options, "--", url, "+refs/heads/*:refs/fleet/*")
                if not self._has(url, commit):
                    raise
            if not self._has(url, commit):
                raise OSError(f"the commit {commit} was not sent")

    def commit_changes(self, url: str, commit: str, workspace: Path, changed: Sequence[str]) -> str:
        """Make a commit of the changed files on top of another one; return its hash. The commit is
        in the repository `repository(url)`. Raises `unavailable`.
        """
        with self._guard("commit"), tempfile.TemporaryDirectory(dir=self._directory) as directory:
            index = {"GIT_INDEX_FILE": str(Path(directory, "index"))}
            self._git(url, "read-tree", commit, environ=index)
            text = b"".join(self._index_line(url, workspace, name) for name in changed)
            self._git(url, "update-index", "-z", "--index-info", environ=index, feed=text)
            tree = self._git(url, "write-tree", environ=index).decode().strip()
            options = ("-p", commit, "-m", "Result of a fleet task")
            output = self._git(url, "commit-tree", tree, *options, environ=_AUTHOR)
            result = output.decode().strip()
            self._git(url, "update-ref", f"refs/results/{result}", result)
            return result

    def repository(self, url: str) -> Path:
        """Return the bare repository of a URL."""
        return self._directory / f"{sha256(url.encode()).hexdigest()[:16]}.git"

    def _index_line(self, url: str, workspace: Path, name: str) -> bytes:
        path, written = workspace / name, os.fsencode(name)
        deletion = b"0 %s\t%s\0" % (b"0" * 40, written)
        if not is_inside(path.parent, workspace):
            # A directory was replaced by a link: what lies behind it is not part of the result.
            return deletion
        if path.is_symlink():
            mode, content = _LINK, os.fsencode(path.readlink())
        elif path.is_file():
            mode = _PROGRAM if os.access(path, os.X_OK) else _FILE
            content = path.read_bytes()
        else:
            # A commit has neither empty directories nor special files.
            return deletion
        digest = self._git(url, "hash-object", "-w", "--no-filters", "--stdin", feed=content)
        return b"%s %s\t%s\0" % (mode.encode(), digest.strip(), written)

    def _has(self, url: str, commit: str) -> bool:
        """Return whether the cache has a commit and its tree; raises OSError for another object."""
        query = f"{commit}\n{commit}^{{tree}}\n".encode()
        object_line, tree = self._git(url, "cat-file", "--batch-check", feed=query).splitlines()
        kind = object_line.split()[1]
        if kind not in (b"commit", b"missing"):
            raise OSError(f"{commit} is not a commit but a {kind.decode()}")
        return kind == b"commit" and tree.split()[1] == b"tree"

    def _list(self, url: str, commit: str, writer: TreeWriter) -> list[CommitEntry]:
        """The files of a commit within the limits: a few objects can name billions of files."""
        found: list[CommitEntry] = []
        total, rest = 0, _MAX_LISTING
        with stream_program(
            self._command(url, ("ls-tree", "-r", "-z", "-l", "--full-tree", commit)),
            environ=_environment(),
            feed=None,
            deadline_s=_READ_S,
            max_file_bytes=self._limits.bytes,
        ) as running:
            for line in _read_records(running.output):
                entry, rest = _read_entry(line), rest - len(line)
                total += entry.size
                if total > self._limits.bytes:
                    raise writer.too_large("bytes", self._limits.bytes)
                if len(found) >= self._limits.entries:
                    raise writer.too_large("entries", self._limits.entries)
                if rest < 0:
                    raise OSError(f"the names have more than {_MAX_LISTING:,} bytes")
                if entry.mode != _SUBMODULE:
                    found.append(entry)
        return found

    def _write(self, url: str, entries: Sequence[CommitEntry], writer: TreeWriter) -> None:
        with tempfile.TemporaryFile(dir=self._directory) as wanted:
            wanted.writelines(f"{entry.object_id}\n".encode() for entry in entries)
            wanted.seek(0)
            with stream_program(
                self._command(url, ("cat-file", "--batch", "--buffer")),
                environ=_environment(),
                feed=wanted,
                deadline_s=_READ_S,
                max_file_bytes=self._limits.bytes,
            ) as running:
                for entry in entries:
                    _write_entry(entry, running.output, writer)

    def _git(
        self, url: str, *words: str, environ: dict[str, str] | None = None, feed: bytes = b""
    ) -> bytes:
        with tempfile.TemporaryFile(dir=self._directory) as given:
            given.write(feed)
            given.seek(0)
            return run_program(
                self._command(url, words),
                environ=_environment() | (environ or {}),
                feed=given,
                deadline_s=_FETCH_S,
                max_bytes=_CHUNK,
                max_file_bytes=self._limits.bytes,
            )

    def _command(self, url: str, words: Sequence[str]) -> list[str]:
        options = [part for option in _OPTIONS for part in ("-c", option)]
        return ["git", f"--git-dir={self.repository(url)}", *options, *words]

    @contextmanager
    def _locked(self, url: str) -> Iterator[Path]:
        repository = self.repository(url)
        handle = os.open(f"{repository}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield repository
        finally:
            os.close(handle)

    @contextmanager
    def _guard(self, action: str) -> Iterator[None]:
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            yield
        except (OSError, ValueError) as error:
            raise messages.GIT_FAILED.error(action=action, reason=error) from error


_AUTHOR: Final = {
    f"GIT_{who}_{what}": value
    for who in ("AUTHOR", "COMMITTER")
    for what, value in (("NAME", "handrail"), ("EMAIL", "fleet@handrail.invalid"))
}


def _environment() -> dict[str, str]:
    """Return an environment without the user's git settings, except for ssh and https logins."""
    inherited = ("PATH", "HOME", "SSH_AUTH_SOCK", "SSL_CERT_FILE", "SSL_CERT_DIR", "https_proxy")
    return {
        **{name: os.environ[name] for name in inherited if name in os.environ},
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ASKPASS": "/bin/false",
        "GIT_SSH_COMMAND": "ssh -oBatchMode=yes -oStrictHostKeyChecking=yes",
        "GIT_PROTOCOL_FROM_USER": "0",
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_NO_REPLACE_OBJECTS": "1",
        "LC_ALL": "C.UTF-8",
    }


def _read_records(stream: IO[bytes]) -> Iterator[bytes]:
    """Yield the parts of a stream that end with a null character."""
    rest = b""
    while chunk := stream.read(_CHUNK):
        *records, rest = (rest + chunk).split(b"\0")
        yield from records
        if len(rest) > _CHUNK:
            raise OSError(f"a name has more than {_CHUNK:,} bytes")


def _read_entry(line: bytes) -> CommitEntry:
    facts, _, name = line.partition(b"\t")
    mode, _, object_id, size = facts.decode("ascii").split()
    return CommitEntry(mode, object_id, int(size) if size.isdigit() else 0, os.fsdecode(name))


def _write_entry(entry: CommitEntry, output: IO[bytes], writer: TreeWriter) -> None:
    """Write the next object of `cat-file --batch`; raises ValueError for another object."""
    header = output.readline(200).split()
    if len(header) != 3 or header[0].decode("ascii") != entry.object_id:
        raise ValueError(f"the object {entry.object_id} cannot be read")
    content = _ObjectReader(output, int(header[2]))
    _refuse_repository(entry.name, writer)
    if entry.mode == _LINK:
        if int(header[2]) > _MAX_LINK:
            raise writer.refuse(f"the link {entry.name!r} has no valid target")
        writer.add_link(entry.name, os.fsdecode(content.read(_MAX_LINK + 1)))
    elif entry.mode in (_FILE, _PROGRAM, "100664"):
        writer.add_file(entry.name, content, executable=entry.mode == _PROGRAM)
    else:
        raise writer.refuse(f"{entry.name!r} has the mode {entry.mode}")
    if content.read(1) or output.read(1) != b"\n":
        raise ValueError(f"the object {entry.object_id} has another length")


def _refuse_repository(name: str, writer: TreeWriter) -> None:
    """Refuse names that git itself refuses, including those that only a file system which ignores
    case or invisible characters takes for `.git`.
    """
    if any(
        part.translate(_INVISIBLE).lower().rstrip(". ") in (".git", "git~1")
        for part in name.split("/")
    ):
        raise writer.refuse(f"{name[:200]!r} is the name of a repository")


class _ObjectReader(BytesIO):
    """The bytes of one object in a longer stream."""

    def __init__(self, stream: IO[bytes], size: int) -> None:
        super().__init__()
        self._stream = stream
        self._rest = size

    def read(self, size: int | None = -1, /) -> bytes:
        wanted = self._rest if size is None or size < 0 else min(size, self._rest)
        found = self._stream.read(wanted)
        self._rest -= len(found)
        if len(found) < wanted:
            raise ValueError("the output of git ended early")
        return found
