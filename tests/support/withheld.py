"""Rules that withhold paths, on real directories."""

import os

from handrail.dialects.known import find_vocabulary
from handrail.host.denials.denied_paths import DeniedPathFinder
from handrail.host.denials.search_filter import ReadDenyFilter
from handrail.policy.denials.read_denials import build_read_denials
from handrail.policy.rules.parse import parse_rule
from handrail.policy.rules.paths.pattern import PathBase
from handrail.policy.rules.rule import RuleOrigin, RuleSource
from handrail.policy.rules.rule_set import RuleSet

_VOCABULARY = find_vocabulary("canonical")


def withheld_in(roots, *patterns, home="/nonexistent"):
    """What denies of reading these patterns withhold below the roots."""
    grounds = PathBase(tuple(map(str, roots)), home, os.path.realpath)
    denied = [
        parse_rule(f"deny read_file({one})", _canonical, RuleOrigin(RuleSource.USER))
        for one in patterns
    ]
    return build_read_denials(RuleSet(denied, grounds))


def finder_in(roots, *patterns, **given):
    """What finds those that exist."""
    return DeniedPathFinder(withheld_in(roots, *patterns, **given), tuple(map(str, roots)))


def leave_out(search, roots, *patterns):
    """Let a search leave them out."""
    withheld = withheld_in(roots, *patterns)
    search.withhold(ReadDenyFilter(withheld, DeniedPathFinder(withheld, tuple(map(str, roots)))))
    return withheld


def _canonical(name):
    view = _VOCABULARY.resolve(name)
    return view.tool if view is not None else None
