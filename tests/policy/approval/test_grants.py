"""What a person grants during a session, how it ends, and what "always" may mean."""

import pytest
from tests.policy.rule_support import (
    ALLOW,
    ASK,
    DENY,
    GROUNDS,
    CommandClass,
    call,
    canonical,
    command,
    effect,
    part,
    rules,
)

from handrail.core.footprint import NOTHING, OPEN_ENDED
from handrail.core.ports.plan_mode import PlannedPermission
from handrail.core.problems import ProblemRaised
from handrail.core.results import PermissionGranted
from handrail.core.verdicts import Risk
from handrail.policy.approval.grants import Scope, SessionGrants
from handrail.policy.clearance import Clearance
from handrail.policy.modes import Mode
from handrail.policy.policy_input import PolicyInput
from handrail.policy.rules.rule_set import RuleSet


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def grants(clock):
    return SessionGrants(RuleSet((), GROUNDS), canonical, clock)


@pytest.mark.feature("G10")
def test_a_grant_allows_what_its_pattern_means(grants):
    assert effect(grants, command("npm test")) is None

    grants.grant("Bash", "npm test:*")

    assert effect(grants, command("npm test --watch")) == ALLOW
    assert effect(grants, command("npm install")) is None
    assert effect(grants, command("npm test", "rm x")) is None


@pytest.mark.feature("G11")
def test_every_deny_and_ask_stands_above_a_grant(clock):
    grants = SessionGrants(rules("deny Bash(rm:*)", "ask Edit(src/**)"), canonical, clock)
    grants.grant("run_command", "rm build/x")
    grants.grant("edit_file", "src/a.py")

    assert effect(grants, command("rm build/x")) == DENY
    assert effect(grants, call("edit_file", "src/a.py")) == ASK


def test_a_granted_command_runs_unasked_inside_the_sandbox_only(grants):
    grants.grant("run_command", "npm test:*")

    assert effect(grants, command("npm test", confined=False)) is None
    assert effect(grants, command("npm test", unconfined=True)) is None


def test_a_grant_and_a_rule_cover_a_compound_command_together(clock):
    grants = SessionGrants(rules("allow Bash(cd:*)"), canonical, clock)
    grants.grant("run_command", "npm test:*")

    assert effect(grants, command("cd src", "npm test")) == ALLOW


def test_a_grant_ends_with_its_time(grants, clock):
    grants.grant("edit_file", "a.py", for_s=60)
    assert effect(grants, call("edit_file", "a.py")) == ALLOW

    clock.now += 60

    assert effect(grants, call("edit_file", "a.py")) is None
    assert grants.active() == ()


def use_once(grants, subject):
    grants.reserve_once(subject, "call")
    grants.settle_once("call", used=True)


def test_a_grant_ends_with_its_turn_or_its_one_use(grants):
    grants.grant("edit_file", "a.py", scope=Scope.TURN)
    grants.grant("edit_file", "b.py", scope=Scope.ONCE)
    grants.grant("edit_file", "c.py")

    use_once(grants, call("edit_file", "c.py"))
    assert effect(grants, call("edit_file", "b.py")) == ALLOW
    use_once(grants, call("edit_file", "b.py"))
    assert effect(grants, call("edit_file", "b.py")) is None

    assert effect(grants, call("edit_file", "a.py")) == ALLOW
    grants.end_turn()
    assert effect(grants, call("edit_file", "a.py")) is None
    assert effect(grants, call("edit_file", "c.py")) == ALLOW


def test_a_call_that_needs_no_grant_uses_none_up(grants):
    grants.grant("edit_file", "a.py", scope=Scope.ONCE)
    grants.grant("run_command", "npm test", scope=Scope.ONCE)

    use_once(grants, call("edit_file", "other.py"))
    use_once(grants, command("ls"))

    assert len(grants.active()) == 2


def test_every_grant_that_a_command_needed_once_is_used_up(grants):
    grants.grant("run_command", "npm test", scope=Scope.ONCE)
    grants.grant("run_command", "npm run lint", scope=Scope.ONCE)
    both = command("npm test", "npm run lint")
    assert effect(grants, both) == ALLOW

    use_once(grants, both)

    assert grants.active() == ()


def test_a_grant_that_a_call_has_reserved_is_good_for_no_other_and_comes_back_unused(grants):
    grants.grant("edit_file", "a.py", scope="once")
    subject = call("edit_file", "a.py")

    grants.reserve_once(subject, "one")
    assert effect(grants, subject) is None
    assert grants.any_reserved
    grants.reserve_once(subject, "two")
    grants.settle_once("two", used=False)
    assert effect(grants, subject) is None
    # The same, granted again meanwhile, is one grant.
    grants.grant("edit_file", "a.py", scope="once")
    grants.settle_once("one", used=False)

    assert effect(grants, subject) == ALLOW
    assert len(grants.active()) == 1
    assert not grants.any_reserved


def test_a_reserved_grant_that_is_taken_back_does_not_come_back(grants):
    grants.grant("edit_file", "a.py", scope="once")
    grants.reserve_once(call("edit_file", "a.py"), "one")

    assert grants.revoke("edit_file(a.py)")
    grants.settle_once("one", used=False)

    assert grants.active() == ()


def test_an_unknown_scope_is_an_error(grants):
    with pytest.raises(ValueError, match="forever"):
        grants.grant("edit_file", "a.py", scope="forever")


def test_a_grant_can_be_taken_back(grants):
    grants.grant("Bash", "npm test:*")

    assert grants.revoke("Bash(npm test:*)")
    assert effect(grants, command("npm test")) is None
    assert not grants.revoke("Bash(npm test:*)")


@pytest.mark.parametrize(
    ("tool", "pattern"),
    [
        ("run_command", "bash:*"),
        ("run_command", "sh -c:*"),
        ("run_command", "python:*"),
        ("run_command", "python3 -c 'x'"),
        ("run_command", "git:*"),
        ("run_command", "git -C:*"),
        ("run_command", "rm:*"),
        ("run_command", "rm -rf:*"),
        ("run_command", "npx:*"),
        ("run_command", "sudo:*"),
        ("run_command", "find:*"),
        ("run_command", "curl:*"),
        ("run_command", "npm:*"),
        ("run_command", None),
        ("execute_code", None),
        ("write_file", None),
        ("write_file", "**"),
        ("edit_file", "*"),
        ("mcp__github", None),
    ],
)
def test_what_is_too_broad_cannot_be_granted(grants, tool, pattern):
    with pytest.raises(ProblemRaised) as raised:
        grants.grant(tool, pattern)

    assert raised.value.problem.code in ("denied", "invalid_arguments")
    assert grants.active() == ()


@pytest.mark.feature("B05")
def test_a_result_grants_only_if_its_tool_is_trusted(grants):
    granted = PermissionGranted("edit_file", "src/a.py")

    with pytest.raises(ProblemRaised) as raised:
        grants.apply_tool_grant(granted, trusted=False)
    assert raised.value.problem.code == "denied"
    assert effect(grants, call("edit_file", "src/a.py")) is None

    grants.apply_tool_grant(granted, trusted=True)
    assert effect(grants, call("edit_file", "src/a.py")) == ALLOW


# --- what "always" should mean ---------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "safety_class", "rule"),
    [
        ("npm test --watch", CommandClass.DEV, "run_command(npm test:*)"),
        ("npm run build", CommandClass.DEV, "run_command(npm run build:*)"),
        ("git status -s", CommandClass.SAFE, "run_command(git status:*)"),
        ("pytest tests -q", CommandClass.DEV, "run_command(pytest:*)"),
        ("python -m pytest tests", CommandClass.DEV, "run_command(python -m pytest:*)"),
        ("python scripts/x.py a", CommandClass.DEV, "run_command(python scripts/x.py:*)"),
        ("ls -la src", CommandClass.SAFE, "run_command(ls -la src)"),
        ("git push origin main", CommandClass.DANGEROUS, "run_command(git push origin main)"),
        ("rm build/x", CommandClass.DEV, "run_command(rm build/x)"),
        ("./run.sh a", CommandClass.DEV, "run_command(./run.sh a)"),
        ("find . -delete", CommandClass.DANGEROUS, "run_command(find . -delete)"),
        ("git -C x push", CommandClass.DEV, "run_command(git -C x push)"),
        ("npm exec foo", CommandClass.DEV, "run_command(npm exec foo)"),
        ("bash", CommandClass.DANGEROUS, None),
        ("bash -c ls", CommandClass.DANGEROUS, None),
        ("python -c code", CommandClass.DANGEROUS, None),
        ("npx", CommandClass.DANGEROUS, None),
        ("ls *.py", CommandClass.SAFE, None),
    ],
)
def test_always_proposes_the_narrowest_sensible_rule_for_a_command(
    grants, words, safety_class, rule
):
    subject = command(part(*words.split(), safety_class=safety_class), safety_class=safety_class)

    assert grants.suggest_rule(subject) == rule


@pytest.mark.finding("F32")
def test_always_works_where_no_sandbox_confines_commands(clock):
    grants = SessionGrants(RuleSet((), GROUNDS), canonical, clock, confines=lambda: False)
    subject = command("npm test", confined=False)

    rule = grants.suggest_rule(subject)
    grants.grant_rule(rule, call_id="c1")

    assert rule == "run_command(npm test:*)"
    assert effect(grants, subject) == effect(grants, command("npm test", confined=True)) == "allow"
    assert effect(grants, command("npm test", unconfined=True, confined=False)) is None


@pytest.mark.parametrize(
    "subject",
    [
        command("npm test", unconfined=True),
        command("npm test", unconfined=True, confined=False),
        command("npm test", rule_matchable=False),
        command("npm test", "npm run lint"),
        command("npm test", safety_class=CommandClass.BLOCKED),
        command(part("npm", None)),
        command(part("npm", "test", writes=True), writes=("/ws/x",)),
        command(safety_class=CommandClass.DANGEROUS),
        command("npm test", tool="execute_code"),
    ],
)
def test_always_proposes_nothing_for_what_no_rule_could_cover(grants, subject):
    assert grants.suggest_rule(subject) is None


@pytest.mark.parametrize(
    ("subject", "rule"),
    [
        (call("edit_file", "src/a.py"), "edit_file(src/a.py)"),
        (call("write_file", "README.md"), "write_file(/README.md)"),
        (call("write_file", "a/[x] {1,2}*.py"), "write_file(a/\\[x\\] \\{1,2\\}\\*.py)"),
        (call("grep", "src", tree=True), "grep(src/**)"),
        (call("grep", "", tree=True), None),
        (call("apply_patch", "a", "b"), None),
        (call("edit_file", "/other/a.py"), None),
        (call("edit_file", " a"), None),
        (call("edit_file", "a\nb"), None),
        (PolicyInput("mcp__s__t", Risk.MODERATE, OPEN_ENDED, False, None, False), "mcp__s__t"),
        (PolicyInput("own", Risk.MODERATE, NOTHING, False, None, False), "own"),
        (PolicyInput("undo", Risk.MODERATE, OPEN_ENDED, False, None, True), None),
    ],
)
def test_always_proposes_the_one_file_and_no_neighbour(grants, subject, rule):
    assert grants.suggest_rule(subject) == rule


def test_what_is_proposed_can_be_granted_and_then_covers_the_call(grants):
    subject = command("npm test --watch")
    text = grants.suggest_rule(subject)

    grants.grant(*text.removesuffix(")").split("("))

    assert effect(grants, subject) == ALLOW


# --- what a plan announced -------------------------------------------------------------


@pytest.mark.feature("E50")
def test_what_an_approved_plan_announced_is_a_hint_and_never_an_answer(grants):
    grants.remember_plan([PlannedPermission("Bash", "run the tests")])
    clearance = Clearance(Mode.DEFAULT, [], tuple, grants)

    verdict = clearance.judge(command("rm -rf build", safety_class=CommandClass.DANGEROUS))

    assert verdict.effect.value == ASK
    assert "model's words: 'run" in verdict.hint
    other = clearance.judge(call("write_file", "a"))
    assert "run the tests" not in (other.hint or "")


@pytest.mark.feature("E50")
def test_a_matcher_decides_which_announcement_is_shown(clock):
    grants = SessionGrants(RuleSet(), canonical, clock, lambda one, _: one.prompt == "build")
    grants.remember_plan([PlannedPermission("Bash", "build"), PlannedPermission("Bash", "deploy")])

    assert grants.planned_prompts(command("make")) == ("build",)
    assert effect(grants, command("make")) is None
