"""`handrail fleet`: many tasks, each in its own workspace."""

from __future__ import annotations

import re
import sys
from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from handrail.cli.exit_codes import ExitCode
from handrail.cli.parser import Parser, Subparsers, add_command, parse_count
from handrail.cli.render import output

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from handrail.scale.executor import FleetExecutor
    from handrail.scale.fleet import Fleet, FleetOptions
    from handrail.scale.report import FleetReport
    from handrail.scale.state import FleetState
    from handrail.scale.tenants import TenantLimits

_ACTIONS: Final = ("run", "status", "stop", "report")
_EXECUTORS: Final = ("local", "ray")
_KEEP: Final = ("records", "all", "nothing")
_SIZE: Final = re.compile(r"(\d+)([kmgt]?)b?", re.IGNORECASE)
_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30, "t": 1 << 40}
_TERMINAL_S: Final = 0.5
_PLAIN_S: Final = 10.0
_EPILOG: Final = """\
Each line of TASKS is a JSON object:
  {"id": "fix-1", "workspace": "DIR", "prompt": "Fix the failing test"}
Other keys: model, agent, budget, max_steps, checks (commands), tenant,
collect, tools. A workspace is a directory, which is copied, or an object:
  {"directory": "DIR", "in_place": true}   the directory itself
  {"git": "URL", "commit": "HASH"}, {"tarball": "FILE"}, {"fsspec": "URL"}
The state is kept in TASKS.fleet: the same `run` continues after any end.
Ctrl-C waits for running tasks, a second one stops them.

examples:
  handrail fleet run tasks.jsonl
  handrail fleet run tasks.jsonl --tenant alpha:agents=4,tokens=2m
  handrail fleet status tasks.jsonl
  handrail fleet report tasks.jsonl --html report.html"""


def add_parser(subparsers: Subparsers[Parser]) -> None:
    parser = add_command(subparsers, "fleet", epilog=_EPILOG)
    parser.add_argument("what", metavar="ACTION", choices=_ACTIONS, help="run, status, stop (running tasks end first) or report")  # fmt: skip
    parser.add_argument("tasks", metavar="TASKS", nargs="?", help="file with one task per line")
    parser.add_argument("--state", metavar="DIR", help="directory of the fleet's state (default: TASKS.fleet)")  # fmt: skip
    parser.add_argument("--model", metavar="NAME", help="model of tasks that name none")
    parser.add_argument("--executor", choices=_EXECUTORS, metavar="WHERE", default="local", help="local (processes of this machine, default) or ray (a running cluster; RAY_ADDRESS)")  # fmt: skip
    parser.add_argument("--processes", metavar="N", type=parse_count, help="worker processes (default: one per core)")  # fmt: skip
    parser.add_argument("--agents", metavar="N", type=parse_count, help="tasks at a time in each process (default: 8)")  # fmt: skip
    parser.add_argument("--tenant", metavar="LIMITS", action="append", default=[], help="limits of a tenant, such as alpha:agents=4,processes=2,tokens=2m,usd=20; * is every other")  # fmt: skip
    parser.add_argument("--disk", metavar="SIZE", default="2g", help="disk space of a task (default: 2g)")  # fmt: skip
    parser.add_argument("--keep", choices=_KEEP, metavar="WHAT", default="records", help="what stays of an ended task: records (default), all or nothing")  # fmt: skip
    parser.add_argument("--now", action="store_true", help="for stop: do not wait for running tasks")  # fmt: skip
    parser.add_argument("--html", metavar="FILE", help="for report: write a page")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Run, show or stop a fleet."""
    import asyncio

    from handrail.cli import messages
    from handrail.cli.workspace import refuse_session

    refuse_session(options, "each task has its own session")
    if options.tasks is None and (options.state is None or options.what == "run"):
        raise messages.NO_FLEET_TASKS.error(field="tasks")
    if options.what == "run":
        return asyncio.run(_run(options))
    if options.what == "stop":
        return _stop(_state(options), now=options.now)
    return _show(options, _state(options))


async def _run(options: Namespace) -> ExitCode:
    from handrail.scale.fleet import Fleet

    executor = _executor(options)
    fleet = Fleet(options.tasks, executor, state=options.state, options=_fleet_options(options))

    def on_result(result: Mapping[str, Any]) -> None:
        if options.json:
            output.print_json(result)
            sys.stdout.flush()

    report = await _run_with_progress(fleet, on_result, _shown_state(options), quiet=options.json)
    if report is None:
        output.warn(_stopped_text(fleet.state))
        return ExitCode.ABORTED
    if options.json:
        output.print_json(report.to_dict())
    else:
        for line in report.lines("this run"):
            output.print_text(line)
        output.print_line(f"results: {fleet.state.results}")
        if report.counts.passed < report.counts.ended:
            command = f"handrail fleet report {_shown_state(options)}"
            output.print_command("why tasks did not pass", command)
        if _exit_code(report, fleet) is ExitCode.BUDGET:
            output.print_text("the limits of tenants hold the other tasks back (--tenant)")
        if _exit_code(report, fleet) is ExitCode.ABORTED:
            output.print_text("stopped; run again to continue")
    return _exit_code(report, fleet)


def _executor(options: Namespace) -> FleetExecutor:
    from handrail.scale.executor import DEFAULT_AGENTS, LocalExecutor
    from handrail.scale.ray_executor import RayExecutor

    kind = RayExecutor if options.executor == "ray" else LocalExecutor
    return kind(options.processes, options.agents or DEFAULT_AGENTS)


def _stopped_text(state: FleetState) -> str:
    """Return the counts of a fleet whose running tasks were ended."""
    from handrail.core.problems import ProblemRaised
    from handrail.scale.report import progress_text

    try:
        return f"stopped: {progress_text(_read(state))}"
    except ProblemRaised:
        # The journal had not been written.
        return "stopped; run again to continue"


async def _run_with_progress(
    fleet: Fleet, on_result: Any, name: str, *, quiet: bool
) -> FleetReport | None:
    """Run a fleet with signal handling and progress; None if a second signal stopped it."""
    import asyncio

    from handrail.host.stop_signals import stop_on_signal

    work = asyncio.create_task(fleet.run(on_result))
    progress = None if quiet else asyncio.create_task(_show_progress(fleet))

    def stop() -> None:
        if fleet.draining:
            work.cancel()
        else:
            both = f"Ctrl-C again or `handrail fleet stop --now {name}`"
            output.warn(f"waiting for running tasks; to end them: {both}")
            fleet.drain()

    try:
        with stop_on_signal(stop):
            await asyncio.wait([work])
    finally:
        if progress is not None:
            progress.cancel()
            await asyncio.wait([progress])
    return None if work.cancelled() else work.result()


async def _show_progress(fleet: Fleet) -> None:
    import asyncio

    from handrail.cli.render.screen import terminal_width, truncate
    from handrail.core.problems import ProblemRaised
    from handrail.scale.report import progress_text

    live = sys.stderr.isatty()
    shown = ""
    try:
        while True:
            await asyncio.sleep(_TERMINAL_S if live else _PLAIN_S)
            try:
                text = progress_text(_read(fleet.state))
            except ProblemRaised:
                continue
            if live:
                line = truncate(text, terminal_width(sys.stderr) - 1)
                print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
            elif text != shown:
                output.warn(text)
            shown = text
    finally:
        if live and shown:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)


def _exit_code(report: FleetReport, fleet: Fleet) -> ExitCode:
    if report.complete:
        return ExitCode.DONE if report.counts.passed == report.counts.total else ExitCode.FAILED
    return ExitCode.ABORTED if fleet.draining else ExitCode.BUDGET


def _fleet_options(options: Namespace) -> FleetOptions:
    from handrail.cli.workspace import config_path, is_set
    from handrail.scale.fleet import FleetOptions

    mode = options.mode
    if mode is None and not is_set(options, "mode"):
        mode = "sandboxed"
    config = config_path(options)
    return FleetOptions(
        mode=mode,
        model=options.model,
        config=None if config is None else str(Path(config).resolve()),
        store=options.store,
        commands=options.commands,
        dialect=options.dialect,
        dry_run=options.dry_run,
        disk_bytes=_size(options.disk),
        keep=options.keep,
        tenants=_tenants(options.tenant),
    )


def _tenants(texts: Iterable[str]) -> dict[str, TenantLimits]:
    from handrail.scale import messages
    from handrail.scale.tenants import TenantLimits

    found: dict[str, TenantLimits] = {}
    for text in texts:
        name, limits = TenantLimits.parse(text)
        if name in found:
            reason = f"{name!r} has limits already"
            raise messages.INVALID_LIMITS.error(text=text, reason=reason, field="tenant")
        found[name] = limits
    return found


def _size(text: str) -> int:
    from handrail.scale import messages

    match = _SIZE.fullmatch(text.strip())
    if match is None or not int(match[1]):
        raise messages.INVALID_SIZE.error(text=text, field="disk")
    return int(match[1]) * _UNITS[match[2].lower()]


def _state(options: Namespace) -> FleetState:
    from handrail.scale.fleet import state_directory
    from handrail.scale.state import FleetState

    return FleetState(
        Path(options.state) if options.state else state_directory(Path(options.tasks))
    )


def _shown_state(options: Namespace) -> str:
    """Return the arguments that name this fleet, for a shell."""
    from shlex import join

    return join([options.tasks, *(["--state", options.state] if options.state else [])])


def _read(state: FleetState) -> FleetReport:
    from contextlib import closing

    from handrail.scale.journal import FleetJournal
    from handrail.scale.report import read_report

    with closing(FleetJournal(state.directory, read_only=True)) as journal:
        return read_report(journal, state)


def _show(options: Namespace, state: FleetState) -> int:
    from handrail.scale.report_page import write_page

    report = _read(state)
    if options.html is not None:
        write_page(Path(options.html), report, state)
        output.print_line(f"wrote {options.html}")
    elif options.json:
        output.print_json(report.to_dict())
    else:
        for line in report.lines():
            output.print_text(line)
        if options.what == "report":
            for line, command in _noted_lines(state):
                output.print_folded(line)
                if command:
                    # On one line, so that it can be copied.
                    output.print_line(f"    {command}")
    return 0


def _noted_lines(state: FleetState) -> list[tuple[str, str]]:
    """Return the tasks that did not pass, with their problems, and those with interrupted calls;
    each with the command that shows its record.
    """
    from contextlib import closing

    from handrail.cli.render.screen import one_line
    from handrail.scale.journal import FleetJournal

    failed, passed = [], []
    with closing(FleetJournal(state.directory, read_only=True)) as journal:
        for result in journal.results():
            unknown = "".join(f"; unknown call: {call}" for call in result["unknown_calls"])
            if not result["passed"]:
                line = f"{result['id']}: {result['status']}; {_reason(result)}{unknown}"
                failed.append((f"  {one_line(line)}", _record_command(result)))
            elif unknown:
                line = one_line(f"{result['id']}{unknown}")
                passed.append((f"  {line}", _record_command(result)))
    headings = {"not passed:": failed, "passed, but calls were interrupted:": passed}
    return [
        line for heading, lines in headings.items() if lines for line in ((heading, ""), *lines)
    ]


def _record_command(result: Mapping[str, Any]) -> str:
    """Return the command that shows the interrupted call of a task, or all of its calls; "" if its
    record was not kept.
    """
    from shlex import join

    from handrail.cli.render.screen import one_line
    from handrail.core.names.store_location import is_store_url

    store, session, calls = result.get("record"), result.get("session"), result["unknown_calls"]
    if not store or not (is_store_url(store) or Path(store).is_file()):
        return ""
    # All tasks share a store on a server.
    only = ["--session", str(session)] if is_store_url(store) else []
    words: list[str] = ["show", *calls] if len(calls) == 1 else ["log"]
    return one_line(join(["handrail", "--store", store, *only, *words]))


def _reason(result: Mapping[str, Any]) -> str:
    checks = [check["command"] for check in result["checks"] if check["exit_code"] != 0]
    problem = (result["problem"] or {}).get("message")
    return problem or f"checks failed: {', '.join(checks)}"


def _stop(state: FleetState, *, now: bool) -> int:
    """Ask the fleet to end, with the signals that it handles."""
    import os
    import signal
    import socket

    from handrail.scale import messages

    holder = state.holder()
    if holder is None:
        raise messages.NOT_RUNNING.error(state=str(state.directory))
    host, _, pid, _ = holder.rsplit("/", 3)
    if host != socket.gethostname():
        raise messages.RUNS_ELSEWHERE.error(state=str(state.directory), host=host)
    # Two different signals: the same signal sent twice may arrive once.
    for number in (signal.SIGTERM, signal.SIGINT)[: 2 if now else 1]:
        os.kill(int(pid), number)
    output.print_line("stopping; running tasks end first" if not now else "stopping")
    return 0
