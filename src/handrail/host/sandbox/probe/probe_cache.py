"""Stores probe results, so that not every start measures again.

A result is valid for one boot, kernel, sandbox program, Handrail version, user and set of
namespaces.
"""

from __future__ import annotations

import json
import os
import platform
import tempfile
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from handrail.core.problems import ProblemRaised
from handrail.host.state.directories import private_directory

_FILE: Final = "sandbox.json"
_MOST: Final = 32
_IDENTITY: Final = ("/proc/sys/kernel/random/boot_id", "/proc/self/attr/current")
_NAMESPACES: Final = ("mnt", "net", "pid", "user")


def cache_key(*parts: str) -> str:
    """The cache key: this machine and process, and the given parts."""
    facts = [platform.release(), platform.machine(), str(os.geteuid()), str(os.getegid()), *parts]
    facts += [_text(path) for path in _IDENTITY]
    facts += sorted(_own_code())
    facts += [_link(f"/proc/self/ns/{name}") for name in _NAMESPACES]
    status = _text("/proc/self/status").splitlines()
    facts += [line for line in status if line.startswith(("Cap", "Seccomp:", "NoNewPrivs:"))]
    return sha256("\0".join(facts).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def load_result(directory: Path | None, key: str) -> Mapping[str, Any] | None:
    """The result stored under the key."""
    found = _load(directory).get(key)
    return found if isinstance(found, dict) else None


def save_result(directory: Path | None, key: str, facts: Mapping[str, Any]) -> None:
    """Store a result; a directory that cannot be written is ignored."""
    if directory is None:
        return
    kept = {**_load(directory), key: facts}
    newest = dict(list(kept.items())[-_MOST:])
    try:
        private_directory(directory)
        with tempfile.NamedTemporaryFile("w", dir=directory, delete=False) as file:
            json.dump(newest, file)
        Path(file.name).replace(directory / _FILE)
    except (OSError, ProblemRaised):
        return


def _load(directory: Path | None) -> dict[str, Any]:
    # Reading must not create the directory.
    if directory is None or not directory.is_dir():
        return {}
    try:
        private_directory(directory)
        kept = json.loads((directory / _FILE).read_text("utf-8"))
    except (OSError, ValueError, ProblemRaised):
        return {}
    return kept if isinstance(kept, dict) else {}


def _own_code() -> Iterator[str]:
    """The source files of the sandbox and of the service that answers system calls: another
    version may measure or confine differently.
    """
    sandbox = Path(__file__).parents[1]
    folders = (sandbox, sandbox.with_name("supervisor") / "tracing")
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        info = path.stat()
        yield f"{path} {info.st_size} {info.st_mtime_ns}"


def _text(path: str) -> str:
    try:
        return Path(path).read_text("utf-8", "replace")
    except OSError:
        return ""


def _link(path: str) -> str:
    try:
        return str(Path(path).readlink())
    except OSError:
        return ""
