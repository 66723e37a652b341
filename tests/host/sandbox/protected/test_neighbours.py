"""A neighbour that exchanges directories for links meanwhile never makes a repair write outside."""

import os
import threading
from contextlib import suppress
from pathlib import Path

import pytest
from tests.support.protected_workspace import TABLE, build, put, run, tree

from handrail.host.files.root_identity import RootHandle
from handrail.host.sandbox.protected import restore
from handrail.host.sandbox.protected.guard import ProtectedState, read_only_paths


class Neighbour:
    """Exchanges `sub` for a link to a directory outside, and back, as fast as it can."""

    def __init__(self, work: Path, outside: Path) -> None:
        self._work = work
        self._outside = outside
        self._over = threading.Event()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self.turns = 0

    def __enter__(self) -> "Neighbour":
        self._thread.start()
        assert self._started.wait(5)
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        self._thread.join(5)
        with suppress(OSError):
            (self._work / "aside").rename(self._work / "sub")

    def _run(self) -> None:
        sub, aside = self._work / "sub", self._work / "aside"
        while not self._over.is_set():
            # The repair takes things away meanwhile; whatever fails is tried again.
            with suppress(OSError):
                sub.rename(aside)
            with suppress(OSError):
                sub.symlink_to(self._outside)
            with suppress(OSError):
                sub.unlink()
            with suppress(OSError):
                aside.rename(sub)
            self.turns += 1
            self._started.set()


def tamper(work: Path, number: int) -> None:
    put(work / "sub" / ".vscode" / "tasks.json", "evil")
    put(work / "sub" / ".vscode" / f"new{number}", "evil")
    put(work / "sub" / ".envrc", "evil")


@pytest.mark.parametrize(
    "rounds", [40, pytest.param(4000, marks=pytest.mark.torture)], ids=["short", "long"]
)
def test_nothing_outside_is_touched_while_directories_are_exchanged(tmp_path, rounds):
    work, outside = build(tmp_path / "work"), tmp_path / "outside"
    put(outside / ".vscode" / "tasks.json", "theirs")
    put(outside / ".vscode" / "more", "theirs")
    put(outside / ".envrc", "theirs")
    untouched = tree(outside)
    state = ProtectedState(TABLE, tmp_path / "state")
    top = RootHandle(str(work), os.open(work, os.O_PATH))
    turns = 0
    for number in range(rounds):
        snapshot = state.take([top])
        tamper(work, number)
        with Neighbour(work, outside) as neighbour:
            state.repair(snapshot)
        turns += neighbour.turns

        assert tree(outside) == untouched

    os.close(top.handle)
    assert turns > rounds


def test_a_directory_exchanged_right_after_the_look_is_not_followed(tmp_path, monkeypatch):
    work, outside = build(tmp_path / "work"), tmp_path / "outside"
    put(outside / ".envrc", "theirs")
    untouched = tree(outside)
    state = ProtectedState(TABLE, tmp_path / "state")
    top = RootHandle(str(work), os.open(work, os.O_PATH))
    snapshot = state.take([top])
    tamper(work, 0)
    looked = restore.lstat_at

    def look_and_lose(handle: int, name: str) -> os.stat_result | None:
        info = looked(handle, name)
        if name == "sub" and not (work / "aside").exists():
            (work / "sub").rename(work / "aside")
            (work / "sub").symlink_to(outside)
        return info

    monkeypatch.setattr(restore, "lstat_at", look_and_lose)
    done = state.repair(snapshot)
    os.close(top.handle)

    assert tree(outside) == untouched
    assert done
    assert not (work / "sub" / ".envrc").exists()


PLANTED = {
    "a file": ("echo evil > sub/.envrc", "sub/.envrc"),
    "a repository": ("mkdir -p new/.git; echo evil > new/.git/config", "new/.git"),
    "a file in a folder": ("echo evil > .vscode/tasks.json", ".vscode/tasks.json"),
}


@pytest.mark.parametrize("again", [False, True])
@pytest.mark.parametrize("held", [False, True])
@pytest.mark.parametrize("name", PLANTED)
def test_what_another_runtime_took_away_is_not_put_back(work, top, tmp_path, name, held, again):
    command, planted = PLANTED[name]
    one, other = (ProtectedState(TABLE, tmp_path / "state") for _ in range(2))
    before = tree(work)
    first = one.take([top])
    run(work, command)
    second = other.take([top], git_writable=True)
    # A folder that is held as a whole can have nothing planted in it again.
    kept = read_only_paths(second) if held and name != "a file in a folder" else ()

    assert [path for path, *_ in one.repair(first)] == [str(work / planted)]
    if again:
        run(work, command)
    done = other.repair(second, held=kept)

    assert [(path, what) for path, what, *_ in done] == [(str(work / planted), "created")] * again
    assert not os.path.lexists(work / planted)
    assert before.items() <= tree(work).items()
