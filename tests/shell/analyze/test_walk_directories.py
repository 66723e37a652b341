"""Where each program runs, as far as the command alone tells."""

import pytest
from tests.support.shell import flat


def places(command, program="ls"):
    """Where a program may run."""
    return sorted({one.cwd for one in flat(command).invocations if one.program == program}, key=str)


@pytest.mark.parametrize(
    ("command", "cwds"),
    [
        ("ls", [""]),
        ("cd a && ls", ["a"]),
        ("cd a/../b && ls", ["b"]),
        ("cd .. && ls", [".."]),
        ("cd /a/b && cd c && ls", ["/a/b/c"]),
        ("cd a && cd b && ls", ["a/b"]),
        ("pushd a && ls", ["a"]),
        ("cd -P -- a && ls", ["a"]),
        ("command cd a && ls", ["a"]),
        ("eval 'cd a' && ls", ["a"]),
        ("{ cd a && ls; }", ["a"]),
        ("if cd a; then ls; fi", ["a"]),
        ("cd a || exit 1; ls", ["a"]),
        ("cd a && { ls; }", ["a"]),
        # A directory that is not there is not entered.
        ("cd a; ls", ["", "a"]),
        ("cd a\nls", ["", "a"]),
        ("cd a || ls", [""]),
        ("! cd a && ls", [""]),
        ("if cd a; then :; else ls; fi", [""]),
        ("cd a && pwd; ls", ["", "a"]),
        ("case x in a) cd a;; esac; ls", ["", "a"]),
        # Ends with its shell.
        ("(cd a && pwd); ls", [""]),
        ("cd a & ls", [""]),
        ("x=$(cd a && pwd); ls", [""]),
        ("bash -c 'cd a'; ls", [""]),
        ("env cd a; ls", [""]),
        ("(cd a && ls)", ["a"]),
        ("bash -c 'cd a && ls'", ["a"]),
        # Cannot be known.
        ("cd && ls", [None]),
        ("cd - && ls", [None]),
        ("cd ~ && ls", [None]),
        ("cd $x && ls", [None]),
        ("cd a* && ls", [None]),
        ("cd a b && ls", [None]),
        ("popd && ls", [None]),
        ("pushd +1 && ls", [None]),
        ("CDPATH=/x; cd a && ls", [None]),
        (". ./x; ls", [None]),
        ("$x; ls", [None]),
        ("while cd a; do ls; done", [None]),
        ("for x in a b; do cd a; ls; done", [None]),
        ("f() { cd a; }; f; ls", [None]),
        ("env -C a ls", [None]),
        ("sudo -D a ls", [None]),
        ("chroot a ls", [None]),
        ("find . -execdir ls {} ;", [None]),
        ("trap ls EXIT; cd a", [None]),
        ("f() { ls; }; cd a && f", [None]),
        ("cd a; cd b; cd c; ls", [None]),
    ],
)
def test_each_program_has_the_directories_it_may_run_in(command, cwds):
    assert places(command) == cwds


@pytest.mark.parametrize(
    ("command", "moves"),
    [
        ("ls", False),
        ("cd a", True),
        ("cd a && exit", True),
        ("popd", True),
        ("(cd a)", False),
        ("bash -c 'cd a'", False),
        ("x=$(cd a)", False),
        ("f() { cd a; }; f", True),
        ("f() { return 1; }; f; ls", False),
        ("ls; exit 0", False),
        (". ./x", True),
        ("$x", True),
        ("eval 'cd a'", True),
    ],
)
def test_it_says_whether_the_session_would_stand_elsewhere_afterwards(command, moves):
    assert flat(command).changes_directory is moves
