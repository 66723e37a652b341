"""What Landlock has no rule for is performed for a command by the service that supervises it."""

import errno
import json
import os
import stat
import subprocess
import sys

import pytest
from tests.support.confined import USERS, as_user, confined, folder_of, python_of
from tests.support.scenes import scenery
from tests.support.waiting import wait_exit

pytestmark = [pytest.mark.needs_landlock, pytest.mark.finding("F32")]

RACES = 1_000
TORTURE_RACES = 20_000
RACE_TRIES = 5

# Each call changes a file of the workspace, by all numbers that the machine has.
INSIDE = """
import ctypes, json, os, struct, sys
LIBC = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    given = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    if LIBC.syscall(ctypes.c_long(number), *given) < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
value = ctypes.create_string_buffer(b"1", 1)
setting = struct.pack("=QII", ctypes.addressof(value), 1, 0)
times = struct.pack("=4q", 11, 12_000, 13, 14_000)
H = os.open("file", os.O_RDONLY)
P = os.open("file", os.O_PATH)
D = os.open(".", os.O_PATH)
x86 = os.uname().machine == "x86_64"
arm = {91: 52, 268: 53, 260: 54, 93: 55, 280: 88, 188: 5, 189: 6, 190: 7, 197: 14, 198: 15, 199: 16}
def name(number):
    return number if x86 else arm[number]
calls = {
    "fchmod": lambda: call(name(91), H, 0o601),
    "fchmodat": lambda: call(name(268), D, b"file", 0o602),
    "fchmodat2": lambda: call(452, P, b"", 0o603, 0x1000),
    "fchown": lambda: call(name(93), H, -1, os.getegid()),
    "fchownat": lambda: call(name(260), D, b"file", -1, os.getegid(), 0),
    "utimensat": lambda: call(name(280), D, b"file", times, 0),
    "futimens": lambda: call(name(280), H, None, times, 0),
    "utimensat now": lambda: call(name(280), -100, b"file", None, 0),
    "setxattr": lambda: call(name(188), b"file", b"user.a", b"1", 1, 0),
    "fsetxattr": lambda: call(name(190), H, b"user.b", b"1", 1, 0),
    "setxattrat": lambda: call(463, P, b"", 0x1000, b"user.c", setting, 16),
    "removexattr": lambda: call(name(197), b"file", b"user.a"),
    "fremovexattr": lambda: call(name(199), H, b"user.b"),
    "removexattrat": lambda: call(466, D, b"file", 0, b"user.c"),
    "file_setattr": lambda: call(469, D, b"file", bytes(24), 24, 0),
    "of a deleted file": lambda: (os.unlink("gone"), os.fchmod(G, 0o600)),
    "of the directory": lambda: os.chmod(".", 0o755),
    "by /proc/self": lambda: os.chmod(f"/proc/self/fd/{P}", 0o640),
    "by /dev/fd": lambda: os.chmod(f"/dev/fd/{H}", 0o640),
    "of a link": lambda: os.utime("link", (1, 1), follow_symlinks=False),
    "through a link": lambda: os.chmod("link", 0o640),
}
if x86:
    calls |= {
        "chmod": lambda: call(90, b"file", 0o600),
        "chown": lambda: call(92, b"file", -1, -1),
        "lchown": lambda: call(94, b"link", -1, -1),
        "utime": lambda: call(132, b"file", struct.pack("=2q", 5, 6)),
        "utimes": lambda: call(235, b"file", struct.pack("=4q", 5, 500_000, 7, 0)),
        "futimesat": lambda: call(261, D, b"file", struct.pack("=4q", 5, 0, 7, 0)),
    }
G = os.open("gone", os.O_CREAT | os.O_RDWR)
told = {}
for called, make in calls.items():
    try:
        make()
        told[called] = None
    except OSError as error:
        told[called] = error.strerror
told["mode"] = os.stat("file").st_mode & 0o777
call(name(280), -100, b"file", times, 0)
told["times"] = [os.stat("file").st_atime_ns, os.stat("file").st_mtime_ns]
print(json.dumps(told))
"""
# Not on every kernel or file system.
NEWER = {"fchmodat2", "setxattrat", "removexattrat", "file_setattr"}
UNKNOWN = "Function not implemented", "Operation not supported", "Inappropriate ioctl for device"


@pytest.mark.parametrize("uid", USERS)
def test_every_call_works_in_the_workspace(uid):
    told = json.loads(run(uid, INSIDE))

    failed = {name: error for name, error in told.items() if isinstance(error, str)}
    assert {n: e for n, e in failed.items() if n not in NEWER or e not in UNKNOWN} == {}
    assert told["mode"] in (0o600, 0o640)
    assert told["times"] == [11_000_012_000, 13_000_014_000]


WRONG = """
import ctypes, json, os
LIBC = ctypes.CDLL(None, use_errno=True)
def code(number, *arguments):
    given = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return ctypes.get_errno() if LIBC.syscall(ctypes.c_long(number), *given) < 0 else 0
chmodat, chownat, xattr = (268, 260, 188) if os.uname().machine == "x86_64" else (53, 54, 5)
print(json.dumps([
    code(chmodat, -100, b"missing", 0o600), code(chmodat, 77, b"", 0o600),
    code(chmodat, -100, ctypes.c_void_p(8), 0o600), code(chownat, -100, b"file", -1, -1, 1 << 20),
    code(chownat, 77, b"", -1, -1, 0x1000), code(chmodat, -100, b"file/below", 0o600),
    code(xattr, b"file", b"user." + b"n" * 300, b"1", 1, 0), code(xattr, b"file", b"user.n", b"", 1 << 20, 0),
    code(xattr, b"file", b"user.n", b"1", 1, 1 << 31), code(chownat, -100, b"/usr", 0, 0, 0),
]))
"""


@pytest.mark.parametrize("uid", USERS)
def test_a_call_fails_as_the_kernel_makes_it_fail(uid):
    import errno

    told = json.loads(run(uid, WRONG))

    assert [errno.errorcode[one] for one in told] == [
        "ENOENT", "ENOENT", "EFAULT", "EINVAL", "EBADF", "ENOTDIR", "ERANGE", "E2BIG", "EINVAL",
        "EPERM",
    ]  # fmt: skip


@pytest.mark.needs_root
def test_root_without_capabilities_changes_only_its_own_files(tmp_path):
    (tmp_path / "mine").write_text("")
    (tmp_path / "other").write_text("")
    os.chown(tmp_path / "other", USERS[-1], USERS[-1])
    with scenery("landlock", [tmp_path]) as scene:
        mine = scene.run("chmod 600 mine")
        other = scene.run("chmod 600 other; touch -hd @1 other; chown 1:1 mine")

    assert mine[0] == 0
    assert other[2].count("not permitted") == 3
    assert (tmp_path / "other").stat().st_mode & 0o777 == 0o644


def test_what_is_hidden_in_the_workspace_keeps_its_attributes(tmp_path):
    for name in ("state/store", "beside/file"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("x")
    with scenery("landlock", [tmp_path], hidden=[tmp_path / "state"]) as scene:
        done = scene.run("chmod 600 beside/file; chmod 600 state/store; chmod 700 state")

    assert done[2].count("not permitted") == 2
    assert stat.S_IMODE((tmp_path / "beside/file").stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "state/store").stat().st_mode) == 0o644


def test_a_command_that_may_write_nothing_changes_no_attributes(tmp_path):
    (tmp_path / "file").write_text("")
    with scenery("landlock", [tmp_path]) as scene:
        done = scene.run("chmod 600 file; touch -hd @1 file; ls", writable=())

    assert done[1] == "file\n"
    assert done[2].count("not permitted") == 2


def test_without_a_listener_the_calls_fail(tmp_path, monkeypatch):
    from handrail.host.supervisor.tracing import syscall_tracer

    (tmp_path / "file").write_text("")
    monkeypatch.setattr(syscall_tracer, "_new_listener", lambda **_: -1)
    with scenery("landlock", [tmp_path]) as scene:
        done = scene.run("echo x > new; chmod 600 file; touch -hd @1 file; echo x > /dev/shm/x")

    assert (tmp_path / "new").read_text() == "x\n"
    assert done[2].count("not permitted") == 2
    assert "Permission denied" in done[2]
    assert not os.path.lexists("/dev/shm/x")


SHARED = """
import json, os, _posixshmem as shm
from multiprocessing import get_context, shared_memory
def there(name, flags=os.O_RDWR):
    try:
        os.close(shm.shm_open(name, flags))
        return True
    except FileNotFoundError:
        return False
def child(name, queue):
    found = shared_memory.SharedMemory(name)
    found.buf[0] += 1
    queue.put(found.buf[0])
    found.close()
if __name__ == "__main__":
    one = shared_memory.SharedMemory(create=True, size=4096)
    one.buf[0] = 41
    context = get_context("fork")
    queue = context.SimpleQueue()
    process = context.Process(target=child, args=(one.name, queue))
    process.start()
    read = shm.shm_open("/" + one.name.lstrip("/"), os.O_RDONLY)
    try:
        os.write(read, b"x")
    except OSError as error:
        refused = error.strerror
    told = [queue.get(), there("/" + one.name), os.path.exists("/dev/shm/" + one.name), refused]
    process.join()
    one.close()
    one.unlink()
    told += [there("/" + one.name), there(MARK), there(MARK, os.O_RDONLY)]
    with context.Pool(2) as pool:
        told.append(pool.map(abs, [-1, -2]))
    print(json.dumps(told))
"""


@pytest.mark.parametrize("uid", USERS)
def test_a_command_has_shared_memory_of_its_own(uid):
    mark = f"/handrail-test-{os.getpid()}"
    outside = f"/dev/shm{mark}"
    with open(outside, "w") as file:
        file.write("untouched")
    os.chmod(outside, 0o666)
    try:
        told = json.loads(run(uid, SHARED.replace("MARK", repr(mark))))
        with open(outside) as file:
            assert file.read() == "untouched"
    finally:
        os.unlink(outside)

    assert told == [42, True, False, "Bad file descriptor", False, False, False, [1, 2]]


HOLDER = """
import os, sys
held = os.memfd_create("held")
os.fchmod(held, 0o700)
print(os.getpid(), held, flush=True)
sys.stdin.readline()
print(oct(os.fstat(held).st_mode & 0o777), os.fstat(held).st_mtime == 1)
"""
OTHER_MEMORY = """
import os, sys
held = f"/proc/{sys.argv[1]}/fd/{sys.argv[2]}"
os.symlink(held, "way")
own = os.memfd_create("own")
for path in (held, "way", f"/proc/self/fd/{own}"):
    for change in (lambda: os.chmod(path, 0o500), lambda: os.utime(path, (1, 1))):
        try:
            change()
            print("changed")
        except OSError as error:
            print(error.strerror)
"""


def test_memory_files_of_other_programs_of_the_user_keep_their_attributes():
    uid = USERS[-1]
    holder = subprocess.Popen(
        [python_of(uid), "-c", HOLDER],
        **as_user(uid),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd="/",
    )
    try:
        told = run(uid, OTHER_MEMORY, *holder.stdout.readline().split())
        after, _ = holder.communicate("\n", timeout=20)
    finally:
        holder.kill()
        wait_exit(holder)

    assert told.split("\n")[-3:] == ["changed", "changed", ""]
    assert "changed" not in told.split("\n")[:4]
    assert after == "0o700 False\n"


NAMES = """
import os
os.close(os.open("/dev/shm/one", os.O_CREAT | os.O_RDWR))
try:
    for number in range(1000):
        os.link("/dev/shm/one", f"/dev/shm/{number}")
except OSError as error:
    print(error.strerror)
os.chmod("file", 0o600)
"""


def test_second_names_of_shared_memory_do_not_use_up_the_handles_of_the_service():
    assert run(USERS[0], NAMES) == "No space left on device\n"


# Each round names a file inside; another process or thread makes the name lead outside meanwhile.
RACE = """
import ctypes, json, os, sys, threading, time
outside, rounds = sys.argv[1], int(sys.argv[2])
LIBC = ctypes.CDLL(None, use_errno=True)
EXCHANGE = 2
open("inside", "w").close()
os.mkdir("folder"); open("folder/target", "w").close()
os.symlink(os.path.abspath("inside"), "link"); os.symlink(f"{outside}/target", "link2")
os.symlink(outside, "folder2")
def exchange(one, other):
    LIBC.renameat2(-100, one, -100, other, EXCHANGE)
def swap():
    while True:
        exchange(b"link", b"link2"); exchange(b"folder", b"folder2")
children = []
for _ in range(2):
    child = os.fork()
    if child == 0:
        swap()
    children.append(child)
names = [os.path.abspath("inside").encode(), f"{outside}/target".encode()]
size = max(map(len, names)) + 1
text = ctypes.create_string_buffer(size)
text.value = names[0]
inside = os.open("inside", os.O_PATH)
stranger = os.open(f"{outside}/target", os.O_PATH)
handle = os.dup(inside)
over = threading.Event()
def rewrite():
    while not over.is_set():
        for name, source in zip(names, (inside, stranger)):
            ctypes.memmove(text, name + bytes(1), len(name) + 1)
            os.dup2(source, handle)
thread = threading.Thread(target=rewrite, daemon=True); thread.start()
made = {}
by_handle = f"/proc/self/fd/{handle}".encode()
for round in range(rounds // 4):
    for path in (b"link", b"folder/target", text, by_handle):
        error = ctypes.get_errno() if LIBC.chmod(path, 0o601 + round % 7) else 0
        made[error] = made.get(error, 0) + 1
over.set(); thread.join()
for child in children:
    os.kill(child, 9); os.waitpid(child, 0)
print(json.dumps(made))
"""


def race(uid, rounds):
    """How often each error, 0 for none, answered a changed name; nothing outside has changed."""
    with folder_of(uid) as top:
        outside = top / "outside"
        outside.mkdir()
        (outside / "target").write_text("untouched")
        os.chmod(outside / "target", 0o644)
        for path in (outside, outside / "target"):
            os.chown(path, uid, uid)
        before = attributes(outside / "target")
        made = json.loads(run(uid, RACE, str(outside), str(rounds), top=top))
        assert attributes(outside / "target") == before
    assert sum(made.values()) == rounds
    # Anything else is the answer of a service that has ended.
    assert made.keys() <= {str(one) for one in (0, errno.EPERM, errno.ENOENT)}, made
    return made


def attributes(path):
    info = path.stat()
    return info.st_mode, info.st_ctime_ns, info.st_mtime_ns


@pytest.mark.parametrize("uid", USERS)
def test_a_name_that_changes_meanwhile_leads_nowhere_else(uid):
    # Both must have happened, or nothing was raced: a busy machine may run one side alone for a while.
    raced = []
    while len(raced) < RACE_TRIES:
        raced.append(race(uid, RACES))
        if RACES // 20 < raced[-1].get("0", 0) < RACES - RACES // 20:
            return
    pytest.fail(f"names did not change during the calls: {raced}")


@pytest.mark.torture
@pytest.mark.parametrize("uid", USERS)
def test_twenty_thousand_raced_changes_stay_inside(uid):
    assert race(uid, TORTURE_RACES)


def run(uid, script, *arguments, top=None):
    """The output of a script in a workspace of the user, confined by Landlock alone."""
    if top is None:
        with folder_of(uid) as made:
            return run(uid, script, *arguments, top=made)
    workspace = top / "workspace"
    workspace.mkdir()
    (workspace / "script.py").write_text(script)
    (workspace / "file").write_text("")
    (workspace / "link").symlink_to("file")
    for path in (workspace, *workspace.iterdir()):
        os.chown(path, uid, uid, follow_symlinks=False)
    if script is RACE:
        (workspace / "link").unlink()
    words = " ".join((python_of(uid), "-B", "script.py", *arguments))
    job = {"do": "commands", "backend": "landlock", "roots": [str(workspace)]}
    job |= {"home": str(top / "home"), "commands": [words]}
    code, out, err = confined(uid, job)["done"][0]
    assert code == 0, err
    return out


@pytest.mark.skipif(sys.platform != "linux", reason="Linux only")
def test_numbers_of_both_machines_are_known():
    from handrail.host.supervisor.tracing.attribute_calls import ATTRIBUTE_CALLS
    from handrail.host.supervisor.tracing.traced_syscalls import denial_filter, filter_for

    assert set(ATTRIBUTE_CALLS["x86_64"]) == {
        90, 91, 92, 93, 94, 132, 188, 189, 190, 197, 198, 199, 235, 260, 261, 268, 280,
        452, 463, 466, 469,
    }  # fmt: skip
    assert set(ATTRIBUTE_CALLS["aarch64"]) == {
        5, 6, 7, 14, 15, 16, 52, 53, 54, 55, 88, 452, 463, 466, 469,
    }  # fmt: skip
    for machine in ATTRIBUTE_CALLS:
        assert denial_filter(machine)
        assert filter_for(machine, notes=False, attributes=True)
