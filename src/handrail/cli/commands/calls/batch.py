"""`handrail batch`: run calls from JSON lines; print results as JSON lines in the same order."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from handrail.cli import messages
from handrail.cli.exit_codes import ExitCode, results_exit_code
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output
from handrail.cli.workspace import add_ask_option, collect_if_due, new_call_id, open_session
from handrail.core.names.store_location import MEMORY
from handrail.core.problems import Problem, ProblemRaised

if TYPE_CHECKING:
    from handrail.core.results import ToolResult
    from handrail.engine.batch.scheduler import Ordering

_EPILOG: Final = """\
Format of a line:
  {"name": "read_file", "arguments": {"path": "a.py"}}

A call with an "id" runs once in its session: repeating the line returns the
recorded result.

Calls that do not conflict run in parallel. An invalid line produces a result
with the problem invalid_arguments in its place."""
_KEYS: Final = frozenset({"id", "name", "arguments"})

BatchLine = Mapping[str, Any] | Problem


def add_parser(subparsers: Subparsers[Parser]) -> None:
    parser = add_command(subparsers, "batch", epilog=_EPILOG)
    parser.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        default="-",
        help="file of JSON lines (default: - for standard input)",
    )
    add_ask_option(parser)
    parser.add_argument(
        "--plan", action="store_true", help="print the execution order and run nothing"
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Run the calls or print their order; return the exit code of the results."""
    import asyncio

    from handrail.cli.commands.calls.call import print_summary

    lines = [_parse_line(text) for text in _read_lines(options.file)]
    if options.plan:
        _print_order(asyncio.run(_plan(options, _calls(lines))), lines, as_json=options.json)
        invalid = any(isinstance(line, Problem) for line in lines)
        return ExitCode.USAGE if invalid else ExitCode.DONE
    results, aborted, summary = asyncio.run(_run(options, lines))
    for result in results:
        output.print_json(result.to_dict())
        if result.meta.get("replayed"):
            output.warn_titled(
                f"{result.call_id}: already made",
                "the recorded result was returned and nothing ran; omit the id to run it again",
            )
    print_summary(summary, as_json=True)
    sys.stdout.flush()
    collect_if_due(options)
    return ExitCode.ABORTED if aborted else results_exit_code(results)


async def _run(
    options: Namespace, lines: Sequence[BatchLine]
) -> tuple[list[ToolResult], bool, str | None]:
    from handrail.core.results import Status, ToolResult

    async with open_session(options) as rt:
        completed = iter(await rt.batch(_calls(lines)))
    results = [
        ToolResult(f"line {number}", Status.FAILED, str(line), problem=line)
        if isinstance(line, Problem)
        else next(completed)
        for number, line in enumerate(lines, 1)
    ]
    dry = options.dry_run or rt.planned_actions
    return results, rt.aborted, rt.plan_summary() if dry else None


async def _plan(options: Namespace, calls: Sequence[Mapping[str, Any]]) -> Ordering:
    options.store = MEMORY
    async with open_session(options) as rt:
        return rt.plan(calls)


def _print_order(ordering: Ordering, lines: Sequence[BatchLine], *, as_json: bool) -> None:
    from handrail.core.text.safe_text import safe_text

    if as_json:
        output.print_json({"ids": ordering.ids, "waits": ordering.waits, "groups": ordering.groups})
    else:
        output.print_line(safe_text(str(ordering)))
    for number, line in enumerate(lines, 1):
        if isinstance(line, Problem):
            output.warn_titled(f"line {number}: {line.code}", line.message)


def _read_lines(file: str) -> Iterator[str]:
    if file == "-" and sys.stdin.isatty():
        output.warn("reading calls from the terminal, one per line; end with Ctrl-D")
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).expanduser().read_bytes()
    except OSError as error:
        raise messages.LINES_UNREADABLE.error(file=file, error=error.strerror) from error
    for line in data.split(b"\n"):
        if line.strip():
            # Invalid UTF-8 becomes lone surrogates, which the JSON reader rejects.
            yield line.decode("utf-8", "surrogateescape")


def _parse_line(text: str) -> BatchLine:
    from handrail.core.call import check_call_id
    from handrail.engine.prepare.arguments import check_plain, exceeds_limit, load_json, too_large

    if exceeds_limit(text):
        return too_large()
    try:
        value = load_json(text)
        if not isinstance(value, dict) or not isinstance(value.get("name"), str):
            return _invalid_line("a line must be an object with at least a name")
        check_plain(value)
        if value.get("id") is not None:
            check_call_id(value["id"])
    except ProblemRaised as raised:
        return raised.problem
    unknown = sorted(value.keys() - _KEYS)
    if unknown:
        return _invalid_line(f"unknown key {unknown[0]!r}")
    if not isinstance(value.get("arguments", {}), dict | str):
        return _invalid_line("the arguments must be an object")
    return value


def _invalid_line(reason: str) -> Problem:
    return messages.INVALID_BATCH_LINE.fill(reason=reason)


def _calls(lines: Sequence[BatchLine]) -> list[dict[str, Any]]:
    batch = new_call_id()
    return [
        {"id": f"{batch}.{number}", **line}
        for number, line in enumerate(lines, 1)
        if not isinstance(line, Problem)
    ]
