"""What `/help`, `/tasks`, `/plan` and `/agents` show and do."""

from types import SimpleNamespace

import pytest

from handrail.cli.commands.agent.agents import agent_lines
from handrail.cli.commands.agent.slash_commands import review_queue, show_help, show_tasks
from handrail.core.agent_results import AgentReport, Usage
from handrail.core.ports.processes import Job, JobState
from handrail.core.ports.subagents import SubagentState
from handrail.core.ports.todos import TodoItem, TodoStatus
from handrail.core.problems import Problem, ProblemRaised
from handrail.core.results import Status, ToolResult
from handrail.planmode.item import PlanItem


class Lines:
    """A view that notes its lines."""

    def __init__(self):
        self.shown = []

    def line(self, text):
        self.shown.append(text)

    def text(self, text, *_):
        self.shown.append(text)

    def labelled(self, label, text):
        self.shown.append(f"{label} {text}")

    def output_text(self, text):
        self.shown.append(f"output: {text}")


class Subagents:
    def __init__(self, *states):
        self.value = self
        self._states, self._loaded = states, False

    async def load(self):
        self._loaded = True

    def states(self):
        return self._states if self._loaded else ()

    async def current(self, id):
        return next(one for one in self._states if one.id == id)


def agent(id, *chain, turns=1, task="look\nclosely"):
    usage = Usage(input_tokens=1_000, output_tokens=234)
    report = AgentReport(changes=("a.txt",))
    return SubagentState(
        id, "explorer", "done", ("main", *chain, id), task, "c", turns=turns, usage=usage, report=report
    )  # fmt: skip


def runtime(todos=(), jobs=(), agents=(), queue=None):
    async def items():
        return todos

    async def listed():
        return jobs

    return SimpleNamespace(
        session=SimpleNamespace(id="s1"),
        todos=SimpleNamespace(items=items),
        jobs=SimpleNamespace(list=listed),
        agent_services=SimpleNamespace(subagents=Subagents(*agents)),
        planning=SimpleNamespace(active=True, text=""),
        plan_queue=queue,
    )


def job(number, session, description=""):
    return Job(str(number), session, "c", "make\nall", description, 0.0, JobState.RUNNING, 1)


def test_help_names_every_command_and_what_else_can_be_typed():
    view = Lines()
    show_help(view)

    commands = [line.split()[0] for line in view.shown if line.startswith("/")]
    assert commands == sorted(set(commands), key=commands.index)
    assert {"/help", "/plan", "/undo", "/exit"} <= set(commands)
    assert "@path" in view.shown[-1]
    assert all("  " in line for line in view.shown[:-1])


async def test_without_work_there_are_no_tasks():
    view = Lines()
    await show_tasks(runtime(), view)

    assert view.shown == ["no tasks"]


async def test_tasks_are_todos_jobs_of_the_session_and_subagents():
    todo = TodoItem("1", "write it", TodoStatus.PENDING, "main")
    jobs = (job(1, "s1"), job(2, "other"), job(3, "s1", "build"))
    view = Lines()
    await show_tasks(runtime((todo,), jobs, (agent("a1"),)), view)

    assert view.shown[:5] == [
        "[ ] 1. write it",
        "\nbackground jobs:",
        "  1  running  make\\nall",
        "  3  running  build",
        "\nsubagents:",
    ]
    assert "a1" in view.shown[5]
    assert len(view.shown) == 6


async def test_subagents_are_a_table_indented_by_depth():
    rt = runtime(agents=(agent("a1"), agent("a2", "a1", turns=2)))

    lines = [line.rstrip() for line in await agent_lines(rt)]

    assert lines[1:] == [
        "a1     done    1      1,234   look",
        "  a2   done    2      1,234   look",
    ]
    assert await agent_lines(runtime()) == ["no subagents"]


async def test_one_subagent_is_shown_in_full():
    rt = runtime(agents=(agent("a1"), agent("a2", "a1")))

    lines = await agent_lines(rt, "a2")

    assert lines[0] == "main → a1 → a2: done, 1 turn"
    assert [line.split()[-1] for line in lines[1:3]] == ["look", "closely"]
    assert "- files changed: a.txt" in lines
    assert lines[-1] == "- undo: handrail undo --agent a2 --session s1"


async def test_an_unknown_subagent_is_a_problem():
    with pytest.raises(ProblemRaised) as raised:
        await agent_lines(runtime(agents=(agent("a1"),)), "a9")

    assert raised.value.problem.code == "not_found"


class Queue:
    """Calls queued by plan mode; notes what is done with them."""

    def __init__(self, count, problem=None):
        self._problem, self.refreshed, self.done = problem, False, []
        self._items = [
            PlanItem(f"p{n}", "write_file", {}, f"reason {n}", n, "", f"c{n}", "", None)
            for n in range(1, count + 1)
        ]

    async def refresh(self):
        self.refreshed = True

    @property
    def pending(self):
        return list(self._items) if self.refreshed else []

    def items(self):
        return self.pending

    def _chosen(self, ids):
        return [one for one in self._items if ids is None or {one.id, str(one.order)} & set(ids)]

    async def approve(self, ids):
        self.done.append(("approve", ids))
        status = Status.OK if self._problem is None else Status.FAILED
        return [
            ToolResult(one.tool_call_id, status, f"did {one.id}", problem=self._problem)
            for one in self._chosen(ids)
        ]

    async def reject(self, ids):
        self.done.append(("reject", ids))
        return self._chosen(ids)


async def review(queue, answer):
    view, asked = Lines(), []

    async def ask(question):
        asked.append(question)
        return answer

    await review_queue(runtime(queue=queue), view, ask)
    return view.shown, asked


async def test_an_empty_queue_asks_nothing():
    shown, asked = await review(Queue(0), "approve")

    assert asked == []
    assert shown == ["plan mode is on", "nothing is queued"]


@pytest.mark.parametrize(
    ("answer", "ids", "run"),
    [("approve", None, (1, 2, 3)), ("approve p1 3", ["p1", "3"], (1, 3)), (" approve  2 ", ["2"], (2,))],
)  # fmt: skip
async def test_approved_calls_are_shown_with_their_results(answer, ids, run):
    queue = Queue(3)
    shown, asked = await review(queue, answer)

    assert queue.done == [("approve", ids)]
    assert len(asked) == 1
    expected = [(f"• write_file: reason {n}", f"output: did p{n}") for n in run]
    assert shown[-2 * len(run) :] == [line for pair in expected for line in pair]


async def test_the_problem_of_an_approved_call_is_named():
    shown, _ = await review(Queue(1, Problem("conflict", "changed meanwhile")), "approve")

    assert shown[-1] == "failed, conflict"


@pytest.mark.parametrize(
    ("answer", "ids", "told"),
    [("reject", None, "discarded 3 calls"), ("reject 2", ["2"], "discarded 1 call")],
)
async def test_rejected_calls_are_counted(answer, ids, told):
    queue = Queue(3)
    shown, _ = await review(queue, answer)

    assert queue.done == [("reject", ids)]
    assert shown[-1] == told


@pytest.mark.parametrize("answer", ["", "  ", "no", "Approve"])
async def test_any_other_answer_keeps_the_queue(answer):
    queue = Queue(2)
    shown, _ = await review(queue, answer)

    assert queue.done == []
    assert shown[-1] == "2 calls still queued"
