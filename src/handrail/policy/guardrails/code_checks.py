"""What written code must not hold: a person's own expressions, and placeholders for code.

Only what a change adds is looked at; what stood there before is nobody's fault now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from handrail.core.commands import Judgement
from handrail.core.places import shown
from handrail.core.plan import Plan
from handrail.core.safe_text import safe_text
from handrail.policy.guardrails.added_text import Added, added_by
from handrail.policy.guardrails.omissions import may_omit, omissions
from handrail.policy.guardrails.settings import CodeRule, Omissions
from handrail.policy.rules.path_glob import Glob, fold_path, speaks_of, split
from handrail.policy.rules.path_pattern import Grounds, wide_globs

_MAX_SHOWN: Final = 120
_PLACEHOLDER: Final = "write out the code it stands for, or change only the lines that differ"


class Fault(NamedTuple):
    """Something that must not be written."""

    reason: str
    rule: str
    hint: str


class _Rule(NamedTuple):
    said: CodeRule
    globs: tuple[Glob, ...]

    def concerns(self, names: Sequence[str]) -> bool:
        return not self.globs or any(speaks_of(glob, names) for glob in self.globs)


class CodeRails:
    """Looks at what would be written, for rules of one severity."""

    def __init__(self, rules: Iterable[CodeRule], omissions: Omissions, grounds: Grounds) -> None:
        self._rules = [
            _Rule(rule, tuple(glob for one in rule.files for glob in wide_globs(one, grounds)))
            for rule in rules
        ]
        self._omissions = omissions

    def __bool__(self) -> bool:
        return bool(self._rules) or self._omissions != "off"

    def of_plan(self, plan: Plan) -> Iterator[Fault]:
        """What is wrong with the text that a plan adds; of each rule the first in each file."""
        if not self:
            return
        for change in plan.changes:
            added = added_by(change)
            if added is None:
                continue
            blocks = list(added.blocks())
            names = split(fold_path(change.place.absolute)) if self._rules else []
            yield from self._by_rules(added, blocks, names, shown(change.path))
            yield from self._by_omissions(added, blocks, change.path)

    def of_command(self, judged: Judgement) -> Iterator[Fault]:
        """What is wrong with the text that a command carries into files, as far as it shows."""
        written = judged.effects.writes
        if not self or not (written or any(part.writes for part in judged.parts)):
            return
        blocks = [_bytes(judged.text)]
        blocks += [_bytes(word) for part in judged.parts for word in part.words if word]
        ways = [split(fold_path(path)) for path in written]
        for rule in self._rules:
            if not ways or any(rule.concerns(names) for names in ways):
                found = next((line for block in blocks for line in _hits(rule, block)), None)
                if found is not None:
                    yield _broken(rule.said, found, "the command")
        for block in blocks:
            found = next(self._placeholders(block, ""), None)
            if found is not None:
                yield _omitted(found, "the command")
                break

    def _by_rules(
        self, added: Added, blocks: Sequence[bytes], names: Sequence[str], path: str
    ) -> Iterator[Fault]:
        for rule in self._rules:
            if rule.concerns(names):
                lines = (line for block in blocks for line in _hits(rule, block))
                found = next((line for line in lines if added.is_new(line)), None)
                if found is not None:
                    yield _broken(rule.said, found, path)

    def _by_omissions(self, added: Added, blocks: Sequence[bytes], path: str) -> Iterator[Fault]:
        for block in blocks:
            lines = self._placeholders(block, path)
            found = next((line for line in lines if added.is_new(line)), None)
            if found is not None:
                yield _omitted(found, shown(path))
                return

    def _placeholders(self, block: bytes, path: str) -> Iterator[bytes]:
        if self._omissions != "off" and may_omit(block):
            yield from omissions(block, path)


def _hits(rule: _Rule, block: bytes) -> Iterator[bytes]:
    """Every line that a match of the rule touches."""
    for match in rule.said.expression.regex.finditer(block):
        start = block.rfind(b"\n", 0, match.start()) + 1
        end = block.find(b"\n", match.end())
        yield from block[start : len(block) if end < 0 else end].splitlines()


def _broken(rule: CodeRule, line: bytes, where: str) -> Fault:
    return Fault(
        f"{where}: {_quoted(line)}: {rule.message}",
        f"code_rules:{rule.expression.text}",
        f"write it another way; the rule stands in {rule.expression.place}",
    )


def _omitted(line: bytes, where: str) -> Fault:
    reason = f"{where}: {_quoted(line)} stands for code that is left out"
    return Fault(reason, "omissions", _PLACEHOLDER)


def _quoted(line: bytes) -> str:
    text = safe_text(line.decode("utf-8", "replace").strip(), one_line=True)
    return repr(text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
