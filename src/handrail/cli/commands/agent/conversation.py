"""A conversation at the terminal: tasks, lines typed while the model works, Ctrl-C."""

from __future__ import annotations

import asyncio
import contextlib
import signal
import time
from collections import deque
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING, Final

from handrail.cli.commands.agent.line_reader import LineReader
from handrail.cli.commands.agent.run import TASK_EXIT_CODES
from handrail.cli.exit_codes import ExitCode
from handrail.cli.render import output
from handrail.cli.render.screen import TextStyle, one_line, paint

if TYPE_CHECKING:
    from handrail.agent.agent import Agent
    from handrail.cli.commands.agent.view import RunView
    from handrail.core.agent_results import AgentResult
    from handrail.engine.runtime import Runtime

_PROMPT: Final = "> "
_TWICE_S: Final = 2.0
_HELP: Final = """\
/help      show this list
/mode      show the permission mode
/sessions  how to continue another session
/exit      end the conversation (also Ctrl-D)
Anything else is a task. While the model works, a line
you type reaches it before its next step. Ctrl-C stops
the task; twice within two seconds it ends the program."""


async def converse(
    agent: Agent, rt: Runtime, view: RunView, first: str | None, reader: LineReader, *, resume: bool
) -> ExitCode:
    """Work on tasks until the user leaves."""
    talk = TerminalConversation(agent, rt, view, reader)
    with talk.interruptible():
        return await talk.run(first, resume=resume)


class TerminalConversation:
    """One conversation at the terminal."""

    def __init__(self, agent: Agent, rt: Runtime, view: RunView, reader: LineReader) -> None:
        self._agent = agent
        self._rt = rt
        self._view = view
        self._reader = reader
        self._work: asyncio.Task[AgentResult] | None = None
        self._interrupted_at = float("-inf")
        self._leaving = asyncio.Event()
        # Typed while the model worked, to be taken up after the task.
        self._later: deque[str] = deque()
        self._at_end = False
        self._last = ExitCode.DONE

    async def run(self, first: str | None, *, resume: bool) -> ExitCode:
        """Work on `first`, or on the unfinished task, then on what is typed."""
        if resume and first is None:
            await self._task(None)
        elif first is not None:
            await self._task(first)
        async for line in self._typed():
            if line.startswith("/"):
                if not self._command(line):
                    break
            elif line.strip():
                await self._task(line)
        return ExitCode.ABORTED if self._leaving.is_set() else self._last

    @contextlib.contextmanager
    def interruptible(self) -> Iterator[None]:
        """Ctrl-C stops the task instead of the program."""
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, self._interrupt)
        try:
            yield
        finally:
            loop.remove_signal_handler(signal.SIGINT)

    async def _typed(self) -> AsyncIterator[str]:
        while not self._leaving.is_set():
            if self._later:
                yield self._later.popleft()
                continue
            if self._at_end:
                return
            self._reader.show(_PROMPT)
            line = asyncio.ensure_future(self._reader.next_line())
            leaving = asyncio.ensure_future(self._leaving.wait())
            await asyncio.wait([line, leaving], return_when=asyncio.FIRST_COMPLETED)
            leaving.cancel()
            if not line.done():
                line.cancel()
                return
            if (text := line.result()) is None:
                self._view.line()
                return
            yield text

    async def _task(self, task: str | None) -> None:
        agent, listener = self._agent, self._view.on_event
        work = (
            agent.resume(on_event=listener) if task is None else agent.run(task, on_event=listener)
        )
        self._work = asyncio.ensure_future(work)
        steering = asyncio.ensure_future(self._steer())
        try:
            result = await self._work
        except asyncio.CancelledError:
            self._view.line(paint("stopped; what was done stays recorded", TextStyle.CAUTION))
            self._last = ExitCode.ABORTED
            return
        except Exception as error:  # noqa: BLE001 - one failed task must not end the conversation
            self._report(error)
            self._last = ExitCode.FAILED
            return
        finally:
            steering.cancel()
            self._work = None
            self._later.extend(agent.take_steering())
        self._last = TASK_EXIT_CODES[result.status]
        self._view.receipt(result, agent.session)
        if result.problem is not None:
            output.print_problem(result.problem)

    async def _steer(self) -> None:
        while True:
            line = await self._reader.next_line()
            if line is None:
                # The end of input: the task is finished, nothing more can be typed.
                self._at_end = True
                return
            if line.startswith("/"):
                self._later.append(line)
            elif line.strip():
                self._agent.steer(line)
                note = f"noted for the next step: {one_line(line)}"
                self._view.line(paint(note, TextStyle.FAINT))

    def _command(self, line: str) -> bool:
        """Carry out a slash command; False ends the conversation."""
        name, _, rest = line.strip().partition(" ")
        match name:
            case "/exit" | "/quit":
                return False
            case "/help":
                self._view.line(_HELP)
            case "/mode":
                self._view.line(f"mode {self._rt.session.mode}")
            case "/sessions":
                self._view.line(
                    f"this is session {self._agent.session}; see `handrail session list`"
                )
            case _:
                del rest
                self._view.line(f"{one_line(name)} is not a command; /help lists them")
        return True

    def _interrupt(self) -> None:
        now = time.monotonic()
        if now - self._interrupted_at <= _TWICE_S:
            self._leaving.set()
        self._interrupted_at = now
        if self._work is not None:
            self._work.cancel()
        elif not self._leaving.is_set():
            self._view.line(paint("\n(Ctrl-C again, or /exit, to leave)", TextStyle.FAINT))
            self._reader.show(_PROMPT)

    def _report(self, error: Exception) -> None:
        from handrail.core.problems import ProblemRaised

        if isinstance(error, ProblemRaised):
            output.print_problem(error.problem)
        else:
            output.warn_titled(f"internal: {type(error).__name__}", error)
