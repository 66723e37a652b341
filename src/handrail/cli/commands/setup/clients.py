"""What the usual MCP clients need to start the server, and how to switch off their own tools.

The command is always the absolute path of the installed script: a module name would be looked
up in the workspace first, and the workspace could bring one of that name.
"""

from __future__ import annotations

import json
import os
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from handrail.cli.program import script_path

_Shape = Callable[["LaunchCommand"], str]

# Many clients start a server without them, and it would then keep its record elsewhere.
_PLACES: Final = ("XDG_STATE_HOME", "XDG_CONFIG_HOME")


@dataclass(frozen=True, slots=True)
class LaunchCommand:
    """How a client is to start the server."""

    command: str
    words: list[str]
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ClientSetup:
    """One client: where its configuration lies, its shape, its own tools' switch, and the
    options that it needs where the person gave no others.
    """

    place: str
    shape: Callable[[LaunchCommand], str]
    own_tools: str
    text_only: bool = False
    dialect: str | None = None


def client_configuration(name: str, options: Namespace) -> str:
    """The configuration of a client, with what to do with it."""
    client = _CLIENTS[name]
    given = Namespace(**vars(options))
    given.text_only = options.text_only or client.text_only
    given.dialect = options.dialect or client.dialect
    env = {name: os.environ[name] for name in _PLACES if os.environ.get(name, "").startswith("/")}
    start = LaunchCommand(str(script_path()), serve_arguments(given), env)
    lines = [f"# {client.place}", "", client.shape(start), ""]
    lines += [f"# {line}" for line in client.own_tools.splitlines()]
    return "\n".join(lines)


def serve_arguments(options: Namespace) -> list[str]:
    """The words after the command that serve what these options say."""
    from handrail.cli.workspace import config_path, workspace_directory

    words = ["serve", "--workspace", str(workspace_directory(options))]
    config = config_path(options)
    if config is not None:
        # A client starts the server from a directory of its own.
        words += ["--config", str(Path(config).resolve())]
    for flag in ("mode", "dialect", "store", "session", "tools"):
        value = getattr(options, flag)
        if value is not None:
            words += [f"--{flag}", str(value)]
    for flag in ("read_only", "text_only", "dry_run"):
        if getattr(options, flag):
            words.append(f"--{flag.replace('_', '-')}")
    return words


def _json(outer: str, beside: Mapping[str, Any] | None = None, **more: Any) -> _Shape:
    """A server as an object under `outer`, with further members in it or beside it."""

    def shaped(start: LaunchCommand) -> str:
        server = {**more, "command": start.command, "args": start.words}
        if start.env:
            server["env"] = dict(start.env)
        return json.dumps({outer: {"handrail": server}, **(beside or {})}, indent=2)

    return shaped


def _opencode(start: LaunchCommand) -> str:
    # It waits five seconds for a server, which on a busy machine is too short.
    server: dict[str, Any] = {"type": "local", "command": [start.command, *start.words]}
    server |= {"timeout": 60_000}
    if start.env:
        server["environment"] = dict(start.env)
    own = ("bash", "edit", "read", "glob", "grep", "list")
    denied = dict.fromkeys(own, "deny")
    return json.dumps({"mcp": {"handrail": server}, "permission": denied}, indent=2)


def _claude_code(start: LaunchCommand) -> str:
    import shlex

    words = ["claude", "mcp", "add", "handrail", "--scope", "local"]
    for name, value in start.env.items():
        words += ["--env", f"{name}={value}"]
    return shlex.join([*words, "--", start.command, *start.words])


def _codex(start: LaunchCommand) -> str:
    # A JSON string is a TOML string, and a JSON list of them a TOML list.
    lines = ["[mcp_servers.handrail]", f"command = {json.dumps(start.command)}"]
    lines += [f"args = {json.dumps(start.words)}", "startup_timeout_sec = 60"]
    lines += ["tool_timeout_sec = 600", "required = true"]
    lines += ['default_tools_approval_mode = "approve"']
    if start.env:
        lines += ["", "[mcp_servers.handrail.env]"]
        lines += [f"{name} = {json.dumps(value)}" for name, value in start.env.items()]
    return "\n".join(lines)


_BY_HAND: Final = (
    "It cannot put questions to you: answer them with `handrail approvals` in another terminal."
)
_GEMINI_TOOLS: Final = (
    "run_shell_command", "write_file", "replace", "read_file", "read_many_files", "list_directory",
    "glob", "grep_search", "search_file_content",
)  # fmt: skip
_CLIENTS: Final[Mapping[str, ClientSetup]] = {
    "claude-code": ClientSetup(
        "run this in the workspace, in a shell",
        _claude_code,
        "Switch off its own file and shell tools, and leave the asking to Handrail, in\n"
        ".claude/settings.local.json of the workspace:\n"
        '  {"permissions": {"allow": ["mcp__handrail"], "deny": ["Bash", "Edit", "Write", '
        '"NotebookEdit", "Read", "Glob", "Grep"]}}',
        text_only=True,
    ),
    "claude-desktop": ClientSetup(
        "claude_desktop_config.json (Settings, Developer, Edit Config), then restart it",
        _json("mcpServers"),
        "It has no file or shell tools of its own; leave other file servers out.",
    ),
    "cursor": ClientSetup(
        ".cursor/mcp.json in the workspace, or ~/.cursor/mcp.json",
        _json("mcpServers"),
        "Switch off its own tools where your version has custom modes (Settings, Chat): make one\n"
        "with only MCP tools, and use it. Elsewhere they cannot be switched off: let none of them\n"
        "run by itself, and decline what does not come from handrail.",
    ),
    "vscode": ClientSetup(
        ".vscode/mcp.json in the workspace, or `MCP: Open User Configuration`",
        _json("servers", type="stdio"),
        "Switch off its own tools: in the chat's tool picker leave only handrail selected, or\n"
        "make a custom agent whose `tools` are [handrail/*].",
    ),
    "codex": ClientSetup(
        "~/.codex/config.toml",
        _codex,
        "Switch off its own tools. Its shell, in the same file:\n"
        "  [features]\n"
        "  shell_tool = false\n"
        "Its patch tool cannot be switched off; to keep it from writing unasked, put this at the\n"
        "top of the file, before the first [table]:\n"
        '  sandbox_mode = "read-only"',
        text_only=True,
    ),
    "gemini": ClientSetup(
        ".gemini/settings.json in the workspace, or ~/.gemini/settings.json",
        _json("mcpServers", {"tools": {"exclude": list(_GEMINI_TOOLS)}}, trust=True),
        "The last part switches off its own tools, and any other's of the same name: hence the\n"
        "dialect. Trust the folder when you are asked to; elsewhere it starts no server.\n"
        + _BY_HAND,
        dialect="claude",
    ),
    "opencode": ClientSetup(
        "opencode.json in the workspace, or ~/.config/opencode/opencode.json",
        _opencode,
        "The last part switches off its own file and shell tools.\n" + _BY_HAND,
    ),
    "zed": ClientSetup(
        "~/.config/zed/settings.json",
        _json("context_servers"),
        "Switch off its own tools: make an agent profile (agent: manage profiles) with only the\n"
        "tools of handrail, and use it.\n" + _BY_HAND,
    ),
    "generic": ClientSetup(
        "as most clients take it",
        _json("mcpServers"),
        "Switch off the client's own file and shell tools: what they do is neither confined nor\n"
        "recorded here, and cannot be undone here. Where a model is shown the data of a result\n"
        "instead of its text, add --text-only.",
    ),
}
