"""Tables of MCP servers: what is valid, what is converted, and editing the user's file."""

import os
import stat

import pytest

from handrail.config.layers.merge import leaves, merge_values
from handrail.config.layers.server_file import read_server_table, unused_variables
from handrail.config.remote_server_tables import RemoteServerTable, check_server_name
from handrail.config.setting_fields import SecretText
from handrail.config.user_file import add_server, remove_server
from handrail.core.problems import ProblemRaised


@pytest.mark.parametrize(
    "given",
    [
        {"command": "a"},
        {"url": "https://a.example"},
        {"url": "https://a.example", "oauth": True},
        {"url": "HTTP://LOCALHOST", "oauth": True},
        {"url": "http://127.0.0.1:80/x", "oauth": True},
        {"url": "http://[::1]?x", "oauth": True},
        {"url": "http://a.example", "bearer_env": "TOKEN"},
        {"url": "http://a.example", "bearer_token": SecretText("aZ0._~+/-==")},
        {"url": "http://a.example", "bearer_token": SecretText("a" * 8000)},
    ],
)
def test_a_server_is_a_program_or_a_url(given):
    assert RemoteServerTable(**given).enabled


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"command": "a", "url": "https://a.example"},
        {"command": "a", "oauth": True},
        {"url": "http://a.example", "oauth": True},
        {"url": "http://localhost.a.example", "oauth": True},
        {"url": "https://a", "oauth": True, "bearer_env": "T"},
        {"url": "https://a", "bearer_token": SecretText("t"), "bearer_env": "T"},
        {"url": "https://a", "bearer_token": SecretText("t"), "oauth": True},
        {"url": "https://a", "bearer_token": SecretText("a b")},
        {"url": "https://a", "bearer_token": SecretText("")},
        {"url": "https://a", "bearer_token": SecretText("a" * 8001)},
    ],
)
def test_a_server_that_contradicts_itself_is_an_error(given):
    with pytest.raises(ValueError):
        RemoteServerTable(**given)


@pytest.mark.parametrize("name", ["a", "a-b_c", "A1", "x" * 32])
def test_names_of_servers(name):
    assert check_server_name(name) == name


@pytest.mark.parametrize("name", ["", "-a", "a-", "a__b", "a--b", "a.b", "a b", "x" * 33, "\u00e9"])
def test_names_that_no_server_has(name):
    with pytest.raises(ValueError):
        check_server_name(name)


@pytest.mark.parametrize(
    ("server", "expected"),
    [
        ({"command": "a", "type": "stdio"}, {"command": "a"}),
        ({"command": "a", "type": "http"}, {"command": "a", "type": "http"}),
        ({"url": "u", "type": "http"}, {"url": "u"}),
        ({"url": "u", "type": "streamable-http"}, {"url": "u"}),
        ({"url": "u", "type": "sse"}, {"url": "u", "type": "sse"}),
        ({"type": "stdio"}, {"type": "stdio"}),
        ({"command": "a"}, {"command": "a"}),
        ({"env": {"A": "${A}", "B": "x"}}, {"env": {"B": "x"}, "env_from": ["A"]}),
        ({"env": {"A": "${A}"}, "env_from": ["C"]}, {"env": {}, "env_from": ["C", "A"]}),
        ({"env": {"A": "${B}", "C": 1}}, {"env": {"A": "${B}", "C": 1}}),
        ({"env": 5}, {"env": 5}),
        ({"headers": {"Authorization": "Bearer ${T}"}}, {"bearer_env": "T"}),
        ({"headers": {"authorization": "bearer abc"}}, {"bearer_token": "abc"}),
        ({"headers": {"X": "Bearer abc"}}, {"headers": {"X": "Bearer abc"}}),
        ({"headers": {"Authorization": "Basic x"}}, {"headers": {"Authorization": "Basic x"}}),
        ({"headers": {"Authorization": 5}}, {"headers": {"Authorization": 5}}),
        (
            {"headers": {"Authorization": "Bearer a", "X": "y"}},
            {"headers": {"Authorization": "Bearer a", "X": "y"}},
        ),
        ({"headers": {}}, {"headers": {}}),
        ("text", "text"),
    ],
)
def test_a_server_of_another_program_is_converted(server, expected):
    assert read_server_table({"s": server}) == {"servers": {"s": expected}}


def test_variables_that_would_not_be_replaced_are_named():
    table = {
        "a": {"command": "${HOME}/x", "args": ["y", "${Z}"], "env": {"A": "${A}", "B": "${C}"}},
        "b": {"url": "http://x", "start_s": 5},
    }

    assert [path for path, _ in unused_variables(table)] == [
        ("mcpServers", "a", "command"),
        ("mcpServers", "a", "args", 1),
        ("mcpServers", "a", "env", "B"),
    ]


def merged(base, new, key="programs"):
    sources = {}
    return merge_values(base, new, (key,), lambda at: at, sources), sources


@pytest.mark.parametrize(
    ("base", "new", "key", "expected"),
    [
        (None, None, "x", None),
        (1, None, "x", 1),
        (None, 2, "x", 2),
        (1, 2, "x", 2),
        (2, 1, "x", 1),
        ([1], [1, 2, 2], "x", [1, 2]),
        ((1,), (3,), "x", [1, 3]),
        (None, ["a", "a"], "x", ["a"]),
        ([{"a": 1, "b": 2}], [{"b": 2, "a": 1}], "x", [{"a": 1, "b": 2}]),
        ([1], [True], "x", [1, True]),
        ({"a": 1}, {"b": 2}, "x", {"a": 1, "b": 2}),
        ({"a": {"b": [1]}}, {"a": {"b": [2], "c": None}}, "x", {"a": {"b": [1, 2]}}),
        ({"max_files": 5}, {"max_files": 3}, "guardrails", {"max_files": 3}),
        ({"max_files": 5}, {"max_files": 7}, "guardrails", {"max_files": 5}),
        ({"max_files": 5}, {"max_files": 0}, "guardrails", {"max_files": 0}),
        ({"max_files": 5}, {"max_files": -1}, "guardrails", {"max_files": 5}),
        ({"max_files": 5}, {"max_files": 7}, "x", {"max_files": 7}),
        ({"on": True}, {"on": False}, "guardrails", {"on": True}),
        ({"on": False}, {"on": True}, "guardrails", {"on": True}),
        ({"on": True}, {"on": False}, "x", {"on": False}),
        ({"other": 5}, {"other": 7}, "guardrails", {"other": 7}),
    ],
)
def test_layers_are_merged(base, new, key, expected):
    assert merged(base, new, key)[0] == expected


@pytest.mark.parametrize(
    ("base", "new"),
    [(1, "a"), (True, 1), ([1], {"a": 1}), ({"a": 1}, [1]), ("a", ["a"]), ({"a": 1}, {"a": "x"})],
)
def test_values_of_different_types_are_not_merged(base, new):
    with pytest.raises(ProblemRaised) as raised:
        merged(base, new)

    assert raised.value.problem.code == "invalid_arguments"


def test_every_new_part_has_its_source():
    _, sources = merged({"a": [1], "c": 1}, {"a": [1, {"b": 2}], "c": 1, "d": {"e": 5}})

    assert sources == {
        "programs.a": ("programs", "a"),
        "programs.a[1]": ("programs", "a", 1),
        "programs.a[1].b": ("programs", "a", 1, "b"),
        "programs.c": ("programs", "c"),
        "programs.d": ("programs", "d"),
        "programs.d.e": ("programs", "d", "e"),
    }


def test_leaves_are_scalars_and_items():
    value = {"a": 1, "b": [2, [3]], "c": {"d": None, "e": False}}

    assert list(leaves(value, ("k",))) == [
        (("k", "a"), 1),
        (("k", "b", 0), 2),
        (("k", "b", 1), [3]),
        (("k", "c", "e"), False),
    ]


def problem_code(action, *arguments, **options):
    with pytest.raises(ProblemRaised) as raised:
        action(*arguments, **options)
    return raised.value.problem.code


def test_a_server_is_added_and_removed(tmp_path):
    path = tmp_path / "new" / "config.toml"
    add_server(path, "one", {"command": "a"}, dry_run=True)
    assert not path.exists()

    add_server(path, "one", {"command": "a"})
    add_server(path, "two", {"url": "https://a.example"})

    assert path.read_text() == (
        '[mcp.servers.one]\ncommand = "a"\n\n[mcp.servers.two]\nurl = "https://a.example"\n'
    )
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert problem_code(add_server, path, "one", {"command": "b"}) == "exists"
    remove_server(path, "one", dry_run=True)
    assert "one" in path.read_text()
    remove_server(path, "one")
    assert path.read_text() == '[mcp.servers.two]\nurl = "https://a.example"\n'
    assert problem_code(remove_server, path, "one") == "not_found"
    assert [one.name for one in path.parent.iterdir()] == ["config.toml"]


def test_permissions_and_links_are_kept(tmp_path):
    real, link = tmp_path / "real.toml", tmp_path / "link.toml"
    real.write_text("# mine\n")
    real.chmod(0o644)
    link.symlink_to(real)
    (tmp_path / f".real.toml.{os.getpid()}").write_text("left by a crash")

    add_server(link, "one", {"command": "a"})

    assert link.is_symlink()
    assert real.read_text().startswith("# mine\n")
    assert stat.S_IMODE(real.stat().st_mode) == 0o644
    assert sorted(one.name for one in tmp_path.iterdir()) == ["link.toml", "real.toml"]


@pytest.mark.parametrize("text", ["mcp = 1\n", "[mcp]\nservers = 1\n"])
def test_a_file_that_cannot_take_a_server_stays_as_it_is(tmp_path, text):
    path = tmp_path / "config.toml"
    path.write_text(text)

    assert problem_code(add_server, path, "one", {"command": "a"}) == "unavailable"
    assert problem_code(remove_server, path, "one") == "not_found"
    assert path.read_text() == text


def test_settings_that_would_be_invalid_are_not_written(tmp_path):
    path = tmp_path / "config.toml"

    assert problem_code(add_server, path, "one", {"command": ""}) == "invalid_arguments"
    assert problem_code(add_server, path, "a b", {"command": "x"}) == "invalid_arguments"
    assert problem_code(add_server, tmp_path / "a.yaml", "one", {"command": "a"})
    assert not path.exists()
