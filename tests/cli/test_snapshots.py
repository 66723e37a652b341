"""The wording of the command line: help texts and screens, one snapshot file per surface.

Set HANDRAIL_UPDATE_SNAPSHOTS=1 to write the snapshots again, then read the diff.
"""

import argparse
import re
from pathlib import Path

import pytest

from handrail.cli.commands.setup.doctor import render_report
from handrail.cli.commands.setup.overview import render_overview
from handrail.cli.parser import Subparsers, build_parser

EDIT = ("--mode", "accept-edits", "call", "edit_file", "path=a.txt")

# Surface to the command lines of its screen, each in the workspace as the one before left it.
SCREENS = {
    "log": [
        (*EDIT, "old_string=two", "new_string=three", "--id", "edit"),
        ("call", "read_file", "path=missing.txt", "--id", "read"),
        ("log",),
        ("log", "--path", "a.txt"),
        ("log", "--path", "never.txt"),
        ("show", "edit"),
        ("show", "nope"),
    ],
    "undo": [
        ("undo",),
        (*EDIT, "old_string=two", "new_string=three", "--id", "edit"),
        ("undo",),
        ("redo",),
        ("log", "--path", "a.txt"),
        ("undo", "nope"),
    ],
    "record": [
        (*EDIT, "old_string=two", "new_string=three", "--id", "edit"),
        ("verify",),
        ("verify", "--anchor", "0" * 64),
        ("gc",),
        ("gc", "--older-than", "0", "--dry-run"),
        ("recover",),
        ("recover", "--dry-run"),
    ],
    "explain": [
        ("explain", "git status"),
        ("explain", "rm -rf /"),
        ("explain",),
    ],
    "approval": [
        ("call", "write_file", "path=a.txt", "content=x", "--id", "write"),
        ("approvals",),
        ("approvals", "yes"),
        ("plan",),
        ("plan", "show", "1"),
        ("jobs",),
        ("jobs", "kill"),
        ("failed-calls",),
        ("failed-calls", "show"),
        ("gates",),
    ],
    "settings": [
        ("trust", "--show"),
        ("config", "check"),
        ("config", "check", "nope.toml"),
        ("config", "show", "a.txt"),
        ("--config", "nope.toml", "tools"),
        ("-w", "nope", "log"),
    ],
    "usage": [
        ("verfy",),
        ("--verbos", "log"),
        ("log", "-n", "0"),
        ("log", "--turn", "x"),
        ("call",),
        ("call", "read_file", "a.txt"),
        ("call", "read_file", "path=a.txt", "path=a.txt"),
        ("call", "read_fil"),
        ("gc", "--session", "x"),
        ("serve", "--client", "emacs"),
        ("serve", "--add", "x=y"),
    ],
}


def test_the_help(check_snapshot):
    parser = build_parser()
    commands = next(one for one in parser._actions if isinstance(one, Subparsers))
    text = _help("handrail", parser) + "".join(
        _help(f"handrail {name}", one) for name, one in commands.choices.items()
    )

    check_snapshot("help", text)


@pytest.mark.parametrize("surface", SCREENS)
def test_a_screen(surface, handrail, workspace, monkeypatch, check_snapshot):
    monkeypatch.setenv("COLUMNS", "100")
    transcript = []
    for words in SCREENS[surface]:
        done = handrail(*words)
        transcript.append(f"$ handrail {' '.join(words)}\n{done.out}{done.err}[{done.code}]\n\n")

    check_snapshot(surface, _normalized("".join(transcript), workspace))


def test_the_doctor(check_snapshot):
    measured = {"fs_write": "enforced", "protected_names": "repaired", "pids_limit": "absent"}
    problem = {"code": "unavailable", "message": "a problem", "hint": "a hint"}
    report = {
        "handrail": {"version": "1.0"},
        "kernel": {"openat2": "used"},
        "programs": {"rg": None, "shfmt": {"path": "/bin/shfmt", "used": False}},
        "commands": {"backend": "landlock", "passed_over": {"x": "y"}, "measured": measured},
        "language_servers": [
            {"name": "ty", "state": "available", "path": "/bin/ty", "version": "1.0", "reason": ""},
            {"name": "x", "state": "not used", "path": None, "version": "", "reason": "a reason"},
        ],
        "config": {"file": "/home/config.toml", "exists": False},
        "state": None,
        "store": {"path": "/state/store.db", "exists": False},
        "warnings": ["a warning"],
        "notices": ["a notice"],
        "problems": [problem],
    }
    healthy = {
        **report,
        "commands": None,
        "language_servers": [],
        "warnings": [],
        "notices": [],
        "problems": [],
    }

    check_snapshot(
        "doctor", _joined(render_report(report)) + "\n" + _joined(render_report(healthy))
    )


def test_the_overview(check_snapshot):
    facts = {
        "version": "1.0",
        "workspace": "/nowhere",
        "directories": ["/more"],
        "mode": "default",
        "dialect": "claude",
        "enforced": {"files": "x", "search": "y"},
        "commands": None,
        "store": {"path": "/state/store.db", "exists": False, "bytes": 0, "problem": None},
        "last_session": None,
        "model": None,
    }

    check_snapshot("overview", _joined(render_overview(facts)))


def _help(name: str, parser: argparse.ArgumentParser) -> str:
    """The texts of one parser, without the layout of argparse, which depends on its version."""
    lines = [f"== {name}", parser.description or ""]
    for action in parser._actions:
        if isinstance(action, Subparsers):
            lines += [f"  {one.dest}: {one.help}" for one in action._choices_actions]
        elif name == "handrail" or "--json" not in action.option_strings:
            names = ", ".join(action.option_strings) or action.metavar or action.dest
            lines.append(f"  {names}: {action.help}")
    return "\n".join([*lines, *([parser.epilog] if parser.epilog else [])]) + "\n\n"


def _joined(lines) -> str:
    return "".join(f"{line}\n" for line in lines)


def _normalized(text: str, workspace: Path) -> str:
    text = text.replace(str(workspace), "WORKSPACE")
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", "ISO-TIME", text)
    text = re.sub(r"\b\d\d:\d\d:\d\d\b", "TIME", text)
    text = re.sub(r"after \d+\.\d+ s", "after N s", text)
    text = re.sub(r"\b[0-9a-f]{8}\.1\b", "CALL", text)
    text = re.sub(r"\b\d+(\.\d+)? (bytes|kB|MB)\b", "SIZE", text)
    return re.sub(r"\b(?!0{64})[0-9a-f]{64}\b", "HASH", text)
