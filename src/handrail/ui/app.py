"""The routes of the page: reads are GET and work without JavaScript, changes are forms."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from anyio import to_thread
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from handrail.assembly.extras.record_reader import RecordReader
from handrail.core.ports.processes import Job, JobState
from handrail.core.problems import Problem, ProblemRaised
from handrail.ui import messages
from handrail.ui.access import CSRF, FORM
from handrail.ui.conversations import PageConversations
from handrail.ui.event_stream import EventHub
from handrail.ui.html import Html, element
from handrail.ui.page_actions import PageActions
from handrail.ui.pages.call_card import CallParts, render_call
from handrail.ui.pages.jobs import render_job, render_jobs
from handrail.ui.pages.layout import PageFrame, render_page
from handrail.ui.pages.questions import (
    render_full_preview,
    render_question,
    render_questions,
)
from handrail.ui.pages.reports import SettingRow, render_report, render_settings
from handrail.ui.pages.sessions import render_sessions, session_path
from handrail.ui.pages.timeline import render_timeline

_STATIC: Final = Path(__file__).parent / "static"
_JOB_BYTES: Final = 100_000
_MAX_NOTICES: Final = 100
# The largest number of a column of the record.
_MAX_NUMBER: Final = 1 << 63
_STATUS: Final = {"not_found": 404, "invalid_arguments": 400, "conflict": 409}


class PageReports(NamedTuple):
    """Values that the page only shows; each is computed in a thread."""

    doctor: Callable[[], dict[str, Any]]
    settings: Callable[[], Sequence[SettingRow]]


Handler = Callable[[Request], Awaitable[Response]]


class PageApp:
    """The application behind `BrowserAccess`."""

    def __init__(
        self,
        workspace: str,
        record: RecordReader,
        conversations: PageConversations,
        actions: PageActions,
        hub: EventHub,
        reports: PageReports,
    ) -> None:
        self._workspace = workspace
        self._record = record
        self._conversations = conversations
        self._actions = actions
        self._hub = hub
        self._reports = reports
        # Shown once, under a name that only the redirect knows.
        self._notices: dict[str, str] = {}

    def build(self) -> Starlette:
        """Return the application with its routes."""
        pages: dict[str, Handler] = {
            "/": self._sessions,
            "/session": self._session,
            "/call": self._call,
            "/questions": self._questions,
            "/questions/{question}": self._question,
            "/jobs": self._jobs,
            "/jobs/{job}": self._job,
            "/doctor": self._doctor,
            "/settings": self._settings,
        }
        changes: dict[str, Handler] = {
            "/tasks": self._start,
            "/session/task": self._continue,
            "/session/interrupt": self._interrupt,
            "/session/rewind": self._rewind,
            "/session/fork": self._fork,
            "/questions/{question}": self._answer,
            "/jobs/{job}/kill": self._kill,
            "/undo": self._undo,
        }
        return Starlette(
            routes=[
                *(Route(path, handler) for path, handler in pages.items()),
                *(Route(path, handler, methods=["POST"]) for path, handler in changes.items()),
                Route("/events", self._events),
                Mount("/static", StaticFiles(directory=_STATIC)),
            ],
            exception_handlers={ProblemRaised: self._problem},  # type: ignore[dict-item]
        )

    async def _sessions(self, request: Request) -> Response:
        running = {task.session for task in self._conversations.running}
        sessions = await self._record.list_sessions()
        return await self._show(
            request, "Sessions", *render_sessions(sessions, running, _csrf(request)), live=""
        )

    async def _session(self, request: Request) -> Response:
        session = request.query_params.get("name", "")
        task = self._conversations.find(session)
        before_ns = _number(request, "before") or None
        try:
            view = await self._record.load_session(session, before_ns)
        except ProblemRaised:
            if task is None:
                raise
            return await self._show(request, session, *_beginning(task.problem), live=session)
        waiting = await self._actions.questions()
        shown = {(call.session, call.call_id) for call in view.calls}
        own_questions = [
            approval
            for approval in waiting
            if approval.request.session == session
            or (approval.request.session, approval.request.call_id) in shown
        ]
        csrf = _csrf(request)
        questions = [render_question(approval, csrf, session) for approval in own_questions]
        content = render_timeline(view, task, questions, csrf)
        return await self._show(request, session, *content, live=session)

    async def _call(self, request: Request) -> Response:
        call = request.query_params.get("id", "")
        view = await self._record.load_call(request.query_params.get("session", ""), call)
        parts = CallParts(_number(request, "arguments"), _number(request, "offset"))
        content = render_call(view, parts, _csrf(request))
        return await self._show(request, call, *content)

    async def _questions(self, request: Request) -> Response:
        content = render_questions(await self._actions.questions(), _csrf(request))
        return await self._show(request, "Questions", *content, live="")

    async def _question(self, request: Request) -> Response:
        name = request.path_params["question"]
        for approval in await self._actions.questions():
            if approval.id == name:
                return await self._show(request, "Question", *render_full_preview(approval))
        raise messages.NO_SUCH_QUESTION.error(id=name)

    async def _jobs(self, request: Request) -> Response:
        jobs = await self._actions.processes.jobs()
        return await self._show(
            request,
            "Jobs",
            *render_jobs(jobs, _csrf(request)),
            live="",
            polls=any(map(_is_running, jobs)),
        )

    async def _job(self, request: Request) -> Response:
        job, offset = request.path_params["job"], _number(request, "offset")
        job_output = await self._actions.processes.output(job, offset, 0, _JOB_BYTES)
        content = render_job(job_output, offset, _csrf(request))
        return await self._show(request, job, *content, live="", polls=_is_running(job_output.job))

    async def _doctor(self, request: Request) -> Response:
        report = await to_thread.run_sync(self._reports.doctor)
        return await self._show(request, "Doctor", *render_report("Doctor", report))

    async def _settings(self, request: Request) -> Response:
        rows = await to_thread.run_sync(self._reports.settings)
        return await self._show(request, "Settings", *render_settings(rows))

    async def _events(self, request: Request) -> Response:
        if request.method == "HEAD":
            return Response(media_type="text/event-stream")
        session = request.query_params.get("session") or None
        return StreamingResponse(self._hub.stream(session), media_type="text/event-stream")

    async def _start(self, request: Request) -> Response:
        return _redirect(session_path(self._conversations.start(_form(request).get("task", ""))))

    async def _continue(self, request: Request) -> Response:
        session = await self._known_session(request)
        self._conversations.start(_form(request).get("task", ""), session)
        return _redirect(session_path(session))

    async def _known_session(self, request: Request) -> str:
        """Return the session that a form names; raises `not_found` if nothing is recorded of it."""
        session = _form(request).get("session", "")
        if self._conversations.find(session) is None:
            await self._record.check_session(session)
        return session

    async def _interrupt(self, request: Request) -> Response:
        session = _form(request).get("session", "")
        interrupted = self._conversations.interrupt(session)
        notice = (
            "interrupted; what was done stays recorded" if interrupted else "no task is running"
        )
        return self._after(session_path(session), notice)

    async def _rewind(self, request: Request) -> Response:
        session = await self._known_session(request)
        rewound = await self._conversations.rewind(session, _turn(_form(request).get("turn", "")))
        files = ", ".join(rewound.changes) or "no file"
        notice = f"back at the end of turn {rewound.turn}; reverted: {files}"
        return self._after(session_path(session), notice)

    async def _fork(self, request: Request) -> Response:
        session = await self._known_session(request)
        fork = await self._conversations.fork(session, _turn(_form(request).get("turn", "")))
        return self._after(session_path(fork), f"forked from {session}; files stay as they are")

    async def _answer(self, request: Request) -> Response:
        form = _form(request)
        notice = await self._actions.answer(request.path_params["question"], form)
        self._hub.notify("questions")
        session = form.get("session")
        return self._after(session_path(session) if session else "/questions", notice)

    async def _kill(self, request: Request) -> Response:
        job = await self._actions.processes.kill(request.path_params["job"])
        return self._after(f"/jobs/{job.id}", f"job {job.id} was ended")

    async def _undo(self, request: Request) -> Response:
        form = _form(request)
        session, redo = form.get("session", ""), form.get("direction") == "redo"
        result = await self._actions.undo(session, form.get("call", ""), redo=redo)
        if result.problem is not None:
            raise ProblemRaised.of(result.problem)
        return self._after(session_path(session), result.text.partition("\n")[0])

    async def _problem(self, request: Request, error: ProblemRaised) -> Response:
        problem = error.problem
        answer = await self._show(request, problem.code, *_problem_text(problem))
        answer.status_code = _STATUS.get(problem.code, 422)
        return answer

    def _after(self, path: str, notice: str) -> Response:
        """Show a page with a notice, once."""
        name = secrets.token_urlsafe(8)
        self._notices[name] = notice
        while len(self._notices) > _MAX_NOTICES:
            del self._notices[next(iter(self._notices))]
        return _redirect(f"{path}{'&' if '?' in path else '?'}notice={name}")

    async def _show(
        self,
        request: Request,
        title: str,
        *content: Html,
        live: str | None = None,
        polls: bool = False,
    ) -> Response:
        notice = self._notices.pop(request.query_params.get("notice", ""), None)
        waiting = len(await self._actions.questions())
        frame = PageFrame(self._workspace, waiting, _csrf(request), notice, live, polls)
        return HTMLResponse(render_page(title, frame, *content))


def _csrf(request: Request) -> str:
    return str(request.scope[CSRF])


def _form(request: Request) -> dict[str, str]:
    """Return the fields of the form, which `BrowserAccess` has checked."""
    fields: dict[str, str] = request.scope[FORM]
    return fields


def _redirect(path: str) -> Response:
    return RedirectResponse(path, status_code=303)


def _number(request: Request, name: str) -> int:
    text = request.query_params.get(name, "0")
    number = int(text) if text.isdecimal() and len(text) < 20 else 0
    return number if number < _MAX_NUMBER else 0


def _is_running(job: Job) -> bool:
    return job.state is JobState.RUNNING


def _turn(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise messages.NOT_A_TURN.error(turn=text, field="turn")
    return int(text)


def _beginning(problem: Problem | None) -> list[Html]:
    """Return the page of a session without any record yet."""
    heading = element("h1", "The task begins")
    return [heading] if problem is None else [heading, *_problem_text(problem)]


def _problem_text(problem: Problem) -> list[Html]:
    hint = element("p", problem.hint, class_="small") if problem.hint else element("p")
    return [element("h1", problem.code), element("p", problem.message, class_="problem"), hint]
