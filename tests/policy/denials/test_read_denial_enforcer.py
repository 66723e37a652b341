"""Hiding from commands what no call may read: promised only where measured, kept or refused."""

import pytest
from tests.policy.rule_support import CommandClass, command

from handrail.core.ports.processes import Confinement, Strength
from handrail.core.ports.read_denials import HiddenPaths
from handrail.core.problems import ProblemRaised
from handrail.policy.denials.read_denials import ReadDenialEnforcer

LOOKING = command("grep x", safety_class=CommandClass.SAFE).command
WRITING = command("make", open_ended=True).command
ROOT = Confinement(("/ws",))


class Measured:
    """A sandbox that says of itself what a test wants."""

    backend = "some"

    def __init__(self, strength, unhidden=None):
        self.measured = {"fs_hide": strength}
        self._unhidden = unhidden
        self.asked = []

    def hiding_gap(self, confinement):
        self.asked.append(confinement)
        return self._unhidden


class World:
    """Withheld paths that come and go."""

    def __init__(self, strength=Strength.ENFORCED, unhidden=None, minds=True):
        self.hidden = HiddenPaths(("/ws/.env",))
        self.looks = 0
        self.sandbox = Measured(strength, unhidden)
        self.withholding = ReadDenialEnforcer(self._find, lambda analysis: minds, self.sandbox)

    def _find(self):
        self.looks += 1
        return self.hidden

    async def paths(self, analysis=WRITING, *, approved=False):
        return self.withholding.hidden_paths(ROOT, analysis, approved=approved)

    async def refusal(self, **given):
        with pytest.raises(ProblemRaised) as raised:
            await self.paths(**given)
        return raised.value.problem


@pytest.mark.parametrize(
    ("strength", "looking", "writing"),
    [
        (Strength.ENFORCED, True, True),
        (Strength.PARTIAL, True, False),
        (Strength.REPAIRED, False, False),
        (Strength.ABSENT, False, False),
    ],
)
def test_the_promise_is_what_was_measured(strength, looking, writing):
    withholding = World(strength).withholding

    assert withholding.hides(LOOKING) is looking
    assert withholding.hides(WRITING) is writing


def test_nothing_is_looked_for_where_nothing_could_be_hidden():
    world = World(Strength.ABSENT)

    world.withholding.hides(WRITING)

    assert world.looks == 0


async def test_what_exists_when_the_command_runs_is_hidden_from_it():
    world = World()
    assert await world.paths() == ("/ws/.env",)

    world.hidden = HiddenPaths(("/ws/.env", "/ws/new/.env"))

    assert await world.paths() == ("/ws/.env", "/ws/new/.env")
    assert world.sandbox.asked[-1].denied_reads == ("/ws/.env", "/ws/new/.env")
    assert world.sandbox.asked[-1].writable == ("/ws",)


@pytest.mark.parametrize("by", ["finder", "sandbox"])
async def test_a_gap_stops_the_command_that_was_promised_hiding_and_the_next_is_asked(by):
    world = World(unhidden="too many" if by == "sandbox" else None)
    promised = world.withholding.hides(WRITING)
    if by == "finder":
        world.hidden = world.hidden._replace(gap="too many")

    problem = await world.refusal()

    assert promised
    assert problem.code == "denied"
    assert "too many" in problem.message
    assert not world.withholding.hides(WRITING)


async def test_a_yes_counts_only_from_a_person_who_was_asked_because_of_the_gap():
    world = World()
    assert world.withholding.hides(WRITING)
    world.hidden = world.hidden._replace(gap="too many")

    await world.refusal(approved=True)

    assert await world.paths(approved=True) == ("/ws/.env",)


async def test_a_yes_counts_where_nothing_was_promised():
    world = World(Strength.ABSENT, unhidden="nothing here hides paths from commands")

    assert await world.paths(approved=True) == ("/ws/.env",)
    assert (await world.refusal()).code == "denied"


async def test_a_command_that_reads_nothing_of_it_runs_whatever_can_be_hidden():
    world = World(unhidden="too many", minds=False)

    assert await world.paths() == ("/ws/.env",)


async def test_a_gap_that_is_gone_is_forgotten():
    world = World()
    world.hidden = world.hidden._replace(gap="too many")
    assert not world.withholding.hides(WRITING)

    world.hidden = HiddenPaths()
    await world.paths()

    assert world.withholding.hides(WRITING)
