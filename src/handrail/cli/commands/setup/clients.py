"""Configuration for MCP clients: how to start the server, and how to disable their own tools.

The command is the absolute path of the installed script. `python -m handrail` would search the
workspace first, which could contain a module of that name.
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

# Many clients do not pass these variables; the server would use another state directory.
_PLACES: Final = ("XDG_STATE_HOME", "XDG_CONFIG_HOME")


@dataclass(frozen=True, slots=True)
class LaunchCommand:
    """The command that starts the server."""

    command: str
    words: list[str]
    env: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ClientSetup:
    """One MCP client."""

    place: str  # where its configuration file is
    shape: Callable[[LaunchCommand], str]  # formats the configuration
    own_tools: str  # how to disable the client's own tools
    text_only: bool = False  # needs --text-only
    dialect: str | None = None  # needs this dialect by default


def client_configuration(name: str, options: Namespace) -> str:
    """Return the configuration of a client, with comments that explain where to put it."""
    client = _CLIENTS[name]
    serve_options = Namespace(**vars(options))
    serve_options.text_only = options.text_only or client.text_only
    serve_options.dialect = options.dialect or client.dialect
    env = {name: os.environ[name] for name in _PLACES if os.environ.get(name, "").startswith("/")}
    start = LaunchCommand(str(script_path()), serve_arguments(serve_options), env)
    lines = [f"# {client.place}", "", client.shape(start), ""]
    lines += [f"# {line}" for line in client.own_tools.splitlines()]
    return "\n".join(lines)


def serve_arguments(options: Namespace) -> list[str]:
    """Return the arguments of `handrail serve` for these options."""
    from handrail.cli.workspace import config_path, workspace_directory

    words = ["serve", "--workspace", str(workspace_directory(options))]
    config = config_path(options)
    if config is not None:
        # The client may start the server in another directory.
        words += ["--config", str(Path(config).resolve())]
    for flag in ("mode", "dialect", "store", "session", "tools"):
        value = getattr(options, flag)
        if value is not None:
            words += [f"--{flag}", str(value)]
    for flag in ("read_only", "text_only", "dry_run"):
        if getattr(options, flag):
            words.append(f"--{flag.replace('_', '-')}")
    if options.commands is not None:
        words.append("--allow-commands" if options.commands else "--no-commands")
    return words


def _json(outer: str, top_level: Mapping[str, Any] | None = None, **more: Any) -> _Shape:
    """Format a server as JSON under `outer`; `top_level` adds further keys."""

    def shaped(start: LaunchCommand) -> str:
        server = {**more, "command": start.command, "args": start.words}
        if start.env:
            server["env"] = dict(start.env)
        return json.dumps({outer: {"handrail": server}, **(top_level or {})}, indent=2)

    return shaped


def _opencode(start: LaunchCommand) -> str:
    # The default of five seconds is too short on a busy machine.
    server: dict[str, Any] = {"type": "local", "command": [start.command, *start.words]}
    server |= {"timeout": 60_000}
    if start.env:
        server["environment"] = dict(start.env)
    builtin_tools = ("bash", "edit", "read", "glob", "grep", "list")
    denied = dict.fromkeys(builtin_tools, "deny")
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
    "It does not support approvals: answer with `handrail approvals` in another terminal."
)
_GEMINI_TOOLS: Final = (
    "run_shell_command", "write_file", "replace", "read_file", "read_many_files", "list_directory",
    "glob", "grep_search", "search_file_content",
)  # fmt: skip
_CLIENTS: Final[Mapping[str, ClientSetup]] = {
    "claude-code": ClientSetup(
        "run this in the workspace, in a shell",
        _claude_code,
        "Disable its own file and shell tools, and let Handrail ask for approval, in\n"
        ".claude/settings.local.json of the workspace:\n"
        '  {"permissions": {"allow": ["mcp__handrail"], "deny": ["Bash", "Edit", "Write", '
        '"NotebookEdit", "Read", "Glob", "Grep"]}}',
        text_only=True,
    ),
    "claude-desktop": ClientSetup(
        "claude_desktop_config.json (Settings, Developer, Edit Config), then restart it",
        _json("mcpServers"),
        "It has no file or shell tools of its own; do not add other file servers.",
    ),
    "cursor": ClientSetup(
        ".cursor/mcp.json in the workspace, or ~/.cursor/mcp.json",
        _json("mcpServers"),
        "Disable its own tools if your version has custom modes (Settings, Chat): create one\n"
        "with only MCP tools, and use it. Otherwise they cannot be disabled: do not let them\n"
        "run automatically, and decline calls that do not come from handrail.",
    ),
    "vscode": ClientSetup(
        ".vscode/mcp.json in the workspace, or `MCP: Open User Configuration`",
        _json("servers", type="stdio"),
        "Disable its own tools: in the chat's tool picker select only handrail, or\n"
        "create a custom agent whose `tools` are [handrail/*].",
    ),
    "codex": ClientSetup(
        "~/.codex/config.toml",
        _codex,
        "Disable its own tools. The shell tool, in the same file:\n"
        "  [features]\n"
        "  shell_tool = false\n"
        "The patch tool cannot be disabled; to make it ask before it writes, put this at the\n"
        "top of the file, before the first [table]:\n"
        '  sandbox_mode = "read-only"',
        text_only=True,
    ),
    "gemini": ClientSetup(
        ".gemini/settings.json in the workspace, or ~/.gemini/settings.json",
        _json("mcpServers", {"tools": {"exclude": list(_GEMINI_TOOLS)}}, trust=True),
        "The last part disables its own tools and all tools of the same names, hence the\n"
        "dialect. Trust the folder when asked; it starts no server in untrusted folders.\n"
        + _BY_HAND,
        dialect="claude",
    ),
    "opencode": ClientSetup(
        "opencode.json in the workspace, or ~/.config/opencode/opencode.json",
        _opencode,
        "The last part disables its own file and shell tools.\n" + _BY_HAND,
    ),
    "zed": ClientSetup(
        "~/.config/zed/settings.json",
        _json("context_servers"),
        "Disable its own tools: create an agent profile (agent: manage profiles) with only the\n"
        "tools of handrail, and use it.\n" + _BY_HAND,
    ),
    "generic": ClientSetup(
        "the format of most clients",
        _json("mcpServers"),
        "Disable the client's own file and shell tools: their calls are neither confined nor\n"
        "recorded by Handrail and cannot be undone. If the client shows structured content\n"
        "instead of the text, add --text-only.",
    ),
}
