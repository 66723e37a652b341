"""`handrail explain`: the class, effects and verdict of a command, without running it."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from handrail.cli import messages
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output
from handrail.core.problems import ProblemRaised

if TYPE_CHECKING:
    from handrail.assembly.explain import CommandForecast
    from handrail.core.commands import CommandAnalysis, CommandAnalyzer, CommandEffects

_EPILOG: Final = """\
Format of a --jsonl line (`env` and `cwd` are optional):
  {"command": "make test", "env": {"CI": "1"}, "cwd": "backend"}

Each line produces one line of output, in order; an invalid line produces
{"error": ...}."""
_ROOM: Final = 11


def add_parser(subparsers: Subparsers[Parser]) -> None:
    parser = add_command(subparsers, "explain", epilog=_EPILOG)
    parser.add_argument("shell_command", metavar="COMMAND", nargs="?", help="the command, quoted")
    parser.add_argument(
        "--env",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="environment variable of the command",
    )
    parser.add_argument(
        "--cwd", metavar="DIR", help="working directory of the command (default: the workspace)"
    )
    parser.add_argument(
        "--jsonl",
        metavar="FILE",
        help="explain the commands of a JSON lines file, or of - (standard input)",
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Explain one command or many; return 0 whatever the verdict."""
    from handrail.assembly.commands import command_analyzer
    from handrail.cli.workspace import load_settings, workspace_directory

    if (options.shell_command is None) == (options.jsonl is None):
        raise messages.EXPLAIN_NEEDS_A_COMMAND.error()
    root = workspace_directory(options)
    if options.jsonl is not None:
        settings = load_settings(options)
        analyzer = command_analyzer([str(root), *settings.directories], settings)
        with _open_lines(options.jsonl) as lines:
            _explain_lines(analyzer, root, lines)
        return 0
    analysis, forecast = _explain(options, root)
    if options.json:
        output.print_json({**analysis.to_dict(), "verdict": _verdict_row(forecast)})
        return 0
    for line in _render(analysis, f"in mode {forecast.mode.value}: {_verdict_text(forecast)}"):
        output.print_text(line)
    return 0


def _explain(options: Namespace, root: Path) -> tuple[CommandAnalysis, CommandForecast]:
    import asyncio

    from handrail.assembly.explain import explain_command
    from handrail.assembly.resolved_settings import resolve_settings
    from handrail.assembly.settings_files import config_file
    from handrail.cli.commands.setup.config import load_layers
    from handrail.cli.workspace import config_path

    output.install_log_handler()
    resolved = resolve_settings(load_layers(options), root)
    config = config_file(config_path(options))
    cwd, env = _cwd(root, options.cwd), _variables(options.env)
    return asyncio.run(explain_command(resolved, config, options.shell_command, cwd, env))


def _explain_lines(analyzer: CommandAnalyzer, root: Path, lines: Iterable[bytes]) -> None:
    for line in lines:
        if line.strip():
            output.print_json(_explain_line(analyzer, root, line))
            # The caller may wait for this line before it sends the next.
            sys.stdout.flush()


def _explain_line(analyzer: CommandAnalyzer, root: Path, line: bytes) -> dict[str, Any]:
    try:
        command, env, cwd = _parse_line(line)
        return analyzer.analyze(command, cwd=_cwd(root, cwd), env=env).to_dict()
    except ProblemRaised as raised:
        return {"error": raised.problem.message}


def _parse_line(line: bytes) -> tuple[str, Mapping[str, str], str | None]:
    from handrail.engine.prepare.arguments import check_plain, load_json

    # Invalid UTF-8 becomes lone surrogates, which the JSON reader rejects.
    row = load_json(line.decode("utf-8", "surrogateescape"))
    if not isinstance(row, dict) or not isinstance(row.get("command"), str):
        raise _invalid_line("a line must be an object with a command, which must be text")
    check_plain(row)
    env, cwd = row.get("env"), row.get("cwd")
    if env is not None and not _plain_texts(env):
        raise _invalid_line("env must be an object of names and texts")
    if cwd is not None and not isinstance(cwd, str):
        raise _invalid_line("cwd must be text")
    return row["command"], env or {}, cwd


def _plain_texts(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(item, str) for item in value.values())


def _invalid_line(reason: str) -> ProblemRaised:
    return messages.INVALID_EXPLAIN_LINE.error(reason=reason)


@contextmanager
def _open_lines(file: str) -> Iterator[BinaryIO]:
    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        opened = Path(file).expanduser().open("rb")
    except OSError as error:
        raise messages.LINES_UNREADABLE.error(file=file, error=error.strerror) from error
    with opened:
        yield opened


def _cwd(root: Path, directory: str | None) -> str:
    return str(root if directory is None else (root / Path(directory).expanduser()).resolve())


def _variables(assignments: Sequence[str]) -> dict[str, str]:
    for assignment in assignments:
        if not assignment.partition("=")[0] or "=" not in assignment:
            raise messages.NOT_A_VARIABLE.error(given=assignment)
    return dict(assignment.split("=", 1) for assignment in assignments)


def _verdict_text(forecast: CommandForecast) -> str:
    """Describe the verdict with the settings in force."""
    from handrail.cli.render.screen import one_line
    from handrail.core.verdicts import Effect
    from handrail.policy.modes import QUEUED

    verdict = forecast.verdict
    if verdict.code == QUEUED:
        return "queued for approval (see `handrail plan`)"
    words = {
        Effect.ALLOW: "runs without asking",
        Effect.ASK: "needs approval",
        Effect.DENY: "refused",
    }
    by_mode = verdict.effect is Effect.ALLOW and verdict.rule.startswith("mode:")
    why = "" if by_mode else f" ({one_line(verdict.reason)}{_rule_location(forecast)})"
    if not forecast.hooks or verdict.effect is Effect.DENY:
        return f"{words[verdict.effect]}{why}"
    hooks = ", ".join(
        f"{one_line(hook.name)!r} ({one_line(hook.where)})" for hook in forecast.hooks
    )
    return f"{words[verdict.effect]}{why}, unless a hook decides otherwise: {hooks}"


def _rule_location(forecast: CommandForecast) -> str:
    """Describe where the deciding rule comes from."""
    from handrail.cli.render.screen import one_line

    return "" if forecast.rule is None else f"; rule from {one_line(str(forecast.rule.origin))}"


def _verdict_row(forecast: CommandForecast) -> dict[str, Any]:
    verdict = forecast.verdict
    return {
        "mode": forecast.mode.value,
        "effect": verdict.effect.value,
        "rule": verdict.rule,
        "reason": verdict.reason,
        "hooks": [hook.name for hook in forecast.hooks],
    }


def _render(analysis: CommandAnalysis, forecast: str) -> Iterator[str]:
    from handrail.cli.render.screen import TextStyle, one_line, paint
    from handrail.core.commands import CommandClass
    from handrail.engine.planning.preview import network_lines

    styles = {
        CommandClass.SAFE: TextStyle.GOOD,
        CommandClass.DEV: TextStyle.PLACE,
        CommandClass.DANGEROUS: TextStyle.CAUTION,
        CommandClass.BLOCKED: TextStyle.BAD,
    }
    yield f"{'class':<{_ROOM}}{paint(analysis.safety_class.word, styles[analysis.safety_class])}"
    for number, reason in enumerate(analysis.reasons):
        part = f": {one_line(reason.part)}" if reason.part else ""
        yield f"{'' if number else 'because':<{_ROOM}}{one_line(reason.text)}{part}"
    yield from _effect_lines(analysis.effects)
    if analysis.network:
        for number, line in enumerate(network_lines(analysis)):
            yield f"{'' if number else 'network':<{_ROOM}}{one_line(line)}"
    yield ""
    yield forecast


def _effect_lines(effects: CommandEffects) -> Iterator[str]:
    from handrail.cli.render.screen import one_line

    lists = {
        "programs": effects.programs,
        "reads": effects.reads,
        "writes": effects.writes,
        "hosts": effects.hosts,
    }
    for name, values in lists.items():
        for number, value in enumerate(values):
            yield f"{'' if number else name:<{_ROOM}}{one_line(value)}"
    notes = {
        "leaves processes running in the background": effects.background,
        "may affect more than is listed here": effects.open_ended,
        "may change the working directory of the session": effects.changes_directory,
        "writes into .git": effects.git,
    }
    for number, note in enumerate(note for note, holds in notes.items() if holds):
        yield f"{'' if number else 'also':<{_ROOM}}{note}"
