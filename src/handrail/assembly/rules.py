"""The user's rules, put together from the settings: parsed, checked by their examples, and
what they forbid to read or to write kept away.
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
    """What the paths in rules are meant from; `aliases` are further paths of roots."""
    return PathBase(tuple(roots), real_path(Path.home()), real_path, tuple(aliases))


def load_rules(
    loaded: LoadedSettings,
    names: CanonicalName,
    grounds: PathBase,
    analyzer: Lazy[CommandAnalyzer] | None,
) -> tuple[Rule, ...]:
    """The user's rules, without those that a workspace may not have. Raises `invalid_arguments`,
    naming the rule and its place. `analyzer` None: commands are switched off.
    """
    rules = list(_parse_rules(loaded, names))
    if not rules:
        return ()
    from handrail.policy.rules.examples import check_examples

    for rule in rules:
        check_examples(
            rule,
            grounds,
            names,
            None
            if analyzer is None
            else lambda text: analyzer.value.analyze(text, cwd=grounds.roots[0], env={}),
        )
    return tuple(admit_rules(rules, trusted=loaded.trusted).rules)


def open_grants(
    rules: Sequence[Rule],
    names: CanonicalName,
    grounds: PathBase,
    clock: Clock,
    kept: DenialEnforcement = DenialEnforcement(),  # noqa: B008 - an immutable value
    obstacle: GrantObstacle = lambda rule: None,
    *,
    confines: Callable[[], bool] = lambda: True,
) -> SessionGrants:
    """The rules, ready to judge and to be granted more during the session. `kept` is what
    keeps away by itself what they forbid to read; `obstacle` answers why a grant could cover no
    call. `confines`: whether the sandbox confines commands.
    """
    base = RuleSet(rules, grounds, kept)
    return SessionGrants(base, names, clock.monotonic, obstacle=obstacle, confines=confines)


def enforcement_probe(search: DeferredSearch, commands: Commands | None) -> DenialEnforcement:
    """What the rules may rely on, once `install_denials` has told search and commands what to
    deny. Without commands nothing is enforced for them.
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
    """Withhold from searches and commands what the rules forbid to read, and `further` path
    patterns, each with its place; hold for commands what they and the rules `unwritten`
    forbid to write. Returns what is withheld; raises `invalid_arguments`.
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
    """A tool's canonical name by any vocabulary's. `origin` answers where the tool of a name comes
    from, None if there is none: the name of a user's own tool means that tool, as in a call,
    unless the dialect itself shows another one under it.
    """

    def canonical(name: str) -> str | None:
        view, found = vocabulary.resolve(name), origin(name)
        if view is None:
            return None if found is None else name
        own = found is not None and found is not ToolOrigin.BUILTIN
        return name if own and not vocabulary.shows(view) else view.tool

    return canonical


def pattern_obstacle(registry: Registry) -> GrantObstacle:
    """Answers why an allow rule with a pattern can cover no call of its tool; None if it can."""

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
    """Log each rule that allows something and can never apply."""
    for rule in rules:
        useless = obstacle(rule) if rule.effect is Effect.ALLOW else None
        if useless is not None:
            text = f"the rule {rule.text!r} in {rule.origin} can allow nothing: {useless}"
            _log.warning("%s", safe_text(text, one_line=True))
