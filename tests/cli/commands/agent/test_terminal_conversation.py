"""A conversation at a terminal: what is typed, what Ctrl-C stops, and what commands do."""

import asyncio
from types import SimpleNamespace

import pytest
from tests.support.waiting import wait_until_async

from handrail.cli.commands.agent import terminal_conversation
from handrail.cli.commands.agent.line_reader import TypedLines
from handrail.cli.commands.agent.terminal_conversation import (
    Interruption,
    TerminalConversation,
)
from handrail.cli.exit_codes import ExitCode
from handrail.core.agent_results import AgentReport, AgentResult, Usage
from handrail.core.problems import Problem, ProblemTemplate


class View:
    """Notes what is shown."""

    def __init__(self):
        self.shown, self.problems, self.receipts, self.ended = [], [], [], 0

    def line(self, text=""):
        self.shown.append(text)

    def text(self, text, *_):
        self.shown.append(text)

    note = line

    def problem(self, problem):
        self.problems.append(problem.code)

    async def receipt(self, result, agent, rt, model):
        self.receipts.append((result.status, model))

    def end_task(self):
        self.ended += 1

    def on_event(self, event):
        pass


class Reader(TypedLines):
    echoes = True

    def __init__(self):
        super().__init__()
        self.prompts = []

    def show(self, prompt):
        self.prompts.append(prompt)

    async def discard_typed(self):
        self.take_typed()

    def type(self, *lines):
        for line in lines:
            self._lines.put_nowait(line)


class Agent:
    """Ends each task at once, unless the test says otherwise."""

    session, model_name = "s1", "big\n"

    def __init__(self):
        self.tasks, self.steered, self.models = [], [], []
        self.unfinished, self.status, self.problem = False, "done", None
        self.waits = self.fails = None

    async def load(self):
        return SimpleNamespace(state={"unfinished": self.unfinished})

    async def _end(self, task):
        self.tasks.append(task)
        if self.fails is not None:
            raise self.fails
        if self.waits is not None:
            self.waits.set()
            await asyncio.sleep(60)
        return AgentResult(
            "text", self.status, "s1", 1, Usage(), AgentReport(), problem=self.problem
        )

    async def run(self, task, on_event):
        return await self._end(task)

    async def resume(self, on_event):
        return await self._end(None)

    async def stopped_result(self):
        return AgentResult("text", "aborted", "s1", 1, Usage(), AgentReport())

    def steer(self, line):
        self.steered.append(line)

    def take_steering(self):
        taken, self.steered = self.steered, []
        return taken

    def switch_model(self, name):
        if name == "never":
            raise ProblemTemplate("invalid_arguments", "no such model").error()
        self.models.append(name)

    async def undo_task(self, on_event):
        return SimpleNamespace(not_reverted=["a job\n"], changes=self.changed)

    async def compact(self, on_event):
        return self.compaction


def load_skill(name, by_user):
    raise ProblemTemplate("untrusted" if name == "new" else "not_found", "no skill").error()


@pytest.fixture
async def talk(monkeypatch):
    async def no_files(rt, agent, task, note):
        return task

    monkeypatch.setattr(terminal_conversation, "add_mentioned_files", no_files)
    made = TerminalConversation(SimpleNamespace(agent="main"), View(), Reader())
    skills = SimpleNamespace(load=load_skill, list=list)
    rt = SimpleNamespace(
        aborted=False,
        session=SimpleNamespace(id="s1", mode="accept-edits"),
        agent_services=SimpleNamespace(skills=SimpleNamespace(value=skills)),
    )
    made.attach(Agent(), rt)
    return made


async def run(talk, first=None, *, resume=False):
    return await asyncio.wait_for(talk.run(first, resume=resume), 20)


async def test_lines_are_tasks_until_the_end_of_input(talk):
    talk.reader.type("one", "  ", "two", None)

    assert await run(talk, "zero") is ExitCode.DONE
    assert talk._agent.tasks == ["zero", "one", "two"]
    assert talk.view.receipts == [("done", None)] * 3
    assert talk.view.ended == 3
    assert "--resume s1" in talk.view.shown[-1]


async def test_nothing_is_offered_to_go_on_with_if_nothing_was_done(talk):
    talk.reader.type("/exit")

    assert await run(talk) is ExitCode.DONE
    assert not any("--resume" in one for one in talk.view.shown)


@pytest.mark.parametrize(
    ("resume", "unfinished", "tasks"),
    [(True, True, [None]), (True, False, []), (False, True, [])],
)
async def test_an_unfinished_task_is_resumed_if_the_user_wants_it(talk, resume, unfinished, tasks):
    talk._agent.unfinished = unfinished
    talk.reader.type("/quit")

    await run(talk, resume=resume)

    assert talk._agent.tasks == tasks


async def test_a_task_that_fails_is_reported_and_the_next_one_runs(talk):
    talk._agent.fails = ProblemTemplate("unavailable", "no model").error()
    talk.reader.type(None)

    assert await run(talk, "one") is ExitCode.FAILED
    assert talk.view.problems == ["unavailable"]
    assert talk.view.receipts == []


async def test_the_problem_of_a_result_is_shown(talk):
    talk._agent.status, talk._agent.problem = "budget", Problem("budget_exceeded", "enough")
    talk.reader.type(None)

    assert await run(talk, "one") is ExitCode.BUDGET
    assert talk.view.problems == ["budget_exceeded"]


async def test_ctrl_c_stops_a_task_and_twice_ends_the_program(talk):
    talk._agent.waits = asyncio.Event()
    running = asyncio.create_task(talk.run("one", resume=False))
    await asyncio.wait_for(talk._agent.waits.wait(), 10)
    talk._agent.steered.append("faster")
    talk._interrupt()
    talk.reader.type(None)

    assert await asyncio.wait_for(running, 10) is ExitCode.ABORTED
    assert talk.view.shown[0].startswith("stopped")
    assert talk.view.shown[1] == "not sent: faster"
    assert talk.view.receipts == [("aborted", None)]
    assert not talk._leaving.is_set()


@pytest.mark.parametrize(("between", "leaves"), [(0.0, True), (2.0, True), (2.1, False)])
async def test_two_interrupts_within_two_seconds_leave(talk, monkeypatch, between, leaves):
    now = 1_000.0
    monkeypatch.setattr(terminal_conversation, "time", SimpleNamespace(monotonic=lambda: now))
    talk._interrupt()
    assert "Ctrl-C again" in talk.view.shown[0]
    assert len(talk.reader.prompts) == 1
    now += between
    talk._interrupt()

    assert talk._leaving.is_set() is leaves
    assert len(talk.view.shown) == (1 if leaves else 2)


async def test_while_a_runtime_opens_an_interrupt_ends_the_program(talk):
    async def opening():
        talk.begin_opening()
        with talk.interruptible():
            talk._interrupt()
            await asyncio.sleep(30)

    with pytest.raises(KeyboardInterrupt):
        await opening()
    assert talk._leaving.is_set()


async def test_any_other_cancellation_passes(talk):
    async def work():
        with talk.interruptible():
            await asyncio.sleep(30)

    task = asyncio.create_task(work())
    await asyncio.sleep(0)
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_lines_typed_during_a_task_reach_it_and_commands_wait(talk):
    talk._agent.waits = asyncio.Event()
    running = asyncio.create_task(talk.run("one", resume=False))
    await asyncio.wait_for(talk._agent.waits.wait(), 10)
    talk.reader.type("faster", " ", "/help", None)
    await wait_until_async(lambda: talk._at_end)
    assert talk._agent.steered == ["faster"]
    (shown,) = talk.view.shown
    assert shown.endswith(": faster")
    assert list(talk._later) == ["/help"]
    talk.leave()

    assert await asyncio.wait_for(running, 10) is ExitCode.ABORTED


async def test_lines_for_a_task_that_has_ended_are_the_next_ones(talk):
    talk._agent.steered = ["next"]
    talk.reader.type(None)

    await run(talk, "one")

    assert talk._agent.tasks == ["one", "next"]
    assert "> next" in talk.view.shown


async def test_an_answer_is_typed_after_its_question(talk):
    talk.reader.type("early")
    asking = asyncio.create_task(talk.ask("sure? "))
    await wait_until_async(lambda: talk.reader.prompts)
    talk.reader.type("yes")

    assert await asyncio.wait_for(asking, 10) == "yes"
    assert talk._at_end is False
    asking = asyncio.create_task(talk.ask("sure? "))
    await wait_until_async(lambda: len(talk.reader.prompts) == 2)
    talk.reader.type(None)
    assert await asyncio.wait_for(asking, 10) == ""
    assert talk._at_end is True


@pytest.mark.parametrize("echoes", [True, False])
async def test_an_interrupted_question_has_no_answer(talk, monkeypatch, echoes):
    monkeypatch.setattr(Reader, "echoes", echoes)
    asking = asyncio.create_task(talk.ask("sure? "))
    await wait_until_async(lambda: talk._work is not None)
    talk._interrupt()

    with pytest.raises(Interruption):
        await asyncio.wait_for(asking, 10)
    assert talk.view.shown == ([""] if echoes else [])
    assert talk._work is None


async def test_an_aborted_runtime_is_replaced_in_the_same_mode(talk):
    talk._rt.aborted = True
    await run(talk, "one")

    assert talk.next_mode == "accept-edits"
    assert not any("--resume" in one for one in talk.view.shown)


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("/model", "model big\\n; /model NAME: use another one"),
        ("/model small", "model big\\n, from the next task on"),
        ("/diff x", "/diff shows the last task, /diff all the session"),
        ("/nope", "/nope is not a command; /help lists them"),
        ("/mode", "mode accept-edits: "),
        ("/mode accept-edits", "mode accept-edits: "),
    ],
)
async def test_commands_that_only_say_something(talk, line, shown):
    assert await talk._command(line) is True
    assert talk.view.shown[0].startswith(shown)
    assert talk.next_mode is None


@pytest.mark.parametrize("line", ["/exit", "/quit", " /exit "])
async def test_commands_that_end_the_conversation(talk, line):
    assert await talk._command(line.strip()) is False


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("/model never", "invalid_arguments"),
        ("/new", "untrusted"),
        ("/mode no", "invalid_arguments"),
    ],
)
async def test_the_problem_of_a_command_is_shown(talk, line, code):
    assert await talk._command(line) is True
    assert talk.view.problems == [code]


async def test_another_model_is_kept_in_the_next_runtime(talk):
    await talk._command("/model small")
    other = Agent()
    talk.attach(other, talk._rt)

    assert other.models == ["small"]
    assert talk.model_name == "big\\n"


async def test_a_stricter_mode_needs_no_answer_and_a_wider_one_its_name(talk, monkeypatch):
    await talk._command("/mode plan")
    assert talk.next_mode == "plan"
    answers = ["yes", "bypass"]

    async def ask(question):
        assert "bypass" in question
        return answers.pop(0)

    monkeypatch.setattr(talk, "ask", ask)
    talk.next_mode = None
    await talk._command("/mode bypass")
    assert (talk.next_mode, talk.view.problems) == (None, ["denied"])
    await talk._command("/mode bypass")
    assert talk.next_mode == "bypass"


@pytest.mark.parametrize(
    ("changed", "says"),
    [(["a\n", "b"], "reverted: a\\n, b"), ([], "it had changed no file")],
)
async def test_an_undone_task_names_its_files(talk, changed, says):
    talk._agent.changed = changed
    await talk._command("/undo")

    assert talk.view.shown[0] == "a job\\n"
    assert talk.view.shown[1].endswith(says)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({}, "nothing to shorten: the conversation has about 2,000 tokens"),
        ({"calls_replaced": 1}, "each request is shorter now: 1,000 tokens, before 2,000"),
        ({"folded": 1}, "each request is shorter now: 1,000 tokens, before 2,000"),
        ({"summarised": True}, "each request is shorter now: 1,000 tokens, before 2,000"),
    ],
)
async def test_a_compaction_says_what_it_saved(talk, values, says):
    nothing = {"calls_replaced": 0, "folded": 0, "summarised": False}
    talk._agent.compaction = SimpleNamespace(
        before_tokens=2_000, after_tokens=1_000, **{**nothing, **values}
    )
    await talk._command("/compact")

    assert talk.view.shown[-1] == says


async def test_a_command_that_is_interrupted_says_so(talk):
    async def compact(on_event):
        talk._interrupt()
        await asyncio.sleep(30)

    talk._agent.compact = compact

    assert await asyncio.wait_for(talk._command("/compact"), 10) is True
    assert talk.view.shown[-1] == "stopped"


async def test_an_internal_error_does_not_end_the_conversation(talk, capsys):
    talk._agent.fails = KeyError("x")
    talk.reader.type(None)

    assert await run(talk, "one") is ExitCode.FAILED
    assert talk.view.problems == []
    assert "internal: KeyError" in capsys.readouterr().err
