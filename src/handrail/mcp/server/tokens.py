"""The bearer tokens of the HTTP server: one to call tools, one to answer approvals.

A client that can make calls must not be able to approve them. Each token is in a file that only
its owner can read, and is never printed, logged or passed on a command line.
"""

from __future__ import annotations

import os
import secrets
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from handrail.core.problems import ProblemRaised
from handrail.host.state.directories import private_directory, state_home
from handrail.mcp.server import messages

CALLS: Final = "call-token"
APPROVALS: Final = "approval-token"
_MAX_BYTES: Final = 256


@dataclass(frozen=True, slots=True)
class Tokens:
    """The two tokens that requests are compared with."""

    calls: str = field(repr=False)
    approvals: str = field(repr=False)

    def may_call(self, given: str | None) -> bool:
        """Return whether this is the token for calls."""
        return _equal(given, self.calls)

    def may_approve(self, given: str | None) -> bool:
        """Return whether this is the token for approvals."""
        return _equal(given, self.approvals)


def token_file(name: str) -> Path:
    """Return the path of a token."""
    return state_home() / "mcp" / name


def load_tokens(*, renew: bool = False) -> Tokens:
    """Load the user's tokens and create missing ones.

    Raises `unavailable` if another user can access a token file.
    """
    private_directory(state_home())
    private_directory(token_file(CALLS).parent)
    return Tokens(_load(token_file(CALLS), renew=renew), _load(token_file(APPROVALS), renew=renew))


def _load(path: Path, *, renew: bool) -> str:
    if renew:
        path.unlink(missing_ok=True)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return _make(path)
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from error
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode) or info.st_uid != os.geteuid() or info.st_mode & 0o077:
            raise _unusable(path, "other users could have read or written it")
        token = os.read(descriptor, _MAX_BYTES).decode("ascii", "replace").strip()
    finally:
        os.close(descriptor)
    if len(token) < 32:
        raise _unusable(path, "it contains no token")
    return token


def _make(path: Path) -> str:
    token = secrets.token_urlsafe(32)
    # Written under a temporary name first: two servers may start at the same time.
    draft = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, f"{token}\n".encode("ascii"))
    finally:
        os.close(descriptor)
    try:
        os.link(draft, path)
    except FileExistsError:
        return _load(path, renew=False)
    finally:
        draft.unlink()
    return token


def _equal(given: str | None, token: str) -> bool:
    return given is not None and secrets.compare_digest(
        given.encode("utf-8", "replace"), token.encode("ascii")
    )


def _unusable(path: Path, why: str) -> ProblemRaised:
    return messages.TOKEN_UNUSABLE.error(path=str(path), reason=why)
