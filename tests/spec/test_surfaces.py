"""Every place where a person reads: nothing that others wrote moves the cursor, hides or forges.

One workspace in which every text that somebody else chose is hostile; each surface shows some of
it, and shows it in visible characters.
"""

import asyncio
import logging
import unicodedata

import anyio
import pytest

import handrail
from handrail.cli.main import main
from handrail.host.terminal import approval_queue

FORGED = "FORGED: the person said yes"
# Clears the screen, sets the title, writes the clipboard, colours, goes back on the line, turns
# the direction, hides letters, and begins a line that could be ours.
HOSTILE = (
    "\x1b[2J\x1b]0;owned\x07\x1b]52;c;b3duZWQ=\x07\x9b31m\x08\x7f"
    "\u202eevil\u2066\u200b\u2060\ufeff\u00ad\U000e0041"
    f"\r{FORGED}\n{FORGED}\n\u2028{FORGED}\u0085{FORGED}"
)
NAME = HOSTILE.replace("/", "_")


def assert_harmless(text, *, lines=True):
    """Only visible characters; with `lines`, no line is what a stranger wrote."""
    bad = {char for char in text if char not in "\n\t" and is_hidden(char)}
    assert bad == set(), text
    if lines:
        assert [line for line in text.split("\n") if line.startswith(FORGED)] == [], text


def seen(text):
    """Whether the hostile text is there, written out as text or as JSON."""
    return "\\x1b[2J" in text or "\\u001b[2J" in text


def is_hidden(char):
    return unicodedata.category(char) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


@pytest.fixture
def root(tmp_path, monkeypatch):
    """The hostile workspace, also the current directory."""
    root = tmp_path / f"w{NAME}"
    root.mkdir()
    (root / NAME).write_text(f"{HOSTILE}\n")
    (root / "plain.txt").write_text(f"one\n{HOSTILE}\n")
    monkeypatch.chdir(root)
    return root


@pytest.fixture
def say(root, capsys):
    """Run one command line; what it printed on both streams."""

    def run(*words):
        capsys.readouterr()
        main([str(word) for word in words])
        captured = capsys.readouterr()
        return f"{captured.out}\n{captured.err}"

    return run


def edited(say):
    say("--mode", "accept-edits", "call", "write_file", f"path=new{NAME}", f"content={HOSTILE}")


def ran(say):
    say("--mode", "sandboxed", "call", "run_command", f"command=printf '%s' '{HOSTILE}'; false")


def queued(say):
    file = say("call", "enter_plan_mode", "--json").partition('"plan_file": "')[2]
    say("call", "write_file", f"path={file.partition(chr(34))[0]}", f"content={HOSTILE}")
    say("call", "write_file", f"path=q{NAME}", f"content={HOSTILE}")


def settings(say, text, folder=".handrail"):
    quoted = "".join(f"\\U{ord(char):08X}" for char in HOSTILE)
    place = anyio.Path(folder, "config.toml")._path
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(text.replace("EVIL", quoted), encoding="utf-8")


def asked_with(config):
    return lambda say: settings(say, config)


RULES = '[permissions]\ndeny = ["write_file(EVIL)"]\nallow = ["write_file(EVIL)"]\n'
HOOKS = '[[hooks.pre_tool_use]]\ncommand = "EVIL"\nname = "EVIL"\n'
# Surface → (what happened before, the words). What is marked shows whole texts, whose lines
# are lines: there only the characters count.
SURFACES = {
    "bare": (edited, []),
    "bare, after a command": (ran, []),
    "call, a missing file": (None, ["call", "read_file", f"path=no{NAME}"]),
    "call, refused": (None, ["call", "write_file", f"path=n{NAME}", f"content={HOSTILE}"]),
    "call, outside": (None, ["call", "read_file", f"path=/{NAME}"]),
    "call, unknown tool": (None, ["call", f"tool{NAME}"]),
    "call, wrong argument": (None, ["call", "read_file", f"{NAME}={HOSTILE}"]),
    "call, list": (None, ["call", "list_files"]),
    "call, find": (None, ["call", "find_files", "pattern=*"]),
    "call, blocked": (None, ["call", "run_command", f"command=rm -rf / '{HOSTILE}'"]),
    "call, protected": (None, ["call", "write_file", f"path=.git/{NAME}", "content=x"]),
    "call, dry run": (None, ["--dry-run", "call", "write_file", f"path=d{NAME}", "content=x"]),
    "call, json": (None, ["--json", "call", "read_file", f"path=no{NAME}"]),
    "tools": (None, ["tools", NAME]),
    "explain": (None, ["explain", f"cat '{NAME}' > out; {HOSTILE}"]),
    "explain, json": (None, ["--json", "explain", f"cat '{NAME}' > out; {HOSTILE}"]),
    "log": (edited, ["log"]),
    "log, of commands": (ran, ["log"]),
    "log, of a file": (edited, ["log", "--path", f"new{NAME}"]),
    "log, of an unknown file": (edited, ["log", "--path", f"x{NAME}"]),
    "log, a word too many": (edited, ["log", NAME]),
    "log, of a session": (edited, ["--session", NAME, "log"]),
    "show": (edited, ["show"]),
    "show, an unknown id": (edited, ["show", NAME]),
    "undo": (edited, ["undo"]),
    "undo, of a file": (edited, ["undo", "--path", f"new{NAME}"]),
    "undo, an unknown file": (edited, ["undo", "--path", f"x{NAME}"]),
    "undo, an unknown call": (edited, ["undo", "--call", NAME]),
    "undo, a wrong time": (edited, ["undo", "--since", NAME]),
    "redo": (lambda say: (edited(say), say("undo")), ["redo"]),
    "recover": (edited, ["recover"]),
    "verify": (edited, ["verify"]),
    "verify, a wrong anchor": (edited, ["verify", "--anchor", NAME]),
    "gc": (edited, ["gc"]),
    "plan": (queued, ["plan"]),
    "plan, approved": (queued, ["plan", "approve"]),
    "plan, unknown": (queued, ["plan", "reject", NAME]),
    "jobs": (None, ["jobs", "output", NAME]),
    "approvals": (None, ["approvals", "show", NAME]),
    "config": (asked_with(RULES + HOOKS), ["config", "show"]),
    "config, broken": (asked_with("EVIL"), ["config", "show"]),
    "config, unknown key": (asked_with('"EVIL" = 1\n'), ["config", "show"]),
    "config, wrong value": (asked_with('mode = "EVIL"\nnetwork = "EVIL"\n'), ["config", "show"]),
    "config, a missing file": (None, ["--config", NAME, "call", "list_files"]),
    "config, hostile section": (asked_with('[guardrails]\n"EVIL" = 1\n'), ["call", "list_files"]),
    "trust": (asked_with(RULES + HOOKS), ["trust", "--show"]),
    "trust, refused": (asked_with(RULES + HOOKS), ["trust"]),
    "doctor": (edited, ["doctor"]),
    "mode": (None, ["--mode", NAME, "call", "list_files"]),
    "dialect": (None, ["--dialect", NAME, "tools"]),
    "store": (None, ["--store", f"/no/{NAME}", "log"]),
    "workspace": (None, ["-w", f"/no/{NAME}", "log"]),
    "usage": (None, [NAME]),
    "completion": (None, ["completion", NAME]),
}
TEXTS = {
    "a file's text": (None, ["call", "read_file", "path=plain.txt"]),
    "a command's output": (
        None,
        ["--mode", "sandboxed", "call", "run_command", "command=cat plain.txt"],
    ),
    "a recorded output": (ran, ["show"]),
    "found lines": (None, ["call", "grep", "pattern=owned", "output_mode=content"]),
    "a batch": (None, ["batch", "calls.jsonl"]),
}


@pytest.mark.parametrize("surface", SURFACES)
def test_what_others_wrote_is_visible_and_forges_nothing(say, surface):
    before, words = SURFACES[surface]
    if before is not None:
        before(say)

    assert_harmless(say(*words))


@pytest.mark.parametrize("surface", TEXTS)
def test_whole_texts_are_shown_in_visible_characters(say, root, surface):
    (root / "calls.jsonl").write_text('{"name": "read_file", "arguments": {"path": "plain.txt"}}\n')
    before, words = TEXTS[surface]
    if before is not None:
        before(say)

    shown = say(*words)

    assert_harmless(shown, lines=False)
    assert seen(shown)


def test_the_hostile_text_does_reach_the_surfaces(say):
    edited(say)
    queued(say)
    settings(say, RULES + HOOKS)

    for words in (["log"], ["show"], ["plan"], ["config", "show"], ["trust", "--show"], []):
        assert seen(say(*words)), words


@pytest.mark.parametrize("tool", ["write_file", "run_command"])
async def test_a_question_in_another_terminal_shows_what_it_is(root, say, tool):
    arguments = {"path": f"a{NAME}", "content": HOSTILE}
    if tool == "run_command":
        arguments = {"command": f"echo '{HOSTILE}' > x", "description": HOSTILE}
    opened = handrail.open(root, mode="confirm-all", store=":memory:", approver="approvals")
    async with opened as rt:
        call = asyncio.create_task(rt.call(tool, arguments, agent=NAME))
        with anyio.fail_after(20):
            while not (
                waiting := approval_queue.pending_approvals(approval_queue.queue_directory(root))
            ):
                await anyio.sleep(0.01)
        (asked,) = waiting
        shown = [
            await anyio.to_thread.run_sync(say, "approvals", *words)
            for words in ((), ("--all",), ("show", asked.id), ("no", asked.id))
        ]
        result = await call

    for text in shown:
        assert_harmless(text)
    assert all(map(seen, shown))
    assert result.problem.code == "denied"


async def test_lines_in_our_log_are_one_line_each(root, caplog):
    config = {
        "hooks": {"post_tool_use": [{"name": "h", "command": "printf '%s' \"$1\"; exit 1"}]},
        "agents": {"main": {"tools": ["*", f"x{NAME}"]}},
    }
    with caplog.at_level(logging.DEBUG, logger="handrail"):
        async with handrail.open(root, mode="bypass", store=":memory:", config=config) as rt:
            await rt.call("write_file", {"path": f"a{NAME}", "content": "x"})
            await rt.call("run_command", {"command": f"mkdir -p .vscode; touch '.vscode/{NAME}'"})
            await rt.call(f"tool{NAME}", {})

    for record in caplog.records:
        assert_harmless(record.getMessage())
