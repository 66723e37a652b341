"""What developers run every day runs confined, as root and as an ordinary user."""

import sys

import pytest
from tests.support.confined import USERS, confined, folder_of, python_of
from tests.support.machine import SANDBOXES

THREADS = """
import concurrent.futures, multiprocessing, os, tempfile, threading
def square(x): return x * x
if __name__ == "__main__":
    thread = threading.Thread(target=print, args=("thread",)); thread.start(); thread.join()
    with multiprocessing.get_context("fork").Pool(2) as pool: print(pool.map(square, [1, 2, 3]))
    with concurrent.futures.ThreadPoolExecutor() as pool: print(list(pool.map(square, [4])))
    with tempfile.NamedTemporaryFile() as file: file.write(b"x"); print(os.path.exists(file.name))
"""
LOOP = """
import asyncio
async def main():
    process = await asyncio.create_subprocess_exec("echo", "child", stdout=-1)
    print((await process.communicate())[0].decode().strip())
asyncio.run(main())
"""
NODE = """
const { execSync } = require("child_process");
const fs = require("fs"), os = require("os"), path = require("path");
fs.writeFileSync("a.txt", "node"); os.networkInterfaces();
const folder = fs.mkdtempSync(path.join(os.tmpdir(), "x-"));
console.log(fs.readFileSync("a.txt", "utf8"), execSync("echo child").toString().trim(), fs.existsSync(folder));
"""
GIT = """
set -e
git init -q -b main . && git config user.email a@example.com && git config user.name A
echo one > a && git add a && git commit -qm first && git status --short && git log --format=%s
"""
C = """
set -e
printf '#include <stdio.h>\\nint main(void) { puts("compiled"); return 0; }\\n' > a.c
cc -o a.out a.c && ./a.out
"""

COMMANDS = {
    "pipeline": ("printf 'b\\na\\n' | sort | tee sorted | head -1; cat < sorted | wc -l", "a\n2\n"),
    "here": ("cat <<< here; diff <(echo x) <(echo x) && echo same", "here\nsame\n"),
    "redirects": ("echo err > /dev/stderr; : > /dev/null; head -c1 /dev/zero | wc -c", "1\n"),
    "threads": ("{python} threads.py", "thread\n[1, 4, 9]\n[16]\nTrue\n"),
    "loop": ("{python} loop.py", "child\n"),
    "node": ("node node.js", "node child true\n"),
    "git": ("mkdir repo && cd repo && bash ../git.sh", "first\n"),
    "make": ("printf 'all:\\n\\t@echo made\\n' > Makefile && make -s", "made\n"),
    "cc": ("bash cc.sh", "compiled\n"),
    "time": ("date -d @0 -u +%Y; TZ=Europe/Paris date -d @0 +%H; id -un >/dev/null || true; nproc > /dev/null; echo ok", "1970\n01\nok\n"),
    "temporary": ('echo kept > "$TMPDIR/x"; mktemp > /dev/null; cat "$TMPDIR/x"', "kept\n"),
    "home": ('echo "$HOME" > /dev/null; cd; echo ok', "ok\n"),
}  # fmt: skip


@pytest.mark.parametrize(
    "names",
    [
        [name for name in COMMANDS if name not in ("node", "cc")],
        pytest.param(["node"], marks=pytest.mark.needs_node),
        pytest.param(["cc"], marks=pytest.mark.needs_compiler),
    ],
    ids=["ordinary", "node", "compiler"],
)
@pytest.mark.parametrize("backend", SANDBOXES)
@pytest.mark.parametrize("uid", USERS)
def test_ordinary_programs_work(uid, backend, names):
    python = python_of(uid)
    commands = [COMMANDS[name][0].replace("{python}", python) for name in names]

    with folder_of(uid) as top:
        workspace = top / "workspace"
        workspace.mkdir()
        for name, text in {"threads.py": THREADS, "loop.py": LOOP, "node.js": NODE}.items():
            (workspace / name).write_text(text)
        for name, text in {"git.sh": GIT, "cc.sh": C}.items():
            (workspace / name).write_text(text)
        workspace_belongs_to(uid, top)
        done = confined(uid, job(top, backend, commands))["done"]

    assert {name: said[:2] for name, said in zip(names, done, strict=True)} == {
        name: [0, COMMANDS[name][1]] for name in names
    }, [said for said in done if said[0]]


@pytest.mark.parametrize("backend", SANDBOXES)
def test_a_test_suite_runs(backend):
    import os

    from handrail.core.ports.processes import Confinement, Launch
    from handrail.host.sandbox.local_sandbox import open_sandbox
    from handrail.host.sandbox.probe import fixture

    with folder_of(os.geteuid()) as top:
        (top / "test_a.py").write_text("def test_a(tmp_path): (tmp_path / 'x').write_text('x')\n")
        sandbox = open_sandbox([str(top)], backend=backend)
        argv = (sys.executable, "-m", "pytest", "-q", "test_a.py")
        env = {"PATH": os.environ["PATH"], "HOME": os.environ["HOME"]}
        launch = Launch(argv, str(top), env, Confinement((str(top),)), None)
        done = fixture.run_probe_program(sandbox.recipe(launch), deadline_s=60)
        sandbox.close()

    assert (done.exit_code, b"1 passed" in done.stdout) == (0, True), done


@pytest.mark.needs_bubblewrap
@pytest.mark.parametrize("uid", USERS)
def test_git_can_commit_while_its_programs_stay_read_only(uid):
    commands = [
        "git add . && git commit -qm one && git log --format=%s",
        "echo '#!/bin/sh' > .git/hooks/pre-commit",
        "git config core.pager evil",
        "mv .git away",
        "rm -rf .git/hooks",
    ]
    with folder_of(uid) as top:
        confined_job = job(top, "bubblewrap", [GIT])
        confined_job |= {"roots": [str(top)], "home": "/nonexistent"}
        assert confined(uid, confined_job)["done"][0][0] == 0
        (top / "b").write_text("b")
        workspace_belongs_to(uid, top)
        held = [
            f"{top}/.git/{name}"
            for name in ("hooks", "config", "config.worktree", "info/attributes")
        ]
        done = confined(uid, confined_job | {"commands": commands, "read_only": held})["done"]
        left = sorted(path.name for path in (top / ".git").iterdir())

    assert done[0][:2] == [0, "one\nfirst\n"], done[0]
    assert [code != 0 for code, _, _ in done[1:]] == [True] * 4
    # Names that were not there are not there now.
    assert not {"config.worktree", "commondir"} & set(left)


@pytest.mark.parametrize("backend", SANDBOXES)
def test_a_server_of_the_command_is_reached_over_the_network_it_has(backend):
    """With bubblewrap the command has a loopback network of its own; with Landlock none."""
    code = "import socket; s = socket.create_server(('127.0.0.1', 0)); socket.create_connection(s.getsockname()); print('met')"
    uid = USERS[0]
    with folder_of(uid) as top:
        done = confined(uid, job(top, backend, [f'{python_of(uid)} -c "{code}"'], make=True))[
            "done"
        ]

    assert (done[0][1] == "met\n") == (backend == "bubblewrap")


@pytest.mark.parametrize("backend", SANDBOXES)
@pytest.mark.parametrize("uid", USERS)
def test_the_network_is_there_when_it_is_allowed_but_not_the_daemons(uid, backend):
    import socket

    server = socket.create_server(("127.0.0.1", 0))
    port = server.getsockname()[1]
    code = f"import socket; socket.create_connection(('127.0.0.1', {port})); print('met')"
    unix = "import socket; socket.socket(socket.AF_UNIX)"
    commands = [f'{python_of(uid)} -c "{one}"' for one in (code, unix)]
    with server, folder_of(uid) as top:
        asked = job(top, backend, commands, make=True) | {"network": True}
        done = confined(uid, asked)["done"]

    assert done[0][:2] == [0, "met\n"]
    assert "Address family not supported" in done[1][2]


def job(top, backend, commands, *, make=False):
    workspace = top / "workspace"
    if make:
        workspace.mkdir()
        workspace_belongs_to(top.stat().st_uid, top)
    return {
        "do": "commands",
        "backend": backend,
        "roots": [str(workspace)],
        "home": str(top / "home"),
        "commands": commands,
    }


def workspace_belongs_to(uid, top):
    import os

    for folder, _, files in os.walk(top):
        for path in (folder, *(f"{folder}/{name}" for name in files)):
            os.chown(path, uid, uid, follow_symlinks=False)
