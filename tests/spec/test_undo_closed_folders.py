"""Folders that their owner closed to writing, as an ordinary user meets them: root may write
anywhere, so the stories run in processes that have given up that right.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
from itertools import count

import pytest
from tests.support.entries import tree

import handrail

pytestmark = pytest.mark.needs_sandbox

_PR_CAPBSET_DROP = 24
_MAY_WRITE_ANYWHERE = (1, 2)

STORY = """
import asyncio, json, sys
from pathlib import Path
from tests.support.entries import tree
import handrail

async def main(root, store, code):
    before = tree(Path(root))
    async with handrail.open(root, store=store, mode="sandboxed") as rt:
        code = f"import os, shutil\\n{code}"
        ran = await rt.call("execute_code", {"language": "python", "code": code}, id="run")
        after = tree(Path(root))
        undone = await rt.undo("run")
        restored = tree(Path(root)) == before
        redone = await rt.redo("run")
    told = [ran.meta.get("undo", ran.text), undone.text, restored, redone.text]
    print(json.dumps([*told, tree(Path(root)) == after, before != after]))

asyncio.run(main(*sys.argv[1:]))
"""

# Dies at the given change of permissions.
KILLED = """
import asyncio, itertools, os, signal, sys
import handrail

async def main(root, store, last):
    async with handrail.open(root, store=store, mode="sandboxed") as rt:
        fchmod, calls = os.fchmod, itertools.count(1)

        def dying(handle, mode):
            if next(calls) == int(last):
                os.kill(os.getpid(), signal.SIGKILL)
            fchmod(handle, mode)

        os.fchmod = dying
        (await rt.undo("run")).unwrap()

asyncio.run(main(*sys.argv[1:]))
"""


def run_as_an_ordinary_user(script, *arguments):
    def give_up():
        for right in _MAY_WRITE_ANYWHERE if os.geteuid() == 0 else ():
            assert ctypes.CDLL(None).prctl(_PR_CAPBSET_DROP, right, 0, 0, 0) == 0

    return subprocess.run(
        [sys.executable, "-P", "-c", script, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=give_up,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )


@pytest.fixture
def closed(workspace):
    workspace.write("closed/x.txt", "x")
    workspace.write("closed/y.txt", "y")
    (workspace.root / "link").symlink_to("closed")
    (workspace.root / "closed").chmod(0o555)
    yield workspace
    for path in workspace.root.rglob("*"):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)


OPENED = "os.chmod('closed', 0o755); "


@pytest.mark.parametrize(
    "code",
    [
        OPENED + "os.remove('closed/x.txt'); os.chmod('closed', 0o555)",
        OPENED + "open('closed/x.txt', 'w').write('new'); os.chmod('closed', 0o511)",
        OPENED + "open('closed/x.txt', 'w').write('new'); os.symlink('z', 'closed/l')",
        OPENED + "shutil.rmtree('closed')",
        "os.mkdir('n'); open('n/f', 'w').write('x'); os.chmod('n', 0o555)",
        "os.remove('link'); os.symlink('n', 'link')\n"
        "os.link('link', 'other', follow_symlinks=False)",
    ],
    ids=["removed", "closed further", "left open", "gone", "made", "a link of two names"],
)
def test_what_is_said_to_come_back_comes_back_for_an_ordinary_user(closed, tmp_path, code):
    ran = run_as_an_ordinary_user(STORY, closed.root, tmp_path / "store.db", code)

    assert ran.returncode == 0, ran.stderr
    undo, undone, restored, redone, again, changed = json.loads(ran.stdout)
    assert changed
    assert undo == "full"
    assert (undone.split()[0], restored) == ("undid", True), undone
    assert (redone.split()[0], again) == ("redid", True), redone


@pytest.mark.parametrize(
    "code",
    ["shutil.rmtree('closed')", "os.remove('closed/x.txt'); os.chmod('closed', 0o555)"],
    ids=["the folder comes back", "the folder is only opened"],
)
async def test_a_kill_while_permissions_are_set_leaves_none_half_set(closed, tmp_path, code):
    store = tmp_path / "store.db"
    code = f"import os, shutil\n{OPENED}{code}"
    before, found = tree(closed.root), []
    async with handrail.open(closed.root, store=store, mode="sandboxed") as rt:
        await rt.call("execute_code", {"language": "python", "code": code}, id="run")
    after = tree(closed.root)

    for last in count(1):
        killed = run_as_an_ordinary_user(KILLED, closed.root, store, last)
        async with handrail.open(closed.root, store=store, mode="sandboxed") as rt:
            found.append(tree(closed.root))
            assert found[-1] in (before, after), (last, rt.recovered)
            if found[-1] == before:
                (await rt.redo("run")).unwrap()
        if killed.returncode != -signal.SIGKILL:
            break

    assert killed.returncode == 0, killed.stderr
    assert after in found
    assert found.count(before) > 1, "no kill came late enough to count as done"
