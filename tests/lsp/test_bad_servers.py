"""Servers that are slow, read nothing or send rubbish, through the front door."""

import os
import sys
from pathlib import Path

import pytest

import handrail
from handrail.host.processes.procfs import child_pids

FAKE = Path(__file__).with_name("fake_server.py").read_text()

pytestmark = pytest.mark.needs_language_servers


def opened(root, how, **lsp):
    server = {"command": [sys.executable, "-c", FAKE, how], "extensions": [".txt"]}
    config = {"lsp": {"servers": {"fake": server}, **lsp}}
    return handrail.open(root, store=":memory:", mode="sandboxed", config=config)


async def ask(rt, operation, path="a.txt", **more):
    return await rt.call("lsp", {"operation": operation, "path": path, **more})


def processes():
    """How many processes run below this one."""
    below = [os.getpid()]
    for pid in below:
        below += child_pids(pid)
    return len(below)


async def test_a_server_that_reads_nothing_ends_a_rename_in_time(tmp_path):
    (tmp_path / "a.txt").write_text("needle\n")

    async with opened(tmp_path, "deaf", initialize_s=5) as rt:
        (await ask(rt, "document_symbols")).unwrap()
        (tmp_path / "a.txt").write_text("needle\n" * 300_000)
        at = {"path": "a.txt", "line": 1, "column": 1}
        renamed = await rt.call("lsp_rename", {**at, "new_name": "pin"})
        again = await ask(rt, "document_symbols")

    assert renamed.problem.code == "timeout"
    assert again.ok


async def test_a_server_that_sends_rubbish_between_calls_is_ended(tmp_path):
    (tmp_path / "a.txt").write_text("needle\n")

    async with opened(tmp_path, "untidy") as rt:
        (await ask(rt, "document_symbols")).unwrap()
        first = processes()
        for _ in range(4):
            await ask(rt, "document_symbols")
        last = processes()

    assert last <= first


async def test_an_edit_says_that_a_slow_server_does_not_know_its_text_yet(tmp_path):
    (tmp_path / "a.txt").write_text("needle\n")

    async with opened(tmp_path, "old", wait_s=0.5, after_edit=True) as rt:
        (await ask(rt, "document_symbols")).unwrap()
        written = await rt.call("write_file", {"path": "b.txt", "content": "thread\n"})

    assert "b.txt are not known yet" in written.unwrap().text


async def test_the_words_of_a_server_in_a_problem_are_plainly_visible(tmp_path):
    (tmp_path / "a.txt").write_text("needle\n")

    async with opened(tmp_path, "failing") as rt:
        failed = await ask(rt, "diagnostics")

    assert "[31m" in failed.problem.message
    assert "\x1b" not in failed.problem.message
