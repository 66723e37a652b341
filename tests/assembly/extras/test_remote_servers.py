"""Which MCP servers a workspace has: those of the settings and those that its files name."""

import json
import logging
import os
from types import SimpleNamespace

import pytest

from handrail.assembly.extras import remote_servers
from handrail.assembly.extras.remote_servers import (
    find_change,
    open_remote_tools,
    read_project_servers,
    register_remote_tools,
    server_specs,
)
from handrail.assembly.extras.server_records import server_records
from handrail.config.model import Settings
from handrail.config.remote_server_tables import RemoteServers, RemoteServerTable
from handrail.engine.registry import ToolOrigin
from handrail.mcp.client.manifest import OTHER_PROGRAM, ServerManifest
from handrail.mcp.client.server_spec import RemoteServerSpec, ServerPlaces

URL = "https://example.org/mcp"


def write(root, file, **tables):
    path = root / file
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(tables))


def project(root, entry, name="one"):
    write(root, ".mcp.json", mcpServers={name: entry})
    return read_project_servers(root).get(name)


@pytest.mark.parametrize(
    ("entry", "values"),
    [
        ({"command": "node"}, {"command": ("node",)}),
        ({"command": "node", "args": ["a", "b"]}, {"command": ("node", "a", "b")}),
        ({"command": "x", "env": {"A": "1"}}, {"command": ("x",), "env": {"A": "1"}}),
        ({"command": "x", "env": {"A": "${HOME}", "B": 2, "C": "$c"}}, {"command": ("x",), "env": {"C": "$c"}}),
        ({"command": "x", "env": ["A=1"]}, {"command": ("x",)}),
        ({"url": URL}, {"url": URL}),
        ({"url": "http://localhost:1/", "args": 3}, {"url": "http://localhost:1/"}),
    ],
)  # fmt: skip
def test_entries_of_a_project_are_read(tmp_path, entry, values):
    expected = RemoteServerSpec("one", project=str(tmp_path))._replace(**values)

    assert project(tmp_path, entry) == expected


@pytest.mark.parametrize(
    "entry",
    [
        None,
        [],
        "node",
        {},
        {"command": ""},
        {"command": ["node"]},
        {"command": "x", "args": "a"},
        {"command": "x", "args": ["a", 1]},
        {"command": "x", "url": URL},
        {"command": 1, "url": URL},
        {"url": "ftp://example.org"},
        {"url": 1},
        {"command": "x", "url": 1},
    ],
)
def test_invalid_entries_are_left_out(tmp_path, entry):
    assert project(tmp_path, entry) is None


@pytest.mark.parametrize("name", ["", "a__b", "a b", "é", "a" * 33])
def test_servers_with_invalid_names_are_left_out(tmp_path, name):
    assert project(tmp_path, {"command": "x"}, name) is None


def test_the_first_of_the_two_files_comes_first(tmp_path):
    write(tmp_path, ".mcp.json", mcpServers={"one": {"command": "a"}}, servers={"no": {"url": URL}})
    servers = {"one": {"command": "b"}, "two": {"url": URL}}
    write(tmp_path, ".vscode/mcp.json", servers=servers, mcpServers={"no": {"url": URL}})

    found = read_project_servers(tmp_path)

    assert {name: one.command for name, one in found.items()} == {"one": ("a",), "two": ()}


@pytest.mark.parametrize(
    "text", ["", "[]", "{", "1", '{"mcpServers": []}', "[" * 100_000, "\udcff"]
)
def test_a_file_that_is_no_table_names_no_server(tmp_path, text):
    (tmp_path / ".mcp.json").write_text(text, errors="surrogateescape")
    write(tmp_path, ".vscode/mcp.json", servers={"two": {"url": URL}})

    assert list(read_project_servers(tmp_path)) == ["two"]


def test_links_pipes_and_large_files_are_not_read(tmp_path):
    other = tmp_path / "other.json"
    other.write_text(json.dumps({"mcpServers": {"one": {"command": "x"}}}))
    file = tmp_path / ".mcp.json"
    file.symlink_to(other)
    assert read_project_servers(tmp_path) == {}
    file.unlink()
    os.mkfifo(file)
    assert read_project_servers(tmp_path) == {}
    file.unlink()
    file.write_text(other.read_text().ljust(1 << 20))
    assert list(read_project_servers(tmp_path)) == ["one"]
    file.write_text(" " * (1 << 20) + other.read_text())
    assert read_project_servers(tmp_path) == {}


def settings(**servers):
    return Settings(mcp=RemoteServers(servers=servers))


def test_a_server_of_the_settings_has_its_values(tmp_path):
    table = RemoteServerTable(
        command="node", args=("a",), env={"A": "1"}, env_from=("B",), allow=("read*",),
        trust_annotations=True, protocol="legacy", always_load=("x",), start_s=1.0, call_s=2.0,
        memory_mb=100,
    )  # fmt: skip

    assert server_specs(settings(own=table), tmp_path) == {
        "own": RemoteServerSpec(
            "own", ("node", "a"), {"A": "1"}, ("B",), allow=("read*",), trust_annotations=True,
            start_s=1.0, call_s=2.0, declared=("x",), memory_mb=100, legacy=True,
        )
    }  # fmt: skip


def test_a_server_with_a_url_has_no_command(tmp_path):
    table = RemoteServerTable(url=URL, oauth=True, load="eager", always_load=("x",))
    (spec,) = server_specs(settings(own=table), tmp_path).values()

    assert (spec.command, spec.url, spec.oauth) == ((), URL, True)
    assert (spec.declared, spec.legacy, spec.project) == (("*",), False, "")


def test_the_settings_come_before_a_project_and_can_switch_its_server_off(tmp_path):
    names = {name: {"command": "theirs"} for name in ("one", "two", "three")}
    write(tmp_path, ".mcp.json", mcpServers=names)
    own = settings(
        one=RemoteServerTable(command="mine"),
        two=RemoteServerTable(command="mine", enabled=False),
    )

    found = server_specs(own, tmp_path)

    assert {name: one.command for name, one in found.items()} == {
        "three": ("theirs",),
        "one": ("mine",),
    }


@pytest.fixture
def program(tmp_path, monkeypatch):
    """A program outside the workspace, in PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    file = folder / "tool-server"
    file.write_text("#!/bin/sh\n")
    file.chmod(0o755)
    return file


def test_a_server_is_as_approved_or_differs(tmp_path, program):
    root = tmp_path / "w"
    root.mkdir()
    spec = RemoteServerSpec("one", (str(program),))
    approved = ServerManifest(spec.fingerprint(str(program), ServerPlaces([str(root)])), ())

    assert find_change(spec, approved, [str(root)]) == ""
    server_records().note_change("one", "a new tool")
    assert find_change(spec, approved, [str(root)]) == "a new tool"
    program.write_text("#!/bin/sh\nother\n")
    assert find_change(spec, approved, [str(root)]) == OTHER_PROGRAM
    program.unlink()
    assert find_change(spec, approved, [str(root)]) not in ("", "a new tool", OTHER_PROGRAM)


def test_a_program_that_cannot_be_read_is_named_as_such(tmp_path, program, monkeypatch):
    def unreadable(*_):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(RemoteServerSpec, "fingerprint", unreadable)
    manifest = ServerManifest("", ())

    change = find_change(RemoteServerSpec("one", (str(program),)), manifest, [str(tmp_path / "w")])

    assert change.endswith(": Permission denied")


def test_a_server_with_a_url_has_no_program_to_find(tmp_path):
    spec = RemoteServerSpec("one", url=URL)
    approved = ServerManifest(spec.fingerprint(None, ServerPlaces([])), ())

    assert find_change(spec, approved, [str(tmp_path)]) == ""
    assert find_change(spec._replace(url=f"{URL}2"), approved, [str(tmp_path)]) == OTHER_PROGRAM


class Ends:
    def __init__(self):
        self.pushed = []

    def push_async_callback(self, callback):
        self.pushed.append(callback)


@pytest.fixture
def machine(tmp_path):
    return SimpleNamespace(
        files=SimpleNamespace(roots=[str(tmp_path)]),
        commands=None,
        places=SimpleNamespace(environment={}, own=(), hidden=()),
        ends=Ends(),
    )


SERVICES = SimpleNamespace(media=None, questions=None)


def approve(*names):
    for name in names:
        server_records().save(name, ServerManifest("", ()))


def test_servers_that_are_not_approved_are_not_used_and_those_of_the_user_are_named(
    machine, tmp_path, caplog
):
    write(tmp_path, ".mcp.json", mcpServers={"theirs": {"command": "x"}})
    own = settings(mine=RemoteServerTable(command="x"), yours=RemoteServerTable(command="y"))

    with caplog.at_level(logging.WARNING, "handrail"):
        assert open_remote_tools(own, machine, SERVICES) is None
    assert ["mine" in one.getMessage() for one in caplog.records] == [True, False]
    assert not any("theirs" in one.getMessage() for one in caplog.records)
    assert machine.ends.pushed == []

    approve("yours")
    tools = open_remote_tools(own, machine, SERVICES)
    assert list(tools.servers) == ["yours"]
    assert machine.ends.pushed == [tools.aclose]


def test_a_project_server_is_used_once_it_is_approved_in_this_project(machine, tmp_path):
    write(tmp_path, ".mcp.json", mcpServers={"theirs": {"command": "x"}})
    approve("theirs")
    assert open_remote_tools(settings(), machine, SERVICES) is None

    (spec,) = read_project_servers(tmp_path).values()
    approve(spec.pin_name)
    assert list(open_remote_tools(settings(), machine, SERVICES).servers) == ["theirs"]


def test_missing_packages_are_a_problem_only_if_a_server_is_used(machine, monkeypatch):
    monkeypatch.setattr(remote_servers, "find_spec", lambda name: None if name == "mcp" else 1)
    own = settings(mine=RemoteServerTable(command="x"))

    assert open_remote_tools(settings(), machine, SERVICES) is None
    with pytest.raises(remote_servers.ProblemRaised) as raised:
        open_remote_tools(own, machine, SERVICES)
    assert raised.value.problem.code == "unavailable"


def test_a_tool_that_cannot_be_registered_does_not_affect_the_others(caplog):
    class Tools:
        def build_eager(self):
            return [SimpleNamespace(name=name) for name in ("a", "b", "c")]

        def resolve(self, name):
            return None

    class Registry:
        registered, resolvers = [], []

        def register(self, tool, origin):
            if tool.name == "b":
                raise ValueError("two\nlines" + "x" * 600)
            self.registered.append((tool.name, origin))

        def add_resolver(self, resolver, origin):
            self.resolvers.append((resolver, origin))

    tools, registry = Tools(), Registry()
    with caplog.at_level(logging.WARNING, "handrail"):
        register_remote_tools(registry, tools)

    assert registry.registered == [("a", ToolOrigin.MCP), ("c", ToolOrigin.MCP)]
    assert registry.resolvers == [(tools.resolve, ToolOrigin.MCP)]
    (warned,) = caplog.records
    assert "MCP tool b" in warned.getMessage()
    assert "\n" not in warned.getMessage()
    assert len(warned.getMessage()) <= 510
