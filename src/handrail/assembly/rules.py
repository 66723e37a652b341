"""Builds the user's rules from the settings: parses them, checks their examples, and installs the
enforcement of denied paths.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from handrail.assembly.deferred_commands import Commands
from handrail.assembly.machine import Machine
from handrail.config.layers.load import LoadedSettings
from handrail.config.layers.sources import Layer
from handrail.config.model import PermissionRule
from handrail.core.effects import Effects
from handrail.core.lazy import Lazy
from handrail.core.ports.machine import Clock
from handrail.core.text.safe_text import safe_text
from handrail.core.traits import RuleFamily
from handrail.core.verdicts import Effect
from handrail.dialects.base import Vocabulary
from handrail.engine.registry import Registry
from handrail.engine.registry import ToolOrigin as ToolOrigin
from handrail.host.files.roots import real_path
from handrail.host.search.choose_engine import DeferredSearch
from handrail.policy.approval.grants import GrantObstacle, SessionGrants
from handrail.policy.rules.paths.pattern import PathBase
from handrail.policy.rules.rule import Rule, RuleOrigin, RuleSource
from handrail.policy.rules.rule_set import DenialEnforcement, RuleSet, admit_rules

if TYPE_CHECKING:
    from handrail.assembly.commands import CommandParts
    from handrail.core.commands import CommandAnalyzer
    from handrail.core.ports.read_denials import HiddenPaths
    from handrail.policy.denials.read_denials import ReadDenials
    from handrail.policy.denials.write_denials import WriteDenials
    from handrail.policy.rules.parse import CanonicalName

_SOURCES = {
    Layer.DEFAULT: RuleSource.USER,
    Layer.USER: RuleSource.USER,
    Layer.PROJECT: RuleSource.PROJECT,
    Layer.LOCAL: RuleSource.LOCAL,
    Layer.KEYWORD: RuleSource.COMMAND_LINE,
    Layer.SESSION: RuleSource.SESSION,
}

_log = logging.getLogger("handrail")
_BEYOND_PATHS = Effects.OPEN_ENDED | Effects.NETWORK


def path_base(roots: Sequence[str], aliases: Sequence[tuple[str, str]] = ()) -> PathBase:
    """The directories to which paths in rules are relative; `aliases` are further paths of roots."""
    return PathBase(tuple(roots), real_path(Path.home()), real_path, tuple(aliases))


def load_rules(
    loaded: LoadedSettings,
    names: CanonicalName,
    base: PathBase,
    analyzer: Lazy[CommandAnalyzer] | None,
) -> tuple[Rule, ...]:
    """The user's rules, without those that a workspace may not set. Raises `invalid_arguments` with the
    rule and its place. `analyzer` None: commands are switched off.
    """
    rules = list(_parse_rules(loaded, names))
    if not rules:
        return ()
    from handrail.policy.rules.examples import check_examples

    for rule in rules:
        check_examples(
            rule,
            base,
            names,
            None
            if analyzer is None
            else lambda text: analyzer.value.analyze(text, cwd=base.roots[0], env={}),
        )
    return tuple(admit_rules(rules, trusted=loaded.trusted).rules)


def open_grants(
    rules: Sequence[Rule],
    names: CanonicalName,
    base: PathBase,
    clock: Clock,
    kept: DenialEnforcement = DenialEnforcement(),  # noqa: B008 - an immutable value
    obstacle: GrantObstacle = lambda rule: None,
    *,
    confines: Callable[[], bool] = lambda: True,
) -> SessionGrants:
    """The rules of a session, to which grants can be added. `kept` tells which denied paths are enforced
    without asking; `obstacle` returns why a grant could never cover a call; `confines` returns whether the
    sandbox confines commands.
    """
    rule_set = RuleSet(rules, base, kept)
    return SessionGrants(rule_set, names, clock.monotonic, obstacle=obstacle, confines=confines)


def enforcement_probe(search: DeferredSearch, commands: Commands | None) -> DenialEnforcement:
    """The enforcement on which rules may rely after `install_denials`. Without the command subsystem,
    nothing is enforced for commands.
    """
    if commands is None:
        return DenialEnforcement(lambda: search.withholds)
    return DenialEnforcement(
        lambda: search.withholds,
        commands.hides,
        commands.unwritable,
        commands.absent,
    )


def install_denials(
    machine: Machine,
    rules: RuleSet,
    further: Sequence[tuple[str, str]] = (),
    unwritten: Sequence[Rule] = (),
) -> ReadDenials | None:
    """Install the denials: paths that the rules or the `further` patterns (each with its place) deny
    reading are hidden from searches and commands; paths that the rules or `unwritten` deny writing are
    read-only for commands. Returns the hidden paths; raises `invalid_arguments`.
    """
    if not (rules.rules or further or unwritten):
        return None
    from handrail.host.files.root_identity import RootedPaths, RootHandle
    from handrail.policy.denials.read_denials import ReadDenyPattern, build_read_denials
    from handrail.policy.denials.write_denials import build_write_denials

    denied_writes = build_write_denials(rules, unwritten)
    if machine.commands is not None and denied_writes is not None:
        machine.commands.configure(partial(_deny_writes, denied_writes))
    withheld = build_read_denials(rules, [ReadDenyPattern(*one) for one in further])
    if withheld is None:
        return None
    from handrail.host.denials.denied_paths import DeniedPathFinder
    from handrail.host.denials.search_filter import ReadDenyFilter

    search, commands = machine.search, machine.commands
    skipped = () if commands is None else machine.places.hidden
    roots = machine.files.roots
    paths = RootedPaths(
        [RootHandle(path, machine.files.handle(at)) for at, path in enumerate(roots)]
    )
    finder = DeniedPathFinder(withheld, rules.path_base.roots, skipped, paths)
    search.withhold(ReadDenyFilter(withheld, finder))
    if commands is not None:
        commands.configure(partial(_deny_reads, withheld, finder.find))
    return withheld


def _deny_writes(denied: WriteDenials, parts: CommandParts) -> None:
    from handrail.policy.denials.write_denials import PathProbe, WriteDenialEnforcer

    confinement = parts.runner.confinement
    probe = PathProbe(os.path.lexists, os.listdir)
    confinement.denials.writes = WriteDenialEnforcer(
        denied, confinement.sandbox, confinement.paths.roots, probe
    )


def _deny_reads(denied: ReadDenials, find: Callable[[], HiddenPaths], parts: CommandParts) -> None:
    from handrail.policy.denials.read_denials import ReadDenialEnforcer

    confinement = parts.runner.confinement
    confinement.denials.reads = ReadDenialEnforcer(find, denied.may_affect, confinement.sandbox)


def canonical_names(
    vocabulary: Vocabulary, origin: Callable[[str], ToolOrigin | None] = lambda name: None
) -> CanonicalName:
    """Return a function for the canonical name of a tool from its name in any dialect. `origin` returns
    the origin of a registered tool, None if there is none: the name of a user-defined tool means that
    tool, as in a call, unless the current dialect shows another tool under this name.
    """

    def canonical(name: str) -> str | None:
        view, found = vocabulary.resolve(name), origin(name)
        if view is None:
            return None if found is None else name
        own = found is not None and found is not ToolOrigin.BUILTIN
        return name if own and not vocabulary.shows(view) else view.tool

    return canonical


def pattern_obstacle(registry: Registry) -> GrantObstacle:
    """Return a function that tells why an allow rule with a pattern can never cover a call of its tool;
    None if it can.
    """

    def obstacle(rule: Rule) -> str | None:
        entry = registry.entry(rule.tool)
        if entry is None or rule.pattern is None or rule.family is RuleFamily.RUN:
            return None
        if entry.touches.computed or entry.tool.plans:
            return None
        if not entry.arguments.paths and entry.arguments.nested_paths is None:
            return f"{rule.tool} has no path arguments, so no pattern matches its calls"
        if entry.touches.effects & _BEYOND_PATHS:
            return f"{rule.tool} may do more than its paths show, so no pattern covers its calls"
        return None

    return obstacle


def _parse_rules(loaded: LoadedSettings, names: CanonicalName) -> Iterator[Rule]:
    from handrail.policy.rules.parse import parse_rule

    permissions = loaded.settings.permissions
    given: tuple[tuple[Effect, Sequence[PermissionRule]], ...] = (
        (Effect.ALLOW, permissions.allow),
        (Effect.ASK, permissions.ask),
        (Effect.DENY, permissions.deny),
    )
    for effect, listed in given:
        for number, one in enumerate(listed):
            source = loaded.sources.get(f"permissions.{effect.value}[{number}]")
            origin = (
                RuleOrigin(RuleSource.USER)
                if source is None
                else RuleOrigin(
                    _SOURCES[source.layer],
                    None if source.file is None else str(source.file),
                    source.line,
                )
            )
            yield parse_rule(one.rule, names, origin, effect=effect, examples=one.examples)


def warn_of_useless_rules(rules: Sequence[Rule], obstacle: GrantObstacle) -> None:
    """Log each allow rule that can never apply."""
    for rule in rules:
        useless = obstacle(rule) if rule.effect is Effect.ALLOW else None
        if useless is not None:
            text = f"the rule {rule.text!r} in {rule.origin} can allow nothing: {useless}"
            _log.warning("%s", safe_text(text, one_line=True))
