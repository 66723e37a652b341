"""A process is killed in a step; its conversation goes on in another process, whose runtime may have
another session: completed calls keep their results, and nothing runs twice.
"""

import json
import os
import signal
import subprocess
import sys

import pytest

import handrail

PROGRAM = """
import asyncio, os, pathlib, signal, sys
import handrail

def crash() -> str:
    \"\"\"End this process.\"\"\"
    os.kill(os.getpid(), signal.SIGKILL)
    return "never"

async def main():
    root, store, script, session, allowed = sys.argv[1:]
    named = {} if session == "-" else {"session": session}
    async with handrail.open(
        root, store=store, model=f"script:{script}", mode="accept-edits",
        config={"permissions": {"allow": ["crash"]}}, **named
    ) as rt:
        rt.register(handrail.tool(crash, risk=handrail.Risk.SAFE))
        agent = rt.agent(session="talk", allowed=allowed.split(","))
        await (agent.run("Change it") if agent.turn == 0 else agent.resume())

asyncio.run(main())
"""
TOOLS = "read_file,edit_file,crash"
# The session of the runtime that is killed, and of the one that goes on; "-": a new one.
LAYOUTS = [("talk", "talk"), ("-", "-"), ("one", "two"), ("talk", "-")]


class Place:
    """A workspace with a record, in which processes are killed."""

    def __init__(self, folder):
        self.root = folder / "work"
        self.root.mkdir()
        self.store = folder / "record.db"
        self.folder = folder

    def script(self, name, *steps):
        path = self.folder / name
        path.write_text("\n".join(json.dumps(one) for one in steps))
        return path

    def kill(self, session, script):
        words = [self.root, self.store, script, session, TOOLS]
        ended = subprocess.run(
            [sys.executable, "-c", PROGRAM, *map(str, words)],
            env=os.environ,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        assert ended.returncode == -signal.SIGKILL, ended.stderr

    async def resume(self, session, **options):
        """The results that the model is sent, by the id of the call, and the record of them."""
        named = {} if session == "-" else {"session": session}
        last = self.script("last.jsonl", {"text": "done"})
        given = {"store": self.store, "model": f"script:{last}", "mode": "accept-edits"}
        async with handrail.open(self.root, **given, **named, **options) as rt:
            rt.register(handrail.tool(crash, risk=handrail.Risk.SAFE))
            agent = rt.agent(session="talk", allowed=TOOLS.split(","))
            await agent.resume()
            blocks = [one for message in agent.messages for one in message.blocks]
            rows = [one async for one in completed(rt)]
        return [
            "".join(part.text for part in one.blocks)
            for one in blocks
            if type(one).__name__ == "ResultBlock"
        ], rows


async def completed(rt):
    for record in await rt.store.calls(limit=100):
        if record.completed is not None and "repeats" not in record.completed:
            yield record.call_id, record.completed.get("tool")


def crash() -> str:
    """End this process."""
    raise AssertionError("ran again")


def step(*calls):
    return {"calls": [{"name": name, "arguments": given} for name, given in calls]}


EDIT = ("edit_file", {"path": "a.txt", "old": "one", "new": "two"})
READ = ("read_file", {"path": "a.txt"})
NOTES = ("read_file", {"path": "notes.txt"})


@pytest.fixture
def place(tmp_path):
    made = Place(tmp_path)
    (made.root / "a.txt").write_text("one\n")
    (made.root / "notes.txt").write_text("as it was\n")
    return made


@pytest.mark.feature("N10")
@pytest.mark.parametrize(("first", "second"), LAYOUTS, ids=lambda name: name.replace("-", "new"))
async def test_a_completed_call_keeps_its_result_in_every_layout(place, first, second):
    place.kill(first, place.script("first.jsonl", step(READ), step(NOTES, EDIT, ("crash", {}))))
    (place.root / "notes.txt").write_text("as it is\n")

    results, rows = await place.resume(second)
    edits = [call for call, tool in rows if tool == "edit_file"]
    reads = [call for call, tool in rows if tool == "read_file"]

    assert "as it was" in results[1]
    assert "as it is" not in "".join(results)
    assert "no effect" not in results[2], results[2]
    assert results[2].count("a.txt") >= 1
    assert "may have had effects" in results[3]
    assert (place.root / "a.txt").read_text() == "two\n"
    assert len(edits) == 1
    assert len(reads) == len(set(reads)) == 2


@pytest.mark.feature("N10")
async def test_the_third_process_finds_what_the_second_has_done(place):
    place.kill("-", place.script("first.jsonl", step(READ), step(("crash", {}))))
    place.kill("-", place.script("second.jsonl", step(EDIT, ("crash", {}))))

    results, rows = await place.resume("-")

    assert len(results) == 4
    assert "no effect" not in results[2], results[2]
    assert [tool for _, tool in rows].count("edit_file") == 1
    assert (place.root / "a.txt").read_text() == "two\n"


@pytest.mark.threat("A01")
async def test_a_result_of_another_session_is_read_under_the_rules_of_now(place):
    place.kill("one", place.script("first.jsonl", step(NOTES, ("crash", {}))))

    results, _ = await place.resume(
        "two", config={"permissions": {"deny": ["read_file(notes.txt)"]}}
    )

    assert "as it was" not in "".join(results)
