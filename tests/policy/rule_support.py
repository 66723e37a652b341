"""Subjects by hand, so that rules are tested without the parts around them."""

from handrail.core.commands import CommandAnalysis, CommandClass, CommandEffects, CommandPart
from handrail.core.footprint import Access, Footprint, Touch
from handrail.core.places import Kind, Place
from handrail.core.traits import RuleFamily
from handrail.core.verdicts import Effect, Risk
from handrail.dialects.known import find_vocabulary
from handrail.policy.policy_input import PolicyInput
from handrail.policy.rules.parse import parse_rule
from handrail.policy.rules.paths.pattern import PathBase
from handrail.policy.rules.rule import RuleOrigin, RuleSource, declared_traits
from handrail.policy.rules.rule_set import RuleSet

ROOT = "/ws"
GROUNDS = PathBase((ROOT, "/other"), "/home/me")
_VOCABULARY = find_vocabulary("canonical")


def canonical(name):
    view = _VOCABULARY.resolve(name)
    return view.tool if view is not None else None


def rule(text, source=RuleSource.USER, **extra):
    return parse_rule(text, canonical, RuleOrigin(source), **extra)


def rules(*texts, path_base=GROUNDS, source=RuleSource.USER, **extra):
    return RuleSet([rule(text, source) for text in texts], path_base, **extra)


def call(tool, *paths, via=(), tree=False, risk=Risk.MODERATE):
    """A call of a file tool with these paths below the workspace, or absolute ones."""
    traits = declared_traits(tool)
    reads = traits.family is RuleFamily.READ
    access = Access.READ if reads else Access.WRITE
    full = [path if path.startswith("/") else f"{ROOT}/{path}".rstrip("/") for path in paths]
    kind = "tree" if tree else "file"
    places = tuple(Place(0, path, path, path, Kind.FILE, tuple(via)) for path in full)
    return PolicyInput(
        tool,
        Risk.SAFE if reads else risk,
        Footprint(tuple(Touch(f"{kind}:{path}", access) for path in full)),
        reads,
        None,
        not reads,
        places,
        traits=traits,
    )


def part(*words, writes=False, safety_class=CommandClass.DEV):
    source = " ".join("$x" if word is None else word for word in words)
    return CommandPart(words, source, safety_class, writes)


def command(
    *parts,
    safety_class=CommandClass.DEV,
    rule_matchable=True,
    unconfined=False,
    confined=True,
    tool="run_command",
    **effects,
):
    """A command of these parts; a text is split at its blanks."""
    made = tuple(part(*one.split()) if isinstance(one, str) else one for one in parts)
    programs = tuple(one.words[0] for one in made if one.words and one.words[0])
    analysis = CommandAnalysis(
        safety_class,
        (),
        CommandEffects(**{"programs": programs, **effects}),
        unconfined,
        made,
        rule_matchable=rule_matchable,
    )
    risks = (Risk.SAFE, Risk.MODERATE, Risk.DANGEROUS, Risk.CRITICAL)
    return PolicyInput(
        tool,
        risks[safety_class],
        Footprint((), command=analysis),
        False,
        None,
        False,
        confined=confined,
        traits=declared_traits(tool),
    )


def effect(rule_set, subject):
    verdict = rule_set.judge(subject)
    return verdict and verdict.effect.value


ALLOW, ASK, DENY = (one.value for one in (Effect.ALLOW, Effect.ASK, Effect.DENY))


def missing_properties(confined):
    """What a sandbox lacks that confines commands, or does not."""
    return () if confined else ("fs_write",)
