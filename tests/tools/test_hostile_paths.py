"""Names that lead, or seem to lead, out of the workspace or to protected files, given to every tool
that takes a path: nothing outside is read, listed or changed, and no call fails by a bug.
"""

import json
import os
from pathlib import Path

import pytest

import handrail.sync

DATA = Path(__file__).parent.parent / "data/names/hostile_paths.json"
LONG = [
    "x" * 300,
    "x/" * 3000 + "y",
    "../" * 2000 + "etc/passwd",
    "d" * 255 + "/" + "e" * 256,
    "sub/" + "../" * 50 + "secret.txt",
]
CALLS = {
    "read_file": lambda name: {"path": name},
    "write_file": lambda name: {"path": name, "content": "changed\n"},
    "edit_file": lambda name: {"path": name, "old_string": "hello", "new_string": "changed"},
    "apply_patch": lambda name: {
        "patch": f"*** Begin Patch\n*** Add File: {name}\n+changed\n*** End Patch\n"
    },
    "grep": lambda name: {"pattern": "TOP|root:", "path": name},
    "find_files": lambda name: {"pattern": name},
    "list_files": lambda name: {"path": name},
    "file_info": lambda name: {"path": name},
}
LINKS = {
    "link": "../secret.txt",
    "link2": "link",
    "dirlink": "..",
    "loop": "loop",
    "dangling": "/nonexistent/x",
    "danglingout": "../outside/new.txt",
    "backin": "../ws/sub",
    "procl": "/proc/self",
    "zero": "/dev/zero",
}


@pytest.fixture
def work(tmp_path):
    root = tmp_path / "ws"
    for folder in ("ws/sub/deep", "ws/.git/hooks", "outside"):
        tmp_path.joinpath(folder).mkdir(parents=True)
    root.joinpath("a.txt").write_text("hello\n")
    root.joinpath(".git/config").write_text("[core]\n")
    for secret in ("secret.txt", "outside/s.txt"):
        tmp_path.joinpath(secret).write_text("TOPSECRET hello\n")
    for name, target in (LINKS | {"absdir": str(tmp_path / "outside")}).items():
        root.joinpath(name).symlink_to(target)
    os.mkfifo(root / "fifo")
    return root


def guarded(root):
    """What no call may change: everything outside, and git's own files."""
    outside = [tmp for tmp in root.parent.rglob("*") if root not in (tmp, *tmp.parents)]
    files = [*outside, *root.joinpath(".git").rglob("*")]
    return {path: path.read_bytes() if path.is_file() else None for path in files}


@pytest.mark.parametrize("tool", CALLS)
def test_no_name_leads_out_of_the_workspace(work, tool):
    names = json.loads(DATA.read_text())
    assert len(names) >= 100
    before = guarded(work)
    settings = {"mode": "accept-edits", "freshness": "off", "loop_guard": "off"}
    with handrail.sync.open(work, store=":memory:", config=settings) as rt:
        for name in [one.replace("%S", str(work.parent)) for one in names] + LONG:
            result = rt.call(tool, CALLS[tool](name))
            shown = f"{result.text} {result.problem and result.problem.message}"
            assert "TOPSECRET" not in shown, name
            assert "root:x" not in shown, name
            assert result.problem is None or result.problem.code != "internal", name
            assert guarded(work) == before, name
