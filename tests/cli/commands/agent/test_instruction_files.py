"""The question whether instruction files of a workspace are used."""

from types import SimpleNamespace

import pytest

from handrail.cli.commands.agent import instruction_files
from handrail.cli.commands.agent.instruction_files import offer_instructions
from handrail.cli.commands.agent.terminal_conversation import Interruption
from handrail.core.ports.agents import InstructionFile

FILES = [InstructionFile("AGENTS.md", "x", "d" * 64), InstructionFile("a\n", "xy", "e" * 64)]


class Talk:
    def __init__(self, answer):
        self.answer, self.asked, self.shown = answer, 0, []

    async def ask(self, question):
        self.asked += 1
        if self.answer is None:
            raise Interruption
        return self.answer

    def line(self, text):
        self.shown.append(text)

    text = line


@pytest.fixture
def offer(monkeypatch):
    async def run(answer, files=FILES, *, trusted=False):
        talk, kept = Talk(answer), []

        async def read(rt, agent):
            return files

        async def trusts(given):
            return trusted

        monkeypatch.setattr(instruction_files, "read_instructions", read)
        monkeypatch.setattr(
            instruction_files,
            "trust_instructions",
            lambda root, given: kept.append((str(root), given)),
        )
        rt = SimpleNamespace(
            agent_services=SimpleNamespace(trusts=trusts), session=SimpleNamespace(roots=["/w"])
        )
        return await offer_instructions(rt, "main", talk, talk), talk, kept

    return run


async def test_nothing_is_asked_without_files_or_if_they_are_trusted(offer):
    for files, trusted in (([], False), (FILES, True)):
        goes_on, talk, kept = await offer("yes", files, trusted=trusted)

        assert (goes_on, talk.asked, talk.shown, kept) == (True, 0, [], [])


@pytest.mark.parametrize("answer", ["y", "yes", " YES \n"])
async def test_files_are_trusted_after_a_yes(offer, answer):
    goes_on, talk, kept = await offer(answer)

    assert goes_on is True
    assert kept == [("/w", FILES)]
    assert talk.shown[1:3] == [
        "  AGENTS.md  1 character  sha256 dddddddddddddddd…",
        "  a\\n  2 characters  sha256 eeeeeeeeeeeeeeee…",
    ]


@pytest.mark.parametrize("answer", ["", "n", "no", "yes please"])
async def test_they_are_left_out_after_any_other_answer(offer, answer):
    goes_on, talk, kept = await offer(answer)

    assert (goes_on, kept) == (True, [])
    assert talk.shown[-1] == "left out"


async def test_an_interruption_starts_no_task(offer):
    goes_on, talk, kept = await offer(None)

    assert (goes_on, kept) == (False, [])
    assert "no task" in talk.shown[-1]
