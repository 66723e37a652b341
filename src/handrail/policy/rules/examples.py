"""Checks the examples of a rule when it is loaded, so that a wrong rule is detected immediately."""

from __future__ import annotations

import posixpath
from collections.abc import Callable

from handrail.core.commands import CommandAnalysis
from handrail.core.footprint import Access, Footprint, Touch
from handrail.core.names.web_urls import parse_web_url
from handrail.core.problems import ProblemRaised
from handrail.core.traits import RuleFamily
from handrail.core.verdicts import Risk
from handrail.policy import messages
from handrail.policy.policy_input import PolicyInput
from handrail.policy.rules.parse import CanonicalName, split_call
from handrail.policy.rules.paths.pattern import PathBase
from handrail.policy.rules.rule import Rule, declared_traits
from handrail.policy.rules.rule_set import RuleSet

# Analyses a command as it would be analysed before it runs.
AnalyzeCommand = Callable[[str], CommandAnalysis]


def check_examples(
    rule: Rule, path_base: PathBase, canonical: CanonicalName, analyzer: AnalyzeCommand | None
) -> None:
    """Raise `invalid_arguments`, naming the rule and the example, if an example is wrong.

    An example is a call, `edit_file(src/a.py)` or `run_command(git push)`, or only the argument of a call
    of the rule's tool. The rule must match it, or with `not ` in front must not match it.
    """
    rules = RuleSet([rule], path_base)
    for example in rule.examples:
        wanted = not example.startswith("not ")
        call = example if wanted else example[len("not ") :]
        verdict = rules.judge(_example_input(rule, call.strip(), path_base, canonical, analyzer))
        matches = verdict is not None and verdict.effect is rule.effect
        if matches is not wanted:
            what = "does not match" if wanted else "matches"
            raise _invalid_example(rule, f"it {what} its example {example!r}")


def _example_input(
    rule: Rule,
    call: str,
    path_base: PathBase,
    canonical: CanonicalName,
    analyzer: AnalyzeCommand | None,
) -> PolicyInput:
    tool, argument = split_call(call, canonical) or (rule.tool, call)
    traits = declared_traits(tool)
    if traits.family is RuleFamily.RUN:
        if analyzer is None:
            raise _invalid_example(
                rule, f"its example {call!r} is a command, and commands are switched off"
            )
        analysis = analyzer(argument or "")
        return PolicyInput(
            tool,
            Risk.DANGEROUS,
            Footprint((), command=analysis),
            False,
            None,
            False,
            (),
            True,
            traits,
        )
    if traits.family is RuleFamily.WEB:
        touches = tuple(Touch(key, Access.READ) for key in _example_hosts(argument or ""))
        return PolicyInput(
            tool, Risk.DANGEROUS, Footprint(touches), True, None, False, (), False, traits
        )
    reads = traits.family is RuleFamily.READ
    access = Access.READ if reads else Access.WRITE
    touches = (
        () if argument is None else (Touch(f"file:{_example_path(argument, path_base)}", access),)
    )
    return PolicyInput(
        tool, Risk.MODERATE, Footprint(touches), reads, None, not reads, (), False, traits
    )


def _example_hosts(argument: str) -> list[str]:
    """The host of an example: a URL, or `domain:HOST`."""
    try:
        return [parse_web_url(argument).key]
    except ValueError:
        host = argument.removeprefix("domain:")
        return [f"net:{host}"] if host else []


def _example_path(text: str, path_base: PathBase) -> str:
    if text.startswith("~/") and path_base.home is not None:
        return posixpath.normpath(path_base.home + text[1:])
    root = path_base.roots[0] if path_base.roots else "/"
    return posixpath.normpath(posixpath.join(root, text)).replace("//", "/")


def _invalid_example(rule: Rule, why: str) -> ProblemRaised:
    return messages.FAILED_EXAMPLE.error(rule=rule.text, origin=rule.origin, reason=why)
