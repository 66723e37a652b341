"""A sandbox on a directory, and commands run in it; as whoever runs the tests."""

import os
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from handrail.core.ports.processes import Confinement, Launch
from handrail.host.sandbox.local_sandbox import LocalSandbox, open_sandbox
from handrail.host.sandbox.probe import fixture

PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass
class Scenery:
    """`run` answers exit code, stdout and stderr of a command in the first root."""

    sandbox: LocalSandbox
    roots: list[str]
    home: str
    confinement: dict[str, Any] = field(default_factory=dict)

    def launch(self, command, *, env=None, **confinement):
        given = {"writable": tuple(self.roots), **self.confinement, **confinement}
        variables = {"PATH": PATH, "HOME": self.home, **(env or {})}
        argv = ("/bin/bash", "-c", command)
        return Launch(argv, self.roots[0], variables, Confinement(**given), None)

    def run(self, command, **given):
        done = fixture.run_probe_program(
            self.sandbox.recipe(self.launch(command, **given)), deadline_s=30
        )
        return done.exit_code, done.stdout.decode(), done.stderr.decode()


@contextmanager
def scenery(backend, roots, *, home="/nonexistent", hidden=(), **given):
    environ = {"HOME": str(home), "PATH": PATH}
    made = open_sandbox(
        [str(root) for root in roots],
        [str(one) for one in hidden],
        backend=backend,
        environ=environ,
        **given,
    )
    with closing(made):
        yield Scenery(made, [os.path.realpath(root) for root in roots], str(home))


def files_in(folder):
    """Every name below a folder, with the content of files."""
    return {
        str(path.relative_to(folder)): path.read_text() if path.is_file() else None
        for path in sorted(Path(folder).rglob("*"))
    }
