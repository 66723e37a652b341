"""A runner does its work without any privilege."""

import pytest
from tests.support.ordinary import USER, run_as_ordinary_user

DEAF = (
    "trap '' TERM; setsid sleep 600 & (setsid bash -c 'sleep 601 & disown' &); sleep 602; sleep 603"
)


@pytest.mark.parametrize(
    "landlock",
    [
        pytest.param(False, id="unconfined"),
        pytest.param(True, id="landlock", marks=pytest.mark.needs_landlock),
    ],
)
async def test_an_ordinary_user_can_have_programs_run_and_ended(programs, landlock):
    who, deaf, after, left = run_as_ordinary_user(
        ["id -u", DEAF, "echo next", "yes > /dev/null & exit"],
        folder="/",
        mark=programs.mark,
        landlock=landlock,
        timeout_s=0.7,
    )

    assert who == [False, [], f"{USER}\n"]
    assert (deaf, after, left) == ([True, [], ""], [False, [], "next\n"], [False, [], ""])
    assert programs.alive() == []
