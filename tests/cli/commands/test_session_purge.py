"""`handrail session delete`: no text of the conversation is left in the state directory, at once."""

import asyncio
import json

import pytest
from tests.support.waiting import wait_until_async

from handrail import Answer
from handrail import open as open_runtime
from handrail.host.terminal.approval_queue import (
    answer_pending,
    pending_approvals,
    queue_directory,
)

LONG = "word-in-a-long-output"


def call(name, **arguments):
    return {"name": name, "arguments": arguments}


@pytest.mark.threat("A15", "A19")
def test_nothing_that_was_said_or_shown_is_left(handrail, workspace, tmp_path, own_home):
    workspace.joinpath("a.txt").write_text("word-in-a-file\n")
    workspace.joinpath("b.txt").write_text("word-in-a-mentioned-file\n")
    workspace.joinpath("long.txt").write_text(f"{LONG}-file\n" * 20_000)
    show = "for i in $(seq 20000); do echo word-in-a-long-output-$i; done"
    lines = [
        {"text": "word-of-the-model", "calls": [call("read_file", path="a.txt")]},
        {"calls": [call("read_file", path="long.txt", limit=20_000)]},
        {"calls": [call("grep", pattern=LONG, path="long.txt", max_results=5_000)]},
        {"calls": [call("run_command", command=show)]},
        {"calls": [call("run_command", command="echo word-of-a-job", background=True)]},
        {"calls": [call("job_output", job="1", timeout_s=20)]},
        {"calls": [call("todo_write", todos=[{"content": "word-of-a-todo", "status": "pending"}])]},
        {"calls": [call("edit_file", path="a.txt", old_string="word-not-there", new_string="x")]},
        {"calls": [call("write_file", path="new.txt", content="word-that-was-written\n")]},
        {"calls": [call("write_file", path="new.txt", content="word-written-later\n")]},
        {"calls": [call("read_file", path="../word-outside.txt")]},
        {"text": "done"},
    ]
    script = tmp_path / "script.jsonl"
    script.write_text("".join(json.dumps(line) + "\n" for line in lines))
    task = "word-of-the-user about @b.txt"
    mode = ("--mode", "bypass")
    done = handrail("run", "--once", *mode, "--model", f"script:{script}", "--session", "s1", task)
    assert done.code == 0, done.err + done.out
    before = found_words(own_home)

    deleted = handrail("session", "delete", "s1")

    assert deleted.code == 0, deleted.err
    assert {"word-of-the-user", "word-of-a-job", "word-in-a-mentioned-file", LONG} <= before
    assert found_words(own_home) == set()
    assert handrail("verify").code == 0


@pytest.mark.threat("A15", "A19")
def test_nothing_of_its_subagents_is_left(handrail, workspace, tmp_path, own_home):
    workspace.joinpath("a.txt").write_text("word-in-a-file\n")

    def start(agent, task):
        return {"calls": [call("subagent", agent=agent, task=task)]}

    read = {"calls": [call("read_file", path="a.txt")]}
    todo = {"content": "word-of-a-todo", "status": "pending"}
    lines = [
        start("general", "word-of-the-user"),
        {"calls": [call("todo_write", todos=[todo]), call("write_file", path="b", content="x")]},
        {"text": "done"},
        {"agent": "general"},
        start("review", "word-for-a-grandchild"),
        {"text": "word-of-the-model"},
        {"agent": "review"},
        read,
        {"text": "word-of-a-grandchild"},
        {"agent": "explore"},
        {"text": "word-of-a-spawned-agent"},
    ]
    script = tmp_path / "script.jsonl"
    script.write_text("".join(json.dumps(line) + "\n" for line in lines))

    async def work():
        # The session of the runtime is another one than that of the conversation.
        settings = {"model": f"script:{script}", "mode": "default", "approver": "approvals"}
        async with open_runtime(workspace, **settings) as rt:
            agent = rt.agent(allowed=["subagent", "todo_write", "read_file", "write_file"])
            task = asyncio.create_task(agent.run("Go"))
            queue = queue_directory(workspace)
            await wait_until_async(lambda: pending_approvals(queue) or task.done(), 60)
            (asked,) = pending_approvals(queue)
            answer_pending(asked, Answer.NO, "word-of-an-answer")
            await task
            await agent.spawn("explore", "Look")
            return agent.session, (await agent.fork(1)).session

    first, fork = asyncio.run(work())
    before = found_words(own_home)
    deleted = [handrail("session", "delete", first).code]
    between = found_words(own_home)
    deleted.append(handrail("session", "delete", fork).code)

    assert deleted == [0, 0]
    said = {"word-of-the-user", "word-of-the-model", "word-of-a-grandchild", "word-of-a-todo"}
    assert {
        *said,
        "word-of-an-answer",
        "word-of-a-spawned-agent",
        "word-for-a-grandchild",
        "word-in-a-file",
    } <= before
    # The fork has the answer of its first turn, and the list of its session.
    assert between == {"word-of-the-user", "word-of-the-model", "word-of-a-todo"} | {
        "word-of-a-spawned-agent"
    }
    assert found_words(own_home) == set()
    assert handrail("verify").code == 0


WORDS = [
    *(
        "word-for-a-grandchild",
        "word-of-a-grandchild",
        "word-of-a-spawned-agent",
        "word-of-an-answer",
    ),
    *("word-of-the-user", "word-of-the-model", "word-in-a-file", "word-in-a-mentioned-file", LONG),
    *("word-of-a-job", "word-of-a-todo", "word-not-there", "word-that-was-written"),
    *("word-written-later", "word-outside"),
]


def found_words(home):
    state = [path.read_bytes() for path in home.rglob("*") if path.is_file()]
    return {word for word in WORDS if any(word.encode() in one for one in state)}
