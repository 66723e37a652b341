"""What a model is told of a change that broke a file, with the real check behind it."""

import pytest

from handrail.core.places import Kind, Place
from handrail.core.plan import Change, Plan
from handrail.core.ports.syntax import SyntaxFault
from handrail.core.text.content import Content
from handrail.engine.executors.plan_executor import syntax_report
from handrail.host.syntax.check import LocalSyntaxCheck


def change(path, before, after):
    place = Place(0, path, path, f"/w/{path}", Kind.FILE)
    old, new = (None if text is None else Content(text.encode()) for text in (before, after))
    return Change(place, old, new)


async def notes(*changes):
    return await syntax_report(Plan(changes, "done"), LocalSyntaxCheck())


@pytest.mark.feature("F17", "R-18")
async def test_a_new_error_is_told_with_its_line():
    found = await notes(change("a.json", '{"a": 1}\n', '{"a": 1\n "b": 2}\n'))

    assert found.text == (
        "[a.json now has a syntax error that was not there before, says JSON; the change stands]\n"
        "  line 2, column 2: Expecting ',' delimiter\n"
        '    "b": 2}'
    )
    assert found.faults == [
        {
            "path": "a.json",
            "line": 2,
            "column": 2,
            "message": "Expecting ',' delimiter",
            "text": '"b": 2}',
            "reader": "JSON",
        }
    ]


@pytest.mark.feature("F17", "R-18")
async def test_sound_deleted_and_other_files_are_not_spoken_of():
    found = await notes(
        change("a.py", "x = 1\n", "x = 2\n"),
        change("b.py", "def f(:\n", None),
        change("c.txt", "a", "def f(:\n"),
        change("d.py", "def f(:\n", "def f(:\n# more\n"),
    )

    assert found == ("", [])


async def test_all_files_of_a_change_are_looked_at():
    found = await notes(
        change("a.py", "x = 1\n", "x = (\n"),
        change("b.json", None, "["),
        change("c.toml", None, "="),
    )

    assert [fault["path"] for fault in found.faults] == ["a.py", "b.json", "c.toml"]
    assert found.text.count("now has a syntax error") == 3


async def test_at_most_ten_errors_are_told_of_all_files_together():
    found = await notes(*[change(f"{number}.json", None, "[") for number in range(30)])

    assert len(found.faults) == 10


async def test_a_file_that_was_moved_is_compared_with_what_it_was():
    broken = "x = 1\ny = (\n"

    moved = await notes(change("old.py", broken, None), change("new/name.py", None, broken))
    several = await notes(
        change("a.py", broken, None),
        change("b.py", "z = 1\n", None),
        change("new/a.py", None, broken),
    )
    unlike = await notes(change("old.txt", broken, None), change("new.py", None, broken))

    assert (moved.faults, several.faults, len(unlike.faults)) == ([], [], 1)


async def test_what_stands_in_the_file_cannot_move_the_cursor_or_begin_a_line():
    found = await notes(change("a.json", None, '["\x1b[2J\u202e" 1]'))

    assert '    ["\\x1b[2J\\u{202e}" 1]' in found.text
    assert "\x1b" not in found.text


async def test_several_errors_of_one_file_are_counted():
    class Two:
        def can_check(self, path):
            return True

        async def new_errors(self, path, before, after):
            return (SyntaxFault(1, 2, "one", "a", "X"), SyntaxFault(3, 4, "two", "", "X"))

    found = await syntax_report(Plan((change("a.x", None, "a"),), "done"), Two())

    assert found.text == (
        "[a.x now has 2 syntax errors that were not there before, says X; the change stands]\n"
        "  line 1, column 2: one\n"
        "    a\n"
        "  line 3, column 4: two"
    )


class Noted:
    """Checks every `.py` file: says its errors and remembers what it was compared with."""

    def __init__(self, errors=1):
        self.compared = []
        self._errors = errors

    def can_check(self, path):
        return path.endswith((".py", ".c"))

    async def new_errors(self, path, before, after):
        self.compared.append((path, None if before is None else before.tobytes().decode()))
        fault = SyntaxFault(1, 1, "bad", "", "reader")
        return (fault,) * self._errors


@pytest.mark.parametrize(
    ("changes", "compared"),
    [
        ([change("a.py", "old", "new")], [("a.py", "old")]),
        ([change("a.txt", "old", "new")], []),
        ([change("a.py", "old", None)], []),
        # A new or empty file is compared with the only removed file that it may have been.
        ([change("a.py", None, "new"), change("b.py", "gone", None)], [("a.py", "gone")]),
        ([change("a.py", "", "new"), change("b.py", "gone", None)], [("a.py", "gone")]),
        ([change("a.py", "old", "new"), change("b.py", "gone", None)], [("a.py", "old")]),
        ([change("a.py", None, "new"), change("b.c", "gone", None)], [("a.py", None)]),
        (
            [change("a.py", None, "new"), change("b.py", "1", None), change("c.py", "2", None)],
            [("a.py", None)],
        ),
        (
            [change("a.py", None, "new"), change("b.py", "1", None), change("d/a.py", "2", None)],
            [("a.py", "2")],
        ),
        (
            [
                change("a.py", None, "new"),
                change("c/a.py", "1", None),
                change("d/a.py", "2", None),
            ],
            [("a.py", None)],
        ),
    ],
)
async def test_a_moved_file_is_compared_with_what_it_was(changes, compared):
    check = Noted()

    await syntax_report(Plan(tuple(changes), "done"), check)

    assert check.compared == compared


@pytest.mark.parametrize(("count", "before"), [(100, "0"), (101, None)])
async def test_of_many_removed_files_none_is_chosen(count, before):
    removed = [change(f"d{number}/x{number}.py", str(number), None) for number in range(count)]
    check = Noted()

    await syntax_report(Plan((change("x0.py", None, "new"), *removed), "done"), check)

    assert check.compared == [("x0.py", before)]


@pytest.mark.parametrize(("errors", "files"), [(3, 4), (5, 2), (10, 1), (11, 1)])
async def test_ten_errors_are_listed_over_all_files(errors, files):
    changes = [change(f"{number}.py", "x", "y") for number in range(10)]
    check = Noted(errors)

    found = await syntax_report(Plan(tuple(changes), "done"), check)

    assert [one["path"] for one in found.faults] == [f"{n // errors}.py" for n in range(10)]
    # No further file is looked at.
    assert len(check.compared) == found.text.count("now has") == files
