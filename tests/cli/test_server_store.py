"""The command line on a store that is a PostgreSQL database."""

import asyncio
import json
import subprocess
import sys

import anyio
import pytest
from tests.support.waiting import LIMIT_S

import handrail as library

pytestmark = pytest.mark.needs_postgres

PASSWORD = "hunter22-not-shown"


@pytest.fixture
def url(postgres):
    return postgres.new_store().replace("handrail@", f"handrail:{PASSWORD}@")


def test_calls_are_recorded_shown_undone_and_verified(handrail, workspace, url):
    (workspace / "a.txt").write_text("old\n")
    edit = ("call", "write_file", "path=a.txt", "content=new\n", "--mode", "accept-edits")

    assert handrail("call", "read_file", "path=a.txt", "--store", url).code == 0
    assert handrail(*edit, "--store", url).code == 0
    assert (workspace / "a.txt").read_text() == "new\n"
    listed = handrail("log", "--store", url, "--json")
    undone = handrail("undo", "--store", url)
    verified = handrail("verify", "--store", url)

    assert listed.code == 0
    assert "write_file" in listed.out
    assert undone.code == 0
    assert (workspace / "a.txt").read_text() == "old\n"
    assert verified.out.startswith("intact: ")
    assert handrail("diff", "--store", url).code == 0
    assert handrail("gc", "--store", url, "--older-than", "0").code == 0
    assert handrail("verify", "--store", url).code == 0


def test_the_variable_names_the_store_and_no_output_shows_the_password(
    handrail, workspace, url, monkeypatch
):
    monkeypatch.setenv("HANDRAIL_STORE", url)
    (workspace / "a.txt").write_text("text\n")

    done = [handrail("call", "read_file", "path=a.txt")]
    done += [handrail("doctor"), handrail("doctor", "--json"), handrail(), handrail("--json")]
    done += [handrail("log", "--json"), handrail("verify")]

    assert done[2].json["store"]["path"] == "postgresql://handrail@/postgres"
    assert done[2].json["store"]["rows"] == 2
    assert done[6].out.startswith("intact: 2 rows")
    assert all(PASSWORD not in one.out + one.err for one in done)


def test_a_server_that_cannot_be_reached_is_reported(handrail, workspace):
    url = f"postgresql://me:{PASSWORD}@127.0.0.1:1/x"
    (workspace / "a.txt").write_text("text\n")

    done = [
        handrail(*words, "--store", url)
        for words in [("call", "read_file", "path=a.txt"), ("verify",), ("log",), ()]
    ]

    assert [one.code != 0 for one in done[:3]] == [True, True, True]
    assert all("postgresql://me@127.0.0.1:1/x" in one.out + one.err for one in done)
    assert all(PASSWORD not in one.out + one.err for one in done)


async def test_a_question_of_one_machine_is_answered_on_another(workspace, url, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    async def approvals(*words):
        """Run the command with another workspace and another state directory."""
        command = [sys.executable, "-m", "handrail", "-w", elsewhere, "--store", url, "approvals"]
        done = await anyio.to_thread.run_sync(
            lambda: subprocess.run(
                [*command, *words], capture_output=True, check=False, timeout=60, text=True,
                env={"PATH": "/usr/bin:/bin", "HOME": str(elsewhere)},
            )
        )  # fmt: skip
        assert PASSWORD not in done.stdout + done.stderr
        return done

    opening = library.open(workspace, store=url, mode="default", approver="approvals")
    async with opening as rt:
        call = asyncio.ensure_future(rt.call("write_file", {"path": "b.txt", "content": "x"}))
        with anyio.fail_after(LIMIT_S):
            while not (listed := await approvals("--json")).stdout:
                assert listed.returncode == 0
        asked = json.loads(listed.stdout)
        answered = await approvals("yes", asked["id"])
        result = await asyncio.wait_for(call, LIMIT_S)
        late = await approvals("no", asked["id"])

    assert asked["tool"] == "write_file"
    assert answered.returncode == 0
    assert result.ok
    assert (workspace / "b.txt").read_text() == "x"
    assert late.returncode != 0


def test_a_record_is_copied_into_a_database_and_read_there(handrail, workspace, url, tmp_path):
    file = tmp_path / "record.db"
    handrail("call", "read_file", "path=a.txt", "--store", file)
    head = handrail("verify", "--store", file, "--json").json["head"]

    copied = handrail("store", "copy", file, url)
    again = handrail("store", "copy", file, url, "--json")

    assert (copied.code, again.code) == (0, 1)
    assert head in copied.out
    assert handrail("verify", "--store", url, "--anchor", head).code == 0
    assert PASSWORD not in copied.out + copied.err + again.out + again.err
