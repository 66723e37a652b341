"""Surroundings in which every program is the system's own, and the real parser."""

import posixpath
from functools import cache

from handrail.core.commands import ExecutionContext
from handrail.host.processes.binaries import find_binary
from handrail.host.processes.shfmt import Shfmt

ROOT = "/srv/projects/app"
WHERE = ExecutionContext(
    ROOT,
    (ROOT,),
    "/srv/u",
    lambda name: f"/usr/bin/{name}",
    posixpath.normpath,
    hides_processes=lambda: True,
)


@cache
def parser():
    return Shfmt(find_binary("shfmt", []))
