"""Old contents outlive a loss of power, name and all."""

import os
import stat

from tests.support.handles import open_handles

from handrail.core.text.content import Content
from handrail.host.state.blobs import DirectoryBlobs


def test_a_kept_content_is_synced_before_and_its_name_after_it_appears(tmp_path, monkeypatch):
    directory = tmp_path / "blobs"
    synced = []
    sync = os.fsync

    def note(descriptor):
        kind = "directory" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file"
        synced.append((kind, (directory / digest).exists()))
        sync(descriptor)

    monkeypatch.setattr(os, "fsync", note)
    digest = Content(b"old").digest

    DirectoryBlobs(directory).keep(Content(b"old"))

    assert synced == [("file", False), ("directory", True)]
    assert [file.name for file in directory.iterdir()] == [digest]


def test_keeping_a_content_leaves_no_file_open(tmp_path):
    before = open_handles()

    DirectoryBlobs(tmp_path / "blobs").keep(Content(b"old"))

    assert [one for one in open_handles() - before if str(tmp_path) in one[1]] == []


def test_what_another_process_moves_while_it_is_measured_takes_no_room(tmp_path):
    """A temp file has its final name, and a packed content another, between list and look."""

    class Busy(DirectoryBlobs):
        def _files(self):
            found = super()._files()
            (tmp_path / f".{digest}.1.ab").unlink(missing_ok=True)
            (tmp_path / digest).unlink(missing_ok=True)
            return found

    digest = Content(b"x" * 4096).digest
    for act in (
        lambda blobs: blobs.has_room(1),
        lambda blobs: blobs.drop_all_but(set()) == 0,
        lambda blobs: blobs.could_free(set()) == 0,
        lambda blobs: blobs.pack() == 0,
    ):
        (tmp_path / f".{digest}.1.ab").write_bytes(b"half")
        (tmp_path / digest).write_bytes(b"x" * 4096)
        assert act(Busy(tmp_path))


def test_what_a_killed_process_was_writing_goes_after_a_day(tmp_path):
    old, new = tmp_path / ".aa.1.ab", tmp_path / ".bb.2.cd"
    for path in (old, new):
        path.write_bytes(b"half")
    os.utime(old, (1, 1))

    freed = DirectoryBlobs(tmp_path).drop_all_but(set())

    assert (freed, old.exists(), new.exists()) == (4, False, True)


def test_packing_leaves_packed_contents_and_files_of_writers_alone(tmp_path):
    blobs = DirectoryBlobs(tmp_path)
    digest = blobs.keep(Content(b"x" * 4096))
    writing = tmp_path / f".{digest}.1.ab"
    writing.write_bytes(b"y" * 4096)

    saved = blobs.pack()
    files = {file.name: file.read_bytes() for file in tmp_path.iterdir()}

    assert saved > 0 and blobs.load(digest) == b"x" * 4096
    assert writing.read_bytes() == b"y" * 4096
    assert blobs.pack() == 0
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == files
