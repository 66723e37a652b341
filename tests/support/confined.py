"""Runs confined programs as a given user: the tests ask, a process of that user does it.

`confined(uid, jobs)` starts this file as a program of the user; `attack(uid, …)` also sets a
world up around the confinement that a program must not reach. What started a program here is
what the supervisor does: a thread that gives up its rights.
"""

import atexit
import ctypes
import json
import os
import select
import shutil
import socket
import stat
import struct
import subprocess
import sys
import tempfile
import threading
from contextlib import ExitStack, contextmanager, suppress
from functools import cache
from pathlib import Path

ORDINARY = 12345
USERS = (0, ORDINARY) if os.geteuid() == 0 else (os.geteuid(),)
SOURCE = Path(__file__).resolve().parents[2] / "src"
ATTACKS = [Path(__file__).with_name(name) for name in ("attacks.py", "more_attacks.py")]


@cache
def python_of(uid):
    """A Python, 3.11 or later, that this user may run."""
    for python in (os.path.realpath(sys.executable), "/usr/bin/python3", "/usr/local/bin/python3"):
        check = [python, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
        try:
            if subprocess.run(check, **as_user(uid), check=False, cwd="/").returncode == 0:
                return python
        except OSError:
            continue
    raise LookupError(f"no Python that user {uid} may run")


def as_user(uid):
    if uid == os.geteuid():
        return {}
    return {"user": uid, "group": uid, "extra_groups": []}


@contextmanager
def folder_of(uid):
    """A directory of the user's, outside of what only the one who runs the tests may enter."""
    top = Path(os.path.realpath(tempfile.mkdtemp(prefix="handrail-test-")))
    os.chown(top, uid, uid if uid else 0)
    try:
        yield top
    finally:
        shutil.rmtree(top, ignore_errors=True)


def confined(uid, job):
    """What `job` (JSON) came to, done by a process of the user."""
    copied = readable_sources()
    done = subprocess.run(
        [python_of(uid), "-B", f"{copied}/{Path(__file__).name}"],
        input=json.dumps(job),
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "PYTHONPATH": copied, "HOME": job["home"]},
        **as_user(uid),
        capture_output=True,
        text=True,
        check=False,
        cwd="/",
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


# What another process is compiling right now.
_HALF_WRITTEN = shutil.ignore_patterns("*.pyc.*")


@cache
def readable_sources():
    """A copy that every user may read, with what is compiled; removed when the tests end."""
    copied = tempfile.mkdtemp(prefix="handrail-source-")
    atexit.register(shutil.rmtree, copied, ignore_errors=True)
    os.chmod(copied, 0o755)
    shutil.copytree(SOURCE / "handrail", f"{copied}/handrail", ignore=_HALF_WRITTEN)
    for script in ATTACKS:
        shutil.copy(script, copied)
    shutil.copy(__file__, copied)
    return copied


def main(job):
    return {"attack": _attack, "commands": _commands}[job["do"]](job)


def _commands(job):
    """Runs `job["commands"]` in turn; each answers with exit code, stdout and stderr. One that
    is a table says for itself how it is confined, and what it runs as `command`.
    """
    sandbox = _sandbox(job)
    given = [{"command": one} if isinstance(one, str) else one for one in job["commands"]]
    try:
        done = [_run(sandbox, job | one, ("/bin/bash", "-c", one["command"])) for one in given]
        return {"backend": sandbox.backend, "describe": dict(sandbox.describe()), "done": done}
    finally:
        sandbox.close()


def _sandbox(job):
    from handrail.host.sandbox.local_sandbox import open_sandbox

    return open_sandbox(
        job["roots"],
        job.get("hidden", ()),
        backend=job["backend"],
        environ={"HOME": job["home"], "PATH": os.environ["PATH"]},
    )


def _run(sandbox, job, argv):
    from handrail.core.ports.processes import Confinement, Launch
    from handrail.host.sandbox.probe import fixture

    confinement = Confinement(
        writable=tuple(job.get("writable", job["roots"])),
        read_only=tuple(job.get("read_only", ())),
        hidden=tuple(job.get("hidden", ())),
        network=job.get("network", False),
        denied_reads=tuple(job.get("denied_reads", ())),
        hosts=tuple(job.get("hosts", ())),
    )
    env = {"PATH": os.environ["PATH"], "HOME": job["home"], "LANG": "C.UTF-8", **job.get("env", {})}
    launch = Launch(tuple(argv), job.get("cwd", job["roots"][0]), env, confinement, None)
    done = fixture.run_probe_program(sandbox.recipe(launch), deadline_s=60)
    return [done.exit_code, done.stdout.decode(), done.stderr.decode()]


def _attack(job):
    base = Path(job["base"])
    world = _world(base)
    before = {**_seen(base / "outside"), **_seen(base / "shown")}
    with ExitStack() as ends:
        given = {**world, **_sockets(ends, base), **_victim(ends, base), **_ipc(ends, base)}
        given["shared"] = f"/dev/shm/{base.name}"
        Path(given["shared"]).write_text("untouched")
        ends.callback(Path(given["shared"]).unlink)
        job |= {
            "roots": [world["workspace"], world["second"], world["shown"]],
            "writable": [world["workspace"], world["second"]],
            "home": world["home"],
            "hidden": [f"{world['second']}/hidden", f"{world['second']}/way/to/hidden"],
            "read_only": [
                f"{world['workspace']}/{name}"
                for name in (".git", "sub/.git", ".venv/bin", ".envrc")
            ],
        }
        sandbox = _sandbox(job)
        ends.callback(sandbox.close)
        script = Path(world["workspace"], job.get("script", "attacks.py"))
        for name in {"attacks.py", script.name}:
            shutil.copy(Path(__file__).with_name(name), world["workspace"])
        code, out, err = _run(sandbox, job, (sys.executable, "-B", str(script), json.dumps(given)))
        assert code == 0, err
        return {
            "measured": dict(sandbox.measured),
            "attacks": json.loads(out),
            "before": before,
            "after": {**_seen(base / "outside"), **_seen(base / "shown")},
            "names": sorted(os.listdir(world["workspace"])),
        }


def _world(base):
    for folder in (
        *("workspace/.git/hooks", "workspace/sub/.git", "workspace/.venv/bin", "outside", "shown"),
        *("second/hidden", "second/way/to/hidden", "home/.ssh"),
    ):
        (base / folder).mkdir(parents=True)
    for file in (
        *("workspace/.git/config", "workspace/sub/.git/config", "workspace/.venv/bin/ls"),
        *("workspace/mine", "home/.ssh/id", "second/hidden/secret", "second/way/to/hidden/secret"),
        *(f"outside/{name}" for name in _OUTSIDE),
    ):
        (base / file).write_text("untouched")
    for place in ("outside", "shown"):
        for name in _CHANGED:
            (base / place / name).write_text("untouched")
            with suppress(OSError):
                os.setxattr(base / place / name, "user.there", b"1")
    return {name: str(base / name) for name in ("workspace", "second", "outside", "shown", "home")}


_OUTSIDE = ("append", "truncate", "unlink", "rename", "move", "link", "symlink", "secret")
_CHANGED = ("chmod", "chown", "utime", "setxattr", "removexattr")


def _sockets(ends, base):
    made = {
        "tcp": _bound(socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
        "udp": _bound(socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
        "stream": _bound(socket.AF_UNIX, socket.SOCK_STREAM, f"{base}/workspace/stream"),
        "datagram": _bound(socket.AF_UNIX, socket.SOCK_DGRAM, f"{base}/workspace/datagram"),
        "abstract": _bound(socket.AF_UNIX, socket.SOCK_STREAM, f"\0handrail-{os.getpid()}"),
    }
    for one in made.values():
        ends.enter_context(one)
    stop, stopped = os.pipe()
    echo = threading.Thread(target=_echo, args=(made["udp"], stop))
    echo.start()
    ends.callback(echo.join)
    ends.callback(os.close, stopped)
    return {
        "tcp": made["tcp"].getsockname()[1],
        "udp": made["udp"].getsockname()[1],
        "stream": f"{base}/workspace/stream",
        "datagram": f"{base}/workspace/datagram",
        "abstract": f"handrail-{os.getpid()}",
    }


def _bound(family, kind, address):
    made = socket.socket(family, kind)
    made.bind(address)
    if kind == socket.SOCK_STREAM:
        made.listen()
    return made


def _echo(udp, stop):
    while True:
        ready, _, _ = select.select([udp, stop], [], [])
        if stop in ready:
            os.close(stop)
            return
        _, sender = udp.recvfrom(1)
        udp.sendto(b"y", sender)


def _victim(ends, base):
    mark = f"0.{os.getpid()}123"
    victim = subprocess.Popen(
        ["/bin/sleep", "100", mark],
        env={"MARK": mark},
        cwd=base / "outside",
        start_new_session=True,
    )
    ends.callback(victim.wait)
    ends.callback(victim.kill)
    return {"victim": victim.pid, "mark": mark}


def _ipc(ends, base):
    """System V and POSIX objects of the user, each by its number or name."""
    libc, number = ctypes.CDLL(None), {"x86_64": 240, "aarch64": 180}[os.uname().machine]
    memory, queue = libc.shmget(0, 4096, 0o1600), libc.msgget(0, 0o1600)
    semaphore, name = libc.semget(0, 1, 0o1600), base.name
    libc.msgsnd(queue, struct.pack("=q8s", 1, b"untouched"), 8, 0o4000)
    libc.syscall(number, name.encode(), os.O_CREAT | os.O_RDWR, 0o600, None)
    ends.callback(libc.shmctl, memory, 0, None)
    ends.callback(libc.msgctl, queue, 0, None)
    ends.callback(libc.semctl, semaphore, 0, 0)
    ends.callback(libc.syscall, number + 1, name.encode())
    return {"memory": memory, "queue": queue, "semaphore": semaphore, "named queue": name}


def _seen(folder):
    """Names, contents, modes and times: all that an attack from inside could have changed."""
    seen = {}
    for path in sorted(folder.iterdir()):
        info = path.lstat()
        content = path.read_text() if stat.S_ISREG(info.st_mode) else "?"
        seen[str(path)] = [content, info.st_mode, info.st_mtime_ns, os.listxattr(path)]
    return seen


if __name__ == "__main__":
    json.dump(main(json.load(sys.stdin)), sys.stdout)
