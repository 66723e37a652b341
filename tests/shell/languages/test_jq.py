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
