"""What the usual MCP clients need to start the server, and how to switch off their own tools.

The command is always the absolute path of the installed script: a module name would be looked
up in the workspace first, and the workspace could bring one of that name.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from handrail.cli.program import script


@dataclass(frozen=True, slots=True)
class Client:
    """One client: where its configuration lies, its shape, and its own tools' switch."""

    place: str
    shape: Callable[[str, list[str]], str]
    own_tools: str


def told(name: str, options: Namespace) -> str:
    """The configuration of a client, with what to do with it."""
    client, command = _CLIENTS[name], str(script())
    lines = [f"# {client.place}", "", client.shape(command, arguments_of(options)), ""]
    lines += [f"# {line}" for line in client.own_tools.splitlines()]
    return "\n".join(lines)


def arguments_of(options: Namespace) -> list[str]:
    """The words after the command that serve what these options say."""
    from handrail.cli.workspace import config_of, directory_of

    words = ["serve", "--workspace", str(directory_of(options))]
    config = config_of(options)
    if config is not None:
        # A client starts the server from a directory of its own.
        words += ["--config", str(Path(config).resolve())]
    for flag in ("mode", "dialect", "store", "session", "tools"):
        value = getattr(options, flag)
        if value is not None:
            words += [f"--{flag}", str(value)]
    if options.read_only:
        words.append("--read-only")
    if options.dry_run:
        words.append("--dry-run")
    return words


def _json(outer: str, **more: Any) -> Callable[[str, list[str]], str]:
    def shaped(command: str, words: list[str]) -> str:
        server = {**more, "command": command, "args": words}
        return json.dumps({outer: {"handrail": server}}, indent=2)

    return shaped


def _claude_code(command: str, words: list[str]) -> str:
    import shlex

    return f"claude mcp add handrail --scope local -- {shlex.join([command, *words])}"


def _codex(command: str, words: list[str]) -> str:
    # A JSON string is a TOML string, and a JSON list of them a TOML list.
    lines = ["[mcp_servers.handrail]", f"command = {json.dumps(command)}"]
    return "\n".join([*lines, f"args = {json.dumps(words)}", "tool_timeout_sec = 600"])


_CLIENTS: Final[Mapping[str, Client]] = {
    "claude-code": Client(
        "run this in the workspace, in a shell",
        _claude_code,
        "Switch off its own file and shell tools, in .claude/settings.local.json:\n"
        '  {"permissions": {"deny": ["Bash", "Edit", "Write", "NotebookEdit", "Read", "Glob", '
        '"Grep"]}}',
    ),
    "claude-desktop": Client(
        "claude_desktop_config.json (Settings, Developer, Edit Config), then restart it",
        _json("mcpServers"),
        "It has no file or shell tools of its own; leave other file servers out.",
    ),
    "cursor": Client(
        ".cursor/mcp.json in the workspace, or ~/.cursor/mcp.json",
        _json("mcpServers"),
        "Switch off its own tools: make a custom mode (Settings, Chat, Custom modes) with only\n"
        "MCP tools, and use it.",
    ),
    "vscode": Client(
        ".vscode/mcp.json in the workspace, or `MCP: Open User Configuration`",
        _json("servers", type="stdio"),
        "Switch off its own tools: in the chat's tool picker leave only handrail selected, or\n"
        "make a custom agent whose `tools` are [handrail/*].",
    ),
    "codex": Client(
        "~/.codex/config.toml",
        _codex,
        "Switch off its own tools: its shell, in the same file:\n"
        "  [features]\n"
        "  shell_tool = false\n"
        'Where that is not known, sandbox_mode = "read-only" keeps it from writing.',
    ),
    "gemini": Client(
        ".gemini/settings.json in the workspace, or ~/.gemini/settings.json",
        _json("mcpServers"),
        "Switch off its own tools, in the same file:\n"
        '  {"tools": {"exclude": ["run_shell_command", "write_file", "replace", "read_file", '
        '"glob", "search_file_content", "list_directory", "read_many_files"]}}',
    ),
    "zed": Client(
        "~/.config/zed/settings.json",
        _json("context_servers", source="custom"),
        "Switch off its own tools: make an agent profile (agent: manage profiles) with only the\n"
        "tools of handrail, and use it.",
    ),
    "generic": Client(
        "as most clients take it",
        _json("mcpServers"),
        "Switch off the client's own file and shell tools: what they do is neither confined nor\n"
        "recorded here, and cannot be undone here.",
    ),
}
