"""A report has the shape of a plan's record, and leaves nothing out in silence."""

import base64
import hashlib
import json
import os

import pytest

from handrail.core.ports.snapshots import LONG_LINK, ObservedWrites, SnapshotLimits
from handrail.history.command_effects import effects_report, report_builder
from handrail.history.command_effects.effects_report import (
    OTHERS,
    UNSEEN,
    CommandInterval,
    Evidence,
)
from handrail.history.command_effects.report_builder import EffectStorage, build_report
from handrail.host.files.local_files import LocalFiles
from handrail.host.snapshots.local_snapshots import LocalSnapshots
from handrail.host.state.blobs import MemoryBlobs

EVER = CommandInterval(0, 0, 1 << 62)


class Scene:
    def __init__(self, top):
        self.root = top / "work"
        self.root.mkdir()
        self.files = LocalFiles([str(self.root)])
        self.shadow = LocalSnapshots(
            [(str(self.root), self.files.handle(0))], top / "state", limits=SnapshotLimits()
        )
        self.blobs = MemoryBlobs()
        self.keeping = EffectStorage(self.files, self.shadow, self.blobs)

    def report(self, act, evidence=None):
        before = self.shadow.capture(None)
        act()
        return build_report(self.shadow.diff(before), evidence or Evidence(EVER), self.keeping)

    def write(self, path, content="x"):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content)
        return target


@pytest.fixture
def scene(tmp_path):
    made = Scene(tmp_path)
    yield made
    made.shadow.close()
    made.files.close()


def test_changes_are_described_as_those_of_plans_are(scene):
    scene.write("a", "old").chmod(0o600)

    def act():
        scene.write("a", "new").chmod(0o644)
        scene.write("made/deep/b", "b")

    report = scene.report(act)

    first, upper, lower, second = report.changes
    assert {**first, "before_hash": "", "after_hash": ""} == {
        "path": "a",
        "absolute": str(scene.root / "a"),
        "operation": "write",
        "before_hash": "",
        "after_hash": "",
        "before_mode": 0o600,
        "after_mode": 0o644,
        "image": "blob",
    }
    assert scene.blobs.load(first["before_hash"]) == b"old"
    assert (second["operation"], second["image"]) == ("create", "absent")
    assert second["made"] == ["made/deep", "made"]
    assert [(one["path"], one["operation"], one["after_form"]) for one in (upper, lower)] == [
        ("made", "create", "folder"),
        ("made/deep", "create", "folder"),
    ]
    assert [one.path for one in report.records()] == ["a", "made/deep/b"]
    assert report.undo == "full"


def test_a_folder_that_was_there_is_not_among_those_that_were_made(scene):
    (scene.root / "there").mkdir()

    report = scene.report(lambda: scene.write("there/new/file"))

    assert [one["path"] for one in report.changes] == ["there/new", "there/new/file"]
    assert report.changes[1]["made"] == ["there/new"]


def test_hard_links_are_left_out_unless_they_may_be_broken(scene):
    os.link(scene.write("a", "1"), scene.root / "b")
    report = scene.report(lambda: scene.write("a", "2"))
    assert report.left_out == {"a": report_builder.LINKED, "b": report_builder.LINKED}

    scene.keeping = EffectStorage(scene.files, scene.shadow, scene.blobs, breaks_links=True)
    report = scene.report(lambda: scene.write("a", "3"))
    assert {one["path"] for one in report.changes} == {"a", "b"}


@pytest.mark.finding("F21")
def test_names_that_are_no_text_are_changes_like_others(scene):
    name = os.fsdecode(b"\xff\xfe")

    report = scene.report(lambda: scene.write(name))

    assert report.left_out == {}
    assert [one["path"] for one in report.changes] == [name]


def test_links_and_empty_folders_are_described_with_all_that_brings_them_back(scene):
    os.symlink("old", scene.root / "link")

    def act():
        (scene.root / "link").unlink()
        os.symlink("new", scene.root / "link")
        (scene.root / "empty").mkdir(0o700)

    report = scene.report(act)

    empty, link = report.changes
    assert report.undo == "full"
    assert (empty["image"], empty["after_mode"], empty["after_form"]) == ("absent", 0o700, "folder")
    assert base64.b64decode(link["before"]) == b"old"
    assert link["before_hash"] == f"link:{hashlib.sha256(b'old').hexdigest()}"
    assert link["after_hash"] == f"link:{hashlib.sha256(b'new').hexdigest()}"
    assert (link["before_mode"], link["after_mode"]) == (None, None)


def test_pipes_without_end_do_not_fill_the_record(scene, monkeypatch):
    monkeypatch.setattr(effects_report, "_RECORDED", 10)

    def act():
        for number in range(50):
            os.mkfifo(scene.root / f"pipe{number}")

    report = scene.report(act)
    recorded = report.to_record()

    assert len(report.left_out) == recorded["left_out_count"] == 50
    assert len(recorded["left_out"]) == 10
    assert len(json.dumps(recorded)) < 10_000


def test_long_links_that_differ_only_far_along_are_told_apart_and_left_out(scene):
    os.symlink("x" * 4000, scene.root / "link")

    def act():
        (scene.root / "link").unlink()
        os.symlink("x" * 3999 + "y", scene.root / "link")

    assert scene.report(act).left_out == {"link": LONG_LINK}


def test_a_file_that_became_a_folder_is_left_out(scene):
    scene.write("a")

    def act():
        (scene.root / "a").unlink()
        scene.write("a/inside")

    report = scene.report(act)

    assert report.left_out["a"] == report_builder.REPLACED


def test_what_somebody_else_did_is_listed_apart_with_the_reason(scene):
    scene.write("ours", "1")
    scene.write("theirs", "1")
    noted = ObservedWrites({str(scene.root / "ours"): None}, (), blind=False)

    def act():
        scene.write("ours", "2")
        scene.write("theirs", "2")
        (scene.root / "their-folder").mkdir()

    report = scene.report(act, Evidence(EVER, (), noted))

    assert [one["path"] for one in report.changes] == ["ours"]
    assert [(one["path"], one["doubt"]) for one in report.unattributed] == [
        ("theirs", UNSEEN),
        ("their-folder", UNSEEN),
    ]
    assert report.undo == "full"
    assert scene.blobs.load(report.unattributed[0]["before_hash"]) == b"1"


def test_beyond_so_many_changes_the_rest_is_counted(scene, monkeypatch):
    monkeypatch.setattr(report_builder, "_MOST_CHANGES", 3)

    report = scene.report(lambda: [scene.write(f"f{number}") for number in range(10)])

    assert len(report.changes) == 3
    meta = report.to_meta()
    assert (meta["undo"], meta["undo_left_out_count"]) == ("partial", 7)


def test_no_room_for_an_old_content_is_told(scene):
    scene.write("a", "old content")
    scene.keeping = EffectStorage(scene.files, scene.shadow, MemoryBlobs(quota_bytes=3))

    report = scene.report(lambda: scene.write("a", "new"))

    assert report.changes == []
    assert report.left_out == {"a": "there was no room left to keep it"}


def test_meta_names_at_most_fifty_paths(scene):
    def act():
        for number in range(80):
            os.mkfifo(scene.root / f"p{number}")

    meta = scene.report(act).to_meta()

    assert (len(meta["undo_left_out"]), meta["undo_left_out_count"]) == (50, 80)


def test_a_new_folder_that_will_stay_because_of_what_is_in_it_is_named(scene):
    def act():
        scene.write("new/file")
        os.mkfifo(scene.root / "new" / "pipe")

    report = scene.report(act)

    assert report.left_out == {"new/pipe": report_builder.SPECIAL, "new": report_builder.HOLDS}
    assert [one["path"] for one in report.changes] == ["new/file"]


def test_what_became_of_a_lost_file_is_not_removed(scene):
    """A file that is too large to be kept was only moved: its new name is all that is left."""
    scene.shadow._limits = SnapshotLimits(file_bytes=3)
    scene.write("large", "large")
    scene.write("tree/small", "ok")

    def act():
        (scene.root / "large").rename(scene.root / "moved")
        (scene.root / "tree").rename(scene.root / "gone")
        scene.write("tree", "f")

    report = scene.report(act)

    assert report.changes == []
    assert {path: why for path, why in report.left_out.items() if why == report_builder.MOVED} == {
        "moved": report_builder.MOVED,
        "gone/small": report_builder.MOVED,
    }
    assert report.left_out["gone"] == report_builder.HOLDS


def test_a_set_uid_bit_is_said_not_to_come_back(scene):
    scene.write("a", "1").chmod(0o4755)

    report = scene.report(lambda: scene.write("a", "2"))

    assert [(one["path"], one["before_mode"]) for one in report.changes] == [("a", 0o755)]
    assert report.left_out == {"a": report_builder.BITS}


def test_what_the_command_may_have_done_makes_undo_partial(scene):
    """Something else was at work: whether it is the command's cannot be told."""
    report = scene.report(lambda: scene.write("a"), Evidence(EVER, others=True))

    assert [one["path"] for one in report.unattributed] == ["a"]
    assert (report.undo, report.left_out) == ("partial", {"a": OTHERS})


def test_an_empty_file_is_not_taken_for_one_that_was_lost(scene, monkeypatch):
    monkeypatch.setattr(scene.shadow, "export_content", lambda *_: False)
    scene.write("empty", "")

    def act():
        (scene.root / "empty").rename(scene.root / "moved")

    report = scene.report(act)

    assert list(report.left_out) == ["empty"]
    assert [one["path"] for one in report.changes] == ["moved"]
