"""ripgrep is never more than an engine: no option smuggled in, no way out, always an end."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import anyio
import pytest
from tests.support.waiting import running, wait_until_async

from handrail.core.ports.machine import FilesQuery, GrepMode, GrepQuery
from handrail.core.problems import ProblemRaised
from handrail.host.processes import landlock, spawn
from handrail.host.search import limits
from handrail.host.search.fallback.python_search import PythonSearch
from handrail.host.search.ripgrep.ripgrep_search import RipgrepSearch

SWAPPER = """
import ctypes, os, sys
libc = ctypes.CDLL(None)
os.chdir(sys.argv[1])
print("ready", flush=True)
while libc.renameat2(-100, b"d", -100, b"l", 2) == 0:
    pass
"""


@pytest.fixture
def swapped(tree, tmp_path):
    """A second process exchanges a directory and a link to the outside, without pause."""
    outside = tmp_path / "outside"
    outside.mkdir()
    for number in range(20):
        (outside / f"{number}.txt").write_text("needle SECRET\n")
        tree.write(f"d/{number}.txt", "needle inside\n")
    (tree.root / "l").symlink_to(outside)
    command = [sys.executable, "-c", SWAPPER, str(tree.root)]
    with running(subprocess.Popen(command, stdout=subprocess.PIPE)) as swapper:
        assert swapper.stdout is not None
        assert swapper.stdout.readline() == b"ready\n"
        yield tree
        assert swapper.poll() is None, "it swapped to the end"
        swapper.kill()


async def race(search, tree, searches: int) -> int:
    """Search while it is swapped; returns how many lines from inside were seen."""
    seen = 0
    query = GrepQuery("needle", tree.place(), mode=GrepMode.CONTENT)
    for _ in range(searches):
        found = await search.grep(query)
        assert not [hit for hit in found.hits if "SECRET" in hit.text]
        seen += len(found.hits)
    return seen


@pytest.mark.feature("E21")
async def test_a_directory_swapped_for_a_link_never_leads_outside(search, swapped):
    assert await race(search, swapped, 25) > 0


async def test_without_landlock_what_ripgrep_says_is_checked(ripgrep, swapped, monkeypatch):
    monkeypatch.setattr(landlock, "abi", lambda: 0)

    assert await race(ripgrep, swapped, 25) > 0


@pytest.mark.torture
async def test_a_thousand_searches_in_a_race_never_lead_outside(search, swapped):
    assert await race(search, swapped, 1000) > 0


@pytest.mark.torture
async def test_without_landlock_a_thousand_searches_never_lead_outside(
    ripgrep, swapped, monkeypatch
):
    monkeypatch.setattr(landlock, "abi", lambda: 0)

    assert await race(ripgrep, swapped, 1000) > 0


async def test_without_landlock_answers_are_the_same(ripgrep, python, tree, monkeypatch):
    monkeypatch.setattr(landlock, "abi", lambda: 0)
    tree.write("a.txt", "needle\r\nx\n")
    tree.write("wide.txt", "needle größe\n".encode("utf-16"))
    tree.write("long.txt", "x" * 9000 + "needle")

    for mode in GrepMode:
        query = GrepQuery("needle", tree.place(), mode=mode, after=1)
        found = await ripgrep.grep(query)
        assert found[:-1] == (await python.grep(query))[:-1]
        assert len(found.files) == 3
    assert len((await ripgrep.files(FilesQuery(tree.place()))).paths) == 3


@pytest.mark.parametrize(
    "pattern",
    ["--pre=./evil.sh", "--help", "-f/etc/passwd", "-e", "--", "--version", "--files", "-"],
)
async def test_a_pattern_that_looks_like_an_option_is_a_pattern(search, tree, pattern):
    evil = tree.write("evil.sh", "#!/bin/sh\ntouch ran\n")
    evil.chmod(0o755)
    tree.write("a.txt", f"x {pattern} y\n")

    found = await search.grep(GrepQuery(pattern, tree.place(), literal=True, mode=GrepMode.CONTENT))

    assert ("a.txt", f"x {pattern} y") in [(hit.path, hit.text) for hit in found.hits]
    assert not (tree.root / "ran").exists()


@pytest.mark.parametrize("name", ["-rf", "--help", "--pre=x", "-", "--"])
async def test_a_path_that_looks_like_an_option_is_a_path(search, tree, name):
    tree.write(f"{name}/a.txt")
    tree.write("b.txt")

    found = await search.grep(GrepQuery("needle", tree.place(name)))
    files = await search.files(FilesQuery(tree.place(name)))

    assert found.files == files.paths == (f"{name}/a.txt",)


@pytest.mark.parametrize("glob", ["--help", "-x", "--pre=x", "-*", "include:py", "a:b:c"])
async def test_a_glob_that_looks_like_an_option_is_a_glob(search, tree, glob):
    tree.write(glob)
    tree.write("b.py")

    found = await search.grep(GrepQuery("needle", tree.place(), globs=(glob,)))
    named = await search.files(FilesQuery(tree.place(), (glob,)))

    assert found.files == named.paths == (glob,)


async def test_a_type_that_looks_like_an_option_is_unknown(search, tree):
    with pytest.raises(ProblemRaised) as refused:
        await search.grep(GrepQuery("x", tree.place(), type="py --pre=x"))

    assert refused.value.problem.field == "type"


async def test_ripgreps_own_configuration_has_no_effect(ripgrep, tree, tmp_path, monkeypatch):
    tree.write("a.txt")
    config = tmp_path / "ripgreprc"
    config.write_text("--glob=!*.txt\n--invert-match\n")
    tree.write(".ripgreprc", config.read_text())
    monkeypatch.setenv("RIPGREP_CONFIG_PATH", str(config))

    found = await ripgrep.grep(GrepQuery("needle", tree.place()))

    assert found.files == ("a.txt",)


async def test_a_flood_of_output_is_bounded_and_said(tree, rg):
    tree.write("flood.txt", "needle\n" * 200_000)
    search = RipgrepSearch([str(tree.root)], rg, max_bytes=100_000)

    found = await search.grep(GrepQuery("needle", tree.place(), mode=GrepMode.CONTENT))
    search.close()

    assert 0 < len(found.hits) <= 100_000 // len("./flood.txt\n1:needle\n")
    assert found.partial is not None
    assert found.partial.startswith("stopped at 100,000 bytes")


async def test_more_hits_than_the_cap_are_cut_and_said(search, tree):
    tree.write("a.txt", "needle\n" * (limits.MAX_HITS + 1))

    found = await search.grep(GrepQuery("needle", tree.place(), mode=GrepMode.CONTENT))

    assert len(found.hits) == limits.MAX_HITS
    assert found.partial is not None
    assert found.partial.startswith("stopped at 100,000 lines: narrow")


async def test_a_search_that_takes_too_long_answers_with_what_it_has(tree, rg):
    # Opening a pipe to read waits for a writer; there is none.
    os.mkfifo(tree.root / ".gitignore")
    search = RipgrepSearch([str(tree.root)], rg, deadline_s=0.3)

    with anyio.fail_after(10):
        found = await search.grep(GrepQuery("needle", tree.place()))
    search.close()

    assert found.files == ()
    assert found.partial is not None
    assert found.partial.startswith("stopped because it took")


async def test_a_file_larger_than_memory_does_not_end_the_search(search, tree):
    tree.write("a.txt", "needle\nhay\n")
    with (tree.root / "huge").open("wb") as file:
        file.truncate(8 << 30)

    with anyio.fail_after(30):
        for multiline in (False, True):
            query = GrepQuery("needle", tree.place(), multiline=multiline)
            assert (await search.grep(query)).files == ("a.txt",)


@pytest.mark.needs_landlock
async def test_unreadable_files_are_counted(ripgrep, tree, tmp_path):
    # Root may read everything, so the kernel has to be the one who forbids: a link is
    # followed where it is the searched path itself, and leads where Landlock says no.
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("needle\n")
    place = tree.place()._replace(rel="link")
    (tree.root / "link").symlink_to(outside)

    found = await ripgrep.grep(GrepQuery("needle", place, mode=GrepMode.CONTENT))

    assert found.hits == ()
    assert found.partial == "1 file could not be read"


async def test_a_cancelled_search_leaves_no_process_and_no_thread(tree, rg):
    os.mkfifo(tree.root / ".gitignore")
    search = RipgrepSearch([str(tree.root)], rg)
    handles = len(os.listdir("/proc/self/fd"))
    started = anyio.Event()
    pids: list[int] = []

    async def watch() -> None:
        pids.extend(await wait_until_async(lambda: children_named("rg")))
        started.set()

    with anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(watch)
            group.start_soon(search.grep, GrepQuery("needle", tree.place()))
            await started.wait()
            group.cancel_scope.cancel()
    search.close()

    assert len(pids) == 1
    assert not Path(f"/proc/{pids[0]}").exists()
    assert not [t for t in threading.enumerate() if t.name == "handrail-spawn"]
    assert len(os.listdir("/proc/self/fd")) == handles - 1


def children_named(name: str) -> list[int]:
    tasks = Path("/proc/self/task")
    pids = " ".join((task / "children").read_text() for task in tasks.iterdir()).split()
    return [int(pid) for pid in pids if Path(f"/proc/{pid}/comm").read_text().strip() == name]


@pytest.mark.needs_landlock
async def test_sixteen_searches_at_once_run_one_process_per_core(ripgrep, tree, monkeypatch):
    tree.write("a.txt")
    commands: list[list[str]] = []
    running = most = 0
    run = spawn.run

    async def counting(command, **options):
        nonlocal running, most
        commands.append(list(command))
        running += 1
        most = max(most, running)
        try:
            return await run(command, **options)
        finally:
            running -= 1

    monkeypatch.setattr(spawn, "run", counting)
    async with anyio.create_task_group() as group:
        for _ in range(16):
            group.start_soon(ripgrep.grep, GrepQuery("needle", tree.place()))

    assert len(commands) == 16
    assert all("--threads=1" in command for command in commands)
    assert most == os.cpu_count()


@pytest.mark.needs_landlock
async def test_a_large_tree_is_searched_by_all_cores_and_a_small_one_by_one(
    ripgrep, tree, monkeypatch
):
    commands: list[list[str]] = []
    run = spawn.run

    async def noting(command, **options):
        commands.append(list(command))
        return await run(command, **options)

    monkeypatch.setattr(spawn, "run", noting)
    for number in range(80):
        tree.write(f"large/{number}/a.txt")
    tree.write("small/.git/config")
    for rel in ("large", "small", "small/.git/config", ""):
        await ripgrep.grep(GrepQuery("needle", tree.place(rel)))

    assert ["--threads=1" in command for command in commands] == [False, True, True, False]
    assert ["--glob=!.git" in command for command in commands] == [False, True, False, True]


async def test_the_binary_says_its_version(ripgrep):
    assert (await ripgrep.version()).startswith("ripgrep 1")


async def test_a_root_is_not_searched_through_a_link_on_the_way(tmp_path, tree):
    tree.write("lib/a.txt")
    (tmp_path / "lnk").symlink_to(tree.root)

    with pytest.raises(OSError, match="symbolic links"):
        PythonSearch([str(tmp_path / "lnk" / "lib")])


async def test_what_is_searched_is_the_directory_that_others_hold(tmp_path, tree, rg):
    tree.write("inside.txt")
    held = os.open(tree.root, os.O_PATH)
    tree.root.rename(tmp_path / "moved")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "outside.txt").write_text("needle\n")
    tree.root.symlink_to(tmp_path / "other")
    searches = [
        PythonSearch([str(tree.root)], handles=[held]),
        RipgrepSearch([str(tree.root)], rg, handles=[held]),
    ]
    os.close(held)

    found = [await search.grep(GrepQuery("needle", tree.place())) for search in searches]
    for search in searches:
        search.close()

    assert [one.files for one in found] == [("inside.txt",)] * 2
