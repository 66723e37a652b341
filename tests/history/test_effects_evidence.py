"""Whose doing a change is: what speaks for the command, and what against it."""

import pytest

from handrail.core.places import Form
from handrail.core.ports.snapshots import EntryChange, FileState, ObservedWrites
from handrail.history.command_effects.effects_report import (
    AFTER,
    BEFORE,
    BOTH,
    OTHERS,
    UNSEEN,
    CommandInterval,
    Evidence,
    PathCover,
)

SECOND = 1_000_000_000
WINDOW = CommandInterval(looked_ns=10 * SECOND, started_ns=11 * SECOND, ended_ns=20 * SECOND)


def sight(at_s: float, size: int = 5) -> FileState:
    at = int(at_s * SECOND)
    return FileState(Form.FILE, 0o644, size, "ab" * 32, "", at, at)


def delta(before: float | None, after: float | None) -> EntryChange:
    return EntryChange(
        0,
        "a",
        None if before is None else sight(before),
        None if after is None else sight(after),
    )


def noted(*files: str, trees: tuple[str, ...] = (), blind: bool = False) -> ObservedWrites:
    return ObservedWrites(dict.fromkeys(files), trees, blind)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (delta(5, 15), None),
        (delta(5, None), None),
        (delta(None, 15), None),
        (delta(5, 21), AFTER),
        (delta(None, 21), AFTER),
        (delta(5, 10.5), BEFORE),
        # Moved there with its folder: it keeps its times.
        (delta(None, 10.5), None),
        # Within a tick of the start: nobody can tell.
        (delta(5, 10.99), None),
        # Put there with old times: a restored archive.
        (delta(5, 1), None),
    ],
)
def test_time_stamps_tell_what_the_command_cannot_have_done(change, why):
    assert Evidence(WINDOW).against(change, "/w/a") == why


def test_what_was_not_seen_is_not_the_commands_even_if_its_text_names_it():
    evidence = Evidence(WINDOW, ("/w/a",), noted("/w/b"))

    assert evidence.against(delta(5, 15), "/w/a") == UNSEEN
    assert evidence.against(delta(5, 15), "/w/b") is None


def test_what_lies_in_a_moved_directory_is_the_commands():
    evidence = Evidence(WINDOW, (), noted("/w/d", trees=("/w/d/",)))

    assert evidence.against(delta(5, None), "/w/d/deep/file") is None
    assert evidence.against(delta(5, None), "/w/dd") == UNSEEN


def test_a_file_that_was_not_as_before_when_the_command_came_is_nobodys():
    before = (5, 5 * SECOND)
    same = ObservedWrites({"/w/a": before}, (), blind=False)
    other = ObservedWrites({"/w/a": (5, 12 * SECOND)}, (), blind=False)

    assert Evidence(WINDOW, (), same).against(delta(5, 15), "/w/a") is None
    assert Evidence(WINDOW, (), other).against(delta(5, 15), "/w/a") == BOTH


def test_notes_of_one_who_could_not_see_are_no_evidence():
    evidence = Evidence(WINDOW, (), noted("/w/b", blind=True))

    assert evidence.against(delta(5, 15), "/w/a") is None


def test_while_others_work_only_what_the_text_names_is_the_commands():
    evidence = Evidence(WINDOW, ("/w/a", "/w/tree/"), others=True)

    assert evidence.against(delta(5, 15), "/w/a") is None
    assert evidence.against(delta(5, 15), "/w/tree/x") is None
    assert evidence.against(delta(5, 15), "/w/b") == OTHERS


def test_a_tree_covers_what_is_below_it_and_nothing_beside():
    assert PathCover(["/w/tree/"]).covers("/w/tree")
    assert PathCover(["/w/tree/"]).covers("/w/tree/x")
    assert not PathCover(["/w/tree/"]).covers("/w/trees")
    assert not PathCover(["/w/file"]).covers("/w/file/x")


def test_a_folder_that_the_text_names_and_the_command_made_is_its_doing_with_all_in_it():
    """`mv tree other`, `mkdir -p a/b/c`: nobody could watch, and another runtime is open."""
    evidence = Evidence(WINDOW, ("/w/other", "/w/a/b/c", "/w/there"), others=True)

    told = evidence.with_folders({"/w/other", "/w/other/deep", "/w/a", "/w/a/b", "/w/a/b/c"})

    for path in ("/w/other/deep/file", "/w/a", "/w/a/b", "/w/a/b/c"):
        assert told.against(delta(None, 15), path) is None
    for path in ("/w/there/file", "/w/a/file", "/w/else"):
        assert told.against(delta(None, 15), path) == OTHERS


def test_a_folder_has_no_size_or_time_to_be_compared_by():
    folder = FileState(Form.FOLDER, 0o755, 0, "", "", 0, 0)
    seen = ObservedWrites({"/w/a": (4096, 12 * SECOND)}, (), blind=False)

    assert Evidence(WINDOW, noted=seen).against(EntryChange(0, "a", folder, None), "/w/a") is None
