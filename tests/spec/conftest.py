"""A workspace and runtimes on it, for stories that go through the front door."""

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

import handrail


class Workspace:
    """A real directory with short ways to write and read its files."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, path: str, content: str | bytes) -> Path:
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
        return target

    def read(self, path: str) -> bytes:
        return (self.root / path).read_bytes()

    def tree(self) -> dict[str, bytes]:
        return {
            str(path.relative_to(self.root)): path.read_bytes()
            for path in sorted(self.root.rglob("*"))
            if path.is_file() and not path.is_symlink()
        }


@pytest.fixture
def workspace(tmp_path):
    root = tmp_path / "work"
    root.mkdir()
    return Workspace(root)


@pytest.fixture
def open_runtime(workspace):
    """Open runtimes on the workspace, by default in memory and accepting edits."""

    @asynccontextmanager
    async def opened(**settings):
        settings = {"store": ":memory:", "mode": "accept-edits", **settings}
        async with handrail.open(workspace.root, **settings) as runtime:
            yield runtime

    return opened


@pytest.fixture
def endless():
    """A tool called slow that never returns, and what is set once it runs."""
    started = asyncio.Event()

    @handrail.tool(reads_only=True)
    async def slow() -> str:
        """Waits for ever."""
        started.set()
        await asyncio.Event().wait()
        return ""

    return slow, started
