"""A call in Claude Code's vocabulary, for hooks in its format.

A tool that Claude Code does not have is presented as its equivalents there: a patch must not evade
a guard over `Edit`, nor a piece of code one over `Bash`.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from handrail.core.context import Session
from handrail.core.results import ToolResult
from handrail.dialects.base import View, Vocabulary
from handrail.engine.hooking.callbacks import HookCall
from handrail.engine.hooking.hook_input import (
    HookInput,
    HookPayload,
    check_environment,
    json_line,
    resolved_arguments,
    truncated_output,
)
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


# Tool → the names that it has there, and the arguments under each.
_SUBSTITUTES: Final[Mapping[str, Mapping[str, SubstituteInput]]] = {
    "apply_patch": {"Edit": _patch_as_edit, "Write": _patch_as_edit},
    "delete_file": {"Bash": _delete_as_command, "Write": _delete_as_write},
    "execute_code": {"Bash": _code_as_command},
    "file_info": {"Read": _info_as_read},
    "list_files": {"LS": _list_input},
}


class ClaudeCall(NamedTuple):
    """A call as Claude Code would have made it. `view` None: it cannot be translated back."""

    name: str
    input: Mapping[str, Any]
    view: View | None = None


class ClaudeTranslator:
    """Translates calls to Claude Code's vocabulary, and changed arguments back."""

    def __init__(self, vocabulary: Vocabulary) -> None:
        self._vocabulary = vocabulary

    def names(self, tool: str) -> frozenset[str]:
        """The names that a tool may have in that vocabulary."""
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
        """Canonical arguments from changed ones; raises `invalid_arguments`."""
        view = claude_call.view
        if view is None:
            raise messages.NO_REWRITE.error(tool=call.tool)
        read = self._vocabulary.translate(view, updated).arguments
        return {
            name: value
            for name, value in read.items()
            # What the view adds by itself was not the hook's wish.
            if name in call.arguments or view.defaults.get(name) != value
        }


def claude_payload(
    hook_input: HookInput, session: Session, file: str | None, claude_call: ClaudeCall | None
) -> HookPayload:
    """The input of a hook in Claude Code's format, with Handrail's names beside it; raises
    `too_large`.
    """
    fields: dict[str, Any] = {
        "session_id": session.id,
        "transcript_path": "",
        "cwd": session.whereabouts.directory,
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
        response |= {"stdout": text, "stderr": "", "interrupted": False}
    if file is not None:
        response["filePath"] = file
    return {"tool_response": response}
