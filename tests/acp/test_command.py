"""`handrail acp` as a process."""

import json
import signal
import subprocess
import sys
from pathlib import Path

from tests.support.waiting import running, wait_exit

from handrail.cli.main import main

PROGRAM = Path(sys.executable).with_name("handrail")
HELLO = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": 1}}
PIPES = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}


def test_only_messages_are_on_standard_output_and_a_signal_ends_it(root):
    """An unknown notification is reported on standard error, escaped."""
    with running(subprocess.Popen([PROGRAM, "acp"], cwd=root, **PIPES)) as process:
        for message in ({"jsonrpc": "2.0", "method": "\x1b[2J"}, HELLO):
            process.stdin.write(json.dumps(message).encode() + b"\n")
        process.stdin.flush()
        answer = json.loads(process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        code = wait_exit(process)
        rest, errors = process.stdout.read(), process.stderr.read()

    assert answer["result"]["agentInfo"]["name"] == "handrail"
    assert (code, rest) == (0, b"")
    assert b"[2J" in errors
    assert b"\x1b" not in errors


def test_without_the_extra_it_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setattr("handrail.cli.commands.agent.acp.find_spec", lambda name: None)

    assert main(["acp"]) == 1
    assert 'install "handrail[acp]"' in capsys.readouterr().err


def test_the_editor_names_directories_and_sessions(root, capsys):
    for words in (["-w", str(root)], ["--session", "mine"]):
        assert main(["acp", *words]) == 2
        assert "editor names" in capsys.readouterr().err
