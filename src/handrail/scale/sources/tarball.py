"""Extracts a tar archive: regular files, directories and links inside, within limits."""

from __future__ import annotations

import bz2
import gzip
import lzma
import tarfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any, Final, Self, cast

from handrail.core.problems import ProblemRaised
from handrail.scale import messages
from handrail.scale.sources.tree_writer import TreeWriter

# Larger headers are read into memory as a whole by tarfile.
_MAX_HEADER: Final = 1 << 20
_EXTENDED: Final = (
    tarfile.XHDTYPE,
    tarfile.XGLTYPE,
    tarfile.SOLARIS_XHDTYPE,
    tarfile.GNUTYPE_LONGNAME,
    tarfile.GNUTYPE_LONGLINK,
)


# Closed by who reads them.
_READERS: Final[Mapping[bytes, Callable[[str], IO[bytes]]]] = {
    b"\x1f\x8b": lambda path: cast(IO[bytes], gzip.open(path)),  # noqa: SIM115
    b"BZh": lambda path: cast(IO[bytes], bz2.open(path)),  # noqa: SIM115
    b"\xfd7zXZ\x00": lambda path: cast(IO[bytes], lzma.open(path)),  # noqa: SIM115
}


class BoundedTarInfo(tarfile.TarInfo):
    """A header; one that claims to be very long is refused before it is read."""

    def _proc_member(self, archive: tarfile.TarFile) -> Self | tarfile.TarInfo:
        if self.type in _EXTENDED and self.size > _MAX_HEADER:
            raise tarfile.HeaderError(f"a header has {self.size:,} bytes")
        inherited: Any = super()
        made: tarfile.TarInfo = inherited._proc_member(archive)  # noqa: SLF001
        return made


def extract_tarball(path: str, writer: TreeWriter) -> None:
    """Write the content of an archive. Raises `untrusted` for one that leads out of the workspace or
    has devices, `too_large`, `unavailable` if it is damaged.
    """
    try:
        # As a stream: nothing is read twice, and an archive that never ends meets the limits.
        with (
            _open_decompressed(path) as stream,
            tarfile.open(fileobj=stream, mode="r|", tarinfo=BoundedTarInfo, errorlevel=2) as tar,
        ):
            for member in tar:
                _add_member(tar, member, writer)
        writer.finish()
    except FileNotFoundError:
        raise messages.SOURCE_MISSING.error(what="archive", path=path) from None
    except (tarfile.TarError, OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
        raise messages.SOURCE_FAILED.error(source=Path(path).name, reason=error) from error


def _open_decompressed(path: str) -> IO[bytes]:
    """The archive itself; unlike tarfile, these readers decompress no more than is asked for."""
    with Path(path).open("rb") as file:
        head = file.read(6)
    for magic, open_reader in _READERS.items():
        if head.startswith(magic):
            return open_reader(path)
    return Path(path).open("rb")


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
            raise _refused(writer, name)
        writer.add_file(name, content, executable=bool(member.mode & 0o100))
    else:
        raise _refused(writer, name)


def _refused(writer: TreeWriter, name: str) -> ProblemRaised:
    return writer.refuse(f"{name[:200]!r} is neither a file, a directory nor a link")
