"""Wording of problems with approvers and grants."""

from __future__ import annotations

from typing import Final

from handrail.core.problems import ProblemTemplate

NEEDS_APPROVAL: Final = ProblemTemplate(
    "needs_approval",
    "{tool} needs approval, and no approver is available. Reason: {reason}",
    hint="{ways}",
)
NO_APPROVER_HINT: Final = "run where a user can approve it (give an approver)"
INVALID_APPROVER: Final = ProblemTemplate(
    "invalid_arguments",
    "the approver is {given!r}, which can be neither asked nor called",
    hint="give a function that takes the request and returns True or False, or "
    '"terminal" or "approvals"',
)
INVALID_APPROVER_REPLY: Final = ProblemTemplate(
    "denied",
    "the approver returned {given}, which counts as no",
    hint="this is a defect in the program around the tools: an approver returns True, False or "
    "an Answer",
)
GRANT_TOO_BROAD: Final = ProblemTemplate(
    "denied",
    "{rule!r} cannot be granted: {reason}",
    hint="allow this one call, or grant something narrower",
)
GRANT_WITHOUT_EFFECT: Final = ProblemTemplate(
    "invalid_arguments",
    "{rule!r} cannot be granted: {reason}",
    hint="grant {tool} without a pattern, or allow this one call",
)
GRANT_BELOW_RULE: Final = ProblemTemplate(
    "denied",
    '{rule!r} cannot be granted: the rule "{stricter}" in {origin} overrides every grant',
    hint="change that rule in the settings",
)
GRANT_BY_FOREIGN_TOOL: Final = ProblemTemplate(
    "denied",
    "only built-in tools may grant {tool}({pattern})",
    hint="the user can grant it instead",
)
