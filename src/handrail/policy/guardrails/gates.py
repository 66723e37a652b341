"""Quality gates: commands that must succeed before the work counts as done.

A gate only reports. A gate that cannot be run counts as failed; a gate that a dry run skips does not
count.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from handrail.core.problems import Problem, ProblemRaised
from handrail.core.results import Status, ToolResult
from handrail.core.text.listing import first_few
from handrail.core.text.safe_text import safe_text
from handrail.policy.guardrails.settings import QualityGate

_STDOUT_CHARS: Final = 500
_STDERR_CHARS: Final = 300
_MAX_LISTED: Final = 5
# The gate that the setting of this name adds.
_TESTS: Final = "require_test_after_edit"


class GateRun(NamedTuple):
    """How the command of a gate ended; `exit_code` None: it was ended at its time limit. `planned`: it
    was not run because this is a dry run.
    """

    exit_code: int | None
    stdout: str = ""
    stderr: str = ""
    planned: bool = False


class GateResult(NamedTuple):
    """Whether a gate was passed, and the feedback for the model if it was not."""

    name: str
    passed: bool
    required: bool
    feedback: str


# Runs a command with a limit in seconds; raises `ProblemRaised` if it may not or cannot run.
Runner = Callable[[str, float], Awaitable[GateRun]]


async def run_quality_gates(
    gates: Iterable[QualityGate],
    runner: Runner,
    *,
    untested: Callable[[], Iterable[str]] | None = None,
) -> list[GateResult]:
    """Run the gates in order. `untested` is called after them and returns the changed files for which no
    tests have run; if there are any, they count as another failed gate.
    """
    results = [await _run(gate, runner) for gate in gates]
    if untested is not None:
        results.append(_tested(sorted(untested())))
    return results


def gate_feedback(results: Sequence[GateResult]) -> str | None:
    """The feedback for the model; None if every required gate was passed."""
    failed = [one for one in results if one.required and not one.passed]
    if not failed:
        return None
    feedback = "\n\n".join(one.feedback for one in failed)
    many = (
        "a required quality gate" if len(failed) == 1 else f"{len(failed)} required quality gates"
    )
    return f"The work is not done: {many} failed.\n\n{feedback}"


def gate_run(result: ToolResult) -> GateRun:
    """The result of a gate's command from its tool result; raises the problem of a command that did not
    run.
    """
    problem, data = result.problem, result.data
    if result.status is Status.PLANNED:
        return GateRun(None, planned=True)
    if not isinstance(data, Mapping):
        raise ProblemRaised.of(problem or Problem("internal", "the command returned no result"))
    ended = problem is None or problem.code != "timeout"
    return GateRun(data["exit_code"] if ended else None, data["stdout"], data["stderr"])


async def _run(gate: QualityGate, runner: Runner) -> GateResult:
    try:
        run = await runner(gate.command, gate.timeout_s)
    except ProblemRaised as raised:
        return _failed(gate, f"could not be run: {raised.problem.message}", "")
    if run.planned:
        text = (
            f"Quality gate {gate.name!r}: {gate.command!r} was not run, because this is a dry run"
        )
        return GateResult(gate.name, passed=False, required=False, feedback=text)
    if run.exit_code == 0:
        return GateResult(gate.name, passed=True, required=gate.required, feedback="")
    if run.exit_code is None:
        why = f"did not finish within {gate.timeout_s:g} s"
    else:
        why = f"ended with exit code {run.exit_code}"
    return _failed(gate, why, _output(run))


def _failed(gate: QualityGate, why: str, output: str) -> GateResult:
    kind = "" if gate.required else " (not required)"
    text = f"Quality gate {gate.name!r}{kind}: {gate.command!r} {why}{output}"
    return GateResult(gate.name, passed=False, required=gate.required, feedback=text)


def _output(run: GateRun) -> str:
    parts = []
    for name, text, most in (
        ("stdout", run.stdout, _STDOUT_CHARS),
        ("stderr", run.stderr, _STDERR_CHARS),
    ):
        shown = safe_text(text.rstrip()[-most:])[-most:]
        if shown:
            parts.append(f"\n{name}:\n{shown}")
    return "".join(parts)


def _tested(paths: Sequence[str]) -> GateResult:
    if not paths:
        return GateResult(_TESTS, passed=True, required=True, feedback="")
    listed = first_few(paths, _MAX_LISTED)
    text = f"Quality gate {_TESTS!r}: no tests have passed since these were changed: {listed}"
    return GateResult(_TESTS, passed=False, required=True, feedback=text)
