"""Patterns of rules about hosts: `domain:example.org`, `domain:*.example.org`, `domain:host:port`.

An allow rule matches only the named host; a deny or ask rule also matches every host below it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from handrail.core.footprint import Footprint
from handrail.core.names.hosts import HostList, is_address, parse_host_entry, split_host
from handrail.core.problems import ProblemRaised
from handrail.core.traits import RuleFamily
from handrail.policy.policy_input import PolicyInput
from handrail.policy.rules.findings import Finding, host_finding
from handrail.policy.rules.paths.index import RankedRule

_PREFIX: Final = "domain:"
_NET: Final = "net:"
_WEB_PORT: Final = 443


def check_host_pattern(pattern: str) -> None:
    """Raise `invalid_arguments` for an invalid pattern."""
    if not pattern.startswith(_PREFIX):
        raise ProblemRaised(
            "invalid_arguments",
            f"{pattern!r} is not a pattern for hosts",
            hint="write domain:example.org, or domain:*.example.org for all names below it",
        )
    try:
        parse_host_entry(pattern.removeprefix(_PREFIX))
    except ValueError as error:
        raise ProblemRaised("invalid_arguments", str(error)) from None


def _list_hosts(footprint: Footprint) -> Iterator[tuple[str, int]]:
    """Yield the hosts that a call reaches, each with its port."""
    for key, _ in footprint.touches:
        if key.startswith(_NET):
            host, port = split_host(key.removeprefix(_NET))
            yield host, port or _WEB_PORT


class HostRules:
    """The rules about hosts of a session."""

    def __init__(self, binding: Iterable[RankedRule], covering: Iterable[RankedRule]) -> None:
        self._binding = [(entry, _restricted_hosts(entry)) for entry in _about_hosts(binding)]
        self._covering = [(entry, _covered_hosts(entry)) for entry in _about_hosts(covering)]

    def find(self, subject: PolicyInput) -> Iterator[Finding]:
        """Yield the findings of deny and ask rules about the hosts that a call reaches."""
        for host, port in _list_hosts(subject.footprint):
            for entry, hosts in self._binding:
                if hosts.names_host(host, port):
                    yield host_finding(entry, host)

    def cover(self, subject: PolicyInput) -> RankedRule | None:
        """The allow rule about the tool that covers every host that a call reaches."""
        reached = list(_list_hosts(subject.footprint))
        for entry, hosts in self._covering:
            about_tool = entry.rule.tool == subject.tool
            if about_tool and reached and all(hosts.allows(*one) for one in reached):
                return entry
        return None


def _about_hosts(entries: Iterable[RankedRule]) -> Iterator[RankedRule]:
    for entry in entries:
        if entry.rule.family is RuleFamily.WEB and entry.rule.pattern is not None:
            yield entry


def _covered_hosts(entry: RankedRule) -> HostList:
    """Only the host of the pattern."""
    return HostList([(entry.rule.pattern or "").removeprefix(_PREFIX)])


def _restricted_hosts(entry: RankedRule) -> HostList:
    """The host of the pattern and every host below it."""
    name = (entry.rule.pattern or "").removeprefix(_PREFIX)
    found = parse_host_entry(name)
    has_below = not found.below and "." in found.name and found.port is None
    return HostList([name, f"*.{name}"] if has_below and not is_address(found.name) else [name])


def suggest_host_pattern(footprint: Footprint) -> str | None:
    """The narrowest pattern for a call that reaches one host; None if there is none."""
    keys = [touch.key for touch in footprint.touches if touch.key.startswith(_NET)]
    return f"{_PREFIX}{keys[0].removeprefix(_NET)}" if len(keys) == 1 else None
