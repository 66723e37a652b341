"""A dry run: what only looks happens, everything else is described and summed up."""

import pytest

import handrail
from handrail import Status


@pytest.mark.feature("F08", "W01", "W02", "W03")
async def test_reads_happen_and_everything_else_is_described_and_summed_up(workspace, open_runtime):
    workspace.write("a.txt", "one\n")
    ran = []

    @handrail.tool
    def deploy(target: str) -> str:
        """May touch anything, as the tool of a server may."""
        ran.append(target)
        return "done"

    async with open_runtime(mode="bypass", dry_run=True, allow_delete=True) as rt:
        rt.register(deploy)
        looked = [
            await rt.call("read_file", {"path": "a.txt"}),
            await rt.call("list_files", {}),
            await rt.call("grep", {"pattern": "one"}),
            await rt.call("find_files", {"pattern": "*.txt"}),
        ]
        planned = [
            await rt.call("write_file", {"path": "b.txt", "content": "x"}),
            await rt.call("edit_file", {"path": "a.txt", "old_string": "one", "new_string": "1"}),
            await rt.call(
                "apply_patch", {"patch": "--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+2\n"}
            ),
            await rt.call("delete_file", {"path": "a.txt"}),
            await rt.call("run_command", {"command": "make\n all"}),
            await rt.call("deploy", {"target": "moon"}),
        ]
        refused = await rt.call("write_file", {"path": ".git/config", "content": "x"})
        actions, summary = rt.planned_actions, rt.plan_summary()

    assert [one.status for one in looked] == [Status.OK] * 4
    assert [one.status for one in planned] == [Status.PLANNED] * 6
    assert all(one.text.startswith("[DRY-RUN] Would execute: ") for one in planned)
    assert ran == []
    assert workspace.tree() == {"a.txt": b"one\n"}
    assert refused.status is Status.PLANNED
    assert [(one.tool_name, one.description) for one in actions] == [
        ("write_file", "create b.txt"),
        ("edit_file", "write a.txt"),
        ("apply_patch", "write a.txt"),
        ("delete_file", "delete a.txt"),
        ("run_command", "make all (dangerous)"),
        ("deploy", "deploy(target='moon')"),
        ("write_file", "create .git/config"),
    ]
    assert actions[0].tool_input == {"path": "b.txt", "content": "x"}
    assert summary.startswith("Dry run: 7 actions ")
    assert summary.splitlines()[1] == "1. write_file: create b.txt"


async def test_a_dry_run_that_only_looks_plans_nothing(open_runtime):
    async with open_runtime(dry_run=True) as rt:
        await rt.call("list_files", {})

    assert rt.planned_actions == ()
    assert rt.plan_summary().startswith("Dry run: nothing")
    assert rt.plan_summary().endswith("would be done.")


async def test_what_fails_or_is_denied_is_not_planned(open_runtime):
    config = {"permissions": {"deny": ["write_file(x)"]}}
    async with open_runtime(dry_run=True, config=config) as rt:
        denied = await rt.call("write_file", {"path": "x", "content": ""})
        missing = await rt.call("edit_file", {"path": "y", "old_string": "a", "new_string": "b"})

    assert not denied.ok
    assert not missing.ok
    assert rt.planned_actions == ()


async def test_a_dry_run_changes_no_mode(open_runtime):
    async with open_runtime(dry_run=True, mode="accept-edits") as rt:
        result = await rt.call("enter_plan_mode")

    assert result.status is Status.PLANNED
    assert rt.session.mode == "accept-edits"
