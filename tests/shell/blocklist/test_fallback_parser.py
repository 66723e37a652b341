"""Commands that no parser can read, split at blanks and operators."""

import pytest

from handrail.shell.blocklist.fallback_parser import is_fork_bomb, parse_fallback


def programs(text):
    return [[word.value for word in one.words] for one in parse_fallback(text).invocations]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("rm -rf /", [["rm", "-rf", "/"]]),
        ("a; b && c || d", [["a"], ["b"], ["c"], ["d"]]),
        ("a | b |& c", [["a"], ["b"], ["c"]]),
        ("a\nb", [["a"], ["b"]]),
        ("(a) {b}", [["a"], ["b"]]),
        ("a `b`", [["a"], ["b"]]),
        ("a 'b c' \"d e\"", [["a", "b c", "d e"]]),
        ("a 'b c", [["a", "b c"]]),
        ('a "b c', [["a", "b c"]]),
        ("a b\\ c", [["a", "b c"]]),
        ("a b\\\nc", [["a", "bc"]]),
        ("a'b'\"c\"d", [["abcd"]]),
        ("a $b ${c}d", [["a", None, None]]),
        ("env -i A=b timeout 5 rm x", [["rm", "x"]]),
        ("A=b rm x", [["rm", "x"]]),
        ("nice -n 5 rm", [["rm"]]),
        ("sudo rm x", [["sudo", "rm", "x"]]),
        ("5 rm", [["5", "rm"]]),
        ("-x rm", [["-x", "rm"]]),
        ("env", []),
        ("bash -c 'rm x'", [["bash", "-c", "rm x"], ["rm", "x"]]),
        ("eval 'rm x'", [["eval", "rm x"], ["rm", "x"]]),
        ("/bin/sh -c 'rm x'", [["/bin/sh", "-c", "rm x"], ["rm", "x"]]),
        ("echo 'rm x'", [["echo", "rm x"]]),
        ("bash rm", [["bash", "rm"]]),
        ("", []),
        (";;", []),
    ],
)
def test_the_programs_of_a_text(text, found):
    assert programs(text) == found


def test_texts_in_texts_are_read_to_a_depth():
    nested = "sh -c 'sh -c \"rm x\"'"

    assert ["rm", "x"] in programs(nested)


@pytest.mark.parametrize(
    ("text", "redirects"),
    [
        ("a > b", [(">", "b")]),
        ("a >> b 2> c", [(">>", "b"), (">", "c")]),
        ("a &> b", [("&>", "b")]),
        ("a >| b < c", [(">|", "b"), ("<", "c")]),
        ("> b", [(">", "b")]),
        ("a >b c", [(">", "b")]),
        ("a", []),
    ],
)
def test_redirects(text, redirects):
    (one,) = parse_fallback(text).invocations

    assert [(each.operator, each.target.value) for each in one.redirects] == redirects


def test_pipes_connect_programs():
    a, b, c, d = parse_fallback("a | b; c |& d").invocations

    assert [[each.program for each in one.piped_from] for one in (a, b, c, d)] == [
        [],
        ["a"],
        [],
        ["c"],
    ]
    assert b.source == "b"


def test_a_very_long_text_is_cut():
    assert len(programs("a;" * 60_000)) == 50_000


@pytest.mark.parametrize(
    ("text", "bomb"),
    [
        (":(){ :|:& };:", True),
        ("f () { f | f & }", True),
        ("f(){ f&f; }", True),
        ("f(){ g|g& }", False),
        ("f(){ f; }", False),
        ("while true; do x & done", True),
        ("while :; do x & done", True),
        ("until false; do x & done", True),
        ("for ((;;)); do x & done", True),
        ("while true; do x; done", False),
        ("while true; do x && y; done", False),
        ("while true; do x >&2; done", False),
        ("while true; do x & wait; done", False),
        ("while true; do sleep 1 & done", False),
        ("while true; do x; done; y & z", False),
        ("while x; do y & done", False),
        ("x & y", False),
    ],
)
def test_fork_bombs_in_text(text, bomb):
    assert is_fork_bomb(text) is bomb
