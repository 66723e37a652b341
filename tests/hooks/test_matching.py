"""Which calls a hook is about."""

import pytest

from handrail.core.problems import ProblemRaised
from handrail.hooks.spec import file_patterns, tool_matcher

BASH = {"run_command", "Bash", "shell"}
EDIT = {"edit_file", "Edit", "editFile"}
SERVER = {"mcp__memory__create"}


@pytest.mark.feature("K08")
@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("*", [BASH, EDIT, SERVER]),
        ("", [BASH, EDIT, SERVER]),
        ("Bash", [BASH]),
        ("run_command|Edit", [BASH, EDIT]),
        (" Bash , Edit ", [BASH, EDIT]),
        ("Ed", []),
        ("edit", []),
        ("Edit|.*_file", [EDIT]),
        ("(Edit|Write)", [EDIT]),
        ("^Edit$", [EDIT]),
        ("mcp__.*", [SERVER]),
        ("mcp__*", [SERVER]),
        ("*_file", [EDIT]),
        ("B?sh|mcp__*", [BASH, SERVER]),
        ("mcp__memory__create", [SERVER]),
        ("Edit(.*)x", []),
    ],
)
def test_a_matcher_means_whole_names_in_any_vocabulary(text, meant):
    matcher = tool_matcher(text)

    assert [one for one in (BASH, EDIT, SERVER) if matcher.matches(one)] == meant


@pytest.mark.parametrize("text", ["(", "[a", "(?=x)y", r"\1", "x" * 3000])
def test_a_matcher_that_cannot_be_read_is_a_problem(text):
    with pytest.raises(ProblemRaised) as caught:
        tool_matcher(text)

    assert caught.value.problem.code == "invalid_arguments"


def test_a_matcher_that_explodes_elsewhere_takes_no_time_here():
    long = "a" * 50_000 + "!"

    assert not tool_matcher("(a+)+$").matches({long})
    assert not tool_matcher("(a|a)*(a|aa)+b.").matches({long})
    assert not file_patterns(["(a+)+$", "*a*a*a*a*a*a*b", "{a,aa}{a,aa}*b"], ["/w"]).matches(
        f"/w/{long}"
    )


@pytest.mark.feature("K08")
@pytest.mark.parametrize(
    ("glob", "path", "fits"),
    [
        ("*.py", "a.py", True),
        ("*.py", "deep/down/a.py", True),
        ("*.py", "a.pyc", False),
        ("*.PY", "A.py", True),
        ("src/**", "src/a/b.c", True),
        ("src/**", "lib/src/a", False),
        ("src/*.c", "src/a.c", True),
        ("src/*.c", "src/x/a.c", False),
        ("**/test_*.py", "a/b/test_c.py", True),
        ("**/test_*.py", "test_c.py", True),
        ("secrets", "secrets/deep/key", True),
        ("secrets/", "a/secrets/key", True),
        ("/src/a", "src/a", True),
        ("*.{ts,tsx}", "x.tsx", True),
        ("[ab].txt", "a.txt", True),
        ("[!ab].txt", "a.txt", False),
        ("[!ab].txt", "c.txt", True),
        ("a[b.txt", "a[b.txt", True),
        ("(a+)+$", "(a+)+$", True),
        (".env*", ".env.local", True),
        ("a b&c;d", "a b&c;d", True),
    ],
)
def test_a_file_pattern_is_relative_to_the_root(glob, path, fits):
    assert file_patterns([glob], ["/work"]).matches(f"/work/{path}") is fits


def test_a_file_pattern_may_be_absolute():
    assert file_patterns(["/etc/hosts"], ["/work"]).matches("/etc/hosts")
    assert not file_patterns(["*.py", " x "], ["/work"]).matches("/etc/hosts")


@pytest.mark.parametrize("glob", ["", "  ", "x" * 3000])
def test_an_empty_file_pattern_is_a_problem(glob):
    with pytest.raises(ProblemRaised):
        file_patterns([glob], ["/work"])
