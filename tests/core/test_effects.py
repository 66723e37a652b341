"""Declared effects: which statements contradict a tool, and which footprints exceed them."""

import pytest

from handrail.core.commands import CommandAnalysis, CommandClass, CommandEffects
from handrail.core.effects import (
    Effects,
    base_footprint,
    changes_anything,
    check_statement,
    find_excess,
    path_effects,
)
from handrail.core.footprint import NOTHING, OPEN_ENDED, Footprint, reading, writing
from handrail.core.paths import PathUse

READ, WRITE, TREE = PathUse.READ, PathUse.WRITE, PathUse.TREE
E = Effects


@pytest.mark.parametrize(
    ("uses", "expected"),
    [
        ([], None),
        ([READ], E.READS_PATHS),
        ([TREE], E.READS_PATHS),
        ([WRITE], E.WRITES_PATHS),
        ([READ, WRITE], E.WRITES_PATHS),
    ],
)
def test_the_effects_of_path_types(uses, expected):
    assert path_effects(uses) == expected


@pytest.mark.parametrize(
    ("effects", "expected"),
    [
        (E.PURE, False),
        (E.READS_PATHS, False),
        (E.WRITES_PATHS, True),
        (E.SESSION, True),
        (E.NETWORK, True),
        (E.OPEN_ENDED, True),
        (E.READS_PATHS | E.SESSION, True),
    ],
)
def test_which_effects_change_something(effects, expected):
    assert changes_anything(effects) is expected


@pytest.mark.parametrize(
    ("effects", "uses", "plans", "own_footprint"),
    [
        (E.PURE, [], False, False),
        (E.READS_PATHS, [READ], False, False),
        (E.READS_PATHS, [TREE], False, False),
        (E.READS_PATHS, [], False, True),
        (E.WRITES_PATHS, [READ], False, True),
        (E.WRITES_PATHS, [READ], True, False),
        (E.WRITES_PATHS, [WRITE], True, False),
        (E.WRITES_PATHS, [WRITE], False, False),
        (E.WRITES_PATHS, [], True, False),
        (E.WRITES_PATHS, [], False, True),
        (E.WRITES_PATHS | E.SESSION, [WRITE, READ], False, False),
        (E.SESSION, [], False, False),
        (E.NETWORK, [], False, False),
        (E.OPEN_ENDED, [], False, False),
        (E.OPEN_ENDED, [WRITE], True, False),
    ],
)
def test_statements_that_agree_with_the_tool(effects, uses, plans, own_footprint):
    found = check_statement(effects, uses, plans=plans, own_footprint=own_footprint)

    assert found is effects


@pytest.mark.parametrize(
    ("effects", "uses", "plans", "own_footprint", "word"),
    [
        (None, [], False, False, "must state"),
        (Effects(0), [], False, False, "must state"),
        (2, [READ], False, False, "must state"),
        (E.PURE | E.SESSION, [], False, False, "PURE"),
        (E.PURE | E.OPEN_ENDED, [], False, False, "PURE"),
        (E.READS_PATHS, [WRITE], False, False, "WritePath"),
        (E.READS_PATHS, [READ, WRITE], False, True, "WritePath"),
        (E.SESSION, [READ], False, False, "READS_PATHS"),
        (E.PURE, [TREE], False, True, "READS_PATHS"),
        (E.READS_PATHS, [READ], True, False, "plans"),
        (E.SESSION, [], True, True, "plans"),
        (E.READS_PATHS, [], False, False, "no path argument"),
        (E.WRITES_PATHS, [], False, False, "no path argument"),
        (E.WRITES_PATHS, [READ], False, False, "no WritePath"),
    ],
)
def test_a_contradiction_is_an_error_that_says_what_is_missing(
    effects, uses, plans, own_footprint, word
):
    with pytest.raises(TypeError, match=word):
        check_statement(effects, uses, plans=plans, own_footprint=own_footprint)


@pytest.mark.parametrize(
    ("effects", "expected"),
    [
        (E.PURE, NOTHING),
        (E.READS_PATHS | E.WRITES_PATHS, NOTHING),
        (E.SESSION, writing("session:values")),
        (E.NETWORK, writing("net:*")),
        (E.SESSION | E.NETWORK, writing("session:values", "net:*")),
        (E.OPEN_ENDED, OPEN_ENDED),
        (E.OPEN_ENDED | E.NETWORK, Footprint(writing("net:*").touches, open_ended=True)),
    ],
)
def test_what_every_call_touches(effects, expected):
    assert base_footprint(effects) == expected


@pytest.mark.parametrize(
    ("effects", "footprint", "exceeds"),
    [
        (E.PURE, NOTHING, False),
        (E.PURE, OPEN_ENDED, True),
        (E.OPEN_ENDED, OPEN_ENDED, False),
        (E.OPEN_ENDED, writing("other:x"), False),
        (E.READS_PATHS, reading("file:/a"), False),
        (E.READS_PATHS, reading("tree:/a"), False),
        (E.WRITES_PATHS, reading("file:/a"), False),
        (E.WRITES_PATHS, writing("tree:/a"), False),
        (E.READS_PATHS, writing("file:/a"), True),
        (E.READS_PATHS, writing("tree:/a"), True),
        (E.SESSION, reading("file:/a"), True),
        (E.SESSION, writing("session:values"), False),
        (E.SESSION, writing("job:3"), False),
        (E.SESSION, writing("agent:explore-1"), False),
        (E.NETWORK, writing("session:values"), True),
        (E.NETWORK, writing("net:a.example"), False),
        (E.SESSION, writing("net:a.example"), True),
        (E.READS_PATHS | E.SESSION | E.NETWORK, reading("other:x"), True),
        (E.READS_PATHS, Footprint(reading("file:/a").touches + writing("file:/b").touches), True),
    ],
)
def test_a_footprint_stays_within_the_effects(effects, footprint, exceeds):
    assert (find_excess(effects, footprint) is not None) is exceeds


def test_a_command_exceeds_everything_but_open_ended_effects():
    command = CommandAnalysis(CommandClass.SAFE, (), CommandEffects())
    footprint = NOTHING._replace(command=command)

    assert find_excess(E.READS_PATHS | E.WRITES_PATHS | E.SESSION | E.NETWORK, footprint)
    assert find_excess(E.OPEN_ENDED, footprint) is None


def test_an_excess_names_what_is_touched():
    assert "file:/a" in (find_excess(E.READS_PATHS, writing("file:/a")) or "")
