import subprocess

import pytest

from handrail.cli.parser import COMMANDS

EDIT = ["path=", "old_string=", "new_string=", "replace_all=", "regex=", "edits="]


@pytest.fixture
def complete(handrail, tmp_path):
    """What a real bash offers for the last of some words."""
    script = tmp_path / "handrail.bash"
    script.write_text(handrail("completion", "bash").out)
    code = (
        'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _handrail;'
        ' printf "%s\\n" "${COMPREPLY[@]}"'
    )

    def offered(*words: str) -> list[str]:
        done = subprocess.run(
            ["bash", "--norc", "-uc", code, "-", str(script), "handrail", *words],
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
            cwd=tmp_path,
        )
        assert done.stderr == ""
        return done.stdout.split()

    return offered


def test_bash_knows_the_program_after_the_script(handrail, tmp_path):
    script = tmp_path / "handrail.bash"
    script.write_text(handrail("completion", "bash").out)

    shown = subprocess.run(
        ["bash", "--norc", "-euc", 'source "$1"; complete -p handrail', "-", script],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    ).stdout

    assert shown.split() == ["complete", "-o", "default", "-F", "_handrail", "handrail"]


def test_bash_offers_every_command(complete):
    assert complete("") == list(COMMANDS)
    assert complete("ver") == ["verify"]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("call", "re"), ["read_file"]),
        (("--dry-run", "ver"), ["verify"]),
        (("-w", "call", "ca"), ["call"]),
        (("--mode", "acc"), ["accept-edits"]),
        (("log", "--mode", "pl"), ["plan"]),
        (("--dialect", "cla"), ["claude"]),
        (("tools", "--format", "openai"), ["openai", "openai-responses"]),
        (("gc", "--old"), ["--older-than"]),
        (("completion", ""), ["bash", "zsh", "fish"]),
        (("tools", "gr"), ["grep"]),
        (("call", "read_file", "off"), ["offset="]),
        (("call", "edit_file", "path", "=", "a", ""), EDIT),
        (("--mode", "plan", "call", "edit_file", "old"), ["old_string="]),
        (("call", "read_file", "path="), []),
        (("call", "read_file", "path", "=", "a"), []),
        (("call", "no_tool", ""), []),
        (("log", "read_file", "p"), []),
    ],
)
def test_bash_offers_what_may_follow(complete, words, offered):
    assert complete(*words) == offered


def test_bash_offers_directories_where_one_is_wanted(complete, tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("")

    assert complete("-w", "f") == ["folder"]


def test_every_tool_is_offered(complete, handrail):
    tools = [tool["tool"] for tool in handrail("tools", "--json").lines]

    assert set(tools) <= set(complete("call", ""))


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_the_other_shells_are_told_of_every_command_and_tool(handrail, shell):
    script = handrail("completion", shell).out

    assert [name for name in (*COMMANDS, "read_file", "accept-edits") if name not in script] == []


def test_fish_is_told_what_each_tool_takes(handrail):
    script = handrail("completion", "fish").out.splitlines()

    [line] = [line for line in script if "seen_subcommand_from grep'" in line]
    assert "seen_subcommand_from call; and" in line
    assert " 'pattern= path= " in line
