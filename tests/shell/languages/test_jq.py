"""The reader of jq programs."""

import pytest

from handrail.shell.languages.jq import only_computes

pytestmark = pytest.mark.finding("F10")


@pytest.mark.parametrize(
    "program",
    [
        ".",
        ".users[] | select(.active) | .email",
        "{env, a: 1, input: .x}",
        'to_entries | map("\\(.key)=\\(.value)") | join("&")',
        "def f(x): x * 2; map(f(.))",
        "reduce .[] as $x (0; . + $x)",
        'if .ok then "yes" else "no" end',
        ".. | .id? // empty",
        ".env | .repeat",
        "# env\n.",
    ],
)
def test_programs_that_compute(program):
    assert only_computes(program)


@pytest.mark.parametrize(
    "program",
    [
        "env",
        "[1, env, 2]",
        "{a: env}",
        '"\\(env)"',
        '"\\($ENV.X)"',
        "$ENV",
        "$__prog_args",
        'import "m" as m; .',
        'include "m"; .',
        "def f: f; f",
        "def f: range(0; 2) | f; f",
        "def map(f): env; map(.)",
        "repeat(1)",
        "[range(1e18)]",
        "until(false; .)",
        '"',
        "a\rb",
    ],
)
def test_programs_that_reach_further_or_go_on(program):
    assert not only_computes(program)


@pytest.mark.parametrize(
    "program",
    [
        "",
        "1000000",
        "1e6",
        "$__loc__",
        "$x",
        "@base64",
        '"a\\"b"',
        '"a\\\\" | .',
        '"\\(1)"',
        '"a\\(.b + ")")c"',
        '"\\((1 + 2) * 3)"',
        '"\\("a" + "b")"',
        "{a}",
        "{a, env}",
        "{env: 1, repeat}",
        "{a: {env: 1}}",
        "def f: 1; f",
        "def f: .a; def g: f; g",
        "def f(g): g; f(1)",
        "def f($x): $x; f(1)",
        "def f(g; $x; h): g + h + $x; f(1; 2; 3)",
        "def f: def g: 1; g; f",
        "def f: {a: 1} | [.]; f",
        "def f: 1; def h: f; f",
        "def f: reduce .[] as $x (0; . + $x); f | f",
        "." * 20_000,
    ],
)
def test_more_programs_that_compute(program):
    assert only_computes(program)


@pytest.mark.parametrize(
    "program",
    [
        "1000001",
        "1e7",
        "$__x",
        "$ENVS",
        "$ENVIRONMENT | .",
        '"abc',
        '"a\\',
        '"\\(env)"',
        '"a" | env',
        '"\\(1"',
        '"\\("a\\(1)")"',
        '"\\("a)"',
        "~",
        "env: 1",
        "{a: 1} | env",
        "{(env): 1}",
        "{a: env}",
        "{env | a}",
        "[env, 1]",
        "def env: 1; repeat(1)",
        "def map: 1; map",
        "def f(1): 1; f",
        "def f(g: h): 1; f",
        "g(1)",
        "def f: [f]; f",
        "def f: def g: 1; f; f",
        "def f: 1, (2; f); f",
        "def f: {a: f}; f",
        "def f(x): f(x); f(1)",
        "." * 20_001,
    ],
)
def test_more_programs_that_reach_further(program):
    assert not only_computes(program)


@pytest.mark.parametrize(("depth", "computes"), [(3, False), (1, True)])
def test_an_interpolation_in_an_interpolation_is_not_read(depth, computes):
    program = "1"
    for _ in range(depth):
        program = f'"\\({program})"'

    assert only_computes(program) is computes
