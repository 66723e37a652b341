"""Extracts a tar archive: regular files, directories and links inside, within limits."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import stat
import tarfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final, Self

from handrail.core.problems import ProblemRaised
from handrail.scale import messages
from handrail.scale.sources.tree_writer import TreeWriter

# tarfile reads larger headers into memory as a whole.
_MAX_HEADER: Final = 1 << 20
# `xz -9` needs half of it.
_MAX_DICTIONARY: Final = 128 << 20
_CHUNK: Final = 1 << 16
# A long name, a long link target, one header for all members and one for this member, with room.
_MAX_CHAINED: Final = 16
_SPARSE: Final = "it has a sparse file"
_EXTENDED: Final = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


class XzReader(io.RawIOBase):
    """Decompresses xz while it is read. The header of a small file can request a dictionary of
    gigabytes, which `lzma.open` would allocate.
    """

    def __init__(self, file: IO[bytes]) -> None:
        super().__init__()
        self._file = file
        self._decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, _MAX_DICTIONARY)

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Fill a buffer as far as the next input goes; return 0 at the end."""
        made = b""
        while not made and not (self._decoder.eof and self._is_at_end()):
            given = self._file.read(_CHUNK) if self._decoder.needs_input else b""
            if self._decoder.needs_input and not given:
                raise EOFError("it ends too early")
            made = self._decoder.decompress(given, len(buffer))
        buffer[: len(made)] = made
        return len(made)

    def _is_at_end(self) -> bool:
        """Return whether no other compressed stream follows; if one does, start with it."""
        rest = self._decoder.unused_data.lstrip(b"\0")
        while not rest and (more := self._file.read(_CHUNK)):
            rest = more.lstrip(b"\0")
        if not rest:
            return True
        self._file.seek(-len(rest), os.SEEK_CUR)
        self._decoder = lzma.LZMADecompressor(lzma.FORMAT_XZ, _MAX_DICTIONARY)
        return False


_READERS: Final[Mapping[bytes, Callable[[IO[bytes]], Any]]] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": XzReader,
}


class BoundedArchive(tarfile.TarFile):
    """An archive that is read as a stream. `global_bytes` are headers for all members, which
    tarfile keeps; `chained` counts headers since the last member.
    """

    global_bytes = 0
    chained = 0


class BoundedTarInfo(tarfile.TarInfo):
    """A header. Very long headers, many headers for one member, and maps of sparse files are
    refused before they are read, because tarfile would read them into memory as a whole.
    """

    @classmethod
    def fromtarfile(cls, archive: tarfile.TarFile) -> Self:
        """Return the next header. tarfile would take a damaged one for the end of the archive."""
        try:
            return super().fromtarfile(archive)
        except tarfile.EOFHeaderError:  # type: ignore[attr-defined]
            raise
        except tarfile.HeaderError as error:
            raise tarfile.ReadError(str(error)) from error

    def _proc_member(self, archive: BoundedArchive) -> Self | tarfile.TarInfo:
        if self.type == tarfile.GNUTYPE_SPARSE:
            raise tarfile.HeaderError(_SPARSE)
        archive.chained = archive.chained + 1 if self.type in _EXTENDED else 0
        if archive.chained > _MAX_CHAINED:
            raise tarfile.HeaderError("a member has too many headers")
        if self.type in _EXTENDED and self.size > _MAX_HEADER:
            raise tarfile.HeaderError(f"a header has {self.size:,} bytes")
        if self.type == tarfile.XGLTYPE:
            archive.global_bytes += self.size + tarfile.BLOCKSIZE
            if archive.global_bytes > _MAX_HEADER:
                raise tarfile.HeaderError("the headers for all members are too long")
        inherited: Any = super()
        made: tarfile.TarInfo = inherited._proc_member(archive)  # noqa: SLF001
        return made

    def _refuse_sparse(self, *_: object) -> None:
        raise tarfile.HeaderError(_SPARSE)

    _proc_gnusparse_00 = _proc_gnusparse_01 = _proc_gnusparse_10 = _refuse_sparse


def extract_tarball(path: str, writer: TreeWriter) -> None:
    """Write the content of an archive. Raises `untrusted` for an archive that leads out of the
    workspace or contains devices, `too_large`, `unavailable` if it is damaged or not a file.
    """
    try:
        # As a stream: nothing is read twice, and an endless archive reaches the limits.
        with (
            _open_decompressed(path) as stream,
            BoundedArchive.open(
                fileobj=stream, mode="r|", tarinfo=BoundedTarInfo, errorlevel=2
            ) as tar,
        ):
            for member in tar:
                # tarfile keeps every member to find it by name.
                tar.members.clear()  # type: ignore[attr-defined]
                _add_member(tar, member, writer)
        writer.finish()
    except FileNotFoundError:
        raise messages.SOURCE_MISSING.error(what="archive", path=path) from None
    except (tarfile.TarError, OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
        reason = getattr(error, "strerror", None) or error
        raise messages.SOURCE_FAILED.error(source=Path(path).name, reason=reason) from error


@contextmanager
def _open_decompressed(path: str) -> Iterator[IO[bytes]]:
    """Open the archive; unlike tarfile's readers, these decompress no more than is requested."""
    # Opening a pipe without a writer would block.
    with os.fdopen(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError("it is not a regular file")
        head = file.read(6)
        file.seek(0)
        for magic, open_reader in _READERS.items():
            if head.startswith(magic):
                with open_reader(file) as stream:
                    yield stream
                return
        yield file


def _add_member(archive: tarfile.TarFile, member: tarfile.TarInfo, writer: TreeWriter) -> None:
    name = member.name
    if member.isdir():
        if name.strip("/") not in ("", "."):
            writer.add_directory(name)
    elif member.issym():
        writer.add_link(name, member.linkname)
    elif member.islnk():
        writer.add_copy(name, member.linkname)
    elif member.isreg():
        content = archive.extractfile(member)
        if content is None:
            raise _member_problem(writer, name)
        writer.add_file(name, content, executable=bool(member.mode & 0o100))
    else:
        raise _member_problem(writer, name)


def _member_problem(writer: TreeWriter, name: str) -> ProblemRaised:
    return writer.refuse(f"{name[:200]!r} is neither a file, a directory nor a link")
