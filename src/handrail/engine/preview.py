"""What a person is shown before a call happens: its diff, or what its command would touch."""

from __future__ import annotations

import json
from collections.abc import Mapping

from handrail.core.commands import Judgement
from handrail.core.plan import Plan
from handrail.engine.prepare import Prepared
from handrail.engine.record import fits_one_line
from handrail.engine.whole_diff import whole_diff


def preview_of(prepared: Prepared, plan: Plan | None) -> str:
    """The plan's diff, or the command's class and effects; empty if there is nothing to show."""
    if plan is not None:
        return plan.preview
    judged = prepared.footprint.command
    if judged is None:
        return prepared.tool.preview(prepared.args)
    return "\n".join([*_surroundings(prepared, judged), *_lines(judged)])


def whole_preview(prepared: Prepared, plan: Plan | None) -> str:
    """The same with nothing left out, as far as a person could read it: no lines of a diff,
    and the arguments of a call of which nothing else is known.
    """
    if plan is None:
        return preview_of(prepared, plan) or _in_full(prepared)
    return whole_diff(plan) or plan.preview


def _in_full(prepared: Prepared) -> str:
    if all(fits_one_line(value) for value in prepared.arguments.values()):
        return ""
    return json.dumps(prepared.arguments, indent=2, ensure_ascii=False, default=repr)


def _surroundings(prepared: Prepared, judged: Judgement) -> list[str]:
    """What decides about a command as much as its text does."""
    lines = [f"directory: {judged.cwd}"] if judged.cwd else []
    variables = prepared.arguments.get("env")
    if isinstance(variables, Mapping):
        lines += [f"variable: {name}={value}" for name, value in variables.items()]
    if prepared.arguments.get("background") is True:
        lines.append("in the background: it goes on after this call")
    return lines


def _lines(judged: Judgement) -> list[str]:
    effects = judged.effects
    lines = [f"class: {judged.klass.word}"]
    lines += [f"because: {reason.text} ({reason.part})" for reason in judged.reasons]
    for name, values in (
        ("runs", effects.programs),
        ("reads", effects.reads),
        ("writes", effects.writes),
        ("hosts", effects.hosts),
    ):
        if values:
            lines.append(f"{name}: {', '.join(values)}")
    if effects.open_ended:
        lines.append("may touch more than its text shows")
    if effects.background:
        lines.append("starts something in the background")
    if effects.needs_network:
        lines.append("with network: opened for this command, if you say yes")
    elif not judged.unconfined:
        lines.append("without network: it is not opened for this command")
    if judged.unconfined:
        lines.append("OUTSIDE THE SANDBOX: nothing confines it")
    return lines
