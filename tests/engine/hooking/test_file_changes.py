"""What hooks change in the files of a call, and what the model and the record learn of it."""

from types import SimpleNamespace

import pytest

from handrail.core.places import Kind, Place, Stat
from handrail.core.problems import ProblemRaised
from handrail.core.results import ChangeRecord
from handrail.core.text.content import Content
from handrail.engine.hooking.file_changes import (
    MAX_DIFF_CHARS,
    MAX_DIFF_LINES,
    MAX_TRACKED_FILES,
    HookFileTracker,
    _diff,
)


def digest(text):
    return None if text is None else Content(text.encode()).digest


class Disk:
    """Files in a dict: path to text; a path in `elsewhere` is a link to another."""

    def __init__(self, **texts):
        self.texts = {name.replace("_", "."): text for name, text in texts.items()}
        self.modes = dict.fromkeys(self.texts, 0o644)
        self.elsewhere = {}
        self.asked = []

    def locate(self, path):
        kind = Kind.FILE if self.texts.get(path) is not None else Kind.MISSING
        path = self.elsewhere.get(path, path)
        return Place(0, path, path, f"/w/{path}", kind)

    def read(self, place, *, max_bytes):
        self.asked.append(max_bytes)
        data = self.texts[place.path].encode()
        if len(data) > max_bytes:
            raise ProblemRaised("too_large", "too large")
        mode = 0o100000 | self.modes[place.path]
        return Content(data), Stat(1, 1, len(data), 1, 1, mode, 1)


class Reads:
    """What the agent has read, and what it was shown afterwards."""

    def __init__(self, *known):
        self.known = {(path, digest(text)) for path, text in known}
        self.shown = []

    def has_read(self, place, digest, reader):
        assert reader == "main"
        return (place.path, digest) in self.known

    def update_after_hook(self, place, before, after, stat, reader):
        assert reader == "main"
        self.shown.append((place.path, before, after.digest, stat.size))


def tracker(disk, reads=None, *, reader="main", recorded=None, after=None):
    changes = tuple(
        [
            ChangeRecord(path, "update", None, digest(text if after is None else after))
            for path, text in disk.texts.items()
        ]
    )
    state = SimpleNamespace(
        prepared=SimpleNamespace(principal=SimpleNamespace(reader=reader)),
        effects=SimpleNamespace(changes=changes, recorded=recorded),
    )
    return HookFileTracker(state, disk, reads or Reads()), state.effects


def hooked(disk, change, reads=None, **fields):
    """Let a hook change the disk; return the notes, the reads and the effects."""
    reads = reads or Reads()
    made, effects = tracker(disk, reads, **fields)
    made.snapshot()
    change(disk)
    made.compare("fmt")
    notes = made.pop_notes()
    assert made.pop_notes() == []
    made.mark_shown()
    return notes, reads, effects


def write(path, text):
    return lambda disk: disk.texts.update({path: text})


def test_a_hook_that_changes_nothing_is_not_mentioned():
    notes, reads, effects = hooked(Disk(a_py="x\n"), lambda disk: None, recorded={"k": 1})

    assert (notes, reads.shown, effects.recorded) == ([], [], {"k": 1})


def test_a_file_that_the_model_knows_is_shown_with_its_change():
    known = Reads(("a.py", "x\n"))

    notes, reads, _ = hooked(Disk(a_py="x\n"), write("a.py", "y\n"), known)

    shown = "[Hook fmt changed a.py]\n@@ -1 +1 @@\n-x\n+y"
    assert notes == [(shown, shown)]
    assert reads.shown == [("a.py", digest("x\n"), digest("y\n"), 2)]


@pytest.mark.parametrize(("reader", "known"), [("main", "other\n"), (None, "x\n")])
def test_a_file_that_the_model_does_not_know_is_shown_to_the_user_alone(reader, known):
    reads = Reads(("a.py", known))

    notes, reads, _ = hooked(Disk(a_py="x\n"), write("a.py", "y\n"), reads, reader=reader)

    assert notes[0].model.startswith("[Hook fmt changed a.py; ")
    assert "+y" not in notes[0].model
    assert notes[0].user == "[Hook fmt changed a.py]\n@@ -1 +1 @@\n-x\n+y"
    assert reads.shown == []


def test_what_one_hook_showed_is_known_for_the_next():
    disk = Disk(a_py="x\n")
    made, _ = tracker(disk, Reads(("a.py", "x\n")))
    for text in ("y\n", "z\n"):
        made.snapshot()
        disk.texts["a.py"] = text
        made.compare("fmt")

    assert [note.model.splitlines()[-1] for note in made.pop_notes()] == ["+y", "+z"]


def test_secrets_are_shown_to_nobody():
    notes, reads, _ = hooked(Disk(_env="A=1\n"), write(".env", "A=2\n"), Reads((".env", "A=1\n")))

    assert notes[0].user == "[Hook fmt changed .env]"
    assert "A=2" not in notes[0].model
    assert reads.shown == []


@pytest.mark.parametrize(
    ("text", "change", "word"),
    [
        ("x\n", write("a.py", None), "removed"),
        (None, write("a.py", "x\n"), "recreated"),
        ("x\n", lambda disk: disk.modes.update({"a.py": 0o755}), "permissions"),
    ],
)
def test_other_changes_are_named(text, change, word):
    disk = Disk(a_py=text)
    disk.modes["a.py"] = 0o644

    notes, _, _ = hooked(disk, change)

    assert word in notes[0].model
    assert notes[0].model == notes[0].user


def test_the_record_of_the_call_has_the_new_state_and_the_hook():
    recorded = {
        "changes": [{"path": "a.py", "after_hash": "x"}, {"path": "b.py", "after_hash": "b"}]
    }

    _, _, effects = hooked(Disk(a_py="x\n", b_py="b\n"), write("a.py", "y\n"), recorded=recorded)

    became = {"after_hash": digest("y\n"), "after_mode": 0o644}
    assert [one.after_hash for one in effects.changes] == [digest("y\n"), digest("b\n")]
    assert effects.recorded == {
        "changes": [{"path": "a.py", **became}, {"path": "b.py", "after_hash": "b"}],
        "hooks": [{"path": "a.py", "hook": "fmt", "before_hash": digest("x\n"), **became}],
    }


def test_the_hooks_of_a_call_are_recorded_in_order():
    disk = Disk(a_py="x\n")
    made, effects = tracker(disk)
    for text in ("y\n", "z\n"):
        made.snapshot()
        disk.texts["a.py"] = text
        made.compare("fmt")

    assert [one["after_hash"] for one in effects.recorded["hooks"]] == [
        digest("y\n"),
        digest("z\n"),
    ]
    assert "changes" not in effects.recorded


def test_a_file_that_another_process_wrote_is_not_recorded_as_the_call_s():
    notes, _, effects = hooked(Disk(a_py="x\n"), write("a.py", "y\n"), after="other\n")

    assert len(notes) == 1
    assert effects.recorded is None
    assert effects.changes[0].after_hash == digest("other\n")


def test_only_so_many_files_are_compared():
    disk = Disk(**{f"f{number:02d}": "x" for number in range(MAX_TRACKED_FILES + 1)})

    def change(one):
        one.texts.update(dict.fromkeys(one.texts, "y"))

    notes, _, _ = hooked(disk, change)

    assert len(notes) == MAX_TRACKED_FILES == 50


def test_what_was_read_counts_against_the_limit_of_bytes():
    disk = Disk(a="12345", b=None, c="123")
    made, _ = tracker(disk)

    made.snapshot()

    assert disk.asked == [64 << 20, (64 << 20) - 5]


def test_links_and_files_that_grew_too_large_are_left_out(monkeypatch):
    disk = Disk(a="x", b="x")
    disk.elsewhere["a"] = "b"

    notes, _, _ = hooked(disk, lambda one: one.texts.update(a="y", b="y"))

    assert [note.user.splitlines()[0] for note in notes] == ["[Hook fmt changed b]"]
    monkeypatch.setattr("handrail.engine.hooking.file_changes.MAX_TRACKED_BYTES", 2)
    assert hooked(Disk(a="x"), write("a", "yyy"))[0] == []
    assert len(hooked(Disk(a="x"), write("a", "yy"))[0]) == 1


def test_a_comparison_without_a_snapshot_finds_nothing():
    made, effects = tracker(Disk(a="x"))

    made.compare("fmt")

    assert (made.pop_notes(), effects.recorded) == ([], None)


def diff(old, new):
    return _diff(Content(old), Content(new))


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (b"a\n", b"b\n", "@@ -1 +1 @@\n-a\n+b"),
        (b"a", b"a\n", "@@ -1 +1,2 @@\n a\n+"),
        (b"a\nb\nc\nd\n", b"a\nb\nX\nd\n", "@@ -2,3 +2,3 @@\n b\n-c\n+X\n d"),
        (b"\xff", b"a", None),
        (b"a", b"\xff", None),
    ],
)
def test_a_diff_has_one_line_around_a_change(old, new, expected):
    assert diff(old, new) == expected


# Half of 1 MiB without two short lines.
LONG = b"a" * ((1 << 19) - 4)


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        # The header, the empty line and 38 new lines are 40, one more is too many.
        (b"", b"x\n" * 37 + b"x", True),
        (b"", b"x\n" * 38 + b"x", False),
        # `@@ -1 +1 @@`, `-`, and a new line of the rest.
        (b"", b"y" * (MAX_DIFF_CHARS - len("@@ -1 +1 @@\n-\n+")), True),
        (b"", b"y" * (MAX_DIFF_CHARS - len("@@ -1 +1 @@\n-\n+") + 1), False),
        # 1 MiB together.
        (b"x\ny\n" + LONG, b"z\ny\n" + LONG, True),
        (b"x\ny\n" + LONG, b"zz\ny\n" + LONG, False),
    ],
)
def test_a_diff_has_limits(old, new, shown):
    assert (diff(old, new) is not None) is shown
    assert MAX_DIFF_LINES == 40


def test_a_comparison_of_many_different_lines_is_not_begun(monkeypatch):
    monkeypatch.setattr("handrail.engine.hooking.file_changes._MAX_LINE_PAIRS", 4)

    assert diff(b"same\na\nb\nend\n", b"same\nc\nd\nend\n") is not None
    assert diff(b"same\na\nb\nend\n", b"same\nc\nd\ne\nend\n") is None
