"""Builtins that change what later commands mean, and the variables that they set."""

import pytest
from tests.support.commands import understood

from handrail.shell.analyze.builtins import assigned_variables, builtin_doubts


def words(command):
    return understood(command)[1].invocations[0].words


@pytest.mark.parametrize(
    "command",
    [
        "alias x=y",
        "hash -p /x ls",
        'hash "$x"',
        "shopt -s expand_aliases",
        'shopt "$x"',
        "mapfile -C x -c 1 a",
        "readarray -tC x a",
        "declare -n a=b",
        "declare -i a=b",
        "local -rn a=b",
        "typeset -ri a",
        'declare "$x"',
        "printf -- '%n' a",
        'printf -- "$x" a',
        "read 'a[$(x)]'",
        "unset 'a[0]'",
        "declare 'a[0]=1'",
        "test -v 'a[$x]'",
        "test -v 'a[`x`]'",
        "printf -v 'a[$x]' b",
        'read "$x"',
        "read -a $x",
        "printf -v $x a",
        "wait -p $x",
        "export $x",
        "unset $x",
        "getopts ab $x",
        'mapfile "$x"',
    ],
)
def test_the_rest_of_the_command_is_uncertain(command):
    assert list(builtin_doubts(words(command)))


@pytest.mark.parametrize(
    "command",
    [
        "alias",
        "hash",
        "hash ls",
        "shopt -s nullglob",
        "mapfile -t a",
        "declare -x a=b",
        "declare -r a",
        "export -n a",
        "readonly -i a",
        "printf '%s' a",
        "printf -- '%s' a",
        "printf -- 'a%%b' c",
        "read -r a b",
        'read -p "$x" a',
        'read -t "$x" a',
        "unset a",
        "test -v 'a[0]'",
        "[ -v 'a[0]' ]",
        "printf '%s' 'a[0]'",
        "printf -v a b",
        'printf "$x" a',
        'export a="$x"',
        "wait -n 5",
        "echo 'a[$x]'",
        "ls -C",
    ],
)
def test_the_rest_of_the_command_is_certain(command):
    assert list(builtin_doubts(words(command))) == []


@pytest.mark.parametrize(
    ("command", "names"),
    [
        ("export a=b c", ["a"]),
        ("declare a=b c+=d", ["a", "c"]),
        ("declare -x a=b", ["a"]),
        ("local a", []),
        ("read a b", ["a", "b"]),
        ("read -r a", ["a"]),
        ("read -a a", ["a"]),
        ("read -aa b", ["a", "b"]),
        ("read -p x a", ["a"]),
        ("read -px a", ["a"]),
        ("read -d '' -r a", ["a"]),
        ("read", []),
        ("mapfile -t a", ["a"]),
        ("mapfile -n 5 a", ["a"]),
        ("printf -v a x", ["a"]),
        ("printf -va x", ["a"]),
        ("printf x a", []),
        ("wait -p a 5", ["a"]),
        ("unset a b", ["a", "b"]),
        ("unset -f a", ["a"]),
        ("getopts ab a", ["ab", "a"]),
        ("echo a=b", []),
    ],
)
def test_variables_that_a_builtin_sets(command, names):
    assert [one.name for one in assigned_variables(words(command))] == names


def test_the_value_is_known_where_it_is_written():
    (declared,) = assigned_variables(words("export a=b"))
    (read,) = assigned_variables(words("read a"))

    assert declared.value.value == "b"
    assert read.value.value is None
