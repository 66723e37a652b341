"""The hash of an installed program, from the RECORD of its distribution."""

from __future__ import annotations

import base64
import os
import sysconfig
from typing import Final, NamedTuple

_ALGORITHM: Final = "sha256"


class RecordEntry(NamedTuple):
    """The RECORD entry of one file; `sha256` in hexadecimal."""

    distribution: str
    version: str
    sha256: str


def read_record_entry(distribution: str, path: str) -> RecordEntry | None:
    """The entry of a file; None if the distribution is not installed or has no hash for it.

    Only this environment's package directories count: the import path may begin with the current
    directory, which belongs to the workspace.
    """
    from importlib.metadata import distributions

    folders = list(dict.fromkeys((sysconfig.get_path("purelib"), sysconfig.get_path("platlib"))))
    wanted = os.path.realpath(os.path.dirname(path)), os.path.basename(path)  # noqa: PTH119, PTH120
    for found in distributions(name=distribution, path=folders):
        for file in found.files or ():
            if file.name != wanted[1] or file.hash is None or file.hash.mode != _ALGORITHM:
                continue
            if os.path.realpath(str(found.locate_file(file.parent))) == wanted[0]:
                return RecordEntry(distribution, found.version, _hexadecimal(file.hash.value))
    return None


def _hexadecimal(value: str) -> str:
    """The digest of a RECORD, which is URL-safe base64 without padding."""
    try:
        return base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)).hex()
    except ValueError:
        return ""
