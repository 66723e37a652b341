"""The person's rules, put together from the settings: parsed, checked by their examples."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from handrail.config.layers import Loaded
from handrail.config.sections import PermissionRule
from handrail.config.sources import Layer
from handrail.core.commands import CommandJudge
from handrail.core.ports import Clock
from handrail.core.verdicts import Effect
from handrail.dialects.base import Vocabulary
from handrail.engine.registry import Registry
from handrail.policy.grants import Grants
from handrail.policy.path_pattern import Grounds
from handrail.policy.rule_examples import check_examples
from handrail.policy.rule_set import RuleSet, admit
from handrail.policy.rule_text import Canonical, parse_rule
from handrail.policy.rules import Origin, Rule, Source

_SOURCES = {
    Layer.DEFAULT: Source.USER,
    Layer.USER: Source.USER,
    Layer.PROJECT: Source.PROJECT,
    Layer.LOCAL: Source.LOCAL,
    Layer.KEYWORD: Source.COMMAND_LINE,
    Layer.SESSION: Source.SESSION,
}


def grants_from(
    loaded: Loaded,
    names: Canonical,
    roots: Sequence[str],
    judge: CommandJudge | None,
    clock: Clock,
) -> Grants:
    """What the person wrote down, ready to judge and to be granted more during the session.
    Raises `invalid_arguments`, naming the rule and where it stands.
    """
    grounds = Grounds(tuple(roots), os.path.realpath(Path.home()), os.path.realpath)
    rules = list(_rules(loaded, names))
    for rule in rules:
        check_examples(
            rule,
            grounds,
            names,
            None if judge is None else lambda text: judge.judge(text, cwd=roots[0], env={}),
        )
    kept = admit(rules, trusted=loaded.trusted).rules
    return Grants(RuleSet(kept, grounds), names, clock.monotonic)


def canonical_names(vocabulary: Vocabulary, registry: Registry) -> Canonical:
    """A tool's canonical name by any vocabulary's, and by its own if it is a user's tool."""

    def canonical(name: str) -> str | None:
        view = vocabulary.resolve(name)
        if view is not None:
            return view.tool
        return name if registry.entry(name) is not None else None

    return canonical


def _rules(loaded: Loaded, names: Canonical) -> Iterator[Rule]:
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
                Origin(Source.USER)
                if source is None
                else Origin(
                    _SOURCES[source.layer],
                    None if source.file is None else str(source.file),
                    source.line,
                )
            )
            yield parse_rule(one.rule, names, origin, effect=effect, examples=one.examples)
