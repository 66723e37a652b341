import pytest
from tests.support.commands import understood

from handrail.shell.classify.allowlist import allowlist_refusals, command_segments

ALLOWED = ("ls", "cat", "echo", "grep", "sort", "git")


def refused(command, allowed=ALLOWED):
    _, flat = understood(command)
    found = command_segments(flat) if flat is not None else ()
    return [f"{reason.text}: {reason.part}" for reason in allowlist_refusals(found, allowed)]


@pytest.mark.feature("H09", "H11")
@pytest.mark.parametrize(
    "command",
    [
        "ls",
        "ls -la | sort",
        "cat a && cat b || echo none; ls",
        "ls & cat a",
        "ls\ncat a",
        'echo "a; b && $HOME | c"',
        "grep '$(rm x)' a",
        "grep '`' a",
        "echo 'a\nrm x'",
        "echo $((1 + 2))",
        "cat < a > b",
        "( ls; { cat a; } )",
        "if ls; then cat a; fi",
        "X=1",
        "FOO=1 ls",
        "time LC_ALL=C ls",
    ],
)
def test_listed_commands_pass_whatever_joins_them(command):
    assert refused(command) == []


@pytest.mark.feature("H09", "H11")
@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("rm x", "'rm' is not on the list: rm x"),
        ("ls | rm x", "'rm' is not on the list: rm x"),
        ("ls; rm x", "'rm' is not on the list: rm x"),
        ("ls && rm x", "'rm' is not on the list: rm x"),
        ("ls || rm x", "'rm' is not on the list: rm x"),
        ("ls & rm x", "'rm' is not on the list: rm x"),
        ("ls\nrm x", "'rm' is not on the list: rm x"),
        ("for f in a; do rm x; done", "'rm' is not on the list: rm x"),
        ("'rm' x", "'rm' is not on the list: 'rm' x"),
        ("./ls", "'./ls' is not on the list: ./ls"),
        ("env ls", "'env' is not on the list: env ls"),
        ("$X a", "its first word is computed: $X a"),
        ("l? a", "its first word is computed: l? a"),
        ("f() { ls; }; f", "'f' is not on the list: f"),
        (
            "LD_PRELOAD=./x.so ls",
            "LD_PRELOAD changes what programs run or load: LD_PRELOAD=./x.so ls",
        ),
        ("PATH=./bin; ls", "PATH changes what programs run or load: PATH=./bin"),
        ("PATH+=:. ls", "PATH changes what programs run or load: PATH+=:. ls"),
        ("BASH_ENV=x ls", "BASH_ENV changes what programs run or load: BASH_ENV=x ls"),
        (
            "GIT_PAGER=./x git log",
            "GIT_PAGER changes what programs run or load: GIT_PAGER=./x git log",
        ),
    ],
)
def test_every_segment_counts(command, reason):
    assert reason in refused(command)


def test_a_listed_wrapper_does_not_carry_what_it_runs():
    assert "'rm' is not on" in refused("env rm x", ("env",))[0]


@pytest.mark.feature("H10")
@pytest.mark.parametrize(
    "command",
    [
        "echo $(ls)",
        'echo "$(ls)"',
        "echo `ls`",
        "cat <(ls)",
        "cat a > >(sort)",
        "echo ${x:-$(ls)}",
        "X=$(ls)",
        "cat <<< $(ls)",
        "cat <<END\n$(ls)\nEND",
        "echo $((a[$(ls)]))",
        "echo {a,$(ls)}",
    ],
)
def test_a_command_inside_another_one_is_refused(command):
    assert any(one.startswith("a command inside another one") for one in refused(command))


def test_what_cannot_be_parsed_is_refused():
    (reason,) = refused("ls 'a")
    assert "could not be read" in reason


def test_an_empty_list_allows_nothing():
    assert refused("ls", ()) == ["'ls' is not on the list: ls"]
