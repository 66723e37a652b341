"""Programs run by a runner without any privilege."""

import json
import os
import subprocess
import sys

USER = os.getuid() or 12345

# The interpreter of the tests may lie where only root can read: rights are dropped after a
# fork, when all that a runner needs has been loaded.
_SCRIPT = """
import json, os, socket, sys
from handrail.host.sandbox.recipe import LandlockRules, Recipe
from handrail.host.supervisor.runner.main import run_runner
from handrail.host.supervisor.wire import FrameKind, FrameDecoder, encode_frame, encode_recipe

folder, mark, user, landlock, notes, timeout_s, *commands = json.loads(sys.argv[1])
ours, theirs = socket.socketpair()
if os.fork() == 0:
    ours.close()
    if os.getuid() == 0:
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    run_runner(theirs, os.pidfd_open(os.getppid()), lambda: None)
    os._exit(0)
theirs.close()

def answer():
    unpacker = FrameDecoder()
    while data := ours.recv(1 << 16):
        for frame in unpacker.feed(data):
            if frame.kind not in (FrameKind.HELLO, FrameKind.OUTPUT):
                return frame

def run(command):
    rules = LandlockRules(("/usr", "/bin", "/lib", "/lib64", "/etc", "/proc"), ("/dev",), False)
    recipe = Recipe(
        ("/bin/bash", "-c", command, mark), {"PATH": "/usr/bin:/bin", "MARK": mark}, folder,
        landlock=rules if landlock else None, write_log=notes,
    )
    header = {
        "recipe": encode_recipe(recipe), "timeout_s": timeout_s, "live": False,
        "reports": False, "spill": None, "stdin": 0,
    }
    ours.sendall(encode_frame(FrameKind.RUN, header))
    frame = answer()
    return [frame.header["timed_out"], frame.header["survivors"], frame.body.decode()]

print(json.dumps([run(command) for command in commands]))
ours.close()
os.wait()
"""


def run_as_ordinary_user(commands, *, folder, mark, landlock=False, write_log="", timeout_s=20):
    """For each command whether it was out of time, who survived, and what it said."""
    told = json.dumps([folder, mark, USER, landlock, write_log, timeout_s, *commands])
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, told], stdout=subprocess.PIPE, check=True, timeout=60
    )
    return json.loads(done.stdout)
