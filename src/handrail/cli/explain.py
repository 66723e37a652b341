"""`handrail explain`: what a command would do and what would become of it. Runs nothing."""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Final

from handrail.cli import output
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.core.problems import ProblemRaised

if TYPE_CHECKING:
    from handrail.config.settings import Settings
    from handrail.core.commands import CommandJudge, Effects, Judgement
    from handrail.core.verdicts import Verdict
    from handrail.policy.subject import Subject

_EPILOG: Final = """\
a line of --jsonl, `env` and `cwd` as needed:
  {"command": "make test", "env": {"CI": "1"}, "cwd": "backend"}

Every line is answered by one line, in order; one that is no such object by
{"error": ...} in its place."""
_ROOM: Final = 11


def add_parser(subparsers: Subparsers[Parser]) -> None:
    """The words of this command."""
    parser = add_command(
        subparsers, "explain", "say what a command would do, without running it", epilog=_EPILOG
    )
    parser.add_argument("shell_command", metavar="COMMAND", nargs="?", help="in one pair of quotes")
    parser.add_argument(
        "--env", metavar="NAME=VALUE", action="append", default=[], help="a variable it would get"
    )
    parser.add_argument("--cwd", metavar="DIR", help="where it would run (default: the workspace)")
    parser.add_argument(
        "--jsonl", metavar="FILE", help="judge JSON lines from a file, or from - (stdin)"
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Judge one command or many; 0 whatever the verdict is."""
    from handrail.app_shell import command_judge
    from handrail.cli.workspace import directory_of, settings_of

    if (options.shell_command is None) == (options.jsonl is None):
        raise ProblemRaised(
            "invalid_arguments",
            "`explain` needs one command, or --jsonl FILE",
            hint="put the command into quotes: handrail explain 'git status'",
        )
    root, settings = directory_of(options), settings_of(options)
    roots = [str(root), *settings.directories]
    judge = command_judge(roots, settings)
    if options.jsonl is not None:
        with _lines(options.jsonl) as lines:
            _answer(judge, root, lines)
        return 0
    cwd = _cwd(root, options.cwd)
    judged = judge.judge(options.shell_command, cwd=cwd, env=_variables(options.env))
    if options.json:
        output.say_json(judged.to_dict())
        return 0
    for line in _told(judged, _fate(judged, roots, settings)):
        output.say(line)
    return 0


def _answer(judge: CommandJudge, root: Path, lines: Iterable[bytes]) -> None:
    for line in lines:
        if line.strip():
            output.say_json(_judged(judge, root, line))
            # Whoever asks line by line waits for this one.
            sys.stdout.flush()


def _judged(judge: CommandJudge, root: Path, line: bytes) -> dict[str, Any]:
    try:
        command, env, cwd = _understood(line)
    except ProblemRaised as raised:
        return {"error": raised.problem.message}
    return judge.judge(command, cwd=_cwd(root, cwd), env=env).to_dict()


def _understood(line: bytes) -> tuple[str, Mapping[str, str], str | None]:
    from handrail.engine.arguments import check_plain, load_json

    # Bytes that are not UTF-8 become lone surrogates, which the reader refuses.
    row = load_json(line.decode("utf-8", "surrogateescape"))
    if not isinstance(row, dict) or not isinstance(row.get("command"), str):
        raise _wrong("a line is one object with a command, which is a text")
    check_plain(row)
    env, cwd = row.get("env"), row.get("cwd")
    if env is not None and not _plain_texts(env):
        raise _wrong("env is one object of names and texts")
    if cwd is not None and not isinstance(cwd, str):
        raise _wrong("cwd is a text")
    return row["command"], env or {}, cwd


def _plain_texts(value: object) -> bool:
    return isinstance(value, dict) and all(isinstance(one, str) for one in value.values())


def _wrong(message: str) -> ProblemRaised:
    return ProblemRaised("invalid_arguments", message)


@contextmanager
def _lines(file: str) -> Iterator[BinaryIO]:
    if file == "-":
        yield sys.stdin.buffer
        return
    try:
        opened = Path(file).expanduser().open("rb")
    except OSError as error:
        raise ProblemRaised(
            "invalid_arguments",
            f"the commands cannot be read from {file!r}: {error.strerror}",
            hint="name a file of JSON lines, or - for standard input",
        ) from error
    with opened:
        yield opened


def _cwd(root: Path, given: str | None) -> str:
    return str(root if given is None else (root / Path(given).expanduser()).resolve())


def _variables(given: Sequence[str]) -> dict[str, str]:
    for one in given:
        if not one.partition("=")[0] or "=" not in one:
            raise ProblemRaised(
                "invalid_arguments", f"{one!r} is no variable", hint="such as --env CI=1"
            )
    return dict(one.split("=", 1) for one in given)


def _fate(judged: Judgement, roots: Sequence[str], settings: Settings) -> str:
    """What the mode in force would make of the command, in a sentence."""
    from handrail.app_shell import commands_hold
    from handrail.policy.modes import parse_mode

    verdict = _verdict(judged, roots, settings, confined=commands_hold(roots, settings))
    return f"in mode {parse_mode(settings.mode).value}: {_sentence(verdict)}"


def _verdict(
    judged: Judgement, roots: Sequence[str], settings: Settings, *, confined: bool
) -> Verdict:
    from handrail.policy.clearance import Clearance
    from handrail.policy.commands import CommandPolicy
    from handrail.policy.modes import parse_mode
    from handrail.policy.protected import ProtectedNames

    policy = CommandPolicy(
        settings.command_policy,
        settings.allowed_commands,
        allowed_only=settings.allowed_only,
        enabled=settings.commands,
    )
    protected = ProtectedNames(roots, allowed=settings.allow_protected)
    clearance = Clearance(parse_mode(settings.mode), [policy, protected], lambda: confined)
    return clearance.judge(_subject(judged))


def _subject(judged: Judgement) -> Subject:
    from handrail.core.footprint import Access, Footprint, Touch
    from handrail.core.verdicts import Risk
    from handrail.policy.subject import Subject

    effects = judged.effects
    touches = [Touch(f"file:{path}", Access.READ) for path in effects.reads]
    touches += [Touch(f"file:{path.rstrip('/')}", Access.WRITE) for path in effects.writes]
    touches += [Touch(f"net:{host}", Access.WRITE) for host in effects.hosts]
    footprint = Footprint(tuple(touches), effects.open_ended or effects.background, judged)
    # The classes of commands and the risks of calls are one ladder.
    risk = Risk(judged.klass)
    return Subject("run_command", risk, footprint, footprint.reads_only, None, False)


def _sentence(verdict: Verdict) -> str:
    from handrail.cli.screen import one_line
    from handrail.core.verdicts import Effect
    from handrail.policy.modes import QUEUED

    if verdict.code == QUEUED:
        return "it would be queued for you, see `handrail plan`"
    words = {
        Effect.ALLOW: "it would run unasked",
        Effect.ASK: f"you would be asked ({one_line(verdict.reason)})",
        Effect.DENY: f"it would be refused ({one_line(verdict.reason)})",
    }
    return words[verdict.effect]


def _told(judged: Judgement, fate: str) -> Iterator[str]:
    from handrail.cli.screen import Style, one_line, paint
    from handrail.core.commands import CommandClass

    styles = {
        CommandClass.SAFE: Style.GOOD,
        CommandClass.DEV: Style.PLACE,
        CommandClass.DANGEROUS: Style.CAUTION,
        CommandClass.BLOCKED: Style.BAD,
    }
    yield f"{'class':<{_ROOM}}{paint(judged.klass.word, styles[judged.klass])}"
    for number, reason in enumerate(judged.reasons):
        part = f": {one_line(reason.part)}" if reason.part else ""
        yield f"{'' if number else 'because':<{_ROOM}}{one_line(reason.text)}{part}"
    yield from _effect_lines(judged.effects)
    yield ""
    yield fate


def _effect_lines(effects: Effects) -> Iterator[str]:
    from handrail.cli.screen import one_line

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
        "leaves something running in the background": effects.background,
        "may touch more than is listed here": effects.open_ended,
        "may change the session's directory": effects.changes_directory,
        "writes into .git": effects.git,
    }
    for number, note in enumerate(note for note, holds in notes.items() if holds):
        yield f"{'' if number else 'also':<{_ROOM}}{note}"
