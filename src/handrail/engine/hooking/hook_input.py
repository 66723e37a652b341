"""The input of a hook's program: JSON on standard input, and environment variables.

Values are passed completely or not at all: a guard that sees part of a command has not seen the
command. Only the output of a call is truncated.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from handrail.core.context import Session
from handrail.core.results import ToolResult
from handrail.dialects.base import View, Vocabulary
from handrail.engine.hooking.callbacks import HookCall
from handrail.hooks import messages
from handrail.hooks.spec import HookEvent

_MODES: Final = {
    "accept-edits": "acceptEdits",
    "bypass": "bypassPermissions",
    "plan": "plan",
    "dont-ask": "dontAsk",
}
_LANGUAGES: Final = {"python": ["python3", "-c"], "node": ["node", "-e"]}
SubstituteInput = Callable[[Mapping[str, Any], str | None], dict[str, Any]]

PREFIXES: Final = ("HANDRAIL", "ARCHITECT")
MAX_OUTPUT_CHARS: Final = 2000
# The kernel accepts no variable longer than 128 kB.
_MAX_VARIABLE_BYTES: Final = 100_000


class HookPayload(NamedTuple):
    """The input of one run. `file` is the file that the run is about, None if there is none."""

    stdin: bytes
    env: Mapping[str, str]
    file: str | None = None


class HookInput(NamedTuple):
    """The input of a hook: the event, the call, its result if it ended, and more fields."""

    event: HookEvent
    call: HookCall | None = None
    result: ToolResult | None = None
    extra: Mapping[str, str] = {}


def own_payload(
    hook_input: HookInput, session: Session, file: str | None, foreign: ClaudeCall | None = None
) -> HookPayload:
    """Return the input in Handrail's format; raises `too_large`. `foreign` is the call in the names
    of another vocabulary; Handrail's names are added to it.
    """
    workspace = session.roots[0]
    fields: dict[str, Any] = {
        "event": hook_input.event.value,
        "session_id": session.id,
        "workspace": workspace,
        "cwd": session.working_directory.directory,
        **hook_input.extra,
    }
    context: dict[str, str] = dict(hook_input.extra)
    call = hook_input.call
    if call is not None:
        given = resolved_arguments(call, lambda path: _shown(path, workspace))
        fields |= {"call_id": call.call_id, "tool_name": call.tool, "tool_input": given}
        context |= {"tool_name": call.tool, "call_id": call.call_id}
        if foreign is not None:
            fields["handrail"] = {"tool_name": call.tool, "tool_input": given}
            fields |= {"tool_name": foreign.name, "tool_input": foreign.input}
            context["tool_name"] = foreign.name
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
    """Return the arguments of a call with its paths resolved, also inside other values."""
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
    """The name of a value in a mapping: as a field if a path has that name, else as a key."""
    field = f"{name}.{key}" if name else key
    inside = (f"{field}.", f"{field}[")
    is_field = any(one == field or one.startswith(inside) for one in paths)
    return field if is_field else f"{name}[{key!r}]"


def json_line(fields: Mapping[str, Any]) -> bytes:
    """One line of JSON."""
    return json.dumps(fields).encode() + b"\n"


def check_environment(env: Mapping[str, str]) -> Mapping[str, str]:
    """Return the variables if a program can get them; raises `too_large`."""
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


def _patch_as_edit(given: Mapping[str, Any], file: str | None) -> dict[str, Any]:
    return {"file_path": file or "", "old_string": "", "new_string": given.get("patch", "")}


def _delete_as_command(given: Mapping[str, Any], file: str | None) -> dict[str, Any]:
    path = str(file or given.get("path", ""))
    return {"command": f"rm -- {shlex.quote(path)}", "description": "delete a file"}


def _delete_as_write(given: Mapping[str, Any], file: str | None) -> dict[str, Any]:
    return {"file_path": file or given.get("path", ""), "content": ""}


def _code_as_command(given: Mapping[str, Any], file: str | None) -> dict[str, Any]:
    code = str(given.get("code", ""))
    words = _LANGUAGES.get(str(given.get("language")))
    return {"command": shlex.join([*words, code]) if words else code}


def _info_as_read(given: Mapping[str, Any], file: str | None) -> dict[str, Any]:
    return {"file_path": file or given.get("path", "")}


def _list_input(given: Mapping[str, Any], file: str | None) -> dict[str, Any]:
    return {"path": file or given.get("path", "")}


def _edits_input(given: Mapping[str, Any], file: str | None) -> dict[str, Any]:
    edits = [one for one in given.get("edits") or () if isinstance(one, dict)]
    joined = {
        name: "\n".join(str(one.get(name, "")) for one in edits)
        for name in ("old_string", "new_string")
    }
    return {"file_path": file or given.get("path", ""), "edits": edits, **joined}


# Maps each tool to its names in that vocabulary, and the arguments under each name.
_SUBSTITUTES: Final[Mapping[str, Mapping[str, SubstituteInput]]] = {
    "apply_patch": {"Edit": _patch_as_edit, "Write": _patch_as_edit},
    "delete_file": {"Bash": _delete_as_command, "Write": _delete_as_write},
    "execute_code": {"Bash": _code_as_command},
    "file_info": {"Read": _info_as_read},
    "list_files": {"LS": _list_input},
}


class ClaudeCall(NamedTuple):
    """A call as Claude Code, or another product, would have made it. `view` is None if the call
    cannot be translated back.
    """

    name: str
    input: Mapping[str, Any]
    view: View | None = None


def find_called_view(vocabulary: Vocabulary, call: HookCall) -> View | None:
    """Return the view by which a call was made; None if the caller has another vocabulary."""
    if call.words is None or call.words.dialect != vocabulary.dialect.name:
        return None
    name = call.words.tool(call.tool)
    return next((view for view in vocabulary.views(call.tool) if view.name == name), None)


def spell_call(vocabulary: Vocabulary, call: HookCall, workspace: str) -> ClaudeCall:
    """Return the call as a vocabulary shows it: as it was made there, or by the view that shares
    most of its defaults.
    """
    view = find_called_view(vocabulary, call) or max(
        vocabulary.views(call.tool),
        key=lambda one: sum(call.arguments.get(k) == v for k, v in one.defaults.items()),
    )
    given = resolved_arguments(call, lambda path: _shown(path, workspace))
    return ClaudeCall(view.name, vocabulary.spell(view, given), view)


def complete_input(
    vocabulary: Vocabulary, view: View, call: HookCall, updated: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a call in the names of a view, with the updated values replaced."""
    args = vocabulary.table(view).args
    replaced = {args[name].canonical if name in args else name for name in updated}
    kept = {name: value for name, value in call.arguments.items() if name not in replaced}
    return {**vocabulary.spell(view, kept), **updated}


class ClaudeTranslator:
    """Translates calls to Claude Code's vocabulary, and changed arguments back."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    def names(self, tool: str) -> frozenset[str]:
        """Return the names that a tool may have in that vocabulary."""
        return frozenset(_SUBSTITUTES.get(tool, {})) or frozenset(
            {view.name for view in self._vocabulary.views(tool)}
        )

    def translate(self, call: HookCall, file: str | None) -> list[ClaudeCall]:
        """The call, once for each name of the tool there; `file` replaces its path argument."""
        given = resolved_arguments(call, str)
        stand_ins = _SUBSTITUTES.get(call.tool)
        if stand_ins is not None:
            return [ClaudeCall(name, make(given, file)) for name, make in stand_ins.items()]
        if call.tool == "edit_file" and given.get("edits"):
            return [ClaudeCall("Edit", _edits_input(given, file))]
        view = self._vocabulary.shown(call.tool)
        arguments = self._vocabulary.spell(view, given)
        main = next((arg.name for arg in view.args if arg.canonical == "path"), None)
        if file is not None and main in arguments:
            arguments[main] = file
        return [ClaudeCall(view.name, arguments, view)]

    def translate_back(
        self, claude_call: ClaudeCall, call: HookCall, updated: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Return canonical arguments from changed ones; raises `invalid_arguments`."""
        view = claude_call.view
        if view is None:
            raise messages.NO_REWRITE.error(tool=call.tool)
        read = self._vocabulary.translate(view, updated).arguments
        return {
            name: value
            for name, value in read.items()
            # Values that the view adds by itself were not set by the hook.
            if name in call.arguments or view.defaults.get(name) != value
        }


def claude_payload(
    hook_input: HookInput, session: Session, file: str | None, claude_call: ClaudeCall | None
) -> HookPayload:
    """Return the input in Claude Code's format, with Handrail's names added; raises `too_large`."""
    fields: dict[str, Any] = {
        "session_id": session.id,
        "transcript_path": "",
        "cwd": session.working_directory.directory,
        "permission_mode": _MODES.get(session.mode, "default"),
        "hook_event_name": hook_input.event.pascal,
        **hook_input.extra,
    }
    call = hook_input.call
    if call is not None and claude_call is not None:
        fields |= {
            "tool_name": claude_call.name,
            "tool_input": claude_call.input,
            "tool_use_id": call.call_id,
            "handrail": {"tool_name": call.tool, "tool_input": dict(call.arguments)},
        }
        if hook_input.result is not None:
            fields |= _response(hook_input.event, hook_input.result, claude_call, file)
    env = {
        "CLAUDE_PROJECT_DIR": session.roots[0],
        "HANDRAIL_EVENT": hook_input.event.value,
        "HANDRAIL_WORKSPACE": session.roots[0],
    }
    return HookPayload(json_line(fields), check_environment(env), file)


def _response(
    event: HookEvent, result: ToolResult, claude_call: ClaudeCall, file: str | None
) -> dict[str, Any]:
    text = truncated_output(result)
    if event is not HookEvent.POST_TOOL_USE:
        return {"error": text, "is_interrupt": False}
    response: dict[str, Any] = {"success": result.ok, "output": text}
    if claude_call.name == "Bash":
        response |= {**_streams(result), "interrupted": False}
    if file is not None:
        response["filePath"] = file
    return {"tool_response": response}


def _streams(result: ToolResult) -> dict[str, str]:
    """Return what a command printed; for a background job, that it was started."""
    if not isinstance(result.data, Mapping) or "stdout" not in result.data:
        return {"stdout": truncated_output(result), "stderr": ""}
    return {name: result.data[name][:MAX_OUTPUT_CHARS] for name in ("stdout", "stderr")}
