"""The browser of the tool `screenshot`: found on this machine, confined by the sandbox."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

from handrail.assembly.machine import Machine
from handrail.config.model import Settings
from handrail.core.names.web_urls import WebReach
from handrail.core.ports.processes import Confinement, Launch, ProcessChannel, Strength
from handrail.core.ports.web import PageCamera
from handrail.host import resolver
from handrail.host.processes.binaries import find_binary, find_trusted
from handrail.host.processes.python_worker import package_directories, run_python_worker
from handrail.media.reader import WorkerMediaReader
from handrail.web import messages

if TYPE_CHECKING:
    from handrail.core.context import WorkingDirectory

_NAMES: Final = ("chromium-headless-shell", "chrome-headless-shell", "headless_shell")
_CACHED: Final = "ms-playwright/chromium_headless_shell-*/chrome-*/*headless*shell"
# The pipe of the DevTools protocol is at the file descriptors 3 and 4; the profile is new.
_START: Final = (
    'd=$(mktemp -d) && export HOME="$d" && '
    'exec "$@" --user-data-dir="$d" --proxy-server="$HTTP_PROXY" about:blank '
    "3<&0 4>&1 </dev/null >/dev/null"
)
# The properties of the sandbox that must be enforced for the browser.
_REQUIRED: Final = ("fs_write", "fs_hide", "tcp", "udp", "mptcp", "unix_path", "unix_abstract")
_LIFE_S: Final = 150.0


def open_camera(
    settings: Settings, reach: WebReach, machine: Machine, where: WorkingDirectory
) -> PageCamera:
    """The camera for screenshots of pages; raises `unavailable` if a requirement is missing."""
    from handrail.web.browser import ARGUMENTS, ChromiumCamera

    if package_directories(("PIL",)) is None:
        raise messages.EXTRA_MISSING.error(what="screenshot", package="Pillow", extra="browser")
    roots = machine.files.roots
    program = settings.web.browser or _find_browser(roots)
    if program is None:
        raise messages.NO_BROWSER.error()
    if machine.commands is None:
        raise messages.BROWSER_NOT_CONFINED.error()
    shell = machine.commands.parts.shell_in(where)
    measured = shell.sandbox.measured
    if any(measured.get(name) is not Strength.ENFORCED for name in _REQUIRED):
        raise messages.BROWSER_NOT_CONFINED.error()
    hidden = (*roots, *machine.places.hidden)
    command = ("/bin/sh", "-c", _START, "sh", program, *ARGUMENTS)

    async def open_browser(hosts: tuple[str, ...]) -> ProcessChannel:
        confinement = Confinement((), hidden=hidden, hosts=hosts)
        launch = Launch(command, "/", dict(shell.environment), confinement, _LIFE_S)
        return await shell.processes.open(launch)

    resolve = resolver.resolve_addresses
    return ChromiumCamera(reach, resolve, open_browser, WorkerMediaReader(run_python_worker))


def _find_browser(roots: tuple[str, ...]) -> str | None:
    """The program of a headless Chromium; None if there is no trusted one outside the roots."""
    for name in _NAMES:
        program = find_binary(name, roots)
        if program is not None:
            return program
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cached = sorted((str(one) for one in cache.glob(_CACHED)), reverse=True)
    return find_trusted(cached, roots)
