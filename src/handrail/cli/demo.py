"""`handrail demo`: a scripted session of the real engine on a small sample project."""

from __future__ import annotations

import shlex
from argparse import Namespace
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from handrail.cli import output
from handrail.cli.demo_project import BATCH, BATCH_TITLE, FILES, STEPS, UNDO_TITLE, Step
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.core.problems import ProblemRaised

if TYPE_CHECKING:
    from handrail.core.results import ToolResult
    from handrail.engine.runtime import Runtime

_SESSION: Final = "demo"
_SHOWN_LINES: Final = 14


def add_parser(subparsers: Subparsers[Parser]) -> None:
    """The words of this command."""
    parser = add_command(subparsers, "demo", "see a scripted session on a sample project")
    parser.add_argument(
        "--dir", metavar="DIR", help="make the project here (default: a new temporary directory)"
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Make the project, show the calls, and say what can be tried there."""
    import asyncio

    folder = make_project(options.dir)
    talk = _silent if options.json else output.say
    results = asyncio.run(_play(folder, options.store, talk))
    if options.json:
        for result in results:
            output.say_json(result.to_dict())
        return 0
    options.workspace, options.session = str(folder), None
    _look_back(options, len(results))
    return 0


def make_project(given: str | None) -> Path:
    """The sample project in a new or empty directory; raises `invalid_arguments`."""
    import tempfile

    folder = Path(given).expanduser() if given else Path(tempfile.mkdtemp(prefix="handrail-demo-"))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise ProblemRaised(
                "invalid_arguments",
                f"{str(folder)!r} is not empty",
                hint="name a directory that is empty or does not exist",
            )
        for name, text in FILES.items():
            file = folder / name
            file.parent.mkdir(exist_ok=True)
            file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ProblemRaised(
            "invalid_arguments", f"{str(folder)!r} cannot be used: {error.strerror}"
        ) from error
    return folder.resolve()


async def _play(folder: Path, store: str | None, talk: Any) -> list[ToolResult]:
    from handrail.app import open as open_runtime
    from handrail.cli.screen import Style, paint

    talk(paint("Handrail demo", Style.HEADING) + ": a scripted session, no model and no network.")
    talk("The calls and their answers are real; the mode is accept-edits.")
    # Not the person's own settings: the demo shows the same everywhere.
    async with open_runtime(
        folder, mode="accept-edits", store=store, session=_SESSION, config={}
    ) as rt:
        results = [await _step(rt, number, step, talk) for number, step in enumerate(STEPS, 1)]
        results += await _batch(rt, len(STEPS) + 1, talk)
        return [*results, await _take_back(rt, len(STEPS) + 2, talk)]


async def _step(rt: Runtime, number: int, step: Step, talk: Any) -> ToolResult:
    from handrail.cli.workspace import fresh_id

    talk()
    talk(_title(number, step.title))
    talk(_call_line(step))
    result = await rt.call(step.tool, step.arguments, id=fresh_id())
    for line in _answer(result):
        talk(line)
    return result


async def _batch(rt: Runtime, number: int, talk: Any) -> list[ToolResult]:
    from handrail.cli.screen import cut, one_line, width
    from handrail.cli.workspace import fresh_id

    base = fresh_id()
    calls = [
        {"id": f"{base}.{place}", "name": one.tool, "arguments": one.arguments}
        for place, one in enumerate(BATCH, 1)
    ]
    talk()
    talk(_title(number, BATCH_TITLE))
    waits = rt.plan(calls).waits
    results = await rt.batch(calls)
    for one, earlier, result in zip(BATCH, waits, results, strict=True):
        after = f"after {BATCH[earlier[-1]].title}" if earlier else "at once"
        first = result.text.strip().partition("\n")[0]
        talk(cut(f"     {one.title:<11}  {after:<17}  {one_line(first)}", width()))
    return results


async def _take_back(rt: Runtime, number: int, talk: Any) -> ToolResult:
    from handrail.cli.screen import Style, paint

    talk()
    talk(_title(number, UNDO_TITLE))
    talk("    " + paint("rt.undo()", Style.PLACE))
    result = await rt.undo()
    said = result.text.partition("\n")[0]
    for line in _answer(replace(result, text=f"{said}\n{result.display}")):
        talk(line)
    return result


def _look_back(options: Namespace, calls: int) -> None:
    from handrail.cli import log, verify

    output.say()
    output.say(_title(len(STEPS) + 3, f"All {calls} calls are on record, refused ones too."))
    options.limit, options.path, options.turn = calls, None, None
    log.run(options)
    output.say()
    output.say(_title(len(STEPS) + 4, "The record is chained by hashes."))
    options.anchor = None
    verify.run(options)
    output.say()
    _propose(options.workspace)


def _propose(workspace: str) -> None:
    from handrail.cli import program
    from handrail.cli.screen import Style, one_line, paint

    where = shlex.quote(one_line(workspace))
    activation = program.activation()
    # Where nothing can be activated, the whole path has to do.
    name = program.NAME if activation else program.from_anywhere()
    output.say(paint("Now you, in the same project:", Style.HEADING))
    for words in (
        activation,
        f"cd {where}",
        f"{name} log",
        f"{name} show",
        f"{name} call grep pattern=total output_mode=content",
        f"{name} call edit_file path=README.md old_string=cart new_string=basket",
        f"{name} undo",
    ):
        if words is not None:
            output.say(f"  {words}")
    output.say("The edit shows its diff and asks you first; --mode accept-edits would not ask.")
    output.say(f"Or from anywhere: {program.from_anywhere()} -w {where} log")


def _title(number: int, title: str) -> str:
    from handrail.cli.screen import Style, paint

    return paint(f"{number:>2}. {title}", Style.HEADING)


def _call_line(step: Step) -> str:
    from handrail.cli.screen import Style, cut, one_line, paint, width

    shown = " ".join(
        f"{name}={shlex.quote(one_line(value))}" for name, value in step.arguments.items()
    )
    return "    " + paint(cut(f"{step.tool} {shown}", width() - 4), Style.PLACE)


def _answer(result: ToolResult) -> Iterator[str]:
    from handrail.cli.screen import Style, diff_lines, paint, wrapped

    if result.problem is None:
        lines = list(diff_lines(result.text.rstrip("\n")))
        yield from (f"     {line}" for line in _cut(lines))
        return
    yield "     " + paint(f"{result.status.value}: {result.problem.code}", Style.CAUTION)
    yield from wrapped(result.problem.message, "     ")
    if result.problem.hint:
        yield from wrapped(f"hint: {result.problem.hint}", "     ")


def _cut(lines: Sequence[str]) -> Sequence[str]:
    if len(lines) <= _SHOWN_LINES:
        return lines
    return [*lines[:_SHOWN_LINES], f"… {len(lines) - _SHOWN_LINES} more lines"]


def _silent(_: str = "") -> None:
    return
