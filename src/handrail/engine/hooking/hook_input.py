"""The input of a hook's program: JSON on standard input, and environment variables.

Values are passed whole or not at all: a guard that sees part of a command has not seen the command.
Only the output of a call is truncated.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from handrail.core.context import Session
from handrail.core.results import ToolResult
from handrail.engine.hooking.callbacks import HookCall
from handrail.hooks import messages
from handrail.hooks.spec import HookEvent

PREFIXES: Final = ("HANDRAIL", "ARCHITECT")
MAX_OUTPUT_CHARS: Final = 2000
# The kernel takes no variable longer than 128 kB.
_MAX_VARIABLE_BYTES: Final = 100_000


class HookPayload(NamedTuple):
    """The input of one run. `file` is the file that the run is about, None if there is none."""

    stdin: bytes
    env: Mapping[str, str]
    file: str | None = None


class HookInput(NamedTuple):
    """What a hook is run for: the event, the call, its result if it is over, and further fields of
    the event.
    """

    event: HookEvent
    call: HookCall | None = None
    result: ToolResult | None = None
    extra: Mapping[str, str] = {}


def own_payload(hook_input: HookInput, session: Session, file: str | None) -> HookPayload:
    """The input in Handrail's format; raises `too_large`."""
    workspace = session.roots[0]
    fields: dict[str, Any] = {
        "event": hook_input.event.value,
        "session_id": session.id,
        "workspace": workspace,
        "cwd": session.whereabouts.directory,
        **hook_input.extra,
    }
    context: dict[str, str] = dict(hook_input.extra)
    call = hook_input.call
    if call is not None:
        given = resolved_arguments(call, lambda path: _shown(path, workspace))
        fields |= {"call_id": call.call_id, "tool_name": call.tool, "tool_input": given}
        context |= {"tool_name": call.tool, "call_id": call.call_id}
        command = given.get("command") or (given.get("code") if call.runs_command else None)
        if isinstance(command, str):
            context["command"] = command
    if file is not None:
        fields["file_path"] = context["file_path"] = file
    if hook_input.result is not None:
        fields |= _outcome(hook_input.result)
        context["tool_result_success"] = "true" if hook_input.result.ok else "false"
    context |= {"event": hook_input.event.value, "workspace": workspace, "session_id": session.id}
    env = {
        f"{prefix}_{name.upper()}": value for prefix in PREFIXES for name, value in context.items()
    }
    return HookPayload(json_line(fields), check_environment(env), file)


def resolved_arguments(call: HookCall, show: Any) -> dict[str, Any]:
    """The arguments of a call with its paths resolved, also inside other values."""
    paths = {name: show(path) for name, path in call.paths.items()}
    return {
        key: _with_paths(value, _inner_name("", key, paths), paths)
        for key, value in call.arguments.items()
    }


def _with_paths(value: Any, name: str, paths: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return paths.get(name, value)
    if not any(one.startswith(name) for one in paths):
        return value
    if isinstance(value, Mapping):
        return {
            key: _with_paths(one, _inner_name(name, key, paths), paths)
            for key, one in value.items()
        }
    if isinstance(value, list | tuple):
        return [_with_paths(one, f"{name}[{at}]", paths) for at, one in enumerate(value)]
    return value


def _inner_name(name: str, key: str, paths: Mapping[str, str]) -> str:
    """The name of a value in a mapping: as a field if a path is named so, else as a key."""
    field = f"{name}.{key}" if name else key
    inside = (f"{field}.", f"{field}[")
    is_field = any(one == field or one.startswith(inside) for one in paths)
    return field if is_field else f"{name}[{key!r}]"


def json_line(fields: Mapping[str, Any]) -> bytes:
    """One line of JSON."""
    return json.dumps(fields).encode() + b"\n"


def check_environment(env: Mapping[str, str]) -> Mapping[str, str]:
    """The variables, if a program can be given them; raises `too_large`."""
    for name, value in env.items():
        if "\0" in value or len(value.encode("utf-8", "surrogatepass")) > _MAX_VARIABLE_BYTES:
            raise messages.VARIABLE_TOO_LARGE.error(name=name)
    return env


def truncated_output(result: ToolResult) -> str:
    """The output of the call, truncated."""
    return result.text[:MAX_OUTPUT_CHARS]


def _outcome(result: ToolResult) -> dict[str, Any]:
    fields: dict[str, Any] = {"tool_output": truncated_output(result), "success": result.ok}
    if not result.ok:
        problem = result.problem
        fields["error"] = (problem.message if problem else result.text)[:MAX_OUTPUT_CHARS]
        fields["error_code"] = problem.code if problem else result.status.value
    return fields


def _shown(path: str, workspace: str) -> str:
    top = f"{workspace.rstrip('/')}/"
    return path[len(top) :] if path.startswith(top) else "." if path == workspace else path
