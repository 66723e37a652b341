"""What the user is shown before a call: its diff, or the paths that its command would touch."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from difflib import unified_diff
from typing import Final

from handrail.core.commands import CommandAnalysis, CommandClass
from handrail.core.names.hosts import HostList
from handrail.core.places import shown
from handrail.core.plan import Change, Plan
from handrail.core.text.content import Content
from handrail.engine import messages
from handrail.engine.prepare.prepared_call import PreparedCall
from handrail.engine.recording.payloads import caller_arguments, fits_one_line

# Longer previews are replaced by the tool's own, which says how much is left out.
_MOST: Final = 2_000_000
# The comparison is quadratic; beyond this many pairs of lines a change is shown as one block.
_PAIRS: Final = 250_000
_LINES: Final = 20_000
# The length to which tools cut their own previews.
_SHORT: Final = 400
_NARROW: Final = 490


def whole_diff(plan: Plan) -> str | None:
    """Return all changed lines of all files; None if the plan's own preview shows them, if they are
    too many, or if the content is not text.
    """
    lines = plan.preview.split("\n")
    cut = len(lines) > _SHORT or any(len(line) > _NARROW for line in lines)
    if not cut or plan.size > _MOST:
        return None
    try:
        return "\n".join(line for change in plan.changes for line in _diff_lines(change))
    except UnicodeDecodeError:
        return None


def _diff_lines(change: Change) -> Iterator[str]:
    before, after = _text(change.before), _text(change.after)
    head = _common_prefix(before, after)
    tail = min(_common_prefix(before[::-1], after[::-1]), min(len(before), len(after)) - head)
    old, new = before[head : len(before) - tail], after[head : len(after) - tail]
    names = (shown(f"a/{change.path}") if before else "/dev/null", shown(f"b/{change.path}"))
    if len(old) * len(new) <= _PAIRS and len(before) + len(after) <= _LINES:
        yield from unified_diff(before, after, *names, lineterm="")
        return
    yield f"--- {names[0]}"
    yield f"+++ {names[1]}"
    yield f"@@ -{head + 1},{len(old)} +{head + 1},{len(new)} @@"
    yield from (f"-{line}" for line in old)
    yield from (f"+{line}" for line in new)


def _common_prefix(one: Sequence[str], two: Sequence[str]) -> int:
    most = min(len(one), len(two))
    return next((at for at in range(most) if one[at] != two[at]), most)


def _text(content: Content | None) -> list[str]:
    data = b"" if content is None else content.tobytes()
    text = data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8")
    return text.removesuffix("\n").split("\n") if text else []


def call_preview(prepared: PreparedCall, plan: Plan | None) -> str:
    """The plan's diff, or the command's class and effects; empty if there is nothing to show."""
    if plan is not None:
        return plan.preview
    analysis = prepared.footprint.command
    if analysis is None:
        return prepared.tool.preview(prepared.args)
    return "\n".join([*_command_context(prepared, analysis), *_lines(analysis)])


def full_preview(prepared: PreparedCall, plan: Plan | None) -> str:
    """Return the preview without truncation, or the arguments of a call without a preview."""
    if plan is None:
        return call_preview(prepared, plan) or _full_arguments(prepared)
    return whole_diff(plan) or plan.preview


def _full_arguments(prepared: PreparedCall) -> str:
    arguments = caller_arguments(prepared)
    if all(fits_one_line(value) for value in arguments.values()):
        return ""
    return json.dumps(arguments, indent=2, ensure_ascii=False, default=repr)


def _command_context(prepared: PreparedCall, analysis: CommandAnalysis) -> list[str]:
    """Return what decides about a command as much as its text does."""
    lines = [f"directory: {analysis.cwd}"] if analysis.cwd else []
    variables = prepared.arguments.get("env")
    if isinstance(variables, Mapping):
        lines += [f"variable: {name}={value}" for name, value in variables.items()]
    if prepared.arguments.get("background") is True:
        lines.append("in the background: it goes on after this call")
    return lines


def _lines(analysis: CommandAnalysis) -> list[str]:
    effects = analysis.effects
    lines = [f"class: {analysis.safety_class.word}"]
    lines += [f"because: {reason.text} ({reason.part})" for reason in analysis.reasons]
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
    if analysis.unconfined:
        return [*lines, "OUTSIDE THE SANDBOX: nothing confines it"]
    return [*lines, *network_lines(analysis)]


def network_lines(analysis: CommandAnalysis) -> list[str]:
    """Describe what a confined command can reach by the network if it is approved."""
    # As the engine confines it: a command that only reads has no network.
    if analysis.safety_class is CommandClass.SAFE or analysis.writes_nothing:
        return [messages.NETWORK_OFF]
    if analysis.network is True:
        return [messages.NETWORK_ON]
    if not analysis.network:
        return [
            messages.NETWORK_IF_APPROVED if analysis.effects.needs_network else messages.NETWORK_OFF
        ]
    listed = HostList(analysis.network)
    refused = [host for host in analysis.effects.hosts if not listed.knows(host)]
    lines = [messages.NETWORK_LISTED.format(hosts=", ".join(analysis.network))]
    if refused:
        lines.append(messages.NETWORK_REFUSES.format(hosts=", ".join(refused)))
    return lines
