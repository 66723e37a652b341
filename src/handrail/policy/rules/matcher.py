"""Matches calls with an index of the rules of a set.

Loaded only if there are rules.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Final

from handrail.core.commands import CommandClass
from handrail.core.traits import RuleFamily
from handrail.core.verdicts import Effect, Verdict
from handrail.policy.rules.findings import (
    allow_verdict,
    command_finding,
    finding_verdict,
    path_finding,
    tool_finding,
    unknown_effects_finding,
)
from handrail.policy.rules.paths.glob import Overlap
from handrail.policy.rules.paths.index import AllowIndex, PathMatch, RankedRule, RestrictionIndex
from handrail.policy.rules.paths.pattern import (
    broad_globs,
    exact_denied_paths,
    exact_globs,
)
from handrail.policy.rules.paths.touched import (
    known_paths,
    mentioned_paths,
    read_paths,
    written_paths,
)
from handrail.policy.rules.rule import ANY_TOOL, MCP_PREFIX, Rule

if TYPE_CHECKING:
    from handrail.core.commands import CommandAnalysis
    from handrail.policy.policy_input import PolicyInput
    from handrail.policy.rules.command_match import CommandRules
    from handrail.policy.rules.command_pattern import CommandPattern
    from handrail.policy.rules.findings import Finding
    from handrail.policy.rules.host_rules import HostRules
    from handrail.policy.rules.paths.glob import Glob
    from handrail.policy.rules.paths.touched import TouchedPath
    from handrail.policy.rules.rule_set import DenialEnforcement, RuleSet

# Programs that read files of the current directory although no argument names them.
_SEARCH_PROGRAMS: Final = frozenset("git rg ag ack grep fd find tree".split())  # noqa: SIM905 - no literal is the name of a tool
_STRICTNESS: Final = {Effect.DENY: 0, Effect.ASK: 1, Effect.ALLOW: 2}
_NOT_ABOUT_PATHS: Final = (RuleFamily.RUN, RuleFamily.WEB)
# The name under which rules about every command are indexed, whichever tool runs it.
ANY_COMMAND: Final = "command:"


class RuleMatcher:
    """Evaluates calls by the rules of one set."""

    def __init__(self, rules: RuleSet) -> None:
        self.path_base, self.enforcement = rules.path_base, rules.enforcement
        ordered = sorted(rules.rules, key=lambda one: (_STRICTNESS[one.effect], one.origin.source))
        entries = [RankedRule(order, rule) for order, rule in enumerate(ordered)]
        binding = [entry for entry in entries if entry.rule.effect is not Effect.ALLOW]
        covering = [entry for entry in entries if entry.rule.effect is Effect.ALLOW]
        self._tools = _index_by_tool(binding)
        self._allowed_tools = _index_by_tool(covering)
        restricted = [entry for entry in binding if entry.rule.pattern is not None]
        by_family = {
            family: [entry for entry in restricted if entry.rule.family is family]
            for family in (RuleFamily.READ, RuleFamily.WRITE, None)
        }
        self._reads = RestrictionIndex(self._broad(by_family[RuleFamily.READ]))
        self._writes = RestrictionIndex(self._broad(by_family[RuleFamily.WRITE]))
        self._own = {
            tool: RestrictionIndex(self._broad(entries))
            for tool, entries in _group_by_tool(by_family[None]).items()
        }
        paths = [
            one for one in covering if one.rule.pattern and one.rule.family not in _NOT_ABOUT_PATHS
        ]
        self._allowed_paths = {
            tool: AllowIndex(self._exact(entries))
            for tool, entries in _group_by_tool(paths).items()
        }
        redirects = [one for one in paths if one.rule.traits.writes_whole_files]
        self._allowed_redirects = AllowIndex(self._exact(redirects))
        about_hosts = any(rule.family is RuleFamily.WEB and rule.pattern for rule in rules.rules)
        self._hosts = _host_rules(binding, covering) if about_hosts else None
        self._binding, self._covering = binding, covering
        self._denied = [one for one in binding if _denies_paths(one.rule)]
        # For each deny rule about writing, by its order: the paths that must be read-only to enforce it;
        # None if read-only paths cannot enforce it.
        self._closed = {
            one.order: exact_denied_paths(one.rule.pattern or "", rules.path_base)
            for one in self._denied
            if one.rule.family is RuleFamily.WRITE
        }

    @cached_property
    def _commands(self) -> CommandRules:
        """The rules about commands; indexed when the first command is evaluated."""
        from handrail.policy.rules.command_match import CommandRules

        return CommandRules(_command_rules(self._binding), _command_rules(self._covering))

    def judge(self, subject: PolicyInput) -> Verdict | None:
        """The verdict of the strictest rule that matches the call; None if no rule matches."""
        strictest = min(self._findings(subject), key=lambda one: one.sort_key, default=None)
        if strictest is not None:
            return finding_verdict(strictest)
        entry = self._cover(subject)
        return None if entry is None else allow_verdict(entry.rule)

    # --- deny and ask rules ------------------------------------------------------------

    def _findings(self, subject: PolicyInput) -> Iterator[Finding]:
        for entry in _rules_for_tool(self._tools, subject):
            yield tool_finding(entry, subject.tool)
        if self._writes and not (subject.reads_only and subject.footprint.command is None):
            yield from self._of_paths(self._writes, written_paths(subject), subject, "write")
        if self._reads:
            yield from self._of_paths(self._reads, read_paths(subject), subject, "read")
        own = self._own.get(subject.tool)
        if own:
            targets = [*written_paths(subject), *read_paths(subject)]
            yield from self._of_paths(own, targets, subject, "touch")
        if self._hosts is not None:
            yield from self._hosts.find(subject)
        if subject.footprint.command is not None:
            yield from map(command_finding, self._commands.find(subject.footprint.command))
            if self._denied:
                yield from self._of_unknown(subject.footprint.command)

    def _of_paths(
        self,
        index: RestrictionIndex,
        targets: Sequence[TouchedPath],
        subject: PolicyInput,
        verb: str,
    ) -> Iterator[Finding]:
        for target in targets:
            for hit in index.find(target):
                exact = hit.meeting is Overlap.SURE and not target.glob
                if exact or self._counts(hit, subject, verb):
                    yield path_finding(hit, verb)

    def _counts(self, hit: PathMatch, subject: PolicyInput, verb: str) -> bool:
        """Whether a match counts although the call touches a tree or a wildcard and not exactly the path
        of the rule.
        """
        rule = hit.entry.rule
        if verb != "read":
            return True
        lists = subject.footprint.command is None and subject.traits.lists_names
        if lists and not rule.traits.lists_names:
            return False
        if not _can_be_hidden(rule):
            return True
        if subject.footprint.command is not None:
            command = subject.footprint.command
            return command.unconfined or not self.enforcement.commands(command)
        # Only searches leave denied files out; other tools would read every file of a tree.
        return not subject.traits.searches_content or not self.enforcement.searches()

    def _of_unknown(self, analysis: CommandAnalysis) -> Iterator[Finding]:
        """Yield the findings of deny rules about paths for a command whose reads and writes are not all
        known.
        """
        dangerous = analysis.safety_class >= CommandClass.DANGEROUS
        keeps = self._keeper(analysis)
        if dangerous or _hides_effects(analysis):
            denied = next((one for one in self._denied if not keeps(one)), None)
            if denied is not None:
                closed = self._closed.get(denied.order, ())
                yield unknown_effects_finding(denied, closed, self._absent(analysis, closed or ()))
        # A word may name a path that is not among the known effects, such as a version in git.
        meeting = Overlap.SURE if dangerous else Overlap.MAYBE
        looks_only = analysis.safety_class is CommandClass.SAFE
        indexes = [self._reads] if looks_only else [self._reads, self._writes]
        for target in mentioned_paths(analysis, self.path_base.roots, self.path_base.home):
            for index in indexes:
                for hit in index.find(target):
                    if hit.entry.rule.effect is not Effect.DENY:
                        continue
                    # The command may read the path, and the sandbox prevents writing it.
                    if index is self._writes and not dangerous and keeps(hit.entry):
                        continue
                    yield path_finding(hit._replace(meeting=meeting), "touch")

    def _absent(self, analysis: CommandAnalysis, closed: Sequence[str]) -> str | None:
        """A path that is unprotected only because it does not exist; None if there is none."""
        absent = self.enforcement.absent(analysis)
        if not closed or analysis.unconfined or absent.isdisjoint(closed):
            return None
        path = next(one for one in closed if one in absent)
        tops = (f"{root.rstrip('/')}/" for root in self.path_base.roots)
        return path.removeprefix(next((top for top in tops if path.startswith(top)), ""))

    def _keeper(self, analysis: CommandAnalysis) -> Callable[[RankedRule], bool]:
        """Return a function that tells whether the sandbox enforces a deny rule about paths, whatever the
        command does. Each kind of enforcement is queried at most once.
        """
        if analysis.unconfined:
            return lambda entry: False
        sandbox = _CommandEnforcement(self.enforcement, analysis)

        def keeps(entry: RankedRule) -> bool:
            if entry.order not in self._closed:
                return _can_be_hidden(entry.rule) and sandbox.hides_reads
            held, paths = sandbox.unwritable_paths, self._closed[entry.order]
            return held is None or (paths is not None and held.issuperset(paths))

        return keeps

    # --- allow rules -------------------------------------------------------------------

    def _cover(self, subject: PolicyInput) -> RankedRule | None:
        if subject.footprint.command is not None:
            return self._cover_command(subject, subject.footprint.command)
        for entry in _rules_for_tool(self._allowed_tools, subject):
            return entry
        if subject.traits.family is RuleFamily.WEB:
            return None if self._hosts is None else self._hosts.cover(subject)
        paths = self._allowed_paths.get(subject.tool)
        return None if paths is None else paths.cover(known_paths(subject))

    def _cover_command(self, subject: PolicyInput, analysis: CommandAnalysis) -> RankedRule | None:
        entry = self._commands.cover(analysis, confined=subject.confined)
        if entry is None or not any(part.writes for part in analysis.parts):
            return entry
        # A redirect writes a file, which a rule about writing must allow.
        covered = self._allowed_redirects.cover(written_paths(subject))
        return entry if covered is not None else None

    # --- globs of the rules --------------------------------------------------------------

    def _broad(self, entries: Iterable[RankedRule]) -> Iterator[tuple[Glob, RankedRule]]:
        for entry in entries:
            for glob in broad_globs(entry.rule.pattern or "", self.path_base):
                yield glob, entry

    def _exact(self, entries: Iterable[RankedRule]) -> Iterator[tuple[Glob, RankedRule]]:
        for entry in entries:
            for glob in exact_globs(entry.rule.pattern or "", self.path_base):
                yield glob, entry


class _CommandEnforcement:
    """What the sandbox enforces for one command; each answer is computed at most once."""

    def __init__(self, enforcement: DenialEnforcement, analysis: CommandAnalysis) -> None:
        self._enforcement = enforcement
        self._analysis = analysis

    @cached_property
    def hides_reads(self) -> bool:
        return self._enforcement.commands(self._analysis)

    @cached_property
    def unwritable_paths(self) -> frozenset[str] | None:
        return self._enforcement.writes(self._analysis)


def _host_rules(binding: list[RankedRule], covering: list[RankedRule]) -> HostRules:
    from handrail.policy.rules.host_rules import HostRules

    return HostRules(binding, covering)


def _hides_effects(analysis: CommandAnalysis) -> bool:
    effects = analysis.effects
    computes = any(one.substitutes for one in analysis.segments)
    silent = not effects.reads and not _SEARCH_PROGRAMS.isdisjoint(effects.programs)
    return effects.open_ended or computes or silent or not analysis.rule_matchable


def _denies_paths(rule: Rule) -> bool:
    about_paths = rule.family in (RuleFamily.READ, RuleFamily.WRITE)
    return rule.effect is Effect.DENY and about_paths and rule.pattern is not None


def _can_be_hidden(rule: Rule) -> bool:
    """Whether hiding contents enforces the whole rule. Hidden files still show their names and may
    be written, and an ask rule hides nothing.
    """
    reads = rule.family is RuleFamily.READ and not rule.traits.lists_names
    return rule.effect is Effect.DENY and reads


def _group_by_tool(entries: Iterable[RankedRule]) -> dict[str, list[RankedRule]]:
    grouped: dict[str, list[RankedRule]] = {}
    for entry in entries:
        grouped.setdefault(entry.rule.tool, []).append(entry)
    return grouped


def _index_by_tool(entries: Iterable[RankedRule]) -> dict[str, RankedRule]:
    """Tool → the first rule that matches every call of the tool."""
    found: dict[str, RankedRule] = {}
    for entry in entries:
        if entry.rule.pattern is None:
            found.setdefault(entry.rule.tool, entry)
            if entry.rule.traits.matches_commands:
                found.setdefault(ANY_COMMAND, entry)
    return found


def _rules_for_tool(tools: dict[str, RankedRule], subject: PolicyInput) -> Iterator[RankedRule]:
    if not tools:
        return
    names = [subject.tool, ANY_TOOL]
    if subject.tool.startswith(MCP_PREFIX):
        server = subject.tool[len(MCP_PREFIX) :].partition("__")[0]
        names += [f"{MCP_PREFIX}{server}__*", f"{MCP_PREFIX}*"]
    elif subject.footprint.command is not None:
        # Whichever tool the rule names: code in a shell language that another tool runs is a command.
        names.append(ANY_COMMAND)
    for name in names:
        if name in tools:
            yield tools[name]


def _command_rules(entries: Sequence[RankedRule]) -> Iterator[tuple[CommandPattern, RankedRule]]:
    from handrail.policy.rules.command_pattern import parse_command_pattern

    for entry in entries:
        if entry.rule.pattern is not None and entry.rule.traits.matches_commands:
            yield parse_command_pattern(entry.rule.pattern), entry
