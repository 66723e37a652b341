"""`handrail config`: show the source of each setting, or check a settings file."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from handrail.cli import messages
from handrail.cli.exit_codes import ExitCode
from handrail.cli.parser import SETTING_OPTIONS, Parser, Subparsers, add_command
from handrail.cli.render import output
from handrail.core.problems import ProblemRaised

if TYPE_CHECKING:
    from handrail.cli.commands.setup.model_questions import ModelAnswers
    from handrail.config.layers.load import LoadedSettings, ProjectClaim
    from handrail.config.layers.sources import SettingSource
    from handrail.core.problems import Problem

_ACTIONS: Final = ("show", "check", "init")
_TABLE_EXAMPLES: Final = {
    "budget": ["# [budget]", "# tokens = 500_000", "# minutes = 30"],
    "permissions": [
        "# [permissions]",
        '# allow = ["run_command(make test:*)"]',
        '# ask = ["write_file(/docs/**)"]',
        '# deny = ["read_file(.env)"]',
    ],
}
_NO_MODEL: Final = (
    'it names no model yet: set `model` there, such as model = "anthropic:MODEL", '
    "or use `handrail run --model NAME`"
)
_EPILOG: Final = """\
show          print every setting, its value, and the file and line that set it
check [FILE]  check your settings file, or the named ones, and report the line
              and key of each error
init          ask about the model, if this is a terminal, and write a settings
              file with every setting as a comment: your own, or the one
              that --config names"""


def add_parser(subparsers: Subparsers[Parser]) -> None:
    parser = add_command(subparsers, "config", epilog=_EPILOG)
    parser.add_argument("action", metavar="ACTION", choices=_ACTIONS, help=", ".join(_ACTIONS))
    parser.add_argument(
        "arguments",
        metavar="FILE",
        nargs="*",
        default=[],
        help="the files to check (default: your own settings file)",
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Show, check or write settings; return 2 if a file is invalid."""
    from handrail.cli.workspace import refuse_session

    refuse_session(options, "settings apply to all sessions")
    if options.action == "check":
        return _check(options)
    if options.action == "init":
        return _init(options)
    if options.arguments:
        raise messages.SHOW_TAKES_NO_FILE.error()
    _show(options, load_layers(options))
    return 0


def load_layers(options: Namespace, trusted: Callable[[str], bool] | None = None) -> LoadedSettings:
    """Load the settings that the options select, with their sources."""
    from handrail.assembly.settings_files import load_from
    from handrail.cli.workspace import config_path, workspace_directory

    overrides = {name: getattr(options, name) for name in SETTING_OPTIONS}
    return load_from(workspace_directory(options), config_path(options), overrides, trusted)


def _init(options: Namespace) -> int:
    """Write a commented settings file; never replaces one. Raises `exists`."""
    from handrail.assembly.settings_files import config_file
    from handrail.cli.render.screen import one_line

    if options.arguments:
        raise messages.INIT_TAKES_NO_FILE.error()
    file = config_file(options.config).expanduser()
    if file.exists():
        raise messages.CONFIG_EXISTS.error(path=str(file))
    answers = _ask_model(options)
    try:
        if not options.dry_run:
            file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with file.open("x", encoding="utf-8") as writing:
                writing.write(settings_template(answers))
    except OSError as error:
        raise messages.CONFIG_NOT_WRITTEN.error(path=str(file), error=error.strerror) from error
    if options.json:
        output.print_json({"file": str(file), "written": not options.dry_run})
    else:
        verb = "would write" if options.dry_run else "wrote"
        output.print_text(f"{verb} {one_line(file)}; `handrail config check` checks your changes")
        if answers is None:
            output.print_text(_NO_MODEL)
        for title, command in answers.next_steps() if answers else ():
            output.print_command(title, command)
    return ExitCode.DONE


def _ask_model(options: Namespace) -> ModelAnswers | None:
    """Ask about the model at a terminal; return None without one, or if the user wants no model."""
    import sys

    if options.json or options.dry_run or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return None
    from handrail.cli.commands.setup.model_questions import ask_model

    try:
        return ask_model(input, output.print_line)
    except EOFError:
        output.print_line()
        return None


def settings_template(answers: ModelAnswers | None = None) -> str:
    """Return a TOML file with every setting, its description and its default as a comment; the
    model that the user chose is set.
    """
    from dataclasses import fields

    from handrail.config.model import Settings
    from handrail.config.validation import dump_settings

    lines = [
        "# Settings of Handrail for this user. To change one, remove the # before it.",
        "# docs/configuration.md explains them; `handrail config show` prints what is in force.",
    ]
    described = {field.name: field.metadata["description"] for field in fields(Settings)}
    defaults = dump_settings(Settings())
    # TOML requires tables after the plain settings; JSON has another form for them.
    tables = [name for name, value in defaults.items() if isinstance(value, dict) and value]
    tables += ["guardrails", "hooks", "agents", "programs"]
    for name, value in defaults.items():
        if name not in tables:
            shown = "..." if value is None else json.dumps(value, ensure_ascii=False)
            line = f"# {name} = {shown}"
            if name == "model" and answers is not None:
                line = f"model = {json.dumps(answers.name, ensure_ascii=False)}"
            lines += ["", *_comment(described[name]), line]
    for name in tables:
        lines += ["", *_comment(described[name])]
        lines += _TABLE_EXAMPLES.get(name, [f"# [{name}]"])
    if answers is not None and answers.table is not None:
        lines += ["", *answers.settings_lines()]
    return "\n".join([*lines, ""])


def _comment(text: str) -> list[str]:
    import textwrap

    return textwrap.wrap(
        text[:1].upper() + text[1:] + ".", 98, initial_indent="# ", subsequent_indent="# "
    )


def _show(options: Namespace, loaded: LoadedSettings) -> None:
    if options.json:
        for row in _rows(loaded):
            output.print_json(row)
        return
    from handrail.cli.render.screen import TextStyle, one_line, table
    from handrail.cli.workspace import workspace_directory

    root = workspace_directory(options)
    cells = [
        (one_line(key), one_line(source_text(source, root)), one_line(_text(value)))
        for key, value, source in _parts(loaded)
    ]
    for line in table(cells, ("setting", "from", "value"), {"default": TextStyle.FAINT}):
        output.print_line(line)
    for line in _ignored_lines(loaded, root):
        output.print_line(line)


def _rows(loaded: LoadedSettings) -> Iterator[dict[str, Any]]:
    from handrail.config.validation import dump_settings

    values = dump_settings(loaded.settings)
    for key, value in values.items():
        below = {
            name: source.to_dict()
            for name, source in loaded.sources.items()
            if _is_below(name, key)
        }
        yield {
            "setting": key,
            "value": value,
            "source": loaded.sources[key].to_dict(),
            "parts": below,
            "ignored": [
                claim_row(claim)
                for claim in loaded.ignored
                if claim.key == key or _is_below(claim.key, key)
            ],
        }


def _parts(loaded: LoadedSettings) -> Iterator[tuple[str, Any, SettingSource]]:
    """Yield the settings, or their parts if these have different sources."""
    for row in _rows(loaded):
        if not row["parts"]:
            yield row["setting"], row["value"], loaded.sources[row["setting"]]
            continue
        for name, leaf in _leaves(row["setting"], row["value"]):
            yield name, leaf, loaded.sources.get(name, loaded.sources[row["setting"]])


def setting_rows(loaded: LoadedSettings, root: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the name, the value and the source of each setting; not escaped."""
    for name, value, source in _parts(loaded):
        yield name, _text(value), source_text(source, root)


def _leaves(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    from handrail.config.files.document import dotted
    from handrail.config.layers.merge import leaves

    return ((dotted(path), leaf) for path, leaf in leaves(value, (key,)))


def _ignored_lines(loaded: LoadedSettings, root: Path) -> Iterator[str]:
    from handrail.cli.render.screen import TextStyle, one_line, paint
    from handrail.config.layers.load import ClaimStatus

    if not loaded.ignored:
        return
    yield ""
    yield paint("ignored: these settings in project files are not in effect", TextStyle.CAUTION)
    for claim in loaded.ignored:
        yield f"  {one_line(claim_text(claim, root))}  ({claim.status})"
    if any(claim.status is ClaimStatus.UNTRUSTED for claim in loaded.ignored):
        yield "`handrail trust` shows what trusting these files would enable"


def claim_text(claim: ProjectClaim, root: Path) -> str:
    """Format a claim with its source; not escaped."""
    from handrail.config.validation import dump_value

    return f"{claim.key} = {_text(dump_value(claim.value))}  {source_text(claim.source, root)}"


def claim_row(claim: ProjectClaim) -> dict[str, Any]:
    """Return a claim as JSON."""
    from handrail.config.validation import dump_value

    value, source = dump_value(claim.value), claim.source.to_dict()
    return {"key": claim.key, "value": value, "source": source, "why": claim.status.value}


def source_text(source: SettingSource, root: Path) -> str:
    """Format the source of a value; paths are relative to the workspace."""
    from handrail.config.files.document import location

    if source.file is not None and source.file.is_relative_to(root):
        return location(source.file.relative_to(root), source.line)
    return str(source)


def _text(value: Any) -> str:
    if isinstance(value, dict) and not value.get("examples", True):
        # A rule without examples is printed as a string.
        value = value.get("rule", value)
    return json.dumps(value, ensure_ascii=False)


def _is_below(name: str, key: str) -> bool:
    return name.startswith((f"{key}.", f"{key}["))


def _check(options: Namespace) -> int:
    names = options.arguments or [options.config or _own_file()]
    if not options.json:
        output.install_log_handler()
    fits = [_check_one(options, name) for name in names]
    return ExitCode.DONE if all(fits) else ExitCode.USAGE


def _own_file() -> str:
    """Return the user's settings file; raises `invalid_arguments` if there is none."""
    from handrail.assembly.settings_files import config_file

    file = config_file(None)
    if not file.exists():
        raise messages.NOTHING_TO_CHECK.error()
    return str(file)


def _check_one(options: Namespace, name: str) -> bool:
    from handrail.cli.render.screen import count_noun, one_line

    problem, count = None, 0
    notices: list[str] = []
    try:
        count = _count_settings(options, Path(name).expanduser(), notices)
    except ProblemRaised as raised:
        problem = _without_advice(raised.problem)
    if options.json:
        problem_row = None if problem is None else problem.to_dict()
        fits = {"file": name, "fits": problem is None, "problem": problem_row}
        output.print_json({**fits, "notices": notices})
    elif problem is not None:
        output.print_problem(problem)
    else:
        for notice in notices:
            output.warn_titled("notice", one_line(notice))
        output.print_line(f"{one_line(name)}: {count_noun(count, 'setting')}, all valid")
    return problem is None


def _without_advice(problem: Problem) -> Problem:
    """Return a problem without the advice to run the command that reports it."""
    from dataclasses import replace

    from handrail.config.messages import CHECK_IT

    return replace(problem, hint=(problem.hint or "").removesuffix(CHECK_IT) or None)


def _count_settings(options: Namespace, path: Path, notices: list[str]) -> int:
    """Validate a file and return its number of settings; notices are appended.

    Raises the problem that opening a workspace with this file would raise.
    """
    from handrail.assembly.resolved_settings import resolve_settings
    from handrail.cli.workspace import workspace_directory
    from handrail.config.layers.load import load_single_file
    from handrail.config.layers.sources import Layer

    loaded = load_single_file(path)
    if loaded is None:
        raise messages.NO_SUCH_FILE.error(path=str(path))
    root = loaded.files[0].parent.parent if loaded.files else workspace_directory(options)
    notices += resolve_settings(loaded, root).notices
    for notice in loaded.notices:
        output.warn_titled("warning", notice)
    if _is_in_force(options, path):
        # Files that are valid alone can contradict each other.
        resolve_settings(load_layers(options), workspace_directory(options))
    keys = {claim.key for claim in loaded.claims}
    keys |= {key for key, claim in loaded.sources.items() if claim.layer is not Layer.DEFAULT}
    return len({key.partition(".")[0].partition("[")[0] for key in keys})


def _is_in_force(options: Namespace, path: Path) -> bool:
    from handrail.assembly.settings_files import config_file
    from handrail.cli.workspace import config_path, workspace_directory
    from handrail.config.files.reading import LOCAL, PROJECT

    root = workspace_directory(options)
    files = [config_file(config_path(options)), *(root / name for name in (*PROJECT, *LOCAL))]
    return path.resolve() in [file.resolve() for file in files]
