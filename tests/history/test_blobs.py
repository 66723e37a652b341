"""Old contents outlive a loss of power, name and all."""

import os
import stat

from handrail.core.content import Content
from handrail.host.blobs import DirectoryBlobs


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
