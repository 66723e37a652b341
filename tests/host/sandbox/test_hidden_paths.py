"""Withheld paths under attack: every known way to read one, from inside each backend, as root
and as an ordinary user. The same commands where nothing is withheld are the control.
"""

import os
from functools import cache

import pytest
from tests.support.confined import USERS, confined, folder_of
from tests.support.machine import SANDBOXES
from tests.support.scenes import files_in, scenery

from handrail.core.ports.processes import Confinement
from handrail.host.sandbox.backends import bubblewrap, landlock_backend

SECRET = "the-secret-itself"
PY = "python3 -I -c"
# Each prints the secret if it gets through; one line is one command, in a workspace of its own.
LOOKING = {
    "cat": "cat .env",
    "case is a matter of the shell": "cat .[eE]nv",
    "a wildcard": "cat .e*",
    "a recursive search": "grep -rh secret . ",
    "find": "find . -type f -exec cat {} +",
    "a redirect": "while read -r line; do echo $line; done < .env",
    "dd": "dd if=.env status=none",
    "by its absolute path": "cat $PWD/.env",
    "by a way around": "cat sub/../.env ./././.env",
    "through /proc/self/cwd": "cat /proc/self/cwd/.env",
    "through /proc/self/root": "cat /proc/self/root$PWD/.env",
    "through /proc/1": "cat /proc/1/root$PWD/.env /proc/1/cwd/.env",
    "through its folder's handle": f"{PY} 'import os; d=os.open(\".\",os.O_RDONLY);"
    ' print(os.read(os.open(".env",os.O_RDONLY,dir_fd=d),99))\'',
    "by a link that is there": "cat notes.txt",
    "in a folder": "cat keys/one",
    "by listing a folder": "for f in keys/*; do cat $f; done",
    "tar": "tar cf - . 2>/dev/null | strings",
    "a map of it": f"{PY} 'import mmap; f=open(\".env\",\"rb\");"
    " print(mmap.mmap(f.fileno(),0,prot=mmap.PROT_READ)[:])'",
    "sendfile": f"{PY} 'import os; os.sendfile(1,os.open(\".env\",os.O_RDONLY),0,99)'",
    "a handle without rights, opened again": f"{PY} 'import os; h=os.open(\".env\",os.O_PATH);"
    ' print(open("/proc/self/fd/%d"%h).read())\'',
    "deep below": "cat sub/deep/.env",
    "the program loader": "ld.so .env; /lib64/ld-linux-x86-64.so.2 --preload ./.env /bin/true",
    "as a script of the shell": "bash -v .env",
    "as a pattern file": "grep -of .env copy-of-it; echo the-secret-itself >/dev/null",
}  # fmt: skip
WRITING = {
    "a link of its own": "ln -s .env l; cat l",
    "a hard link": "ln .env l; cat l",
    "a copy": "cp .env c; cat c",
    "moved": "mv .env m; cat m",
    "moved over another": "touch o; mv -f .env o; cat o",
    "moved with its folder": "mv sub/deep sub/away; cat sub/away/.env",
    "its folder's folder moved": "mv sub away; cat away/deep/.env",
    "its folder linked": "ln -s sub/deep d; cat d/.env",
    "a withheld folder moved": "mv keys away; cat away/one",
    "exchanged": f"touch o; {PY} 'import ctypes;"
    ' ctypes.CDLL(None).renameat2(-100,b".env",-100,b"o",2)\'; cat o',
    "mode and owner changed": "chmod 777 .env keys sub/deep; chown 0 .env; cat .env keys/one",
    "unmounted": "umount .env; umount -l keys; cat .env keys/one",
    "something mounted beside it": "mkdir m; mount --bind . m; cat m/.env",
    "in a namespace of its own": "unshare -Urm sh -c 'umount .env; cat .env'",
    "removed and undone": "rm -f .env; cat .env",
    "truncated away": ": > .env; cat .env",
}
# What must have worked in the control, where the machine lets a program do it at all.
NOT_EVERYWHERE = {
    "the program loader", "as a script of the shell", "as a pattern file", "through /proc/1",
    "unmounted", "something mounted beside it", "in a namespace of its own",
    "removed and undone", "truncated away",
}  # fmt: skip
WITHHELD = (".env", "keys", "sub/deep/.env")
AFTERWARDS = "cat m o l c away/* sub/away/.env away/deep/.env d/.env"


def world(top):
    for name in (*WITHHELD[::2], "keys/one", "keys/two/three"):
        (top / name).parent.mkdir(parents=True, exist_ok=True)
        (top / name).write_text(f"{SECRET}\n")
    (top / "notes.txt").symlink_to(".env")
    (top / "copy-of-it").write_text("nothing\n")
    (top / "sub/deep/beside").write_text("beside\n")
    return top


@cache
def got_through(uid, backend, writable, withheld):
    """Names of the attacks that printed the secret, and after which it is not where it was."""
    attacks = LOOKING | WRITING if writable else LOOKING
    with folder_of(uid) as base:
        tops = {name: world(base / str(number)) for number, name in enumerate(attacks)}
        for path in [base, *base.rglob("*")]:
            os.chown(path, uid, uid, follow_symlinks=False)
        commands = []
        for name, top in tops.items():
            confinement = {
                "cwd": str(top),
                "writable": [str(top)] if writable else [],
                "denied_reads": paths(top) if withheld else [],
            }
            # What a second command finds counts as well.
            commands += [
                {"command": attacks[name], **confinement},
                {"command": AFTERWARDS, **confinement},
            ]
        job = {"do": "commands", "backend": backend, "home": f"{base}/home", "roots": [str(base)]}
        done = confined(uid, {**job, "commands": commands})["done"]
        told = ["".join((*one[1:], *other[1:])) for one, other in batched(done)]
        through = {name for name, text in zip(attacks, told, strict=True) if SECRET in text}
        return through, {name for name, top in tops.items() if not whole(top)}


def batched(done):
    return zip(done[::2], done[1::2], strict=True)


def whole(top):
    files = [top / ".env", top / "keys/one", top / "sub/deep/.env"]
    return all(file.is_file() and file.read_text() == f"{SECRET}\n" for file in files)


def paths(ws):
    return tuple(f"{ws}/{one}" for one in WITHHELD)


@pytest.mark.needs_bubblewrap
@pytest.mark.parametrize("uid", USERS)
def test_the_attacks_get_through_where_nothing_is_withheld(uid):
    through, _ = got_through(uid, "bubblewrap", True, False)

    assert set(LOOKING | WRITING) - through <= NOT_EVERYWHERE
    assert len(through) >= 30


@pytest.mark.needs_bubblewrap
@pytest.mark.parametrize("uid", USERS)
def test_nothing_that_is_withheld_is_read_under_bubblewrap(uid):
    assert got_through(uid, "bubblewrap", True, True) == (set(), set())


@pytest.mark.needs_bubblewrap
@pytest.mark.parametrize("uid", USERS)
def test_nothing_that_is_withheld_is_read_under_bubblewrap_by_a_command_that_only_looks(uid):
    assert got_through(uid, "bubblewrap", False, True) == (set(), set())


@pytest.mark.needs_landlock
@pytest.mark.parametrize("uid", USERS)
def test_nothing_that_is_withheld_is_read_under_landlock_by_a_command_that_only_looks(uid):
    assert got_through(uid, "landlock", False, True) == (set(), set())
    through, _ = got_through(uid, "landlock", False, False)
    assert set(LOOKING) - through <= NOT_EVERYWHERE


@pytest.fixture
def ws(tmp_path):
    return world(tmp_path / "ws")


@pytest.mark.parametrize("backend", SANDBOXES)
def test_the_rest_of_the_workspace_is_as_ever(ws, backend):
    writable = (str(ws),) if backend == "bubblewrap" else ()
    before = files_in(ws)

    with scenery(backend, [ws]) as scene:
        code, out, err = scene.run(
            "ls -A; ls sub/deep; cat sub/deep/beside copy-of-it",
            denied_reads=paths(ws),
            writable=writable,
        )

    assert (code, err) == (0, "")
    assert {".env", "keys", "beside"} <= set(out.split())
    assert files_in(ws) == before


@pytest.mark.needs_bubblewrap
def test_new_files_can_be_made_beside_what_is_withheld(ws):
    with scenery("bubblewrap", [ws]) as scene:
        done = scene.run(
            "echo 1 > new; echo 2 > sub/deep/new; cat new sub/deep/new", denied_reads=paths(ws)
        )

    assert done == (0, "1\n2\n", "")


@pytest.mark.needs_bubblewrap
def test_what_appears_while_a_command_runs_is_seen_by_it_and_hidden_from_the_next(ws):
    """Pins a known gap, told in the pages."""
    later = f"{ws}/sub/.env"
    with scenery("bubblewrap", [ws]) as scene:
        first = scene.run(f"echo own > {later}; cat {later}", denied_reads=paths(ws))
        second = scene.run(f"cat {later}", denied_reads=(*paths(ws), later))

    assert first[:2] == (0, "own\n")
    assert (second[0], second[1]) == (1, "")


@pytest.mark.needs_bubblewrap
def test_what_is_protected_inside_a_withheld_folder_is_hidden_with_it(ws):
    (ws / "keys" / ".git").mkdir()

    with scenery("bubblewrap", [ws], hidden=[ws / "keys" / "two"]) as scene:
        code, out, _ = scene.run(
            "ls -A keys", denied_reads=paths(ws), read_only=(f"{ws}/keys/.git",)
        )

    assert (code, out) == (0, "")


@pytest.mark.needs_landlock
@pytest.mark.needs_bubblewrap
def test_the_sandbox_says_what_it_cannot_hide(ws):
    def asked(backend, number, writable=()):
        with scenery(backend, [ws]) as scene:
            withheld = tuple(f"{ws}/{one}" for one in range(number))
            return scene.sandbox.hiding_gap(Confinement(writable, denied_reads=withheld))

    most = bubblewrap.MAX_HIDDEN_PATHS
    assert asked("bubblewrap", 0) is None
    assert asked("bubblewrap", most, (str(ws),)) is None
    assert "at most 100" in asked("bubblewrap", most + 1)
    assert asked("landlock", most + 1) is None
    assert "write nothing" in asked("landlock", 1, (str(ws),))
    assert "nothing here hides" in asked("none", 1)


@pytest.mark.needs_landlock
def test_landlock_says_when_too_much_lies_beside(ws, monkeypatch):
    monkeypatch.setattr(landlock_backend, "_MOST_GRANTS", 3)
    with scenery("landlock", [ws]) as scene:
        why = scene.sandbox.hiding_gap(Confinement((), denied_reads=paths(ws)))

    assert "too many files" in why
