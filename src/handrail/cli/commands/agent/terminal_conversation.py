"""A conversation at the terminal: tasks, lines typed while the model works, Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from argparse import Namespace
from collections import deque
from collections.abc import Callable, Coroutine, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeVar

from handrail.cli import messages
from handrail.cli.commands.agent.agents import agent_lines
from handrail.cli.commands.agent.line_reader import LineReader
from handrail.cli.commands.agent.mentions import add_mentioned_files
from handrail.cli.commands.agent.run import TASK_EXIT_CODES
from handrail.cli.commands.agent.session_choice import list_sessions, session_lines
from handrail.cli.commands.agent.slash_commands import review_queue, show_help, show_tasks
from handrail.cli.commands.record.diff import diff_lines, find_diffs, without_caches
from handrail.cli.commands.setup.overview import MODE_MEANINGS
from handrail.cli.commands.setup.skills import skill_lines
from handrail.cli.exit_codes import ExitCode
from handrail.cli.render import output
from handrail.cli.render.screen import TextStyle, one_line, paint
from handrail.core.ports.skills import SkillLibrary
from handrail.core.problems import ProblemRaised
from handrail.policy.modes import Mode, parse_mode
from handrail.tools.session.skill import format_skill

if TYPE_CHECKING:
    from handrail.agent.agent import Agent
    from handrail.cli.commands.agent.live_terminal import LiveTerminal
    from handrail.cli.commands.agent.view import RunView
    from handrail.core.agent_results import AgentResult
    from handrail.engine.runtime import Runtime

_T = TypeVar("_T")
_PROMPT: Final = "> "
_TWICE_S: Final = 2.0
_MOST_SESSIONS: Final = 10
# How much runs without asking: a switch to a higher rank needs the user's confirmation.
_MODE_RANKS: Final[Mapping[Mode, int]] = {
    Mode.PLAN: 0,
    Mode.CONFIRM_ALL: 1,
    Mode.DONT_ASK: 2,
    Mode.DEFAULT: 2,
    Mode.ACCEPT_EDITS: 3,
    Mode.SANDBOXED: 4,
    Mode.STRICT: 5,
    Mode.AUTO_SAFE: 6,
    Mode.BYPASS: 7,
}


class Interruption(Exception):
    """The user pressed Ctrl-C."""


class TerminalConversation:
    """One conversation at the terminal. A runtime has one mode and ends with an abort: `run` then
    returns with `next_mode` set, and continues after `attach` with a runtime in that mode.
    """

    def __init__(
        self, options: Namespace, view: RunView, reader: LineReader | LiveTerminal
    ) -> None:
        self._options = options
        self.view = view
        self.reader = reader
        # What Ctrl-C stops: the innermost work or question that is awaited.
        self._work: asyncio.Task[Any] | None = None
        # The asyncio task of the program while a runtime opens.
        self._opening: asyncio.Task[Any] | None = None
        self._interrupted_at = float("-inf")
        self._leaving = asyncio.Event()
        # Typed while the model worked, for use after the task.
        self._later: deque[str] = deque()
        self._at_end = False
        self._worked = False
        self._last = ExitCode.DONE
        self.next_mode: Mode | None = None
        # The model that the user switched to.
        self._model: str | None = None

    def begin_opening(self) -> None:
        """Mark that a runtime opens until `attach`: Ctrl-C ends the program meanwhile."""
        self._opening = asyncio.current_task()

    def attach(self, agent: Agent, rt: Runtime) -> None:
        """Work with this agent and runtime from now on."""
        self._opening = None
        self._agent = agent
        self._rt = rt
        self.next_mode = None
        if self._model is not None:
            agent.switch_model(self._model)

    @property
    def model_name(self) -> str:
        """The model in use."""
        return one_line(self._agent.model_name)

    async def run(self, first: str | None, *, resume: bool) -> ExitCode:
        """Work on `first`, or on the unfinished task if there is one, then on what is typed."""
        unfinished = resume and (await self._agent.load()).state.get("unfinished")
        if first is not None or unfinished:
            await self._task(first)
        while self.next_mode is None and (line := await self._next_line()) is not None:
            if line.startswith("/"):
                if not await self._command(line):
                    break
            elif line.strip():
                await self._task(line)
        if self._worked and self.next_mode is None and not self._leaving.is_set():
            again = f"to go on later: handrail run --resume {self._agent.session}"
            self.view.text(again, TextStyle.FAINT)
        return ExitCode.ABORTED if self._leaving.is_set() else self._last

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """Let Ctrl-C stop the task, not the program; raises `KeyboardInterrupt` before the first
        task.
        """
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        try:
            yield
        except asyncio.CancelledError:
            if self._opening is None or not self._leaving.is_set():
                raise
            raise KeyboardInterrupt from None
        finally:
            loop.remove_signal_handler(signal.SIGINT)

    async def ask(self, question: str) -> str:
        """Return the user's answer; raises `Interruption`. Input typed before is not an answer."""
        await self.reader.discard_typed()
        self.reader.show(question)
        try:
            answer = await self._until_interrupted(self.reader.next_line())
        except Interruption:
            if self.reader.echoes:
                self.view.line()
            raise
        self._at_end = answer is None
        return answer or ""

    async def _until_interrupted(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Wait for work that Ctrl-C stops; raises `Interruption`."""
        outer, started = self._work, asyncio.ensure_future(work)
        self._work = started
        try:
            return await started
        except asyncio.CancelledError:
            if (waiting := asyncio.current_task()) is not None and waiting.cancelling():
                raise
            raise Interruption from None
        finally:
            self._work = outer

    async def _next_line(self) -> str | None:
        """Return the next line that was typed; None if the user leaves."""
        if not self._later and (typed_ahead := self.reader.take_typed()):
            self._later.extend(typed_ahead)
        if self._later and not self._leaving.is_set():
            line_later = self._later.popleft()
            self.view.line(f"{_PROMPT}{one_line(line_later)}")
            return line_later
        if self._at_end or self._leaving.is_set():
            return None
        self.reader.show(_PROMPT)
        line = asyncio.ensure_future(self.reader.next_line())
        leaving = asyncio.ensure_future(self._leaving.wait())
        await asyncio.wait([line, leaving], return_when=asyncio.FIRST_COMPLETED)
        leaving.cancel()
        if not line.done():
            line.cancel()
            return None
        if (text := line.result()) is None:
            self.view.line()
        elif not self.reader.echoes:
            self.view.text(f"{_PROMPT}{text}")
        return text

    async def _task(self, task: str | None) -> None:
        agent, outer = self._agent, self._work
        self._worked = True
        self._interrupted_at = float("-inf")
        self._work = asyncio.ensure_future(self._run_task(task))
        steering = asyncio.ensure_future(self._steer())
        try:
            result = await self._work
        except asyncio.CancelledError:
            steering.cancel()  # first: what is typed from now on is the next task
            self.view.line(paint("stopped; what was done stays recorded", TextStyle.CAUTION))
            if (stopped := await agent.stopped_result()) is not None:
                await self.view.receipt(stopped, agent, self._rt, self._model)
            for line in agent.take_steering():  # said to this task: none begins another one
                self.view.text(f"not sent: {line}", TextStyle.FAINT)
            self._last = ExitCode.ABORTED
            return
        except Exception as error:  # noqa: BLE001 - one failed task must not end the conversation
            self._report(error)
            self._last = ExitCode.FAILED
            return
        finally:
            steering.cancel()
            self._work = outer
            self.view.end_task()
            if self._rt.aborted and not self._leaving.is_set():
                # After an abort a runtime refuses all calls: the next task needs another one.
                self.next_mode = parse_mode(str(self._rt.session.mode))
            self._later.extend(agent.take_steering())
        self._last = TASK_EXIT_CODES[result.status]
        await self.view.receipt(result, agent, self._rt, self._model)
        if result.problem is not None:
            self.view.problem(result.problem)

    async def _run_task(self, task: str | None) -> AgentResult:
        agent, listener = self._agent, self.view.on_event
        if task is None:
            return await agent.resume(on_event=listener)
        whole = await add_mentioned_files(self._rt, self._options.agent, task, self.view.note)
        return await agent.run(whole, on_event=listener)

    async def _steer(self) -> None:
        while True:
            line = await self.reader.next_line()
            if line is None:
                self._at_end = True  # the task is finished, nothing more can be typed
                return
            if line.startswith("/"):
                self._later.append(line)
            elif line.strip():
                self._agent.steer(line)
                self.view.text(f"noted for the next step: {line}", TextStyle.FAINT)

    async def _command(self, line: str) -> bool:
        """Run a slash command; return False to end the conversation."""
        self._interrupted_at = float("-inf")
        name, _, rest = line.strip().partition(" ")
        if name in ("/exit", "/quit"):
            return False
        commands: Mapping[str, Callable[[str], Coroutine[Any, Any, None] | None]] = {
            "/help": lambda _: show_help(self.view),
            "/diff": self._show_diff,
            "/mode": self._switch_mode,
            "/plan": lambda _: review_queue(self._rt, self.view, self.ask),
            "/model": self._switch_model,
            "/undo": self._undo_task,
            "/compact": self._compact,
            "/tasks": lambda _: show_tasks(self._rt, self.view),
            "/agents": self._show_agents,
            "/skills": lambda _: self.view.line("\n".join(skill_lines(self._skills.list()))),
            "/sessions": self._list_sessions,
        }
        command = commands.get(name) or partial(self._start_skill, name)
        try:
            outcome = command(rest.strip())
            if outcome is not None:
                await self._until_interrupted(outcome)
        except Interruption:
            self.view.line(paint("stopped", TextStyle.CAUTION))
        except ProblemRaised as raised:
            self.view.problem(raised.problem)
        return True

    async def _show_agents(self, id: str) -> None:
        self.view.line("\n".join(await agent_lines(self._rt, id)))

    def _switch_model(self, name: str) -> None:
        if name:
            self._agent.switch_model(name)
            self._model = name
            self.view.text(f"model {one_line(self._agent.model_name)}, from the next task on")
            return
        self.view.text(f"model {one_line(self._agent.model_name)}; /model NAME: use another one")

    def _show_diff(self, scope: str) -> None:
        if scope not in ("", "all"):
            self.view.line("/diff shows the last task, /diff all the session")
            return
        _, diffs = find_diffs(self._options, self._rt.session.id, task=scope == "")
        for line in diff_lines(without_caches(diffs)):
            self.view.line(line)

    async def _switch_mode(self, name: str) -> None:
        """Show the mode, or leave `run` with the next one; raises `invalid_arguments` or `denied`."""
        current = parse_mode(str(self._rt.session.mode))
        mode = parse_mode(name) if name else current
        if mode is current:
            self.view.text(f"mode {current}: {MODE_MEANINGS[current]}")
            self.view.text(f"/mode NAME: switch to another: {', '.join(_MODE_RANKS)}")
            return
        if _MODE_RANKS[mode] > _MODE_RANKS[current]:
            self.view.text(f"mode {mode}: {MODE_MEANINGS[mode]}; it allows more than {current}")
            if await self.ask(f"Type {mode} to switch: ") != mode:
                raise messages.NOT_A_MODE_SWITCH.error(mode=mode, current=current)
        self.next_mode = mode

    async def _undo_task(self, _: str) -> None:
        rewound = await self._agent.undo_task(on_event=self.view.on_event)
        for note in rewound.not_reverted:
            self.view.text(one_line(note))
        files = ", ".join(map(one_line, rewound.changes))
        changed = f"reverted: {files}" if files else "it had changed no file"
        self.view.text(f"undid the last task and removed it from the conversation; {changed}")

    async def _compact(self, _: str) -> None:
        self.view.note("the model may write a summary; Ctrl-C stops it")
        compaction = await self._agent.compact(on_event=self.view.on_event)
        if not (compaction.calls_replaced or compaction.folded or compaction.summarised):
            self.view.text(
                f"nothing to shorten: the conversation has about {compaction.before_tokens:,} tokens"
            )
            return
        self.view.text(
            f"each request is shorter now: {compaction.after_tokens:,} tokens, before {compaction.before_tokens:,}"
        )

    def _list_sessions(self, _: str) -> None:
        listed = list_sessions(self._options)
        for text in session_lines(listed[:_MOST_SESSIONS]):
            self.view.line(text)
        self.view.text(
            f"this is {self._agent.session}; handrail run --resume SESSION continues one"
        )

    @property
    def _skills(self) -> SkillLibrary:
        return self._rt.agent_services.skills.value

    async def _start_skill(self, name: str, arguments: str) -> None:
        """Work on a skill that the user named; raises `untrusted` or `denied`."""
        try:
            skill = self._skills.load(name[1:], by_user=True)
        except ProblemRaised as raised:
            if raised.problem.code != "not_found":
                raise
            self.view.line(f"{one_line(name)} is not a command; /help lists them")
            return
        await self._task(format_skill(skill, arguments))

    def leave(self) -> None:
        """Stop the current work, and end the conversation."""
        self._leaving.set()
        if (going_on := self._opening or self._work) is not None:
            going_on.cancel()

    def _interrupt(self) -> None:
        now = time.monotonic()
        if now - self._interrupted_at <= _TWICE_S:
            self._leaving.set()
        self._interrupted_at = now
        if self._opening is not None:
            self.leave()
        elif self._work is not None:
            self._work.cancel()
        elif not self._leaving.is_set():
            self.view.line(paint("\n(Ctrl-C again, or /exit, to leave)", TextStyle.FAINT))
            self.reader.show(_PROMPT)

    def _report(self, error: Exception) -> None:
        if isinstance(error, ProblemRaised):
            self.view.problem(error.problem)
        else:
            output.warn_titled(f"internal: {type(error).__name__}", error)
