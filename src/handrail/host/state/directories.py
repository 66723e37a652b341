"""The user's state directory, outside every workspace, and checks that directories are private.

A directory is trusted only if this user owns it, no other user has access and it is not a link;
this is checked on an open handle.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Final

from handrail.core.problems import ProblemRaised
from handrail.host.files.root_identity import is_inside
from handrail.host.messages import STATE_UNTRUSTED

_OPEN: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_ODD: Final = re.compile(r"[^A-Za-z0-9._-]+")
_SLUG: Final = 40


def state_home(environ: Mapping[str, str] = os.environ) -> Path:
    """`$XDG_STATE_HOME/handrail`, by default `~/.local/state/handrail`; not created."""
    return _xdg("XDG_STATE_HOME", ".local/state", environ)


def config_home(environ: Mapping[str, str] = os.environ) -> Path:
    """`$XDG_CONFIG_HOME/handrail`, by default `~/.config/handrail`; not created."""
    return _xdg("XDG_CONFIG_HOME", ".config", environ)


def workspace_state(root: str | Path, home: Path | None = None) -> Path:
    """Return the private directory of one workspace; create it if it is missing.

    Raises `unavailable` if it cannot be created or is not private.
    """
    return private_directory(private_directory(home or state_home()) / workspace_name(root))


def workspace_name(root: str | Path) -> str:
    """The directory name for a workspace at this path."""
    canonical = os.path.realpath(root)
    slug = _ODD.sub("-", Path(canonical).name).strip("-.")[:_SLUG] or "root"
    digest = sha256(canonical.encode("utf-8", "surrogateescape")).hexdigest()[:12]
    return f"{slug}-{digest}"


def private_directory(path: Path) -> Path:
    """Create a private directory, or check an existing one. Raises `unavailable`."""
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path.mkdir(mode=0o700, exist_ok=True)
        descriptor = os.open(path, _OPEN)
    except FileExistsError as error:
        raise _untrusted(path, "a file is in its way") from error
    except OSError as error:
        raise _untrusted(path, error.strerror or str(error)) from error
    try:
        _check(path, descriptor)
    finally:
        os.close(descriptor)
    return path


def ensure_outside(path: Path, roots: Sequence[str], home: Path | None = None) -> tuple[str, ...]:
    """Return the directories that tools must not see because a root contains them.

    A state home inside a root (the workspace is `$HOME`) is hidden. Any other directory inside a
    root is refused with `unavailable`: a workspace must not contain its own record.
    """
    place = os.path.realpath(path)
    top = os.path.realpath(home or state_home())
    if not any(is_inside(place, os.path.realpath(root)) for root in roots):
        return ()
    if is_inside(place, top):
        return (top,)
    raise _untrusted(path, "it lies inside the workspace, where tools could change it")


def _xdg(variable: str, default: str, environ: Mapping[str, str]) -> Path:
    given = environ.get(variable, "")
    # The XDG specification says to ignore relative values.
    base = Path(given) if given.startswith("/") else user_home(environ) / default
    return base / "handrail"


def user_home(environ: Mapping[str, str] = os.environ) -> Path:
    """The user's home directory."""
    given = environ.get("HOME", "")
    return Path(given) if given.startswith("/") else Path.home()


def _check(path: Path, descriptor: int) -> None:
    info = os.fstat(descriptor)
    if info.st_uid != os.geteuid():
        raise _untrusted(path, f"it belongs to another user (uid {info.st_uid})")
    if info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise _untrusted(path, "other users may write to it")
    if info.st_mode & 0o077:
        os.fchmod(descriptor, 0o700)


def _untrusted(path: Path, why: str) -> ProblemRaised:
    return STATE_UNTRUSTED.error(path=str(path), reason=why)
