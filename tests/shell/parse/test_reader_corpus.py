"""Real and hostile commands: all of them are read, or refused for a reason."""

import json
from pathlib import Path

import pytest
from tests.support.shell import flat

from handrail.core.commands import UnreadableCommand

CORPUS = Path(__file__).parents[2] / "data" / "corpus"


def rows(name):
    text = (CORPUS / f"{name}.jsonl").read_text("utf-8")
    return [json.loads(line)["command"] for line in text.splitlines()]


@pytest.mark.parametrize(("name", "least"), [("commands_dangerous", 300), ("blocked", 150)])
def test_hostile_commands_are_read_or_refused(name, least):
    commands = rows(name)
    refused = []

    for command in commands:
        try:
            found = flat(command)
        except UnreadableCommand as error:
            refused.append(str(error))
        else:
            assert found.invocations, command

    assert len(commands) >= least
    assert all(refused)
    assert len(refused) < 10


@pytest.mark.parametrize(("name", "least"), [("commands_safe", 150), ("commands_dev", 90)])
def test_everyday_commands_are_understood_without_a_doubt(name, least):
    commands = rows(name)

    doubtful = {command: found.doubts for command in commands if (found := flat(command)).doubts}

    assert len(commands) >= least
    assert doubtful == {}
