"""Which engine searches: ripgrep where a trusted one is found, else Python."""

import sys
from pathlib import Path

import pytest
from tests.support.handles import open_handles

from handrail.core.places import Kind, Place
from handrail.core.ports.machine import GrepQuery
from handrail.core.problems import ProblemRaised
from handrail.host.processes import spawn
from handrail.host.search.choose_engine import open_search
from handrail.host.search.ripgrep.ripgrep_search import RipgrepSearch


async def engine_for(root: Path, sub: str) -> str:
    search = open_search([str(root)])
    place = Place(0, sub, sub, str(root / sub), Kind.DIRECTORY)
    found = await search.grep(GrepQuery("no such text", place))
    search.close()
    return found.engine


async def test_ripgrep_searches_where_it_is_installed(tree):
    tree.write("sub/a.txt")

    assert await engine_for(tree.root, "sub") == "ripgrep"


async def test_a_ripgrep_inside_the_root_is_not_trusted(tmp_path, monkeypatch):
    # The environment that Handrail runs in lies inside the workspace.
    (tmp_path / "sub").mkdir()
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path / "bin"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    program = tmp_path / "bin" / "rg"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)

    assert await engine_for(tmp_path, "sub") == "python"


async def test_where_the_door_cannot_be_built_python_searches(tree, monkeypatch):
    tree.write("sub/a.txt")
    monkeypatch.setattr(spawn, "supported", lambda: False)

    assert await engine_for(tree.root, "sub") == "python"


def test_a_root_that_is_not_a_directory_is_an_os_error_and_leaves_no_handle(tree):
    before = open_handles()
    file = tree.write("a.txt")

    for root in (str(file), str(tree.root / "missing")):
        with pytest.raises(OSError, match=r"root|missing|directory"):
            open_search([str(tree.root), root])

    assert open_handles() - before == set()


async def test_a_binary_that_is_gone_is_unavailable(tree):
    search = RipgrepSearch([str(tree.root)], "/no/such/rg")

    with pytest.raises(ProblemRaised) as refused:
        await search.grep(GrepQuery("x", tree.place()))
    search.close()

    assert refused.value.problem.code == "unavailable"
    assert "'/no/such/rg'" in refused.value.problem.message
