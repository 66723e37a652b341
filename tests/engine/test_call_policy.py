"""The policies for calls of the user and of agents, what a call counts as, and what it may have
shown.
"""

from types import SimpleNamespace

import pytest

from handrail.core.footprint import Access, Footprint, Touch
from handrail.core.problems import Problem, ProblemRaised
from handrail.core.results import Status
from handrail.core.tool import Group
from handrail.core.verdicts import Effect, Verdict
from handrail.engine import call_policy
from handrail.engine.call_policy import (
    AgentPolicy,
    CallQuotas,
    PolicyServices,
    UserPolicy,
    note_shown_secrets,
)
from handrail.engine.call_state import Decision
from handrail.engine.registry import ToolOrigin
from handrail.policy.guardrails.limits import QuotaOutcome


class Limits:
    """Stands for the guardrails: what was reserved and counted."""

    def __init__(self, *, counts=True, verdict=None):
        self.counts = counts
        self.verdict = verdict
        self.reserved, self.settled = [], []

    def reserve(self, key, subject, *, counted):
        self.reserved.append(counted)
        return self.verdict

    def settle(self, key, outcome):
        self.settled.append(outcome)


class Grants:
    """Stands for the grants: none is reserved."""

    any_reserved = False

    def settle_once(self, key, *, used):
        pass


@pytest.fixture(autouse=True)
def plain_subjects(monkeypatch):
    """What the guardrails are asked about is not looked at here."""
    monkeypatch.setattr(call_policy, "policy_input", lambda prepared, plan: None)


def call(*, reads_only=False, problem=None):
    prepared = SimpleNamespace(reads_only=reads_only, problem=problem)
    return SimpleNamespace(prepared=prepared, clearance=SimpleNamespace(verdict=None), key="key")


class TestUserPolicy:
    @pytest.mark.parametrize(
        ("dry_run", "reads_only", "decision", "reserved"),
        [
            (False, False, Decision.ALLOW, [False]),
            (False, True, Decision.ALLOW, [False]),
            (True, True, Decision.ALLOW, []),
            (True, False, Decision.DESCRIBE, []),
        ],
    )
    async def test_the_user_is_not_asked(self, dry_run, reads_only, decision, reserved):
        limits, state = Limits(), call(reads_only=reads_only)

        found = await UserPolicy(CallQuotas(limits, Grants()), dry_run).clear(state, None)

        assert (found, limits.reserved) == (decision, reserved)
        assert state.clearance.verdict.effect is Effect.ALLOW

    async def test_a_limit_that_another_call_reached_denies(self):
        limits, state = Limits(verdict=Verdict(Effect.DENY, "too many", "limit")), call()

        with pytest.raises(ProblemRaised) as caught:
            await UserPolicy(CallQuotas(limits, Grants()), False).clear(state, None)

        assert caught.value.problem.message == "too many"
        assert state.clearance.verdict.effect is Effect.DENY

    async def test_without_limits_nothing_is_reserved_or_counted(self):
        limits = Limits(counts=False)
        policy = UserPolicy(CallQuotas(limits, Grants()), False)

        await policy.clear(call(), None)
        policy.settle(call())

        assert (limits.reserved, limits.settled) == ([], [])

    def test_a_plan_that_is_made_again_reserves_anew(self):
        limits = Limits()

        assert UserPolicy(CallQuotas(limits, Grants()), False).recheck_plan(call(), None) is True
        assert (limits.settled, limits.reserved) == ([QuotaOutcome.NOTHING], [False])

    @pytest.mark.parametrize(("plans", "limit"), [(True, None), (False, 9.0)])
    def test_a_plan_has_no_time_limit(self, plans, limit):
        tool = SimpleNamespace(plans=plans, timeout_s=9.0)

        assert UserPolicy(CallQuotas(Limits(), Grants()), False).time_limit(tool) == limit

    def test_what_could_not_be_prepared_is_raised(self):
        policy = UserPolicy(CallQuotas(Limits(), Grants()), False)

        policy.precheck(call())
        with pytest.raises(ProblemRaised) as caught:
            policy.precheck(call(problem=Problem("not_found", "gone")))
        assert caught.value.problem.code == "not_found"
        assert policy.warnings(call(), None) == []


def agent_policy(limits, *, dry_run=False):
    """A policy of agents that allows everything but what the limits refuse."""
    clearance = SimpleNamespace(
        judge=lambda subject, *, approved: Verdict(Effect.ALLOW, "", "mode:bypass"),
        safe_read_verdict=None,
    )
    services = PolicyServices(clearance, SimpleNamespace(any=False), limits, None)
    return AgentPolicy(services, None, None, None, CallQuotas(limits, Grants()), dry_run)


def agent_call():
    prepared = SimpleNamespace(
        scope=SimpleNamespace(plain_read=False),
        principal=SimpleNamespace(access=None),
        origin=SimpleNamespace(approval=None),
        changes_nothing=False,
        entry=None,
    )
    clearance = SimpleNamespace(verdict=None, hook_approval=None, objections=(), binding="bound")
    context = SimpleNamespace(confirmed=None)
    return SimpleNamespace(prepared=prepared, clearance=clearance, context=context, key="key")


class TestAgentPolicy:
    @pytest.mark.parametrize(
        ("dry_run", "decision", "reserved", "confirmed"),
        [(False, Decision.ALLOW, [True], "bound"), (True, Decision.DESCRIBE, [], None)],
    )
    async def test_an_allowed_call_reserves_its_share(self, dry_run, decision, reserved, confirmed):
        limits, state = Limits(), agent_call()

        found = await agent_policy(limits, dry_run=dry_run).clear(state, None)

        assert (found, limits.reserved) == (decision, reserved)
        assert state.context.confirmed == confirmed

    async def test_a_limit_that_another_call_reached_denies(self):
        limits, state = Limits(verdict=Verdict(Effect.DENY, "too many", "limit")), agent_call()

        with pytest.raises(ProblemRaised) as caught:
            await agent_policy(limits).clear(state, None)

        assert caught.value.problem.message == "too many"
        assert state.context.confirmed is None


def ended(status, code=None):
    problem = None if code is None else Problem(code, "x")
    return SimpleNamespace(status=status, problem=problem)


@pytest.mark.parametrize(
    ("changes", "plans", "outcome", "counted"),
    [
        (True, False, None, QuotaOutcome.DONE),
        (True, True, ended(Status.FAILED, "conflict"), QuotaOutcome.DONE),
        (False, True, ended(Status.OK), QuotaOutcome.DONE),
        (False, True, ended(Status.FAILED, "conflict"), QuotaOutcome.NOTHING),
        (False, True, ended(Status.UNKNOWN, "unavailable"), QuotaOutcome.DONE),
        (False, True, None, QuotaOutcome.NOTHING),
        (False, None, ended(Status.OK), QuotaOutcome.DONE),
        (False, None, ended(Status.FAILED, "conflict"), QuotaOutcome.NOTHING),
        (False, False, None, QuotaOutcome.FAILED),
        (False, False, ended(Status.OK), QuotaOutcome.DONE),
        (False, False, ended(Status.FAILED), QuotaOutcome.FAILED),
        (False, False, ended(Status.FAILED, "timeout"), QuotaOutcome.FAILED),
        (False, False, ended(Status.FAILED, "unavailable"), QuotaOutcome.NOTHING),
        (False, False, ended(Status.FAILED, "store_unavailable"), QuotaOutcome.NOTHING),
    ],
)
def test_what_a_call_counts_as(changes, plans, outcome, counted):
    limits, tool = Limits(), SimpleNamespace(plans=plans)
    prepared = SimpleNamespace(entry=None if plans is None else tool, tool=tool)
    effects = SimpleNamespace(changes=[1] if changes else [])

    state = SimpleNamespace(outcome=outcome, prepared=prepared, effects=effects, key="key")
    CallQuotas(limits, Grants()).settle(state)

    assert limits.settled == [counted]


SECRET, PLAIN = "/w/.env", "/w/a.txt"


def shows(
    *,
    places=(),
    via=(),
    touches=(),
    open_ended=False,
    command=None,
    data=None,
    status=Status.OK,
    origin=ToolOrigin.BUILTIN,
    group=Group.SEARCH,
    only_paths=False,
    lists_names=False,
    known=True,
    before=False,
):
    """Whether a call with these properties is noted as showing secrets."""
    noted = []
    tool = SimpleNamespace(traits=SimpleNamespace(lists_names=lists_names), group=group)
    entry = SimpleNamespace(
        tool=tool, origin=origin, touches=SimpleNamespace(only_paths=only_paths)
    )
    listed = {str(at): SimpleNamespace(absolute=one, via=via) for at, one in enumerate(places)}
    reads = tuple(Touch(key, Access.READ) for key in touches)
    scope = SimpleNamespace(places=listed, footprint=Footprint(reads, open_ended, command))
    session = SimpleNamespace(secrets_shown=before, note_secrets=lambda: noted.append(True))
    state = SimpleNamespace(
        prepared=SimpleNamespace(entry=entry if known else None, scope=scope),
        context=SimpleNamespace(session=session),
    )
    note_shown_secrets(state, SimpleNamespace(status=status, data=data))
    return noted == [True]


OTHER = next(one for one in ToolOrigin if one is not ToolOrigin.BUILTIN)


@pytest.mark.parametrize(
    ("found", "given"),
    [
        (False, {}),
        (True, {"places": [PLAIN, SECRET]}),
        (False, {"places": [PLAIN]}),
        (True, {"places": [PLAIN], "via": (SECRET,)}),
        (False, {"places": [PLAIN], "via": ("/w/link.txt",)}),
        (False, {"places": [SECRET], "status": Status.REFUSED}),
        (False, {"places": [SECRET], "lists_names": True}),
        (False, {"places": [SECRET], "known": False}),
        (False, {"places": [SECRET], "before": True}),
        (True, {"places": [SECRET], "status": Status.FAILED}),
        # A server may read anything; a tool of one's own only if it does not say what.
        (True, {"origin": OTHER, "group": Group.MCP}),
        (False, {"group": Group.MCP}),
        (False, {"origin": OTHER}),
        (True, {"origin": OTHER, "open_ended": True}),
        (False, {"open_ended": True}),
        # By the keys that a call touches.
        (True, {"touches": [f"file:{SECRET}"]}),
        (False, {"touches": [f"file:{SECRET}"], "only_paths": True}),
        (False, {"touches": [f"file:{PLAIN}"]}),
        (True, {"touches": ["tree:/w/.ssh"], "only_paths": True}),
        (False, {"touches": ["net:.env"]}),
        # A search is judged by what it found.
        (True, {"touches": ["tree:/w"], "data": {"paths": [PLAIN, SECRET]}}),
        (False, {"touches": ["tree:/w"], "data": {"paths": [PLAIN]}}),
        (False, {"touches": [f"file:{PLAIN}"], "data": {"paths": [SECRET]}}),
        (False, {"touches": ["tree:/w"], "data": {"path": SECRET}, "command": object()}),
        (True, {"touches": ["tree:/w"], "data": {"paths": [PLAIN] * 20_000}}),
        (False, {"touches": ["tree:/w"], "data": {"paths": [PLAIN] * 19_999}}),
    ],
)
def test_calls_that_may_have_shown_secrets_are_noted(found, given):
    assert shows(**given) is found
