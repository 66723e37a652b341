"""Builtins of the simulated shell, with bash as the judge, and files that commands bring or run."""

import shlex
import subprocess
from itertools import chain

import pytest

from handrail.shell.expand import UNKNOWN
from handrail.shell.simulate.builtin_commands import (
    argument_file,
    entered_directory,
    interpreted_file,
    record_files,
    run_builtin,
    with_inline_code,
)
from handrail.shell.simulate.shell_state import DOWNLOADED, InputText, ShellState

# A builtin and its input; bash prints its arguments and these variables afterwards.
NAMES = ("a", "b", "REPLY", "v")
RUN = [
    ("read a", "one two\n"),
    ("read a b", "one two three\n"),
    ("read a b", "one\n"),
    ("read", "one\n"),
    ("read -r a", "one\n"),
    ("read -d : a", "one:two\n"),
    ("read -d: a", "one:two\n"),
    ("read -p text a", "one\n"),
    ("read -ra v", "one two\n"),
    ("read -a v", "one two\n"),
    ("mapfile -t v", "one\ntwo\n"),
    ("readarray -t v", "one\ntwo\n"),
    ("set -- x y", ""),
    ("set x y", ""),
    ("set -e x", ""),
    ("set -e -- -x", ""),
    ("set --", ""),
    ("set -e", ""),
    ("shift", ""),
    ("shift 2", ""),
    ("unset a", ""),
    ("printf -v v '%s:%s' x y", ""),
    ("printf -v v '\\x41'", ""),
    ("cd sub", ""),
    ("cd -P sub/..", ""),
    ("cd -- sub", ""),
    ("cd", ""),
    ("pushd sub", ""),
]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "sub").mkdir()
    return tmp_path


@pytest.mark.parametrize(("command", "given"), RUN)
def test_a_builtin_leaves_the_shell_as_bash_does(folder, command, given):
    begin = {"a": "1", "b": "2"}
    state = ShellState(
        str(folder), str(folder.parent), dict(begin), name="bash", arguments=["p", "q", "r"]
    )
    shown = [f'"${{{name}[@]-unset}}"' for name in NAMES]
    script = f'a=1 b=2; {command} >&2; printf "%s\\0" "$PWD" "$#" "$@" {" ".join(shown)}'
    done = subprocess.run(
        ["bash", "-c", script, "bash", "p", "q", "r"],
        input=given,
        capture_output=True,
        text=True,
        timeout=20,
        check=True,
        cwd=folder,
        env={"HOME": str(folder.parent), "PATH": "/usr/bin:/bin"},
    )

    printed = run_builtin(shlex.split(command), state, InputText(given), None)

    values = [state.values(name, "@") or ["unset"] for name in NAMES]
    now = [state.cwd, str(len(state.arguments)), *state.arguments, *chain(*values)]
    assert printed == ""
    assert now == done.stdout.split("\0")[:-1]


def test_another_program_is_no_builtin():
    state = ShellState("/w", "/home/u", {"a": "1"})

    assert run_builtin(["ls"], state, None, None) is None
    assert run_builtin(["printf", "-v", "a"], state, None, None) is None
    assert state == ShellState("/w", "/home/u", {"a": "1"})


def test_separators_hold_for_one_builtin():
    state = ShellState("/w", "/home/u", {"IFS": ","})

    run_builtin(["read", "a", "b"], state, InputText("1:2,3\n"), ":")
    run_builtin(["read", "c", "d"], state, InputText("1:2,3\n"), None)

    assert state.values("a") == ["1"]
    assert state.values("b") == ["2,3"]
    assert state.values("c") == ["1:2"]
    assert state.values("d") == ["3"]


def test_separators_that_were_not_set_are_not_set_afterwards():
    state = ShellState("/w", "/home/u")

    run_builtin(["read", "a", "b"], state, InputText("1:2 3\n"), ":")

    assert state.values("b") == ["2 3"]
    assert "IFS" not in state.variables


def test_what_is_read_from_an_unknown_input_is_unknown():
    state = ShellState("/w", "/home/u")

    run_builtin(["read", "a"], state, None, None)
    run_builtin(["mapfile", "v"], state, None, None)

    assert state.values("a") == [UNKNOWN]
    assert state.values("v", "@") == [UNKNOWN]


@pytest.mark.parametrize("command", ["cd -", "cd -Z"])
def test_where_an_unknown_option_leads_is_unknown(command):
    state = ShellState("/w", "/home/u")

    run_builtin(command.split(), state, None, None)

    assert state.cwd == UNKNOWN


def test_a_function_is_unset_by_its_option_only():
    state = ShellState("/w", "/home/u", {"f": "1"}, functions={"f": None, "g": None})

    run_builtin(["unset", "f"], state, None, None)
    run_builtin(["unset", "-f", "g"], state, None, None)

    assert state.variables == {}
    assert list(state.functions) == ["f"]


@pytest.mark.parametrize(
    ("command", "saved"),
    [
        ("curl -o i.sh https://x.example/a", "/w/i.sh"),
        ("curl -fsSLo i.sh https://x.example/a", "/w/i.sh"),
        ("curl --output i.sh https://x.example/a", "/w/i.sh"),
        ("curl --output=i.sh https://x.example/a", "/w/i.sh"),
        ("curl -O https://x.example/a.sh?q=1", "/w/a.sh"),
        ("curl -fsSLO https://x.example/a.sh", "/w/a.sh"),
        ("curl -JLO https://x.example/d/", "/w/d"),
        ("/usr/bin/curl -O https://x.example/a.sh", "/w/a.sh"),
        ("curl https://x.example/a", None),
        ("curl -o - https://x.example/a", None),
        ("wget https://x.example/a.sh", "/w/a.sh"),
        ("wget -q https://x.example/a.sh", "/w/a.sh"),
        ("wget -O i.sh https://x.example/a", "/w/i.sh"),
        ("wget -qO i.sh https://x.example/a", "/w/i.sh"),
        ("wget -Oi.sh https://x.example/a", "/w/i.sh"),
        ("wget -qO- https://x.example/a", None),
        ("wget -O- https://x.example/a", None),
        ("wget -O - https://x.example/a", None),
        ("wget --output-document=i.sh https://x.example/a", "/w/i.sh"),
        ("aria2c https://x.example/a.sh", "/w/a.sh"),
        ("wget", None),
        ("scp host:a.sh .", "/w/a.sh"),
        ("scp -q host:d/a.sh dir/", "/w/dir/a.sh"),
        ("scp host:a.sh b.sh", "/w/b.sh"),
        ("scp a.sh host:b", None),
        ("scp host:a other:b", None),
        ("scp a b", None),
        ("aws s3 cp s3://b/a.sh b.sh", "/w/b.sh"),
        ("rsync u@h::m/a.sh /tmp/a.sh", "/tmp/a.sh"),
        ("cp a b", None),
    ],
)
def test_the_file_that_a_download_saves(command, saved):
    state = ShellState("/w", "/home/u")

    record_files(command.split(), None, state)

    assert state.files == ({} if saved is None else {saved: DOWNLOADED})


@pytest.mark.parametrize(
    ("command", "given", "tree"),
    [
        ("git clone https://x.example/p.git", None, "/w/p"),
        ("git clone https://x.example/p/", None, "/w/p"),
        ("git clone git@x.example:o/p.git dir", None, "/w/dir"),
        ("git clone ../p", None, None),
        ("git clone", None, None),
        ("git pull https://x.example/p.git", None, None),
        ("tar -xzf a.tgz", None, "/w"),
        ("tar -xzf a.tgz -C dir", None, "/w/dir"),
        ("unzip a.tgz -d dir", None, "/w/dir"),
        ("tar -xz", DOWNLOADED, "/w"),
        ("tar -xz", "text", None),
        ("tar -xzf own.tgz", None, None),
        ("cat a.tgz", None, None),
    ],
)
def test_the_directory_that_a_clone_or_an_archive_fills(command, given, tree):
    state = ShellState("/w", "/home/u", files={"/w/a.tgz": DOWNLOADED, "/w/own.tgz": "text"})

    record_files(command.split(), given, state)

    assert state.trees == ({tree} if tree else set())


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("bash x.sh", "x.sh"),
        ("bash -x x.sh a", "x.sh"),
        ("bash", "-"),
        ("bash -", "-"),
        ("python3.12 -u x.py", "x.py"),
        ("/usr/bin/python3 x.py", "x.py"),
        ("python3 -c code", None),
        ("python3 -m mod", None),
        ("node --eval code", None),
        ("./run a", "./run"),
        ("run a", None),
    ],
)
def test_the_file_that_is_run_as_code(command, file):
    assert interpreted_file(command.split()) == file


def test_code_is_given_to_interpreters_and_not_to_shells():
    assert with_inline_code("python3", "x") == ("python3", "-c", "x")
    assert with_inline_code("perl", "x")[::2] == ("perl", "x")
    assert with_inline_code("bash", "x") is None
    assert with_inline_code("ls", "x") is None


@pytest.mark.parametrize(
    ("command", "file"),
    [
        ("xargs -a list rm", "list"),
        ("xargs -0 -a list rm", "list"),
        ("xargs --arg-file list rm", "list"),
        ("xargs --arg-file=list rm", "list"),
        ("xargs -alist rm", "list"),
        ("xargs rm -a list", None),
        ("xargs -0", None),
        ("/usr/bin/parallel :::: list", "list"),
        ("rm -a list", None),
    ],
)
def test_the_file_with_the_arguments(command, file):
    assert argument_file(command.split()) == file


@pytest.mark.parametrize(
    ("command", "cwd"),
    [
        ("env -C sub ls", "/w/sub"),
        ("env --chdir sub ls", "/w/sub"),
        ("env --chdir=sub ls", "/w/sub"),
        ("/usr/bin/env A=1 -C sub ls", "/w/sub"),
        ("env ls -C sub", "/w"),
        ("env", "/w"),
        ("tar -C sub", "/w"),
    ],
)
def test_the_directory_in_which_a_command_of_env_runs(command, cwd):
    state = ShellState("/w", "/home/u")

    assert entered_directory(command.split(), state).cwd == cwd
    assert state.cwd == "/w"
