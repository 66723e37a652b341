"""`handrail log`: ISO times, and calls as they end."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.waiting import wait_until

from handrail.cli.commands.record.log import _followed_lines

pytestmark = pytest.mark.finding("F39")
PROGRAM = Path(sys.executable).with_name("handrail")
ISO = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d"


def test_times_are_iso(handrail):
    handrail("--mode", "accept-edits", "call", "write_file", "path=b.txt", "content=x")

    assert re.search(rf"^{ISO}  ", handrail("log").out, re.MULTILINE)
    assert re.search(rf"^{ISO}  ", handrail("log", "--path", "b.txt").out, re.MULTILINE)
    row = handrail("--json", "log").json
    assert re.fullmatch(rf"{ISO}\.\d+Z", row["requested_at"])
    assert re.fullmatch(rf"{ISO}\.\d+Z", row["completed_at"])


@pytest.mark.parametrize("as_json", [False, True])
def test_calls_are_followed_as_they_end(handrail, workspace, tmp_path, as_json):
    handrail("call", "read_file", "path=a.txt")
    shown = tmp_path / "shown.txt"
    with shown.open("wb") as out:
        words = [PROGRAM, *(["--json"] if as_json else []), "log", "--follow"]
        following = subprocess.Popen(words, stdout=out, cwd=workspace)
    try:
        # The process may start to follow after the first of these.
        wait_until(lambda: handrail("call", "file_info", "path=a.txt").code or shown.stat().st_size)
        handrail("call", "read_file", "path=missing.txt")
        wait_until(lambda: re.search(rb"missing\.txt.*\n\Z", shown.read_bytes()))
    finally:
        following.terminate()
        following.wait(20)

    lines = shown.read_text().splitlines()
    if as_json:
        assert json.loads(lines[-1])["completed"]["status"] == "failed"
    else:
        assert re.match(rf"{ISO}  \w+  cli:\d+  read_file  failed  path=missing.txt", lines[-1])
    assert not any("read_file  ok" in line for line in lines)


def test_on_a_narrow_screen_tool_and_status_come_first(monkeypatch):
    monkeypatch.setenv("COLUMNS", "48")
    texts = (
        "2026-11-17T10:31:07",
        "3f1c9a0b7d42",
        "cli:1",
        "read_file",
        "failed",
        "path=" + "x" * 80,
    )

    first, second = _followed_lines(texts)

    assert first == "10:31:07  read_file  failed"
    assert second.startswith("    3f1c9a0b7d42  cli:1  path=x")
    assert len(second) == 48


@pytest.mark.needs_postgres
def test_calls_in_a_database_are_followed_because_the_server_says_so(
    handrail, workspace, tmp_path, postgres
):
    store = postgres.new_store()
    handrail("--store", store, "call", "read_file", "path=a.txt")
    shown = tmp_path / "shown.txt"
    with shown.open("wb") as out:
        words = [PROGRAM, "--store", store, "--json", "log", "--follow"]
        following = subprocess.Popen(words, stdout=out, cwd=workspace)
    try:
        call = ("--store", store, "call", "file_info", "path=a.txt")
        wait_until(lambda: handrail(*call).code or shown.stat().st_size)
        handrail("--store", store, "call", "read_file", "path=missing.txt")
        wait_until(lambda: re.search(rb"missing\.txt.*\n\Z", shown.read_bytes()))
    finally:
        following.terminate()
        following.wait(20)

    assert json.loads(shown.read_text().splitlines()[-1])["completed"]["status"] == "failed"
