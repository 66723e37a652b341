"""Asking the person. One question at a time; nobody to ask means no."""

from __future__ import annotations

import asyncio
import hashlib
import json

from handrail.core.commands import Judgement
from handrail.core.plan import Plan
from handrail.core.ports import Answer, ApprovalRequest, Approver
from handrail.core.problems import ProblemRaised
from handrail.core.verdicts import Verdict
from handrail.engine.preview import preview_of
from handrail.engine.record import one_line
from handrail.engine.running import Running
from handrail.engine.scheduler import lend_slot


class Approval:
    """The way to the person; `approver` None means that nobody can be asked."""

    def __init__(self, approver: Approver | None) -> None:
        self._approver = approver
        self._one_at_a_time = asyncio.Lock()

    async def ask(self, running: Running, verdict: Verdict, plan: Plan | None) -> None:
        """Return if the person says yes to exactly this; raise `denied` otherwise."""
        if self._approver is None:
            raise _nobody(running, verdict)
        request = _request(running, verdict, plan)
        answers: list[Answer] = []

        async def wait(approver: Approver) -> None:
            async with self._one_at_a_time:
                answers.append(await _answer(approver, request))

        running.watch.deadline = None  # waiting for a person has no deadline
        await lend_slot(wait(self._approver))
        if answers != [Answer.YES]:
            raise ProblemRaised(
                "denied",
                "User denied permission",
                hint="the person said no to this call; ask what they want instead",
            )
        running.asked = True
        running.approved = binding(running, plan)


async def _answer(approver: Approver, request: ApprovalRequest) -> Answer:
    try:
        return await approver.ask(request)
    except Exception as error:
        # Foreign code. Whatever it meant, it did not say yes.
        raise ProblemRaised(
            "denied",
            f"the approver failed, which counts as no: {type(error).__name__}: {error}",
            hint="this is a defect in the program around the tools, not in the call",
        ) from error


def binding(running: Running, plan: Plan | None) -> str:
    """What an approval is good for: this call, these arguments, this plan, once."""
    prepared = running.prepared
    bound = [
        prepared.call.id,
        prepared.name,
        json.dumps(prepared.arguments, sort_keys=True, default=repr),
        plan.hash if plan is not None else None,
        _held(prepared.footprint.command),
    ]
    return hashlib.sha256(json.dumps(bound).encode()).hexdigest()


def _held(judged: Judgement | None) -> object:
    """Where a command would run, and within which bounds."""
    return None if judged is None else [judged.cwd, judged.unconfined, judged.to_dict()]


def _request(running: Running, verdict: Verdict, plan: Plan | None) -> ApprovalRequest:
    prepared = running.prepared
    action = prepared.tool.render_call(prepared.args) or one_line(prepared)
    return ApprovalRequest(
        call_id=prepared.call.id,
        tool=prepared.name,
        action=action,
        reason=verdict.reason,
        risk=prepared.risk,
        preview=preview_of(prepared, plan),
        binding=binding(running, plan),
        model_says=_text(prepared.arguments.get("description")),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _nobody(running: Running, verdict: Verdict) -> ProblemRaised:
    if verdict.code == "protected":
        return ProblemRaised("protected", verdict.reason, hint=verdict.hint)
    return ProblemRaised(
        "needs_approval",
        f"{running.prepared.name} needs a person's approval ({verdict.reason}) and nobody can be "
        "asked",
        hint=verdict.hint or "run where a person can be asked (give an approver)",
    )
