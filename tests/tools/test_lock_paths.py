"""What lock_paths asks for and says; the locks themselves are in tests/spec/test_path_locks.py."""

from types import SimpleNamespace

import pytest

from handrail.core.verdicts import Risk
from handrail.tools.session.lock_paths import LockPaths, LockPathsParams

CONTEXT = SimpleNamespace(agent_id="main")


class Taken:
    """Gives the first glob, and denies the rest."""

    async def lock(self, agent, globs, ttl_s):
        return {
            "acquired": [{"glob": globs[0], "token": f"{agent}-{ttl_s:g}", "fence": 1}],
            "denied": [{"glob": one, "held_by": "s/other", "for_s": 9} for one in globs[1:]],
        }


async def test_it_says_what_is_locked_and_who_has_the_rest():
    tool = LockPaths(Taken())
    output = await tool.run(LockPathsParams(globs=["a", "b"]), CONTEXT)

    assert output.text.splitlines() == [
        f"locked a: token {CONTEXT.agent_id}-300",
        "not locked b: s/other has it for another 9 s",
    ]


async def test_nothing_locked_is_a_conflict_that_still_says_who_has_it():
    class Full(Taken):
        async def lock(self, agent, globs, ttl_s):
            return {**await super().lock(agent, ["", *globs], ttl_s), "acquired": []}

    output = await LockPaths(Full()).run(LockPathsParams(globs=["a"]), CONTEXT)

    assert output.problem.code == "conflict"
    assert output.text.startswith("not locked a: s/other")
    assert output.text.endswith("another 9 s")
    assert [one["glob"] for one in output.data["denied"]] == ["a"]


def test_it_writes_no_file_and_needs_no_question():
    tool, args = LockPaths(Taken()), LockPathsParams(globs=["a"])

    assert [touch.key for touch in tool.footprint(args).touches] == ["session:locks"]
    assert tool.risk(args) is Risk.SAFE


def test_it_is_there_only_where_locks_are_kept():
    assert (LockPaths(Taken()).enabled(None), LockPaths(None).enabled(None)) == (True, False)


@pytest.mark.parametrize(
    "wrong", [{"globs": []}, {"globs": ["a"] * 21}, {"globs": ["a"], "ttl_s": 0.5}]
)
def test_nothing_and_too_much_are_refused(wrong):
    with pytest.raises(ValueError, match=r"globs|ttl_s"):
        LockPathsParams(**wrong)
