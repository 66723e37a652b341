"""`handrail mcp add` and `remove`: the table that is written, and words that are refused."""

import json
import tomllib
from pathlib import Path

import pytest


@pytest.fixture
def file(tmp_path):
    return tmp_path / "settings" / "config.toml"


@pytest.fixture
def mcp(handrail, file):
    def run(*words):
        return handrail("mcp", *words, "--config", file)

    return run


def servers(file):
    return tomllib.loads(file.read_text())["mcp"]["servers"] if file.exists() else {}


@pytest.mark.parametrize(
    ("words", "table"),
    [
        (["https://x.example/mcp"], {"url": "https://x.example/mcp"}),
        (["http://localhost:3/mcp"], {"url": "http://localhost:3/mcp"}),
        (["program"], {"command": "program"}),
        (["/bin/program"], {"command": "/bin/program"}),
        (
            ["--env", "A=1", "--env", "B=2=3", "program"],
            {"command": "program", "env": {"A": "1", "B": "2=3"}},
        ),
        (["--env-from", "A", "program"], {"command": "program", "env_from": ["A"]}),
        (
            ["--bearer-env", "T", "https://x.example"],
            {"url": "https://x.example", "bearer_env": "T"},
        ),
        (["--oauth", "https://x.example"], {"url": "https://x.example", "oauth": True}),
    ],
)
def test_a_server_becomes_a_table_of_the_settings(mcp, file, words, table):
    *options, target = words

    done = mcp("add", "s", target, *options)

    assert done.code == 0
    assert servers(file) == {"s": table}


def test_a_program_by_a_relative_path_is_written_absolute(mcp, file):
    assert mcp("add", "s", "./program").code == 0
    assert servers(file) == {"s": {"command": str(Path("program").absolute())}}


def test_words_behind_the_program_are_its_arguments(handrail, file):
    done = handrail("mcp", "--config", file, "add", "s", "--", "program", "-x", "y")

    assert done.code == 0
    assert servers(file) == {"s": {"command": "program", "args": ["-x", "y"]}}


@pytest.mark.parametrize(
    "words",
    [
        ["add"],
        ["add", "s"],
        ["add", "s", "https://x.example", "more"],
        ["add", "s", "https://x.example", "--env", "A=1"],
        ["add", "s", "https://x.example", "--env-from", "A"],
        ["add", "s", "program", "--env", "A"],
        ["add", "s", "program", "--env", "=1"],
        ["add", "bad name", "program"],
        ["remove"],
        ["remove", "s", "--env", "A=1"],
        ["remove", "s", "--oauth"],
        ["list", "s"],
        ["list", "--bearer-env", "T"],
    ],
)
def test_words_that_do_not_belong_together_are_refused(mcp, file, words):
    assert mcp(*words).code not in (0, None)
    assert not file.exists()


def test_a_name_is_used_once(mcp, file):
    assert mcp("add", "s", "one").code == 0
    assert mcp("add", "s", "two").code != 0
    assert servers(file) == {"s": {"command": "one"}}


def test_a_server_is_removed(mcp, file):
    mcp("add", "s", "one")
    mcp("add", "t", "two")

    assert mcp("remove", "s").code == 0
    assert servers(file) == {"t": {"command": "two"}}
    assert mcp("remove", "s").code != 0


@pytest.mark.parametrize("action", ["add", "remove"])
@pytest.mark.parametrize("dry", [False, True])
def test_a_dry_run_writes_nothing_and_json_says_so(mcp, file, action, dry):
    if action == "remove":
        mcp("add", "s", "one")
    words = ["add", "s", "one"] if action == "add" else ["remove", "s"]

    done = mcp(*words, "--json", *(["--dry-run"] if dry else []))

    assert done.code == 0
    assert json.loads(done.out) == {"file": str(file), "name": "s", "written": not dry}
    assert ("s" in (servers(file) if file.exists() and "mcp" in file.read_text() else {})) is (
        (action == "add") is not dry
    )


@pytest.mark.parametrize("dry", [False, True])
def test_what_is_printed_names_the_server_and_the_file(mcp, file, dry):
    done = mcp("add", "s", "one", *(["--dry-run"] if dry else []))

    assert done.code == 0
    assert str(file) in done.out
    assert ("would" in done.out) is dry
    assert "mcp approve s" in done.out


def test_a_login_is_mentioned_where_it_is_needed(mcp):
    assert "mcp login s" in mcp("add", "s", "https://x.example", "--oauth").out
    assert "mcp login" not in mcp("add", "t", "https://x.example").out
