"""A keeper does its work without any privilege."""

import json
import os
import subprocess
import sys

import pytest

# The interpreter of the tests may lie where only root can read: rights are dropped after a
# fork, when all that a keeper needs has been loaded.
SCRIPT = """
import json, os, socket, sys
from handrail.host.sandbox.recipe import LandlockRules, Recipe
from handrail.host.warden.main import keep
from handrail.host.warden.wire import Kind, Unpacker, pack, recipe_header

folder, mark, confined = sys.argv[1:]
ours, theirs = socket.socketpair()
if os.fork() == 0:
    ours.close()
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(12345)
        os.setuid(12345)
    keep(theirs, os.pidfd_open(os.getppid()))
    os._exit(0)
theirs.close()

def answer():
    unpacker = Unpacker()
    while data := ours.recv(1 << 16):
        for frame in unpacker.feed(data):
            if frame.kind not in (Kind.HELLO, Kind.OUTPUT):
                return frame

def run(command):
    rules = LandlockRules(("/usr", "/bin", "/lib", "/lib64", "/etc", "/proc"), ("/dev",), False)
    recipe = Recipe(
        ("/bin/bash", "-c", command, mark), {"PATH": "/usr/bin:/bin", "MARK": mark}, folder,
        landlock=rules if confined == "landlock" else None,
    )
    header = {
        "recipe": recipe_header(recipe), "timeout_s": 0.7, "live": False, "reports": False,
        "spill": None, "stdin": 0,
    }
    ours.sendall(pack(Kind.RUN, header))
    frame = answer()
    return [frame.header["timed_out"], frame.header["survivors"], frame.body.decode()]

deaf = "trap '' TERM; setsid sleep 600 & (setsid bash -c 'sleep 601 & disown' &); sleep 602; sleep 603"
print(json.dumps([run("id -u"), run(deaf), run("echo next"), run("yes > /dev/null & exit")]))
ours.close()
os.wait()
"""


@pytest.mark.parametrize("confined", ["unconfined", "landlock"])
async def test_an_ordinary_user_can_have_programs_run_and_ended(programs, confined):
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, "/", programs.mark, confined],
        stdout=subprocess.PIPE,
        check=True,
        timeout=60,
    )

    who, deaf, after, left = json.loads(done.stdout)
    assert who == [False, [], f"{os.getuid() or 12345}\n"]
    assert (deaf, after, left) == ([True, [], ""], [False, [], "next\n"], [False, [], ""])
    assert programs.alive() == []
