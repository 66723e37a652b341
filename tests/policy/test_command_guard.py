import pytest
from tests.policy.rule_support import missing_properties

from handrail.core.commands import (
    CommandAnalysis,
    CommandClass,
    CommandEffects,
    CommandSegment,
    Reason,
)
from handrail.core.footprint import Footprint
from handrail.core.verdicts import Effect, Risk, Verdict
from handrail.policy.clearance import Clearance
from handrail.policy.command_guard import CommandGuard
from handrail.policy.modes import Mode
from handrail.policy.policy_input import PolicyInput

WIPE = Reason("it deletes or moves away the whole file system; name the files", "rm -rf /")


def analysis(
    safety_class: CommandClass, *reasons: Reason, segments: tuple[CommandSegment, ...] = ()
) -> PolicyInput:
    judgement = CommandAnalysis(safety_class, reasons, CommandEffects(), segments=segments)
    footprint = Footprint(command=judgement)
    return PolicyInput(
        "run_command", Risk(safety_class), footprint, footprint.reads_only, None, False
    )


def test_a_call_without_a_command_is_none_of_its_business():
    policy = CommandGuard("allowlist", (), allowed_only=True, enabled=False)

    assert policy(PolicyInput("read_file", Risk.SAFE, Footprint(), True, None, False)) is None


@pytest.mark.feature("H01")
@pytest.mark.parametrize("mode", list(Mode))
@pytest.mark.parametrize("confined", [True, False])
def test_a_blocked_command_is_denied_in_every_mode(mode, confined):
    clearance = Clearance(mode, [CommandGuard()], lambda: missing_properties(confined))

    verdict = clearance.judge(analysis(CommandClass.BLOCKED, WIPE))

    assert verdict.effect is Effect.DENY


def test_a_refusal_names_the_part_and_what_to_do_instead():
    assert CommandGuard()(analysis(CommandClass.BLOCKED, WIPE)) == Verdict(
        Effect.DENY,
        "the command is blocked: it deletes or moves away the whole file system, in 'rm -rf /'",
        "commands:blocklist",
        code="blocked",
        hint="name the files; no mode or setting allows it; the user can run it outside Handrail",
    )


def test_what_is_not_blocked_is_left_to_the_mode():
    dangerous = analysis(CommandClass.DANGEROUS, Reason("it deletes", "rm x"))

    assert CommandGuard()(dangerous) is None
    assert CommandGuard("blocklist")(dangerous) is None


@pytest.mark.feature("H07")
def test_allowed_only_refuses_what_is_dangerous_before_anybody_is_asked():
    policy = CommandGuard(allowed_only=True)

    verdict = policy(analysis(CommandClass.DANGEROUS, Reason("it deletes", "rm x")))

    assert verdict is not None
    assert (verdict.effect, verdict.rule) == (Effect.DENY, "commands:allowed_only")
    assert "allowed_only" in verdict.reason
    assert "it deletes" in verdict.reason
    assert policy(analysis(CommandClass.DEV)) is None
    assert policy(analysis(CommandClass.SAFE)) is None


@pytest.mark.feature("H08")
def test_commands_that_are_switched_off_are_refused_with_the_name_of_the_setting():
    verdict = CommandGuard(enabled=False)(analysis(CommandClass.SAFE))

    assert verdict is not None
    assert (verdict.effect, verdict.rule) == (Effect.DENY, "commands:off")
    assert "`commands`" in (verdict.hint or "")


@pytest.mark.feature("H09")
def test_the_allowlist_also_looks_at_commands_that_only_read():
    policy = CommandGuard("allowlist", ("ls", "cat"))
    segments = (CommandSegment("ls", "ls"), CommandSegment("wc", "wc -l a"))

    verdict = policy(analysis(CommandClass.SAFE, segments=segments))

    assert verdict is not None
    assert verdict.rule == "commands:allowlist"
    assert "listed commands may" in verdict.reason
    assert policy(analysis(CommandClass.SAFE, segments=segments[:1])) is None


def test_what_could_not_be_read_is_not_on_the_list():
    verdict = CommandGuard("allowlist", ("ls",))(analysis(CommandClass.DANGEROUS))

    assert verdict is not None
    assert "listed commands may" in verdict.reason


def test_the_blocklist_holds_in_allowlist_mode():
    policy = CommandGuard("allowlist", ("rm",))

    verdict = policy(
        analysis(CommandClass.BLOCKED, WIPE, segments=(CommandSegment("rm", "rm -rf /"),))
    )

    assert verdict is not None
    assert verdict.code == "blocked"
