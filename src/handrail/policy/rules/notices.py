"""Detects rules that name an unregistered tool, and grants that could never take effect."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from handrail.core.ports.remote_tools import ALIAS_PREFIX
from handrail.core.tool import TOOL_NAME
from handrail.core.verdicts import Effect
from handrail.policy import messages
from handrail.policy.rules.parse import CanonicalName
from handrail.policy.rules.rule import ANY_TOOL, MCP_PREFIX, Rule

# A name that is this similar to that of a tool is treated as a typing error: such a rule would protect
# nothing.
_TYPO_SIMILARITY: Final = 0.85


def accept_later(canonical: CanonicalName, known: Iterable[str]) -> CanonicalName:
    """Return a function for the canonical name of a tool, which also accepts names of tools that may be
    registered later. It raises `invalid_arguments` for a name that is very similar to one of `known`.
    """
    names = sorted(known)

    def name_or_later(name: str) -> str | None:
        found = canonical(name)
        if found is not None:
            return found
        # The short form of the name of an MCP tool can be ambiguous.
        if name.startswith(ALIAS_PREFIX):
            raise messages.MCP_ALIAS_IN_RULE.error(name=name)
        from difflib import get_close_matches

        close = get_close_matches(name[:64], names, n=1, cutoff=_TYPO_SIMILARITY)
        if close:
            raise messages.MISSPELLED_TOOL.error(name=name, suggestion=close[0])
        return name if TOOL_NAME.fullmatch(name) else None

    return name_or_later


def list_unregistered(rules: Iterable[Rule], canonical: CanonicalName) -> tuple[str, ...]:
    """A sentence for each rule whose tool is not registered; the rule applies once the tool is."""
    return tuple(
        f"the rule {rule.text!r} in {rule.origin} has no effect yet: no tool named "
        f"{rule.tool!r} is registered"
        for rule in rules
        if rule.tool != ANY_TOOL
        and not rule.tool.startswith(MCP_PREFIX)
        and canonical(rule.tool) is None
    )


def find_stricter_rule(rules: Iterable[Rule], granted: Rule) -> Rule | None:
    """The deny or ask rule about every call of the tool, which overrides every grant; None if there is
    none.
    """
    for rule in rules:
        binds = rule.pattern is None and rule.tool in (granted.tool, ANY_TOOL)
        if binds and rule.effect is not Effect.ALLOW:
            return rule
    return None
