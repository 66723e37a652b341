"""Matches commands against the expressions of `blocked_commands` and the rules of `git_safety`.

Expressions are tried on the command text and on the words of every program without quotes and
wrappers, so that another spelling does not evade them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple

from handrail.core.commands import CommandAnalysis, CommandClass, CommandPart
from handrail.core.verdicts import Effect
from handrail.policy.guardrails.settings import BadExpression, Expression, compiled
from handrail.policy.rules.command_match import CommandRules
from handrail.policy.rules.command_pattern import MatchCertainty, parse_command_pattern
from handrail.policy.rules.paths.index import RankedRule
from handrail.policy.rules.rule import Rule, RuleOrigin, RuleSource

# Pattern of a command → what the command does. The word `**` matches exactly one word.
_RULES: Final = {
    "git push --force:*": "overwrites what others see",
    "git push --force-with-lease:*": "overwrites what others see",
    "git push -f:*": "overwrites what others see",
    "git push * +*:*": "overwrites what others see",
    "git push --mirror:*": "overwrites what others see",
    "git push --delete:*": "deletes what others see",
    "git push -d:*": "deletes what others see",
    "git push * :*:*": "deletes what others see",
    "git reset --hard:*": "throws away changes that are not committed",
    "git checkout * .:*": "throws away changes that are not committed",
    "git checkout * ./:*": "throws away changes that are not committed",
    "git checkout * :/:*": "throws away changes that are not committed",
    "git checkout --force:*": "throws away changes that are not committed",
    "git checkout -f:*": "throws away changes that are not committed",
    "git switch --discard-changes:*": "throws away changes that are not committed",
    "git switch --force:*": "throws away changes that are not committed",
    "git switch -f:*": "throws away changes that are not committed",
    "git restore * .:*": "throws away changes that are not committed",
    "git restore * ./:*": "throws away changes that are not committed",
    "git restore * :/:*": "throws away changes that are not committed",
    "git clean --force:*": "deletes files that git does not know",
    "git clean -f:*": "deletes files that git does not know",
    "git stash drop:*": "throws away changes that were put aside",
    "git stash clear:*": "throws away changes that were put aside",
    "git branch -D:*": "deletes a branch with what is only on it",
    "git branch --delete --force:*": "deletes a branch with what is only on it",
    "git branch -d --force:*": "deletes a branch with what is only on it",
    "git branch -df:*": "deletes a branch with what is only on it",
    "git branch -f --delete:*": "deletes a branch with what is only on it",
    "git * --no-verify:*": "skips the hooks",
    "git commit -n:*": "skips the hooks",
    "git * --no-gpg-sign:*": "skips the signature",
    "git *hooksPath* *:*": "skips the hooks",
    "git *hookspath* *:*": "skips the hooks",
    "git commit --amend:*": "rewrites a commit instead of adding one",
    "git config *.* **:*": "changes the configuration of git",
    "git config set:*": "changes the configuration of git",
    "git config unset:*": "changes the configuration of git",
    "git config edit:*": "changes the configuration of git",
    "git config --add:*": "changes the configuration of git",
    "git config --replace-all:*": "changes the configuration of git",
    "git config --unset:*": "changes the configuration of git",
    "git config --unset-all:*": "changes the configuration of git",
    "git config --edit:*": "changes the configuration of git",
    "git config -e:*": "changes the configuration of git",
    "git config --remove-section:*": "changes the configuration of git",
    "git config --rename-section:*": "changes the configuration of git",
    "git add --all:*": "adds files that were not named",
    "git add -A:*": "adds files that were not named",
    "git add .:*": "adds files that were not named",
    "git add ./:*": "adds files that were not named",
    "git add * :/:*": "adds files that were not named",
    "git stage --all:*": "adds files that were not named",
    "git stage -A:*": "adds files that were not named",
    "git stage .:*": "adds files that were not named",
}
# A computed word after one of these options is its value, not another option.
_MESSAGES: Final = frozenset(("-m", "--message", "-am", "-F", "--file", "-b", "--body", "--title"))

_WORD: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]*")


class BlockedMatch(NamedTuple):
    """An expression that a command matches; `sure` False: the command is partly computed."""

    expression: Expression
    part: str
    sure: bool


class BlockedCommands:
    """The expressions of `blocked_commands`."""

    def __init__(self, expressions: Iterable[Expression]) -> None:
        self._all = [
            (one, {word.lower() for word in _WORD.findall(one.text)}) for one in expressions
        ]
        # All expressions in one; most commands match none of them.
        self._any = _combine_patterns([one.text for one, _ in self._all]) if self._all else None

    def __bool__(self) -> bool:
        return bool(self._all)

    def find(self, analysis: CommandAnalysis) -> BlockedMatch | None:
        """The first expression that matches for certain, otherwise one that may match, or None."""
        for text in dict.fromkeys(_command_spellings(analysis)):
            data = text.encode("utf-8", "replace")
            if self._any is None or self._any.search(data):
                for expression, _ in self._all:
                    if expression.regex.search(data):
                        return BlockedMatch(expression, text, sure=True)
        return next(self._doubts(analysis), None)

    def _doubts(self, analysis: CommandAnalysis) -> Iterator[BlockedMatch]:
        unread = not analysis.parts and analysis.safety_class is not CommandClass.SAFE
        if unread or (
            not analysis.rule_matchable and analysis.safety_class >= CommandClass.DANGEROUS
        ):
            yield from (BlockedMatch(one, "", sure=False) for one, _ in self._all)
        for part in analysis.parts:
            if None in part.words:
                known = _before_computed(part)
                # The expression names this program, and the computed words may be the rest of it.
                for expression, words in self._all:
                    if known <= words:
                        yield BlockedMatch(expression, part.source, sure=False)


def _combine_patterns(patterns: Sequence[str]) -> Any:
    """An expression that matches where any of the patterns does; None if it would be too large."""
    try:
        return compiled("|".join(f"(?:{one})" for one in patterns), ignore_case=True)
    except BadExpression:
        return None


def _command_spellings(analysis: CommandAnalysis) -> Iterator[str]:
    yield analysis.text
    yield " ".join(analysis.text.split())
    for words, source, _, _ in analysis.parts:
        yield source
        if words and words[0] is not None:
            known = [word for word in words if word is not None]
            yield " ".join(known)
            if "/" in words[0]:
                yield " ".join([words[0].rpartition("/")[2], *known[1:]])


def _before_computed(part: CommandPart) -> set[str]:
    """The words before the first computed word, without options."""
    words = part.words[: part.words.index(None)]
    return {word.rpartition("/")[2].lower() for word in words if word and not word.startswith("-")}


class GitSafety:
    """Finds the git commands for which the setting `git_safety` asks."""

    @cached_property
    def _rules(self) -> CommandRules:
        origin = RuleOrigin(RuleSource.USER)
        rules = [
            (
                parse_command_pattern(pattern),
                RankedRule(order, Rule(Effect.ASK, pattern, pattern, pattern, origin)),
            )
            for order, pattern in enumerate(_RULES)
        ]
        return CommandRules(rules, ())

    def find(self, analysis: CommandAnalysis) -> tuple[str, str] | None:
        """The matched pattern and the reason to ask; None if no pattern matches."""
        if "git" not in analysis.text.lower():
            return None
        readable = analysis._replace(parts=tuple(map(_with_messages, analysis.parts)))
        hits = sorted(self._rules.find(readable), key=lambda hit: (-hit.fit, hit.entry.order))
        if not hits:
            return None
        rule = hits[0].entry.rule.spelled
        part = hits[0].part or "the command"
        if hits[0].fit is MatchCertainty.SURE:
            return rule, f"{part!r} {_RULES[rule]}"
        return rule, f"{part!r} is computed in part; it may be `{rule}`, which {_RULES[rule]}"


def _with_messages(part: CommandPart) -> CommandPart:
    words = tuple(
        "message" if word is None and at and part.words[at - 1] in _MESSAGES else word
        for at, word in enumerate(part.words)
    )
    return part._replace(words=words)
