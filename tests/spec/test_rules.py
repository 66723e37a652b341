"""Rules through the front door: said once in the settings, bound everywhere."""

import pytest

from handrail import ProblemRaised


async def test_rules_decide_before_the_mode(open_runtime, workspace):
    workspace.write("src/a.txt", "one\n")
    workspace.write("secrets/key.txt", "one\n")
    permissions = {
        "allow": ["Edit(src/**)", "Bash(make test:*)"],
        "ask": ["write_file(docs/**)"],
        "deny": ["edit_file(secrets/**)"],
    }
    async with open_runtime(mode="default", config={"permissions": permissions}) as rt:
        edit = {"old_string": "one", "new_string": "two"}
        allowed = await rt.call("edit_file", {"path": "src/a.txt", **edit})
        unsaid = await rt.call("write_file", {"path": "b.txt", "content": "x"})
    async with open_runtime(mode="bypass", config={"permissions": permissions}) as rt:
        denied = await rt.call("edit_file", {"path": "secrets/key.txt", **edit})
        by_command = await rt.call("run_command", {"command": "sed -i s/one/two/ secrets/key.txt"})
        asked = await rt.call("write_file", {"path": "docs/x", "content": "x"})

    assert allowed.ok, allowed.text
    assert unsaid.problem.code == "needs_approval"
    assert denied.problem.code == "denied"
    assert by_command.problem.code == "denied"
    assert asked.problem.code == "needs_approval"
    assert workspace.read("secrets/key.txt") == b"one\n"


@pytest.mark.parametrize("rule", ["edit_fil(src/**)", "Bash(python:*)", "edit_file()"])
async def test_a_rule_that_cannot_be_meant_stops_the_opening(open_runtime, rule):
    with pytest.raises(ProblemRaised) as caught:
        async with open_runtime(config={"permissions": {"allow": [rule]}}):
            pass

    assert rule.split("(")[0] in caught.value.problem.message


@pytest.mark.parametrize(
    ("rule", "example", "commands", "holds"),
    [
        ("run_command(git push:*)", "git push origin", True, True),
        ("run_command(git push:*)", "not git pull", True, True),
        ("run_command(git push:*)", "git pull", True, False),
        ("run_command(git push:*)", "not git push origin", True, False),
        ("run_command(git push:*)", "git push origin", False, False),
        ("edit_file(src/**)", "src/a.py", False, True),
        ("edit_file(src/**)", "docs/a.py", False, False),
    ],
)
async def test_a_rule_is_refused_if_its_example_does_not_hold(
    open_runtime, rule, example, commands, holds
):
    permissions = {"deny": [{"rule": rule, "examples": [example]}]}
    config = {"permissions": permissions, "commands": commands}

    if holds:
        async with open_runtime(config=config):
            return
    with pytest.raises(ProblemRaised) as caught:
        async with open_runtime(config=config):
            pass
    assert caught.value.problem.code == "invalid_arguments"
    assert example.removeprefix("not ") in caught.value.problem.message


async def test_a_grant_lasts_as_long_as_it_says(open_runtime, workspace):
    write = {"content": "x"}
    async with open_runtime(mode="default") as rt:
        rt.grants.grant("write_file", "src/a.txt", scope="once")
        rt.grants.grant("write_file", "src/b.txt")
        results = [
            await rt.call("write_file", {"path": path, **write})
            for path in ("src/a.txt", "src/a.txt", "src/b.txt", "src/b.txt", "src/c.txt")
        ]
        rt.grants.revoke("write_file(src/b.txt)")
        revoked = await rt.call("write_file", {"path": "src/b.txt", "content": "y"})

    assert [result.ok for result in results] == [True, False, True, True, False]
    assert revoked.problem.code == "needs_approval"


@pytest.mark.parametrize("section", ["hooks", "guardrails", "agents"])
async def test_a_section_on_which_nothing_acts_is_refused(open_runtime, section):
    with pytest.raises(ProblemRaised) as caught:
        async with open_runtime(config={section: {"x": 1}}):
            pass

    assert section in caught.value.problem.message


async def test_a_workspace_forbids_and_does_not_allow(open_runtime, workspace, caplog):
    workspace.write(
        ".handrail/config.toml",
        '[permissions]\nallow = ["write_file(**)"]\ndeny = ["write_file(locked/**)"]\n',
    )
    async with open_runtime(mode="default") as rt:
        write = await rt.call("write_file", {"path": "a.txt", "content": "x"})
    async with open_runtime(mode="accept-edits") as rt:
        locked = await rt.call("write_file", {"path": "locked/a.txt", "content": "x"})

    assert write.problem.code == "needs_approval"
    assert locked.problem.code == "denied"
    assert "trust" in caplog.text
