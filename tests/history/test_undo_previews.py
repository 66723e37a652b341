"""What a user reads of a change before and after an undo."""

import pytest

from handrail.core.places import Form, Kind, Place
from handrail.core.plan import Change
from handrail.core.text.content import Content
from handrail.history.undo.messages import preview_change, preview_changes

FOLDER = {"before_form": Form.FOLDER, "after_form": Form.FOLDER}


def change(path, before, after, **more):
    contents = [None if one is None else Content(one) for one in (before, after)]
    return Change(Place(0, path, path, f"/w/{path}", Kind.FILE), *contents, **more)


@pytest.mark.parametrize(
    ("one", "text"),
    [
        (change("l", b"a", None, before_form=Form.LINK), "l: a link to a is removed\n"),
        (change("l", None, b"a", after_form=Form.LINK), "l: a link to a is recreated\n"),
        (
            change("l", b"a", b"b", before_form=Form.LINK, after_form=Form.LINK),
            "l: a link to a becomes a link to b\n",
        ),
        (change("l", b"x", b"b", after_form=Form.LINK), "l: a file becomes a link to b\n"),
        (change("d", b"", None, **FOLDER), "d/: a folder is removed\n"),
        (change("d", None, b"", **FOLDER), "d/: a folder is recreated\n"),
        (change("d", b"", b"", mode=0o700, **FOLDER), "d/: a folder gets the permissions 700\n"),
        (change("f", b"", None), "f: the empty file is removed\n"),
        (change("f", None, b""), "f: the empty file is recreated\n"),
        (change("f", b"x\n", b"x\n"), "f: the same content, with other permissions\n"),
    ],
)
def test_what_becomes_of_an_entry_is_one_line(one, text):
    assert preview_change(one) == text


def test_diffs_come_first_and_only_so_many_are_shown():
    link = change("a", None, b"x", after_form=Form.LINK)
    files = [change(f"f{number:04}", b"1\n", b"2\n") for number in range(1200)]

    few, many = preview_changes([link, files[0]]), preview_changes(files)

    assert few.index("--- ") < few.index("a: a link")
    assert "more files" not in few
    shown = many.count("--- ")
    assert many.endswith(f"and {1200 - shown:,} more files\n")
    assert 0 < shown < 1200
    assert "more files" not in preview_changes(files[:shown])
    assert preview_changes(files[: shown + 1]).endswith("and 1 more files\n")
