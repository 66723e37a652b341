"""What programs execute and what agents obey: asked about for tools, put back after commands."""

from pathlib import Path

import pytest
from tests.support.machine import SANDBOXES_AND_NONE

from handrail.core.names.protected_table import EXECUTED, OBEYED

LISTED = Path(__file__).parent.parent / "data/names/expected.txt"
SPELLINGS = [
    ".g\u200cit/config",
    ".g\u200bit/config",
    ".en\u2060vrc",
    ".hus\u00adky/x",
    ".vs\ufe0fcode/x",
    ".hus\u212ay/x",
    ".v\u017fcode/x",
    ".gi\U000e0074t/config",
    ".envrc ",
    ".envrc. ",
]
OBEYED_SPELLINGS = ["AGENT\u200bS.md", "agents.MD", "Claude.md ", ".cursor\u2060rules"]
ANSWERS = {"protected": "protected", "needs_approval": "obeyed", None: "free"}


def listed():
    lines = LISTED.read_text().splitlines()
    rows = [tuple(line.split(" ", 1)) for line in lines if not line.startswith("#")]
    rows += [("protected", path) for path in SPELLINGS]
    return rows + [("obeyed", path) for path in OBEYED_SPELLINGS]


def commands(backend):
    return {"sandbox": backend, "config": {"accept_no_sandbox": True}}


async def run_python(rt, code):
    return await rt.call("execute_code", {"language": "python", "code": code})


def plant(*paths):
    """Code that writes each path, with its folder; what is held read-only is passed over."""
    return f"""
import os
for path in {paths!r}:
    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with open(path, "w") as file:
            file.write("evil")
    except OSError:
        pass
"""


@pytest.mark.finding("F11")
@pytest.mark.finding("F19")
async def test_a_tool_is_asked_about_every_name_in_the_table_and_no_other(open_runtime):
    rows, wrong = listed(), []
    async with open_runtime(config={"loop_guard": "off"}) as rt:
        for expected, path in rows:
            result = await rt.call("write_file", {"path": path, "content": "x"})
            answer = ANSWERS[result.problem.code if result.problem else None]
            if answer != expected:
                wrong.append((path, expected, answer))

    assert len(rows) > 200
    assert wrong == []


@pytest.mark.finding("F11")
@pytest.mark.parametrize("backend", SANDBOXES_AND_NONE)
async def test_what_a_command_writes_at_any_name_of_the_table_is_put_back(
    open_runtime, workspace, backend
):
    rows = listed()
    free = [path for kind, path in rows if kind == "free"]
    # A folder cannot be a file as well; `.hg` and `.jj` belong to their programs.
    counted = [path for kind, path in rows if kind != "free" and path != ".clinerules"]
    async with open_runtime(mode="sandboxed", **commands(backend)) as rt:
        result = await run_python(rt, plant(*free, *counted))

    assert result.problem.code == "tampered"
    assert sorted(workspace.tree()) == sorted(free)


@pytest.mark.finding("F19")
@pytest.mark.threat("A13")
@pytest.mark.threat("A30")
@pytest.mark.parametrize("backend", SANDBOXES_AND_NONE)
@pytest.mark.parametrize("mode", ["sandboxed", "auto-safe", "dont-ask"])
async def test_what_an_agent_obeys_is_as_before_after_a_command_of_unknown_effects(
    open_runtime, workspace, backend, mode
):
    workspace.write("AGENTS.md", "be kind\n")
    workspace.write(".agents/skills/pdf/SKILL.md", "skill\n")
    workspace.write(".agents/skills/pdf/scripts/run.py", "print()\n")
    workspace.write("docs/CLAUDE.local.md", "mine\n")
    new = "CLAUDE.md", "x/GEMINI.md", ".agents/skills/new/SKILL.md", "plain.txt"
    before = workspace.tree()
    workspace.write(
        "plant.py",
        plant(*before, *new)
        + "\nfor path in ['AGENTS.md', '.agents']:\n  try: os.rename(path, 'moved')\n"
        + "  except OSError: pass\n",
    )
    workspace.write("Makefile", "all:\n\tpython3 plant.py\n")
    allow = {"permissions": {"allow": ["run_command(make:*)"]}} if mode == "dont-ask" else {}
    async with open_runtime(
        mode=mode, sandbox=backend, config={"accept_no_sandbox": True, **allow}
    ) as rt:
        result = await rt.call("run_command", {"command": "make"})

    assert result.problem.code == "tampered"
    assert "CLAUDE.md" in result.problem.message
    after = workspace.tree()
    assert {path: after.get(path) for path in before} == before
    assert "plain.txt" in after
    assert not any("new" in path or "GEMINI" in path or path == "CLAUDE.md" for path in after)


@pytest.mark.finding("F19")
@pytest.mark.parametrize("backend", SANDBOXES_AND_NONE)
async def test_allow_protected_lifts_it_for_commands_and_tools(open_runtime, workspace, backend):
    allowed = ["AGENTS.md", ".agents/**"]
    async with open_runtime(mode="sandboxed", allow_protected=allowed, **commands(backend)) as rt:
        tool = await rt.call("write_file", {"path": "AGENTS.md", "content": "x"})
        command = await run_python(rt, plant("AGENTS.md", ".agents/skills/a/SKILL.md"))

    assert (tool.problem, command.problem) == (None, None)
    assert sorted(workspace.tree()) == [".agents/skills/a/SKILL.md", "AGENTS.md"]


@pytest.mark.finding("F19")
async def test_bypass_writes_what_agents_obey_and_still_holds_what_programs_execute(
    open_runtime, workspace
):
    async with open_runtime(mode="bypass", config={"accept_no_sandbox": True}) as rt:
        tool = await rt.call("write_file", {"path": "AGENTS.md", "content": "x"})
        rules = await rt.call("write_file", {"path": ".github/prompts/a.md", "content": "x"})
        refused = await rt.call("write_file", {"path": ".agents/a.md", "content": "x"})
        command = await run_python(rt, plant("CLAUDE.md", ".agents/b.md"))

    assert (tool.problem, rules.problem) == (None, None)
    assert (refused.problem.code, command.problem.code) == ("protected", "tampered")
    assert sorted(workspace.tree()) == [".github/prompts/a.md", "AGENTS.md", "CLAUDE.md"]


def make_repository(workspace, folder):
    prefix = f"{folder}/" if folder else ""
    workspace.write(f"{prefix}HEAD", "ref: refs/heads/main\n")
    workspace.write(f"{prefix}objects/info/packs", "")
    workspace.write(f"{prefix}refs/heads/.keep", "")


@pytest.mark.finding("F11")
@pytest.mark.parametrize("folder", ["data/store", ""])
async def test_a_tool_is_asked_about_files_of_a_bare_repository(open_runtime, workspace, folder):
    make_repository(workspace, folder)
    prefix = f"{folder}/" if folder else ""
    async with open_runtime(mode="bypass") as rt:
        for name in ("config", "hooks/post-checkout", "HEAD"):
            call = {"path": f"{prefix}{name}", "content": "x"}
            assert (await rt.call("write_file", call)).problem.code == "protected"


@pytest.mark.finding("F11")
@pytest.mark.parametrize("last", ["HEAD", "objects/a", "refs/a"])
async def test_the_write_that_would_complete_a_bare_repository_is_asked_about(
    open_runtime, workspace, last
):
    parts = [part for part in ("config", "HEAD", "objects/a", "refs/a") if part != last]
    async with open_runtime() as rt:
        for part in parts:
            assert (await rt.call("write_file", {"path": f"x/{part}", "content": "a"})).ok
        result = await rt.call("write_file", {"path": f"x/{last}", "content": "a"})
        other = await rt.call("write_file", {"path": "y/HEAD", "content": "a"})

    assert result.problem.code == "protected"
    assert other.ok


@pytest.mark.finding("F11")
async def test_a_patch_that_makes_a_bare_repository_at_once_is_asked_about(open_runtime):
    names = ("HEAD", "config", "objects/a", "refs/a")
    added = "".join(f"*** Add File: x/{name}\n+a\n" for name in names)
    async with open_runtime() as rt:
        patch = f"*** Begin Patch\n{added}*** End Patch"
        result = await rt.call("apply_patch", {"patch": patch})

    assert result.problem.code == "protected"


@pytest.mark.finding("F11")
@pytest.mark.parametrize("backend", SANDBOXES_AND_NONE)
@pytest.mark.parametrize("folder", ["", "src", "new"])
async def test_a_bare_repository_that_a_command_makes_is_none_afterwards(
    open_runtime, workspace, backend, folder
):
    workspace.write("src/main.py", "1\n")
    prefix = f"{folder}/" if folder else ""
    paths = [f"{prefix}{name}" for name in ("HEAD", "config", "hooks/x", "objects/a", "refs/a")]
    async with open_runtime(mode="sandboxed", **commands(backend)) as rt:
        result = await run_python(rt, plant(*paths))

    assert result.problem.code == "tampered"
    after = workspace.tree()
    assert after["src/main.py"] == b"1\n"
    assert not {f"{prefix}HEAD", f"{prefix}config", f"{prefix}hooks/x"} & set(after)


@pytest.mark.finding("F11")
@pytest.mark.parametrize("backend", SANDBOXES_AND_NONE)
async def test_a_bare_repository_keeps_its_programs_and_may_take_commits(
    open_runtime, workspace, backend
):
    make_repository(workspace, "store")
    workspace.write("store/config", "[core]\n")
    async with open_runtime(mode="sandboxed", **commands(backend)) as rt:
        fine = await run_python(rt, plant("store/HEAD", "store/objects/aa/b", "store/refs/heads/m"))
        bad = await run_python(rt, plant("store/config", "store/hooks/post-update"))

    assert fine.problem is None
    assert bad.problem.code == "tampered"
    assert workspace.read("store/HEAD") == b"evil"
    assert workspace.read("store/config") == b"[core]\n"
    assert not (workspace.root / "store/hooks").exists()


@pytest.mark.finding("F11")
@pytest.mark.parametrize("backend", SANDBOXES_AND_NONE)
async def test_programs_may_write_their_own_folders_where_nothing_is_executed(
    open_runtime, workspace, backend
):
    fine = [".jj/repo/op_store/a", ".jj/working_copy/tree", ".hg/store/data/a.i", ".hg/dirstate"]
    bad = [".jj/repo/config.toml", ".hg/hgrc", "sub/.jj/repo/store/git_target"]
    async with open_runtime(mode="sandboxed", **commands(backend)) as rt:
        first = await run_python(rt, plant(*fine))
        second = await run_python(rt, plant(*bad))
        tool = await rt.call("write_file", {"path": ".jj/working_copy/x", "content": "a"})

    assert first.problem is None
    assert second.problem.code == "tampered"
    assert tool.problem.code == "protected"
    assert sorted(workspace.tree()) == sorted(fine)


@pytest.mark.finding("F11")
@pytest.mark.parametrize("backend", SANDBOXES_AND_NONE)
async def test_a_link_at_an_upper_name_makes_nothing_act_under_a_protected_path(
    open_runtime, workspace, backend
):
    workspace.write("other/config.toml", "a = 1\n")
    (workspace.root / ".cargo").symlink_to("other")
    async with open_runtime(mode="sandboxed", **commands(backend)) as rt:
        tool = await rt.call("write_file", {"path": "other/config.toml", "content": "b = 2\n"})
        result = await run_python(rt, plant("other/config.toml", "other/else.toml"))

    assert tool.problem.code == "protected"
    # Under bubblewrap the file is read-only, so that nothing needs to be put back.
    assert (result.problem is None) == (backend == "bubblewrap")
    assert workspace.read("other/config.toml") == b"a = 1\n"
    assert workspace.read("other/else.toml") == b"evil"


def test_every_row_of_the_table_gives_its_reason():
    for row, reason in {**EXECUTED, **OBEYED}.items():
        assert len(reason.split()) >= 3, row
        assert not row.startswith("/")
