"""A workspace with protected names, and how the tests about them run commands in it."""

import os
import stat
import subprocess
from pathlib import Path

from handrail.core.names.protected_names import COMMAND_NAMES
from handrail.host.files.root_identity import RootHandle
from handrail.host.sandbox.protected.baseline import RepairedEntry
from handrail.host.sandbox.protected.guard import ProtectedState

TABLE = COMMAND_NAMES


def build(work: Path) -> Path:
    """A repository, a nested one, and protected names at several depths."""
    for git in (work / ".git", work / "vendor" / "lib" / ".git"):
        for folder in ("hooks", "info", "objects/info", "objects/ab", "refs/heads"):
            (git / folder).mkdir(parents=True)
        (git / "HEAD").write_text("ref: refs/heads/main\n")
        (git / "config").write_text("[core]\n\tbare = false\n")
        (git / "hooks" / "pre-commit.sample").write_text("#!/bin/sh\n")
        (git / "objects" / "ab" / "cd").write_bytes(b"x\x9c\x00")
    module = work / ".git" / "modules" / "libs" / "one"
    (module / "hooks").mkdir(parents=True)
    (module / "HEAD").write_text("ref: refs/heads/main\n")
    (module / "config").write_text("[core]\n")
    put(work / ".vscode" / "settings.json", "{}\n")
    put(work / "sub" / ".vscode" / "tasks.json", "[]\n")
    put(work / "pkg" / ".venv" / "bin" / "python", "#!/bin/sh\nexit 0\n", mode=0o755)
    put(work / "node_modules" / ".bin" / "tsc", "#!/bin/sh\n", mode=0o755)
    put(work / ".envrc", "export A=1\n")
    put(work / "deep" / "a" / "b" / "evil.pth", "import os\n")
    put(work / "src" / "main.py", "print(1)\n")
    (work / ".npmrc").symlink_to("npmrc.shared")
    return work


def put(path: Path, text: str, *, mode: int = 0o644) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(mode)


def tree(path: Path) -> dict[str, tuple[str, str | bytes]]:
    """Everything below a directory: kind, mode and content."""
    found = {}
    for one in sorted(path.rglob("*")):
        info = one.lstat()
        if stat.S_ISLNK(info.st_mode):
            content: str | bytes = os.readlink(one)
        else:
            content = one.read_bytes() if stat.S_ISREG(info.st_mode) else b""
        found[str(one.relative_to(path))] = (stat.filemode(info.st_mode), content)
    return found


def run(work: Path, command: str) -> None:
    """As a command would be run."""
    subprocess.run(["/bin/sh", "-ec", command], cwd=work, check=True)


def repaired(
    state: ProtectedState, top: RootHandle, command: str, **allowed
) -> dict[str, RepairedEntry]:
    """Run a command between `take` and `repair`; what was told, by relative path."""
    snapshot = state.take([top], **allowed)
    run(Path(top.path), command)
    done = state.repair(snapshot)
    assert all(path.startswith(f"{top.path}/") for path, *_ in done)
    return {path.removeprefix(f"{top.path}/"): RepairedEntry("", *rest) for path, *rest in done}


def whats(done: dict[str, RepairedEntry]) -> dict[str, str]:
    return {path: one.what for path, one in done.items()}
