"""The files that programs run or load."""

import pytest

from handrail.shell.simulate.executed_files import (
    executed_files,
    is_startup_code,
    loaded_files,
    read_files,
    startup_texts,
)


@pytest.mark.parametrize(
    ("command", "path", "runs"),
    [
        ("make", "Makefile", True),
        ("make -C sub", "sub/Makefile", True),
        ("npm test", "package.json", True),
        ("pytest -q", "conftest.py", True),
        ("java -jar x.jar data.txt", "x.jar", True),
        ("java -jar x.jar data.txt", "data.txt", False),
        ("java -javaagent:a.jar -jar x.jar", "a.jar", True),
        ("java -cp a.jar:b.jar Main", "b.jar", True),
        ("vim -es -S i.vim", "i.vim", True),
        ("vim notes.txt", "notes.txt", False),
        ("gdb -batch -x x.gdb", "x.gdb", True),
        ("gdb ./app", "./app", False),
        ("cmake -P x.cmake", "x.cmake", True),
        ("go run x.go", "x.go", True),
        ("go vet x.go", "x.go", False),
        ("ansible-playbook -i hosts p.yml", "p.yml", True),
        ("cat x", "x", False),
    ],
)
def test_files_that_a_program_runs(command, path, runs):
    assert (path in [*executed_files(command.split())]) is runs


def test_files_that_variables_load():
    given = {"LD_PRELOAD": "/a.so:/b.so", "NODE_OPTIONS": "--require ./x.js", "X": "y"}

    assert {"/a.so", "/b.so", "./x.js"} <= {*loaded_files(given)}
    assert "y" not in {*loaded_files(given)}


def test_files_in_which_commands_may_be():
    assert "Makefile" in read_files(["make", "x"])
    assert [*read_files(["cat", "x"])] == ["x"]


def test_start_files_of_other_programs():
    assert is_startup_code("/home/u/.vimrc")
    assert is_startup_code("/home/u/.local/lib/python3/site-packages/usercustomize.py")
    assert not is_startup_code("/home/u/notes.txt")
    assert "date | cat" in {*startup_texts("set nu\nau VimEnter * !date | cat\n")}
