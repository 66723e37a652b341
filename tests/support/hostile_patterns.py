"""Runs in a process of its own: gives hostile patterns to one place that takes patterns.

`hostile_patterns.py PLACE` prints one JSON object: the pattern's name → what became of it.
Whoever starts it stops it when it takes too long, which is what the test is about.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path

import handrail

LONG = 100_000
PATTERNS = {
    "nested": "(a+)+$",
    "alternatives": "(a|a|aa)*$",
    "spread": "(.*a){25}b",
    "repeated": "(((a{200}){200}){200}){200}",
    "empty loops": "(a*)*(a*)*(a*)*b",
    "stars": "*a" * 60 + "*b",
    "folders": "**/a/" * 40 + "b",
    "only folders": "**/" * 60 + "b",
    "marks": "?" * 300 + "*" * 300 + "b",
    "sets": "[a-z]*" * 60 + "!",
    "braces": "{a,aa}" * 30 + "b",
    "nested braces": "{" * 200 + "a,b" + "}" * 200,
    "long": "a" * LONG,
    "long stars": "*a" * (LONG // 2),
    "long braces": "{a,b}" * (LONG // 5),
    "long brackets": "[" * LONG,
    "long parentheses": "(" * LONG + ")" * LONG,
    "long escapes": "\\" * (LONG + 1),
}
# What a pattern that goes back on itself takes longest for: it almost fits.
TEXT = "a" * 3000 + "!"
NAME = "a" * 200 + "!"
DEEP = "/".join(["a"] * 60)


def places():
    """Place → (settings that hold the pattern, the call that meets it)."""
    edit = {"path": "text.txt", "new_string": "b"}
    write = ("write_file", {"path": f"{DEEP}/c", "content": TEXT})
    command = ("run_command", {"command": f"echo {NAME} {DEEP} && cat {DEEP}/a*a?[a-z]"})
    read = ("read_file", {"path": f"{DEEP}/{NAME}"})
    return {
        "rule for paths": (lambda p: permissions("deny", f"edit_file({p})"), write),
        "rule that allows": (lambda p: permissions("allow", f"edit_file({p})"), write),
        "rule that withholds": (lambda p: permissions("deny", f"read_file({p})"), read),
        "rule that withholds, searched": (
            lambda p: permissions("deny", f"read_file({p})"),
            ("grep", {"pattern": "!"}),
        ),
        "rule for commands": (lambda p: permissions("deny", f"run_command({p})"), command),
        "rule for commands, as prefix": (
            lambda p: permissions("allow", f"Bash(echo {p}:*)"),
            command,
        ),
        "sensitive_files": (lambda p: rails(sensitive_files=[p]), read),
        "protected_files": (lambda p: rails(protected_files=[p]), write),
        "blocked_commands": (lambda p: rails(blocked_commands=[p]), command),
        "code_rules": (lambda p: rails(code_rules=[{"pattern": p, "severity": "block"}]), write),
        "code_rules, files": (lambda p: rails(code_rules=[{"pattern": "z", "files": [p]}]), write),
        "hook matcher": (lambda p: hooks(matcher=p), write),
        "hook file_patterns": (lambda p: hooks(file_patterns=[p]), write),
        "agent tools": (lambda p: {"agents": {"main": {"allowed_tools": [p]}}}, write),
        "allow_protected": (
            lambda p: {"allow_protected": [p]},
            ("write_file", {"path": f"{DEEP}/.envrc", "content": "x"}),
        ),
        "command words": (
            lambda p: {"command_policy": "allowlist", "allowed_commands": [p]},
            command,
        ),
        "commands blocked by words": (lambda p: {"blocked_commands": [p]}, command),
        "grep": (None, lambda p: ("grep", {"pattern": p, "output_mode": "content"})),
        "grep, multiline": (None, lambda p: ("grep", {"pattern": p, "multiline": True})),
        "grep, glob": (None, lambda p: ("grep", {"pattern": "a", "glob": p})),
        "grep, type": (None, lambda p: ("grep", {"pattern": "a", "type": p})),
        "find_files": (None, lambda p: ("find_files", {"pattern": p})),
        "list_files": (None, lambda p: ("list_files", {"pattern": p, "recursive": True})),
        "edit_file": (
            None,
            lambda p: ("edit_file", {**edit, "old_string": p, "regex": True}),
        ),
        "lock_paths": (None, lambda p: ("lock_paths", {"globs": [p], "ttl_s": 60})),
        "a command's own glob": (None, lambda p: ("run_command", {"command": f"rm -r {p[:5000]}"})),
    }


def permissions(effect, rule):
    return {"permissions": {effect: [rule]}}


def rails(**section):
    return {"guardrails": section}


def hooks(**hook):
    return {"hooks": {"pre_tool_use": [{"command": "true", **hook}]}}


async def main(place):
    settings, call = places()[place]
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "work")
        (root / DEEP).mkdir(parents=True)
        (root / DEEP / NAME).write_text(TEXT)
        (root / "text.txt").write_text(TEXT)
        if settings is None:
            outcomes = await given_to_a_tool(root, call)
        else:
            outcomes = {
                name: await given_as_setting(root, settings(pattern), *call)
                for name, pattern in PATTERNS.items()
            }
    print(json.dumps(outcomes))


async def given_to_a_tool(root, call):
    # Commands are judged, and wait for a person.
    async with handrail.open(root, mode="accept-edits", store=":memory:") as rt:
        outcomes = {}
        for name, pattern in PATTERNS.items():
            tool, arguments = call(pattern)
            result = await rt.call(tool, arguments)
            if tool == "lock_paths":
                # Another agent writes, and every lock is held against the path.
                another = {"path": f"{DEEP}/c", "content": "x"}
                result = await rt.call("write_file", another, agent="another")
            outcomes[name] = told(result.problem)
    return outcomes


async def given_as_setting(root, config, tool, arguments):
    try:
        opened = handrail.open(root, mode="accept-edits", store=":memory:", config=config)
        async with opened as rt:
            result = await rt.call(tool, arguments)
    except handrail.ProblemRaised as raised:
        return told(raised.problem)
    return told(result.problem)


def told(problem):
    return "ok" if problem is None else problem.code


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
