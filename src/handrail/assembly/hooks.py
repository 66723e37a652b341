"""Loads the hooks of the settings, checks them without running them, and attaches them to the calls of
a runtime.
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

from handrail.assembly.machine import Machine
from handrail.config.files.reading import read_user_file
from handrail.config.layers.load import LoadedSettings
from handrail.config.layers.sources import PROJECT_LAYERS
from handrail.core.commands import CommandAnalyzer
from handrail.core.ports.remote_tools import remote_alias
from handrail.core.text.nesting import nested_deeper
from handrail.core.text.safe_text import safe_text
from handrail.dialects.canonical import CANONICAL
from handrail.dialects.known import DIALECTS, find_vocabulary
from handrail.dialects.spellings import SPELLINGS
from handrail.engine.events import EventBus
from handrail.engine.hooking.command_hooks import CommandHook
from handrail.engine.hooking.dispatcher import (
    BackgroundHooks,
    HookDispatcher,
    SessionHooks,
    SessionStartMessage,
)
from handrail.engine.hooking.hook_input import ClaudeTranslator
from handrail.engine.hooking.runner import HookRunner, HookShell
from handrail.engine.pipeline import Pipeline
from handrail.hooks import messages, self_test
from handrail.hooks.fields import HookParseContext, ParsedHooks, SettingLocation
from handrail.hooks.parse import (
    ClaudeSettingsFile,
    claude_settings_files,
    parse_claude_settings,
    parse_hooks,
)
from handrail.hooks.spec import CALL_EVENTS, HookEvent, HookSpec, HookStyle
from handrail.host.files.roots import real_path
from handrail.host.processes.command_programs import find_program
from handrail.host.processes.helpers.bundled import find_helper
from handrail.host.processes.shfmt import Shfmt
from handrail.policy.modes import Mode
from handrail.policy.protected_names import protected_reason
from handrail.shell.classify.environment import child_environment

_log = logging.getLogger("handrail")
_MAX_NESTING: Final = 64
# Tools with the same purpose: a guard of one of them should usually guard all.
_EQUIVALENT_TOOLS: Final = (
    ("write_file", "edit_file", "apply_patch", "notebook_edit"),
    ("run_command", "execute_code"),
)
# File systems of the kernel, of which the sandbox has its own.
_KERNEL: Final = ("/dev/", "/proc/", "/sys/", "/run/")


def load_hooks(
    loaded: LoadedSettings,
    roots: Sequence[str],
    analyzer: CommandAnalyzer,
    own: Collection[str] = (),
) -> ParsedHooks:
    """Parse and check the configured hooks without running them. `own` are the names of user-defined
    tools that are registered at the start. Raises `invalid_arguments` with file, line and key for a
    hook that cannot be used.
    """
    aliases = _aliases()
    built_in = {view.tool for view in CANONICAL.views}
    parsed = _parse(loaded, roots, frozenset(own).union(*map(aliases, built_in)))
    _self_test(parsed, _self_test_environment(roots, analyzer))
    for spec in parsed.specs:
        for line in _unguarded_tools(spec, aliases):
            _log.warning("%s", safe_text(line, one_line=True))
    return parsed


def blocking_hooks(parsed: ParsedHooks, tool: str) -> list[HookSpec]:
    """The hooks that run before every call of a tool and may stop it."""
    names = _aliases()(tool)
    return [
        spec
        for spec in parsed.specs
        if spec.event is HookEvent.PRE_TOOL_USE
        and not (spec.background or spec.needs_file)
        and spec.files is None
        and spec.matcher.matches(names)
    ]


async def open_hooks(
    parsed: ParsedHooks,
    loaded: LoadedSettings,
    machine: Machine,
    pipeline: Pipeline,
    bus: EventBus,
    *,
    resumed: bool,
) -> SessionHooks | None:
    """Attach the hooks to the calls of a runtime and run the hooks of the start of its session. Returns the
    hooks of session events, None if no hook is configured.
    """
    if not parsed.specs:
        return None
    roots, session = machine.files.roots, pipeline.recorder.session
    settings = loaded.settings
    aliases = _aliases()
    if machine.commands is None:
        raise messages.NO_SHELL.error()
    commands = machine.commands.parts
    around = _self_test_environment(roots, commands.analyzer)
    environment = child_environment(os.environ, roots)
    runner = HookRunner(
        processes=commands.processes,
        commands=commands.runner,
        locks=pipeline.locks,
        shell=HookShell(commands.shell_in(session.working_directory).program, environment),
        required=loaded.settings.sandbox_require,
        readable_paths=lru_cache(maxsize=512)(lambda spec: _readable_outside(spec, around)),
        read_only=lambda: settings.dry_run or session.mode == Mode.PLAN,
    )
    claude = ClaudeTranslator(find_vocabulary("claude"))
    architect = find_vocabulary("architect")
    dispatcher = HookDispatcher(session, runner, bus, claude, aliases, BackgroundHooks(), architect)
    around_session = SessionHooks(parsed.specs, dispatcher)
    machine.ends.push_async_callback(around_session.aclose)
    hooks = pipeline.hooks.hooks
    hooks += [CommandHook(spec, dispatcher) for spec in parsed.specs if spec.event in CALL_EVENTS]
    words = await around_session.start(resumed=resumed)
    if words:
        hooks.append(SessionStartMessage(words))
    return around_session


def _parse(loaded: LoadedSettings, roots: Sequence[str], known: frozenset[str]) -> ParsedHooks:
    table = loaded.settings.hooks

    def place(key: str) -> SettingLocation:
        return _setting_location(loaded, key)

    # A dialect that the workspace sets must not weaken the user's guards.
    architect = loaded.settings.dialect == "architect" and place("dialect").user_owned
    style = HookStyle.ARCHITECT if architect else HookStyle.OWN
    around = HookParseContext(roots, known, place, style)
    files = claude_settings_files(table, place)
    found = [parse_hooks(table, around), *(_parse_claude_file(file, around) for file in files)]
    specs = tuple(spec for parsed in found for spec in parsed.specs)
    return ParsedHooks(specs, tuple(notice for parsed in found for notice in parsed.notices))


def _setting_location(loaded: LoadedSettings, key: str) -> SettingLocation:
    """The location of a key; the location of a list or table is that of its first item."""
    sources = loaded.sources
    source = sources.get(key)
    if source is None:
        below = (name for name in sources if name.startswith((f"{key}[", f"{key}.")))
        source = sources.get(next(below, "hooks"))
    if source is None:
        return SettingLocation("", key, user_owned=False)
    return SettingLocation(
        "" if source.file is None else str(source), key, source.layer not in PROJECT_LAYERS
    )


def _parse_claude_file(file: ClaudeSettingsFile, around: HookParseContext) -> ParsedHooks:
    path = Path(file.path).expanduser()
    if not path.is_absolute():
        # A relative path would depend on the workspace, whose author could then choose the hooks.
        raise file.where.problem(messages.RELATIVE_PATH)
    real = real_path(path)
    inside = next((root for root in around.roots if f"{real}/".startswith(f"{root}/")), None)
    if inside is not None and protected_reason(real[len(inside) + 1 :]) is None:
        raise file.where.problem(messages.WRITABLE_BY_MODEL, path=real)
    text = read_user_file(path)
    if text is None:
        raise file.where.problem(messages.NO_SUCH_FILE, path=str(path))
    # A file inside the workspace does not count as the user's.
    own = file._replace(path=str(path), where=file.where._replace(user_owned=inside is None))
    return parse_claude_settings(_load_json(text.text, own), own, around)


def _load_json(text: str, file: ClaudeSettingsFile) -> Any:
    where = SettingLocation(file.path, "hooks", user_owned=True)
    if nested_deeper(text, _MAX_NESTING, strings=True):
        raise where.problem(messages.NESTED_TOO_DEEPLY, limit=_MAX_NESTING)
    try:
        return json.loads(text)
    except ValueError as error:
        reason = safe_text(str(error), one_line=True)
        raise where.problem(messages.NOT_JSON, reason=reason) from error


def _self_test(parsed: ParsedHooks, around: self_test.SelfTestEnvironment) -> None:
    """Raise `invalid_arguments` for a guard that cannot work; log all other findings."""
    for notice in parsed.notices:
        _log.warning("%s", safe_text(notice, one_line=True))
    for spec in parsed.specs:
        found = self_test.check_hook_command(spec, around)
        if found.errors and spec.is_guard:
            raise messages.BROKEN_GUARD.error(
                source=spec.where, name=spec.name, reason=found.errors[0], field="hooks"
            )
        for said in (*found.errors, *found.warnings):
            line = f"{spec.where}: hook {spec.name}: {said}"
            _log.warning("%s", safe_text(line, one_line=True))


def _unguarded_tools(spec: HookSpec, aliases: Callable[[str], frozenset[str]]) -> Iterator[str]:
    """Yield a warning if a guard matches some tools of a family of equivalent tools and not the others."""
    if not spec.is_guard or spec.style is HookStyle.CLAUDE:
        return
    for family in _EQUIVALENT_TOOLS:
        left = [tool for tool in family if not spec.matcher.matches(aliases(tool))]
        if left and len(left) < len(family):
            yield (
                f"{spec.where}: hook {spec.name} does not guard {', '.join(left)}; "
                f"to end this warning, add {'it' if len(left) == 1 else 'them'} to its matcher"
            )


def _self_test_environment(
    roots: Sequence[str], analyzer: CommandAnalyzer
) -> self_test.SelfTestEnvironment:
    search_path = child_environment(os.environ, roots)["PATH"]
    shfmt = find_helper("shfmt", roots).path

    def words(text: str) -> list[tuple[str | None, ...]]:
        analysis = analyzer.analyze(text, cwd=roots[0], env={})
        return [part.words for part in analysis.parts]

    return self_test.SelfTestEnvironment(
        roots,
        os.path.realpath(Path.home()),
        (lambda text: None) if shfmt is None else Shfmt(shfmt).parse,
        words,
        lambda name: find_program(name, search_path),
        os.path.exists,
        lambda path: protected_reason(path) is not None,
    )


def _readable_outside(spec: HookSpec, around: self_test.SelfTestEnvironment) -> tuple[str, ...]:
    """The paths outside the roots that the command of a user's hook names, each with its folder unless
    that contains the home directory or a root.
    """
    shown: list[str] = []
    for path in self_test.outside_paths(spec, around) if spec.user_owned else ():
        real = real_path(path)
        folder = os.path.dirname(real)  # noqa: PTH120 - a string in, a string out
        kept = (around.home, *around.roots)
        wide = folder == "/" or any(f"{one}/".startswith(f"{folder}/") for one in kept)
        shown += (path, real) if wide or os.path.isdir(real) else (path, folder)  # noqa: PTH112
    return tuple(one for one in dict.fromkeys(shown) if not f"{one}/".startswith(_KERNEL))


def _aliases() -> Callable[[str], frozenset[str]]:
    """Return a function for all names that a tool has in any dialect."""
    by_tool: dict[str, set[str]] = {}
    for dialect in (*DIALECTS.values(), SPELLINGS):
        for view in dialect.views:
            by_tool.setdefault(view.tool, {view.tool}).add(view.name)

    def aliases(tool: str) -> frozenset[str]:
        if (short := remote_alias(tool)) is not None:
            return frozenset({tool, short})
        return frozenset(by_tool.get(tool, {tool}))

    return aliases
