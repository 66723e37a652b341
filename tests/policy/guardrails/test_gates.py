"""Quality gates report what failed, shortly, and never pass what could not be run."""

import pytest
from tests.policy.guardrails.rails import change, edit, rails

from handrail.core.problems import ProblemRaised
from handrail.policy.guardrails.gates import GateRun, gate_feedback
from handrail.policy.guardrails.limits import QuotaOutcome

GATES = [
    {"name": "lint", "command": "make lint", "timeout": 5},
    {"name": "style", "command": "make style", "required": False},
]


def runner(answers, seen=None):
    async def run(command, timeout_s):
        if seen is not None:
            seen.append((command, timeout_s))
        answer = answers[command]
        if isinstance(answer, ProblemRaised):
            raise answer
        return answer

    return run


@pytest.mark.feature("J06")
async def test_every_gate_runs_in_order_with_its_time():
    seen = []
    answers = {"make lint": GateRun(0), "make style": GateRun(0)}

    results = await rails(quality_gates=GATES).run_quality_gates(runner(answers, seen))

    assert seen == [("make lint", 5.0), ("make style", 60)]
    assert [(one.name, one.passed, one.feedback) for one in results] == [
        ("lint", True, ""),
        ("style", True, ""),
    ]
    assert gate_feedback(results) is None


async def test_a_required_gate_that_fails_speaks_with_the_end_of_its_output():
    failed = GateRun(2, "a" * 1000 + "THE END\n", "e" * 1000 + "LAST\x1b[31m")
    answers = {"make lint": failed, "make style": GateRun(1, "ugly")}

    results = await rails(quality_gates=GATES).run_quality_gates(runner(answers))
    told = gate_feedback(results)

    assert [one.passed for one in results] == [False, False]
    assert "exit code 2" in told
    assert "THE END" in told
    assert told.count("a") < 540
    assert told.count("e") < 360
    assert "\x1b" not in told
    assert "ugly" not in told


async def test_what_may_not_run_or_takes_too_long_is_not_passed():
    refused = ProblemRaised("blocked", "Guardrail: no")
    answers = {"make lint": refused, "make style": GateRun(None, "so far")}

    lint, style = await rails(quality_gates=GATES).run_quality_gates(runner(answers))

    assert not lint.passed
    assert "Guardrail: no" in lint.feedback
    assert "60 s" in style.feedback


async def test_untested_changes_are_a_gate_of_their_own():
    guard = rails(require_test_after_edit=True)
    subject = edit(change("a.py", "x", "y"))
    guard.reserve("1", subject)
    guard.settle("1", QuotaOutcome.DONE)

    [result] = await guard.run_quality_gates(runner({}))

    assert (result.name, result.passed, result.required) == ("require_test_after_edit", False, True)
    assert "a.py" in gate_feedback([result])
