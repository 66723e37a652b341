"""Scripts of sed that only print, and everything else."""

import pytest

from handrail.shell.classify.sed import may_loop_forever, only_prints


@pytest.mark.parametrize(
    "script",
    [
        *("p", "5p", "$p", "1,5p", "/a/,/b/p", "1~2d", "/a/I,+3p", "$!d", "5q", "5q3", "="),
        *("s/a/b/", "s/a/b/g", "s/a/b/2p", "s,a,b,", r"s/\//x/", "s/[a-z]/x/", "s|/|_|g"),
        *("/a/!s/b/c/", "{p;d}", "/a/{s/b/c/;p}", "y/abc/xyz/", "N;P;D", ":a;N;$!ba;s/\\n/ /g"),
        *("1i hello", "a\\\nhello\\\nworld", "/x/c gone", "# comment", "p # comment", "b end;p"),
        *("s/x/y/;s/a/b/", "n;d", "/a/ , /b/ p", "\\,a,p", "s/[^]]/x/", "s/[[:alpha:]]/x/"),
        *("h;x;G", "l 5", "p;;p", ""),
    ],
)
def test_scripts_that_only_print(script):
    assert only_prints(script)


@pytest.mark.parametrize(
    "script",
    [
        *("e", "1e id", "e id", "/a/e id", "$!e id", "s/a/b/e", "s/a/b/ge", "s/a/b/we", "p;e id"),
        *("w out", "1w out", "W out", "s/a/b/w out", "s/a/b/gw out", "r x", "R x", "p\ne id"),
        *("{e id}", "/a/{p;w x}", "s/a/b/;1e id", "a hello\n1e id", "y/a/b/;e", ":a\ne id"),
        *(
            "s/a/b",
            "s/a",
            "y/a/b",
            "s",
            "/a",
            "1,",
            "1,p",
            "a",
            "a\\",
            "a hi\\",
            "k",
            "pp",
            "5",
            "!",
        ),
        # sed versions disagree on a delimiter inside brackets.
        *("s/[/]/x/e;p/", "s/[/]/x/", "/[/]/p", "s/[\\]/x/e/", "b x\ne id", "}e id", "{p}e id"),
        *("1,2,3p", "v", "s/a/b/zz", "q x", "= x", "#\ne"),
    ],
)
def test_everything_else_counts_as_harmful(script):
    assert not only_prints(script)


@pytest.mark.parametrize(
    "script",
    [
        ":a;ba",
        ":a;s/x/y/;ba",
        "/x/{:a;ba}",
        ":a;/x/N;ba",
        ":a;$!ba",
        ":a;$!N;ba",
        ":a;/x/{N};ba",
        ":a;Ta",
        ":a\nba",
    ],
)
def test_a_jump_back_that_reads_nothing_may_never_end(script):
    assert only_prints(script)
    assert may_loop_forever(script)


@pytest.mark.parametrize(
    "script",
    [
        r":a;N;$!ba;s/\n/ /g",
        ":a;$!{N;ba};s/x/y/",
        ":a;/x$/{N;s/x//;ba}",
        "bx;p;:x;p",
        ":a;s/^ /_/;ta",
        "/x/b;p",
        ":a;n;ba",
    ],
)
def test_a_jump_that_reads_a_line_or_goes_forwards_ends(script):
    assert only_prints(script)
    assert not may_loop_forever(script)
