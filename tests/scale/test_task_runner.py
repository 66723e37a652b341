"""One task in a worker: it works, goes on where another process ended, and stays within limits."""

import asyncio
import json
import os
import subprocess
import threading

import pytest
from tests.support.waiting import LIMIT_S

from handrail.core.problems import ProblemRaised
from handrail.scale import task_runner
from handrail.scale.task_result import NOT_ENDED
from handrail.scale.task_runner import FleetTaskRunner

pytestmark = pytest.mark.anyio
APPEND = {"path": "log.txt", "content": "once\n", "mode": "append"}


@pytest.fixture
def anyio_backend():
    return "asyncio"


async def test_a_task_works_and_leaves_a_patch_and_its_record(tasks):
    task = tasks.task("a", checks=["test -f b.txt", "exit 3"])

    result = await tasks.runner()(task)

    assert (result["status"], result["text"], result["turns"]) == ("done", "finished", 3)
    assert result["changes"] == ["b.txt"]
    assert [one["exit_code"] for one in result["checks"]] == [0, 3]
    assert not result["passed"]
    assert not tasks.place().joinpath("workspace").exists()
    assert not (tasks.source / "b.txt").exists()
    subprocess.run(["git", "apply", result["patch"]], cwd=tasks.source, check=True, timeout=LIMIT_S)
    assert (tasks.source / "b.txt").read_text() == "new\n"
    assert await tasks.runner()(task) == result


async def test_changed_and_deleted_files_are_in_the_patch(tasks):
    (tasks.source / "gone.txt").write_text("gone\n")
    script = [
        {"calls": [{"name": "read_file", "arguments": {"path": "a.txt"}}]},
        {"calls": [{"name": "write_file", "arguments": {"path": "a.txt", "content": "2\n"}}]},
        {"calls": [{"name": "delete_file", "arguments": {"path": "gone.txt"}}]},
    ]
    task = tasks.task("a", model=tasks.script("other.jsonl", script), tools=["delete_file"])
    config = tasks.root / "config.toml"
    config.write_text("allow_delete = true\n")

    result = await tasks.runner(config=str(config))(task)

    assert (result["status"], result["refused"]) == ("done", [])
    subprocess.run(["git", "apply", result["patch"]], cwd=tasks.source, check=True, timeout=LIMIT_S)
    assert (tasks.source / "a.txt").read_text() == "2\n"
    assert not (tasks.source / "gone.txt").exists()


KINDS = """
chmod +x run.sh
printf '#!/bin/sh\\n' > new.sh; chmod +x new.sh
rm becomes_link; ln -s a.txt becomes_link; ln -s run.sh new_link; rm old_link
rm becomes_folder; mkdir becomes_folder empty_folder
rm becomes_pipe; mkfifo becomes_pipe
"""
IN_THE_PATCH = ("run.sh", "new.sh", "becomes_link", "new_link", "old_link")
NOT_IN_THE_PATCH = ["becomes_folder", "becomes_pipe", "empty_folder"]


def _kinds(tasks):
    """A repository, and a task that changes the kinds and modes of its files."""
    for name in ("run.sh", "becomes_link", "becomes_folder", "becomes_pipe"):
        (tasks.source / name).write_text(f"{name}\n")
    (tasks.source / "old_link").symlink_to("a.txt")
    _git(tasks.source, "init", "--quiet")
    _git(tasks.source, "add", ".")
    _git(tasks.source, "commit", "--quiet", "-m", "files")
    commit = _git(tasks.source, "rev-parse", "HEAD").strip()
    script = [{"calls": [{"name": "run_command", "arguments": {"command": KINDS}}]}]
    workspace = {"git": str(tasks.source), "commit": commit}
    return tasks.task("a", workspace=workspace, model=tasks.script("kinds.jsonl", script))


def _git(folder, *words):
    author = ("-c", "user.name=a", "-c", "user.email=a@example.org")
    command = ["git", "-C", str(folder), *author, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=30).stdout


@pytest.mark.needs_sandbox
async def test_a_patch_has_modes_and_links_and_says_what_it_lacks(tasks):
    result = await tasks.runner(mode="sandboxed")(_kinds(tasks))

    assert result["status"] == "done", result["problem"]
    assert result["changes"] == sorted([*IN_THE_PATCH, *NOT_IN_THE_PATCH])
    assert sorted(result["without_diff"]) == NOT_IN_THE_PATCH
    _git(tasks.source, "apply", result["patch"])
    modes = {name: os.lstat(tasks.source / name).st_mode for name in ("run.sh", "new.sh", "a.txt")}
    assert {name for name, mode in modes.items() if mode & 0o100} == {"run.sh", "new.sh"}
    assert os.readlink(tasks.source / "becomes_link") == "a.txt"
    assert os.readlink(tasks.source / "new_link") == "run.sh"
    assert not os.path.lexists(tasks.source / "old_link")


@pytest.mark.needs_sandbox
async def test_a_commit_does_not_keep_what_became_a_folder_or_a_pipe(tasks):
    task = {**_kinds(tasks), "collect": "commit"}
    result = await tasks.runner(mode="sandboxed")(task)

    listed = _git(result["repository"], "ls-tree", "-r", result["commit"]).splitlines()
    assert {line.split("\t")[1]: line[:6] for line in listed} == {
        "a.txt": "100644",
        "becomes_link": "120000",
        "new.sh": "100755",
        "new_link": "120000",
        "run.sh": "100755",
    }


async def test_a_result_stays_short_whatever_the_names(tasks):
    name = "/".join(["ä" * 125] * 10)
    command = f"mkdir -p {name} && cd {name} && for n in $(seq 200); do printf '\\0' > ü$n; done"
    steps = [{"calls": [{"name": "run_command", "arguments": {"command": command}}]}]
    model = tasks.script("names.jsonl", [*steps, {"text": "end"}])

    result = await tasks.runner(mode="bypass")(tasks.task("a", model=model))

    assert result["change_count"] == 200
    assert 0 < len(result["changes"]) == len(result["without_diff"]) < 200
    assert len(json.dumps(result)) < 2_000_000


async def test_changed_files_are_copied(tasks):
    result = await tasks.runner()(tasks.task("a", collect="files"))

    assert (tasks.place() / "files" / "b.txt").read_text() == "new\n"
    assert result["files"] == str(tasks.place() / "files")


async def test_a_directory_may_be_used_in_place(tasks):
    task = tasks.task("a", workspace={"directory": str(tasks.source), "in_place": True})

    result = await tasks.runner()(task)

    assert result["passed"]
    assert (tasks.source / "b.txt").read_text() == "new\n"


async def test_sources_that_do_not_answer_keep_no_other_task_from_its_work(tasks, monkeypatch):
    answer = threading.Event()
    prepare = task_runner.prepare_workspace

    def wait(source, *given):
        if source.kind == "tarball":
            answer.wait(LIMIT_S)
        return prepare(source, *given)

    monkeypatch.setattr(task_runner, "prepare_workspace", wait)
    run = tasks.runner()
    slow = [
        asyncio.create_task(run(tasks.task("s", workspace={"tarball": "none"}), number))
        for number in range(2, 42)
    ]
    try:
        result = await asyncio.wait_for(run(tasks.task("a")), LIMIT_S / 2)
    finally:
        answer.set()
        await asyncio.gather(*slow)

    assert result["passed"]


@pytest.mark.parametrize("shared", [True, False])
async def test_a_task_has_not_ended_if_the_store_of_all_tasks_fails(tasks, monkeypatch, shared):
    def fail(*given):
        raise ProblemRaised("store_unavailable", "gone", retryable=True)

    store = {"store": str(tasks.root / "all.db")} if shared else {}
    with monkeypatch.context() as patch:
        patch.setattr(FleetTaskRunner, "_open", fail)
        first = await tasks.runner(**store)(tasks.task("a"))
    second = await tasks.runner(**store)(tasks.task("a"))

    assert first["status"] == (NOT_ENDED if shared else "failed")
    assert second["passed"] is shared


async def test_a_task_whose_process_ended_goes_on_and_repeats_nothing(tasks, monkeypatch):
    script = [
        {"calls": [{"name": "write_file", "arguments": APPEND}]},
        {"calls": [{"name": "write_file", "arguments": {**APPEND, "content": "twice\n"}}]},
        {"text": "end"},
    ]
    task = tasks.task("a", model=tasks.script("append.jsonl", script), collect="files")

    class Killed(BaseException):
        pass

    # The process ends after the second response of the model, in the middle of the task.
    from handrail.scale.agent_steps import UsageNotes

    seen = []

    note = UsageNotes.on_event

    def die(self, event):
        note(self, event)
        if event.type == "model_response":
            seen.append(event)
            if len(seen) == 2:
                raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(UsageNotes, "on_event", die)
        with pytest.raises(Killed):
            await tasks.runner()(task)
    assert not (tasks.place() / "result.json").exists()

    result = await tasks.runner()(task)

    assert (result["status"], result["text"]) == ("done", "end")
    assert (tasks.place() / "files" / "log.txt").read_text() in ("once\n", "once\ntwice\n")
    # What the first process used is counted, too.
    assert result["usage"]["requests"] == 3


async def test_an_agent_that_had_ended_is_not_run_again(tasks, monkeypatch):
    task = tasks.task("a")

    async def fail(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(FleetTaskRunner, "_collect", fail)
        with pytest.raises(KeyboardInterrupt):
            await tasks.runner()(task)

    result = await tasks.runner()(task)

    assert (result["status"], result["text"], result["turns"]) == ("done", "finished", 3)
    assert result["changes"] == ["b.txt"]
    assert result["usage"]["requests"] == 3


async def test_a_task_that_lost_its_workers_is_settled_as_unknown(tasks):
    result = await tasks.runner()(tasks.task("a"), lost=3, settle=True)

    assert (result["status"], result["passed"], result["turns"]) == ("unknown", False, 0)
    assert result["problem"]["code"] == "cancelled"


async def test_a_task_beyond_its_disk_space_is_ended(tasks):
    script = [
        {
            "calls": [
                {"name": "write_file", "arguments": {"path": "big", "content": "x" * 3_000_000}}
            ]
        },
        {"text": "slow", "delay_s": 60, "calls": [{"name": "glob", "arguments": {"pattern": "*"}}]},
    ]
    task = tasks.task("a", model=tasks.script("big.jsonl", script) + "?chunk=1000000")

    result = await tasks.runner(disk_bytes=2_000_000)(task)

    assert (result["status"], result["problem"]["code"]) == ("failed", "too_large")
    assert not (tasks.place() / "workspace").exists()


async def test_a_source_beyond_the_disk_space_is_a_result(tasks):
    (tasks.source / "big").write_bytes(bytes(100_000))

    result = await tasks.runner(disk_bytes=50_000)(tasks.task("a"))

    assert (result["status"], result["problem"]["code"]) == ("failed", "too_large")


async def test_a_model_that_hangs_ends_with_the_budget(tasks):
    model = tasks.script("hang.jsonl", [{"fault": "hang"}, {"text": "never"}])

    result = await tasks.runner()(tasks.task("a", model=model), budget={"minutes": 0.01})

    assert (result["status"], result["passed"]) == ("budget", False)


@pytest.mark.parametrize(
    "change",
    [{"model": "nosuch:model"}, {"agent": "nobody"}, {"workspace": "/nonexistent/place"}],
    ids=str,
)
async def test_a_task_that_cannot_begin_is_a_result(change, tasks):
    result = await tasks.runner()(tasks.task("a", **change))

    assert result["status"] == "failed"
    assert result["problem"]["code"] in ("invalid_arguments", "not_found")


async def test_the_budget_counts_what_earlier_processes_used(tasks):
    place = tasks.place()
    place.mkdir(parents=True)
    used = {"input_tokens": 1_000_000, "output_tokens": 5, "requests": 3}
    (place / "usage.json").write_text(json.dumps(used))

    result = await tasks.runner()(tasks.task("a"), budget={"tokens": 1_000_100})

    assert result["status"] == "budget"
    assert result["usage"]["input_tokens"] == 1_000_000
