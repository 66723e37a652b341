"""Checks of written text: the user's code rules, and placeholders that stand for omitted code.

Only text that a change adds is checked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from handrail.core.commands import CommandAnalysis
from handrail.core.places import shown
from handrail.core.plan import Plan
from handrail.core.text.safe_text import safe_text
from handrail.policy.guardrails import messages
from handrail.policy.guardrails.added_text import AddedText, added_text
from handrail.policy.guardrails.omissions import OMISSION_WORDS, omissions
from handrail.policy.guardrails.settings import CodeRule, Omissions
from handrail.policy.rules.paths.glob import Glob, fold_path, matches_path_or_parent, split_path
from handrail.policy.rules.paths.pattern import PathBase, broad_globs

_MAX_SHOWN: Final = 120


class CodeFault(NamedTuple):
    """A violation in text that would be written."""

    reason: str
    rule: str
    hint: str


class _FileRule(NamedTuple):
    code_rule: CodeRule
    globs: tuple[Glob, ...]

    def concerns(self, names: Sequence[str]) -> bool:
        return not self.globs or any(matches_path_or_parent(glob, names) for glob in self.globs)


class CodeChecker:
    """Checks text that would be written against the rules of one severity."""

    def __init__(
        self, rules: Iterable[CodeRule], omissions: Omissions, path_base: PathBase
    ) -> None:
        self._rules = [
            _FileRule(
                rule, tuple(glob for one in rule.files for glob in broad_globs(one, path_base))
            )
            for rule in rules
        ]
        self._omissions = omissions
        # Whether there is anything to check.
        self.active = bool(self._rules) or omissions != "off"

    def of_plan(self, plan: Plan) -> Iterator[CodeFault]:
        """The violations in the text that a plan adds; for each rule the first in each file."""
        for change in plan.changes:
            added = added_text(change)
            if added is None:
                continue
            blocks = list(added.blocks())
            names = split_path(fold_path(change.place.absolute)) if self._rules else []
            if self._rules:
                yield from self._by_rules(added, blocks, names, change.place.path)
            yield from self._by_omissions(added, blocks, change.place.path)

    def of_command(self, analysis: CommandAnalysis) -> Iterator[CodeFault]:
        """The violations in text that a command writes to files, as far as the command shows it."""
        written = analysis.effects.writes
        blocks = [_bytes(analysis.text)]
        blocks += [_bytes(word) for part in analysis.parts for word in part.words if word]
        ways = [split_path(fold_path(path)) for path in written]
        for rule in self._rules:
            if not ways or any(rule.concerns(names) for names in ways):
                found = next(
                    (line for block in blocks for line in _matching_lines(rule, block)), None
                )
                if found is not None:
                    yield _rule_fault(rule.code_rule, found, "the command")
        for block in blocks:
            found = next(self._placeholders(block, ""), None)
            if found is not None:
                yield _omission_fault(found, "the command")
                break

    def _by_rules(
        self, added: AddedText, blocks: Sequence[bytes], names: Sequence[str], path: str
    ) -> Iterator[CodeFault]:
        for rule in self._rules:
            if rule.concerns(names):
                lines = (line for block in blocks for line in _matching_lines(rule, block))
                found = next((line for line in lines if added.is_new(line)), None)
                if found is not None:
                    yield _rule_fault(rule.code_rule, found, shown(path))

    def _by_omissions(
        self, added: AddedText, blocks: Sequence[bytes], path: str
    ) -> Iterator[CodeFault]:
        for block in blocks:
            lines = self._placeholders(block, path)
            found = next((line for line in lines if added.is_new(line)), None)
            if found is not None:
                yield _omission_fault(found, shown(path))
                return

    def _placeholders(self, block: bytes, path: str) -> Iterator[bytes]:
        if self._omissions == "off":
            return
        # Most texts hold none of the words that an omission needs.
        lowered = block.lower()
        if any(word in lowered for word in OMISSION_WORDS):
            yield from omissions(block, path)


def _matching_lines(rule: _FileRule, block: bytes) -> Iterator[bytes]:
    """Every line that a match of the rule touches."""
    for match in rule.code_rule.expression.regex.finditer(block):
        start = block.rfind(b"\n", 0, match.start()) + 1
        end = block.find(b"\n", match.end())
        yield from block[start : len(block) if end < 0 else end].splitlines()


def _rule_fault(rule: CodeRule, line: bytes, where: str) -> CodeFault:
    problem = messages.CODE_RULE.fill(
        where=where, line=_quoted(line), message=rule.message, place=rule.expression.place
    )
    return CodeFault(problem.message, f"code_rules:{rule.expression.text}", problem.hint or "")


def _omission_fault(line: bytes, where: str) -> CodeFault:
    problem = messages.PLACEHOLDER.fill(where=where, line=_quoted(line))
    return CodeFault(problem.message, "omissions", problem.hint or "")


def _quoted(line: bytes) -> str:
    text = safe_text(line.decode("utf-8", "replace").strip(), one_line=True)
    return repr(text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
