"""The settings of commands hold in every dialect."""

import pytest

import handrail

COMMAND = {
    "canonical": ("run_command", "command"),
    "architect": ("run_command", "command"),
    "claude": ("Bash", "command"),
}


@pytest.mark.finding("F35")
@pytest.mark.parametrize("dialect", COMMAND)
async def test_the_default_timeout_holds_in_every_dialect(tmp_path, dialect):
    tool, argument = COMMAND[dialect]
    config = {"commands": {"default_timeout": 1}, "accept_no_sandbox": True}
    async with handrail.open(
        tmp_path, store=":memory:", dialect=dialect, mode="bypass", config=config
    ) as rt:
        result = await rt.call(tool, {argument: "sleep 20"})

    assert result.problem.code == "timeout"
    assert result.meta["duration_s"] < 15


@pytest.mark.finding("F35")
async def test_a_refusal_under_allowed_only_names_the_setting(tmp_path):
    config = {"commands": {"allowed_only": True}}
    async with handrail.open(tmp_path, store=":memory:", mode="bypass", config=config) as rt:
        result = await rt.call("run_command", {"command": "npm install --global x"})

    assert result.problem.code == "denied"
    assert "allowed_only" in result.problem.message


@pytest.mark.finding("F35")
async def test_a_timeout_that_the_shown_schema_does_not_allow_is_refused(tmp_path):
    config = {"accept_no_sandbox": True}
    async with handrail.open(
        tmp_path, store=":memory:", dialect="architect", mode="bypass", config=config
    ) as rt:
        [shown] = [one for one in rt.declare("mcp") if one["name"] == "run_command"]
        half = await rt.call("run_command", {"command": "echo x", "timeout": 0.5})
        none = await rt.call("run_command", {"command": "echo x", "timeout": 0})

    timeout = shown["inputSchema"]["properties"]["timeout"]
    assert (timeout["minimum"], timeout["default"]) == (1, 30)
    assert {half.problem.code, none.problem.code} == {"invalid_arguments"}
