"""A tree to search, and both engines to search it with."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from handrail.core.places import Kind, Place
from handrail.host.processes.binaries import find_binary
from handrail.host.search.fallback.python_search import PythonSearch
from handrail.host.search.ripgrep.ripgrep_search import RipgrepSearch


class Tree:
    """Files beneath a root, written and named as a test needs them."""

    def __init__(self, root: Path) -> None:
        self.root = root
        root.mkdir(exist_ok=True)

    def write(self, rel: str, content: str | bytes = "needle\n") -> Path:
        path = self.root / rel
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    def place(self, rel: str = "") -> Place:
        path = self.root / rel
        kind = Kind.MISSING
        if path.is_dir():
            kind = Kind.DIRECTORY
        elif path.is_file():
            kind = Kind.FILE
        elif path.exists():
            kind = Kind.SPECIAL
        return Place(0, rel, rel or ".", str(path), kind)


@pytest.fixture
def tree(tmp_path: Path) -> Tree:
    return Tree(Path(os.path.realpath(tmp_path)) / "ws")


@pytest.fixture
def rg(tree: Tree) -> str:
    binary = find_binary("rg", [str(tree.root)])
    assert binary is not None, "ripgrep is installed with the package"
    return binary


@pytest.fixture
def ripgrep(tree: Tree, rg: str) -> Iterator[RipgrepSearch]:
    search = RipgrepSearch([str(tree.root)], rg)
    yield search
    search.close()


@pytest.fixture
def python(tree: Tree) -> Iterator[PythonSearch]:
    search = PythonSearch([str(tree.root)])
    yield search
    search.close()


@pytest.fixture(params=["ripgrep", "python"])
def search(request: pytest.FixtureRequest) -> RipgrepSearch | PythonSearch:
    return request.getfixturevalue(request.param)


Both = Callable[[], tuple[RipgrepSearch, PythonSearch]]
