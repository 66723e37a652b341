"""Footprints: what changes something, and which two calls must keep their order."""

import pytest

from handrail.core.commands import CommandAnalysis, CommandClass, CommandEffects
from handrail.core.footprint import (
    NOTHING,
    OPEN_ENDED,
    Footprint,
    reading,
    writing,
)

ALONE = Footprint(alone=True)


def both(one, two):
    return Footprint(one.touches + two.touches)


@pytest.mark.parametrize(
    ("footprint", "reads_only", "may_change", "empty"),
    [
        (NOTHING, True, False, True),
        (OPEN_ENDED, False, True, False),
        (reading("file:/a", "tree:/b"), True, False, False),
        (writing("file:/a"), False, True, False),
        (writing("tree:/a"), False, True, False),
        (writing("session:values"), False, False, False),
        (both(reading("file:/a"), writing("file:/b")), False, True, False),
        (both(reading("file:/a"), writing("net:b")), False, False, False),
    ],
)
def test_what_a_call_may_change(footprint, reads_only, may_change, empty):
    assert footprint.reads_only is reads_only
    assert footprint.may_change_files is may_change
    assert footprint.empty is empty


@pytest.mark.parametrize(
    ("one", "two", "expected"),
    [
        (NOTHING, NOTHING, False),
        (NOTHING, OPEN_ENDED, False),
        (OPEN_ENDED, OPEN_ENDED, True),
        (OPEN_ENDED, reading("file:/a"), True),
        (ALONE, NOTHING, True),
        (ALONE, reading("file:/a"), True),
        (reading("file:/a"), reading("file:/a"), False),
        (reading("file:/a"), writing("file:/a"), True),
        (writing("file:/a"), writing("file:/a"), True),
        (writing("file:/a"), writing("file:/b"), False),
        (reading("tree:/a"), writing("file:/a/b"), True),
        (reading("tree:/a"), writing("file:/a"), True),
        (reading("tree:/a/"), writing("file:/a/b"), True),
        (reading("tree:/a"), writing("file:/ab"), False),
        (reading("tree:/a/b"), writing("file:/a"), False),
        (writing("tree:/a/b"), reading("tree:/a"), True),
        (writing("tree:/"), reading("file:/a"), True),
        (writing("file:/a"), reading("file:/a/b"), False),
        (writing("tree:/a"), writing("session:/a/b"), False),
        (writing("net:a"), writing("net:a"), True),
        (writing("net:a"), writing("net:b"), False),
        (writing("session:x"), reading("session:x"), True),
        (reading("file:/a", "file:/b"), writing("file:/c", "file:/b"), True),
    ],
)
def test_which_calls_keep_their_order(one, two, expected):
    assert one.conflicts_with(two) is expected
    assert two.conflicts_with(one) is expected


@pytest.mark.parametrize(
    ("footprint", "expected"),
    [
        (NOTHING, False),
        (writing("session:jobs"), True),
        (reading("session:jobs"), False),
        (writing("session:values"), False),
        (writing("file:/a", "session:jobs"), True),
    ],
)
def test_which_call_leaves_a_job(footprint, expected):
    assert footprint.starts_job is expected


def test_a_command_may_change_files_whatever_it_touches():
    command = CommandAnalysis(CommandClass.SAFE, (), CommandEffects())

    assert reading("file:/a")._replace(command=command).may_change_files
