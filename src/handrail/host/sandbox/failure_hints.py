"""Guesses from a program's output whether the confinement made it fail.

This module does not access the machine: a hint must not reveal which files exist outside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from handrail.core.ports.processes import Confinement, ProcessResult
from handrail.host import messages
from handrail.host.sandbox.visible_paths import is_inside_any

_NETWORK: Final = re.compile(
    r"could not resolve|name resolution|name or service not known|nodename nor servname"
    r"|network is unreachable|network unreachable|no address associated|no route to host"
    r"|address family not supported|unknown host|unknownhostexception|temporary failure resolving"
    r"|failed to (?:lookup|establish a new connection)|dns error|lookup \S+: no such host"
    r"|\b(?:EAI_AGAIN|EAI_FAIL|ENETUNREACH|ENOTFOUND|EAFNOSUPPORT|EHOSTUNREACH)\b",
    re.IGNORECASE,
)
_REFUSED: Final = re.compile(r"connection refused|\bECONNREFUSED\b", re.IGNORECASE)
# What curl prints for every failed connection, also without a network.
_NOT_CONNECTED: Final = re.compile(r"could(?:n't| not) connect to server", re.IGNORECASE)
_FORBIDDEN: Final = re.compile(
    r"read-only file ?system|permission denied|operation not permitted|device or resource busy"
    r"|\b(?:EROFS|EACCES|EPERM|EBUSY)\b",
    re.IGNORECASE,
)
_MISSING: Final = re.compile(r"no such file or directory|\bENOENT\b", re.IGNORECASE)
_PATH: Final = re.compile(r"[\w.+@~-]*(?:/[\w.+@~-]+)+/?|\.[A-Za-z][\w.-]+")
# The path of the program itself, which a shell prints before the target of a redirect.
_SPEAKER: Final = re.compile(r"\s*/[^\s:]+:\s+(?:(?:line )?\d+:\s+)?")
# Every command can see these directories; a file missing there does not exist.
_SYSTEM: Final = (
    "/usr",
    "/bin",
    "/sbin",
    "/lib",
    "/lib64",
    "/etc",
    "/opt",
    "/dev",
    "/proc",
    "/sys",
)
_TEMPORARY: Final = "/tmp"  # noqa: S108 - as programs name it
_LOOKED_AT: Final = 16 * 1024


def explain_failure(ended: ProcessResult, confinement: Confinement, backend: str) -> str | None:
    """Return the probable cause and the setting that lifts it; None without an indication."""
    if confinement.off or backend == "none" or ended.exit_code == 0:
        return None
    said = _output_text(ended)
    if not confinement.network and (reason := _network(said, backend)):
        if not confinement.hosts:
            return reason
        # The result names the connections that the proxy refused.
        if not any(connection.refused for connection in ended.connections):
            return messages.PROXY_NOT_USED
    for line in said.splitlines():
        if reason := _files(line, confinement, backend):
            return reason
    return None


def _output_text(ended: ProcessResult) -> str:
    kept = ended.stderr.head + ended.stderr.tail + b"\n" + ended.stdout.tail
    if not ended.stdout.tail:
        kept += ended.stdout.head
    return kept[-_LOOKED_AT:].decode("utf-8", "replace")


def _network(said: str, backend: str) -> str | None:
    unreached = _NOT_CONNECTED.search(said)
    if backend == "bubblewrap" and (unreached or _REFUSED.search(said)):
        return messages.OWN_LOOPBACK
    return messages.NETWORK_CLOSED if unreached or _NETWORK.search(said) else None


def _files(line: str, confinement: Confinement, backend: str) -> str | None:
    if _FORBIDDEN.search(line):
        named = _denied_path(line, confinement.denied_reads)
        if named is not None:
            return f"{named!r} is denied to commands by a rule; only the user can change that"
        for path in _paths(line, confinement.writable):
            if is_inside_any(path, confinement.read_only):
                return _read_only_hint(path, confinement.ruled)
            if is_inside_any(path, (_TEMPORARY,)) and not is_inside_any(path, confinement.writable):
                return f"commands cannot write to {path!r}; $TMPDIR names a directory of their own"
            if not is_inside_any(path, confinement.writable):
                return _outside_hint(path, "may not change")
    if _MISSING.search(line) and backend == "bubblewrap":
        for path in _paths(line, ()):
            if not is_inside_any(path, (*confinement.writable, *_SYSTEM, _TEMPORARY)):
                return _outside_hint(path, "do not see")
    return None


def _denied_path(line: str, withheld: Sequence[str]) -> str | None:
    """Return the denied path that the line names, possibly relative to its directory."""
    for token in _PATH.findall(line) if withheld else ():
        path = token.rstrip("/")
        relative = f"/{path.removeprefix('./')}"
        if is_inside_any(path, withheld) or any(one.endswith(relative) for one in withheld):
            return str(path)
    return None


def _read_only_hint(path: str, ruled: Sequence[tuple[str, str]]) -> str:
    rule = next((one for top, one in ruled if is_inside_any(path, (top,))), None)
    if rule is not None:
        return (
            f"{path!r} cannot be changed by commands: the rule {rule!r} forbids it; "
            "only the user can change that"
        )
    return (
        f"{path!r} is protected and cannot be changed by commands; "
        "the user can lift that with the setting allow_protected"
    )


def _outside_hint(path: str, what: str) -> str:
    return (
        f"{path!r} lies outside the workspace: commands {what} what is there; "
        "the user can add a directory with the setting directories"
    )


def _paths(line: str, roots: Sequence[str]) -> Iterator[str]:
    """Return the absolute paths in the line; relative paths as if relative to each root."""
    rest = line[spoken.end() :] if (spoken := _SPEAKER.match(line)) else line
    for token in _PATH.findall(rest) or _PATH.findall(line):
        if token.startswith("/"):
            yield token.rstrip("/") or "/"
        else:
            yield from (f"{root}/{token.removeprefix('./')}" for root in roots)
