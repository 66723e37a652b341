"""A probe that was killed leaves its stage; the next one clears it away, and nothing else."""

import os
import shutil
import tempfile
import time
from pathlib import Path

from handrail.host.sandbox import abandoned
from handrail.host.sandbox.stage import set_up


def test_old_stages_go_and_young_ones_and_others_stay(tmp_path, monkeypatch):
    shared = tmp_path / "shm"
    shared.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.setattr(abandoned, "SHARED", str(shared))
    for name in ("handrail-probe-old/outside", "handrail-probe-young", "handrail-probing"):
        (tmp_path / name).mkdir(parents=True)
    (shared / "handrail-probe-12").write_text("probe")
    (tmp_path / "handrail-probe-link").symlink_to(tmp_path / "handrail-probing")
    past = time.time() - 7200
    for name in ("handrail-probe-old", "handrail-probing", "shm/handrail-probe-12"):
        os.utime(tmp_path / name, (past, past))
    os.utime(tmp_path / "handrail-probe-link", (past, past), follow_symlinks=False)

    with set_up(str(shutil.which("sleep"))) as stage:
        there = {path.name for path in tmp_path.iterdir()}
        assert Path(stage.top).name in there

    assert "handrail-probe-old" not in there
    assert {"handrail-probe-young", "handrail-probing", "handrail-probe-link"} <= there
    assert list(shared.iterdir()) == []
    assert abandoned.sweep_probes() == 0
