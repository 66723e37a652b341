"""A report has the shape of a plan's record, and leaves nothing out in silence."""

import json
import os

import pytest

from handrail.core.shadows import Noted, ShadowLimits
from handrail.history import effects
from handrail.history.effects import Keeping, report_of
from handrail.history.effects_evidence import Evidence, Window
from handrail.host.blobs import MemoryBlobs
from handrail.host.files.local import LocalFiles
from handrail.host.shadow.local import LocalShadow

EVER = Window(0, 0, 1 << 62)


class Scene:
    def __init__(self, top):
        self.root = top / "work"
        self.root.mkdir()
        self.files = LocalFiles([str(self.root)])
        self.shadow = LocalShadow(
            [(str(self.root), self.files.handle(0))], top / "state", limits=ShadowLimits()
        )
        self.blobs = MemoryBlobs()
        self.keeping = Keeping(self.files, self.shadow, self.blobs)

    def report(self, act, evidence=None):
        before = self.shadow.before(None)
        act()
        return report_of(self.shadow.after(before), evidence or Evidence(EVER), self.keeping)

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

    first, second = report.changes
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
    assert report.undo == "full"


def test_a_folder_that_was_there_is_not_among_those_that_were_made(scene):
    (scene.root / "there").mkdir()

    report = scene.report(lambda: scene.write("there/new/file"))

    assert report.changes[0]["made"] == ["there/new"]


def test_hard_links_are_left_out_unless_they_may_be_broken(scene):
    os.link(scene.write("a", "1"), scene.root / "b")
    report = scene.report(lambda: scene.write("a", "2"))
    assert report.left_out == {"a": effects.LINKED, "b": effects.LINKED}

    scene.keeping = Keeping(scene.files, scene.shadow, scene.blobs, breaks_links=True)
    report = scene.report(lambda: scene.write("a", "3"))
    assert {one["path"] for one in report.changes} == {"a", "b"}


def test_names_that_are_no_text_are_left_out(scene):
    name = os.fsdecode(b"\xff\xfe")

    report = scene.report(lambda: scene.write(name))

    assert report.left_out == {name: effects.NO_TEXT}
    assert "\\udcff" in report.remarks()[0]


def test_links_and_empty_folders_are_left_out_with_all_that_is_known(scene):
    os.symlink("old", scene.root / "link")

    def act():
        (scene.root / "link").unlink()
        os.symlink("new", scene.root / "link")
        (scene.root / "empty").mkdir(0o700)

    report = scene.report(act)

    assert report.undo == "partial"
    assert [(one["path"], one["before"], one["after"]) for one in report.others] == [
        ("empty", None, {"form": "folder", "mode": 0o700, "target": ""}),
        (
            "link",
            {"form": "link", "mode": 0o777, "target": "old"},
            {"form": "link", "mode": 0o777, "target": "new"},
        ),
    ]


def test_links_without_end_do_not_fill_the_record(scene, monkeypatch):
    monkeypatch.setattr(effects, "_RECORDED", 10)

    def act():
        for number in range(50):
            os.symlink("x" * 4000, scene.root / f"link{number}")

    report = scene.report(act)
    recorded = report.to_record()

    assert len(report.left_out) == recorded["left_out_count"] == 50
    assert len(recorded["others"]) == len(recorded["left_out"]) == len(recorded["reasons"]) == 10
    assert len(json.dumps(recorded)) < 10_000


def test_links_that_differ_only_far_along_are_told_apart(scene):
    os.symlink("x" * 4000, scene.root / "link")

    def act():
        (scene.root / "link").unlink()
        os.symlink("x" * 3999 + "y", scene.root / "link")

    assert [one["path"] for one in scene.report(act).others] == ["link"]


def test_a_file_that_became_a_folder_is_left_out(scene):
    scene.write("a")

    def act():
        (scene.root / "a").unlink()
        scene.write("a/inside")

    report = scene.report(act)

    assert report.left_out["a"] == effects.REPLACED


def test_what_somebody_else_did_is_listed_apart_with_the_reason(scene):
    scene.write("ours", "1")
    scene.write("theirs", "1")
    noted = Noted({str(scene.root / "ours"): None}, (), blind=False)

    def act():
        scene.write("ours", "2")
        scene.write("theirs", "2")
        (scene.root / "their-folder").mkdir()

    report = scene.report(act, Evidence(EVER, (), noted))

    assert [one["path"] for one in report.changes] == ["ours"]
    assert [one["path"] for one in report.unattributed] == ["theirs"]
    assert set(report.doubts) == {"theirs"}
    assert report.undo == "full"
    assert scene.blobs.load(report.unattributed[0]["before_hash"]) == b"1"


def test_beyond_so_many_changes_the_rest_is_counted(scene, monkeypatch):
    monkeypatch.setattr(effects, "_MOST_CHANGES", 3)

    report = scene.report(lambda: [scene.write(f"f{number}") for number in range(10)])

    assert len(report.changes) == 3
    meta = report.to_meta()
    assert (meta["undo"], meta["undo_left_out_count"]) == ("partial", 7)


def test_no_room_for_an_old_content_is_told(scene):
    scene.write("a", "old content")
    scene.keeping = Keeping(scene.files, scene.shadow, MemoryBlobs(quota_bytes=3))

    report = scene.report(lambda: scene.write("a", "new"))

    assert report.changes == []
    assert report.left_out == {"a": "there was no room left to keep it"}


def test_meta_names_at_most_fifty_paths(scene):
    def act():
        for number in range(80):
            os.symlink("x", scene.root / f"l{number}")

    meta = scene.report(act).to_meta()

    assert (len(meta["undo_left_out"]), meta["undo_left_out_count"]) == (50, 80)


def test_a_new_folder_that_will_stay_because_of_what_is_in_it_is_named(scene):
    def act():
        scene.write("new/file")
        (scene.root / "new" / "empty").mkdir()

    report = scene.report(act)

    assert set(report.left_out) == {"new", "new/empty"}
