"""Grants of a session: allow rules that the user adds at run time and that expire.

Grants only add allow rules, so every deny and ask rule, guard and blocklist entry overrides them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import StrEnum
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from handrail.core.ports.plan_mode import PlannedPermission
from handrail.core.results import PermissionGranted
from handrail.core.traits import RuleFamily
from handrail.core.verdicts import Effect, Verdict
from handrail.policy import messages
from handrail.policy.policy_input import PolicyInput
from handrail.policy.rules.rule import Rule, RuleOrigin, RuleSource
from handrail.policy.rules.rule_set import RuleSet

if TYPE_CHECKING:
    from handrail.policy.rules.parse import CanonicalName


class Scope(StrEnum):
    """How long a grant holds."""

    ONCE = "once"
    TURN = "turn"
    SESSION = "session"


class RuleGrant(NamedTuple):
    """An allow rule that the user granted; `until` is in seconds of the clock, None: no time limit."""

    rule: Rule
    scope: Scope
    until: float | None = None


# Whether a permission that a plan announced concerns a call. The answer is only shown to the user and
# never allows a call.
PromptMatcher = Callable[[PlannedPermission, PolicyInput], bool]


# Why an allow rule can cover no call of its tool; None if it can.
GrantObstacle = Callable[[Rule], str | None]


class SessionGrants:
    """The rules of a session with its grants; evaluates calls like a `RuleSet`."""

    def __init__(
        self,
        rules: RuleSet,
        canonical: CanonicalName,
        clock: Callable[[], float],
        fits: PromptMatcher = lambda foreseen, subject: foreseen.tool == subject.tool,
        obstacle: GrantObstacle = lambda rule: None,
        confines: Callable[[], bool] = lambda: True,
    ) -> None:
        """`confines` returns whether the sandbox confines commands. If it does, a grant covers commands
        only inside the sandbox; otherwise it covers what an allow rule would.
        """
        self._base = rules
        self._canonical = canonical
        self._clock = clock
        self._fits = fits
        self._obstacle = obstacle
        self._confines = confines
        self._grants: list[RuleGrant] = []
        # Key of a running call → the one-time grants that the call has reserved.
        self._reserved: dict[str, list[RuleGrant]] = {}
        # Whether running calls have reserved one-time grants.
        self.any_reserved = False
        # Whether there are grants; whether there are neither rules nor grants; whether some grants end
        # with the turn.
        self.any = False
        self.empty = rules.empty
        self.has_turn_grants = False
        self._foreseen: tuple[PlannedPermission, ...] = ()
        # Text of a grant → the ids of calls that would not have run without the grant.
        self._used: dict[str, set[str]] = {}
        self._current = rules

    @property
    def rules(self) -> RuleSet:
        """The rules without the grants."""
        return self._base

    @property
    def ignores_reads(self) -> bool:
        """Whether no rule can stop a call that only reads; grants cannot change that."""
        return self._base.ignores_reads

    def judge(self, subject: PolicyInput) -> Verdict | None:
        """The verdict of the rules and the grants that have not expired; None if none matches."""
        if self._grants:
            self._keep(self._alive(self._clock()))
        return self._current.judge(subject)

    def active(self) -> tuple[RuleGrant, ...]:
        """The grants that have not expired."""
        self._keep(self._alive(self._clock()))
        return tuple(self._grants)

    def grant(
        self,
        tool: str,
        pattern: str | None,
        *,
        scope: Scope | str = Scope.SESSION,
        for_s: float | None = None,
    ) -> Rule:
        """Allow the calls that match the pattern; commands only inside the sandbox, if it confines them.

        Raises `invalid_arguments` for an invalid rule, `denied` for a rule that is too broad,
        ValueError for an unknown scope.
        """
        text = tool if pattern is None else f"{tool}({pattern})"
        return self._grant(text, Scope(scope), for_s)

    def grant_rule(self, text: str, *, call_id: str) -> Rule:
        """Grant a rule for the session after the user answered "always" to a call's question;
        raises like `grant`.
        """
        rule = self._grant(text, Scope.SESSION, None)
        self._used.setdefault(rule.spelled, set()).add(call_id)
        return rule

    def _grant(self, text: str, scope: Scope, for_s: float | None) -> Rule:
        from handrail.policy.rules.overbroad_rules import ungrantable_reason
        from handrail.policy.rules.parse import parse_rule

        rule = parse_rule(
            text, self._canonical, RuleOrigin(RuleSource.SESSION), effect=Effect.ALLOW
        )
        broad = ungrantable_reason(rule.tool, rule.pattern)
        if broad is not None:
            raise messages.GRANT_TOO_BROAD.error(rule=text, reason=broad)
        self._check_effective(rule, text)
        rule = rule._replace(confined=rule.family is RuleFamily.RUN and self._confines())
        until = None if for_s is None else self._clock() + for_s
        others = [one for one in self._grants if (one.rule, one.scope) != (rule, scope)]
        self._keep([*others, RuleGrant(rule, scope, until)])
        return rule

    def _check_effective(self, rule: Rule, text: str) -> None:
        """Raise `invalid_arguments` or `denied` for a grant that could never allow a call."""
        from handrail.policy.rules.notices import find_stricter_rule

        useless = self._obstacle(rule)
        if useless is not None:
            template = messages.GRANT_WITHOUT_EFFECT
            raise template.error(rule=text, reason=useless, tool=rule.tool)
        stricter = find_stricter_rule(self._base.rules, rule)
        if stricter is not None:
            raise messages.GRANT_BELOW_RULE.error(
                rule=text, stricter=stricter.text, origin=stricter.origin
            )

    def apply_tool_grant(self, granted: PermissionGranted, *, trusted: bool) -> Rule:
        """Add the grant that a tool's result asks for; raises `denied` unless the tool is trusted
        (tools of servers and skills never are).
        """
        if not trusted:
            template = messages.GRANT_BY_FOREIGN_TOOL
            raise template.error(tool=granted.tool, pattern=granted.pattern)
        return self.grant(granted.tool, granted.pattern)

    def revoke(self, text: str) -> bool:
        """Remove every grant of the rule with this text; False if there was none."""
        spelled = " ".join(text.split())
        known = [*self._grants, *chain.from_iterable(self._reserved.values())]
        revoked = [one for one in known if one.rule.spelled == spelled]
        # A running call that has reserved one of them does not give it back.
        for key, reserved in self._reserved.items():
            self._reserved[key] = [one for one in reserved if one not in revoked]
        self._keep([one for one in self._grants if one not in revoked])
        return bool(revoked)

    def record_use(self, subject: PolicyInput, call_id: str) -> None:
        """Record which grants were needed for a call that leaves something running."""
        for grant in self._grants:
            if self._needed(grant, subject):
                self._used.setdefault(grant.rule.spelled, set()).add(call_id)

    def calls_under(self, text: str) -> frozenset[str]:
        """The ids of calls that needed the grant with this text and left something running."""
        return frozenset(self._used.get(" ".join(text.split()), ()))

    def end_turn(self) -> None:
        """Remove the grants of the turn that ended."""
        self._keep([one for one in self._grants if one.scope is not Scope.TURN])

    def reserve_once(self, subject: PolicyInput, key: str) -> None:
        """Reserve the one-time grants that a call needs until `settle_once`; no other call can use
        them.
        """
        needed = [
            one for one in self._grants if one.scope is Scope.ONCE and self._needed(one, subject)
        ]
        if needed:
            self._reserved[key], self.any_reserved = needed, True
            self._keep([one for one in self._grants if one not in needed])

    def settle_once(self, key: str, *, used: bool) -> None:
        """Remove the grants that a call has reserved or, if it did not use them, give them back."""
        reserved = self._reserved.pop(key, [])
        self.any_reserved = bool(self._reserved)
        if not used:
            # The user may have granted the same again.
            self._keep([*self._grants, *(one for one in reserved if one not in self._grants)])

    def _needed(self, grant: RuleGrant, subject: PolicyInput) -> bool:
        """Whether a call is allowed with a grant and would not be without it."""
        verdict = self._current.judge(subject)
        if verdict is None or verdict.effect is not Effect.ALLOW:
            return False
        others = [one.rule for one in self._grants if one is not grant]
        without = self._base.with_rules(others).judge(subject)
        return without is None or without.effect is not Effect.ALLOW

    def suggest_rule(self, subject: PolicyInput) -> str | None:
        """The rule to propose for "always"; None: only the one call can be allowed."""
        from handrail.policy.approval import suggest_rule

        return suggest_rule.suggest_rule(subject, self._base.path_base)

    def remember_plan(self, prompts: Iterable[PlannedPermission]) -> None:
        """Remember the permissions that an approved plan announced; they are shown beside questions
        and never answer one.
        """
        self._foreseen = tuple(
            one._replace(tool=self._canonical(one.tool) or one.tool) for one in prompts
        )

    def match_prompts(self, fits: PromptMatcher) -> None:
        """Set the function that decides which announced permission concerns which call; by default
        the tool decides.
        """
        self._fits = fits

    def planned_prompts(self, subject: PolicyInput) -> tuple[str, ...]:
        """The announced permissions that concern a call, in the model's words."""
        return tuple(one.prompt for one in self._foreseen if self._fits(one, subject))

    def _alive(self, now: float) -> list[RuleGrant]:
        return [one for one in self._grants if one.until is None or now < one.until]

    def _keep(self, grants: list[RuleGrant]) -> None:
        if grants != self._grants:
            self._grants, self.any = grants, bool(grants)
            self.empty = self._base.empty and not grants
            self.has_turn_grants = Scope.TURN in [one.scope for one in grants]
            self._current = self._base.with_rules(one.rule for one in grants)
