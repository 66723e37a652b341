"""Who may do what: modes, protected names, dry run, hooks."""

import pytest

import handrail
from handrail import Effect, ProblemRaised, Rewrite, Status, Verdict

WRITE = ("write_file", {"path": "a.txt", "content": "x"})
READ = ("list_files", {})


@pytest.mark.parametrize(
    ("mode", "write", "read"),
    [
        ("default", "needs_approval", None),
        ("confirm-sensitive", "needs_approval", None),
        ("interactive", "needs_approval", None),
        ("confirm-all", "needs_approval", "needs_approval"),
        ("accept-edits", None, None),
        ("auto-safe", None, None),
        ("strict", None, None),
        ("dont-ask", "denied", None),
        ("bypass", None, None),
        ("yolo", None, None),
    ],
)
async def test_each_mode_asks_for_what_it_says(open_runtime, mode, write, read):
    async with open_runtime(mode=mode) as rt:
        wrote = await rt.call(*WRITE)
        looked = await rt.call(*READ)

    assert (wrote.problem and wrote.problem.code) == write
    assert (looked.problem and looked.problem.code) == read


async def test_an_unknown_mode_is_refused_at_once(workspace):
    with pytest.raises(ProblemRaised) as caught:
        await handrail.open(workspace.root, mode="careless", store=":memory:")

    assert "accept-edits" in caught.value.problem.hint


PROTECTED = [
    ".git/hooks/pre-commit",
    ".GIT/config",
    "vendor/.git",
    "sub/.git/config",
    ".g\u200cit/config",
    ".husky/pre-commit",
    ".vscode/tasks.json",
    ".idea/workspace.xml",
    ".envrc",
    ".mcp.json",
    ".claude/settings.json",
    ".npmrc",
    ".yarnrc.yml",
    "pkg/sitecustomize.py",
    "x/evil.pth",
    ".venv/bin/ls",
    "node_modules/.bin/tsc",
    ".bashrc",
    ".handrail/config.toml",
]


@pytest.mark.feature("I01")
@pytest.mark.parametrize("mode", ["accept-edits", "bypass"])
@pytest.mark.parametrize("path", PROTECTED)
async def test_protected_names_are_not_written_when_nobody_can_be_asked(
    workspace, open_runtime, path, mode
):
    async with open_runtime(mode=mode) as rt:
        result = await rt.call("write_file", {"path": path, "content": "x"})

    assert result.problem.code == "protected"
    assert workspace.tree() == {}


@pytest.mark.parametrize(
    "path",
    ["pyproject.toml", "Makefile", ".gitignore", ".github/workflows/ci.yml", "git/x", ".gitkeep"],
)
async def test_ordinary_names_are_not_protected(workspace, open_runtime, path):
    async with open_runtime() as rt:
        result = await rt.call("write_file", {"path": path, "content": "x"})

    assert result.ok, result.text


async def test_a_protected_name_reached_through_a_link_is_protected(workspace, open_runtime):
    workspace.write(".git/config", "[core]\n")
    (workspace.root / "innocent").symlink_to(".git/config")

    async with open_runtime() as rt:
        result = await rt.call("write_file", {"path": "innocent", "content": "x"})

    assert result.problem.code == "protected"
    assert workspace.read(".git/config") == b"[core]\n"


async def test_a_person_may_allow_a_protected_name(workspace, open_runtime):
    async with open_runtime(allow_protected=[".vscode/*"]) as rt:
        lifted = await rt.call("write_file", {"path": ".vscode/tasks.json", "content": "{}"})
        other = await rt.call("write_file", {"path": ".envrc", "content": ""})

    assert lifted.ok
    assert other.problem.code == "protected"


async def test_a_person_who_is_there_is_asked_about_a_protected_name_even_in_bypass(open_runtime):
    asked = []

    def approver(request):
        asked.append(request.reason)
        return True

    async with open_runtime(mode="bypass", approver=approver) as rt:
        result = await rt.call("write_file", {"path": ".envrc", "content": ""})

    assert result.ok
    assert "protected" in asked[0]


async def test_files_that_agents_obey_are_asked_about_in_asking_modes(open_runtime):
    async with open_runtime(mode="accept-edits") as rt:
        asked = await rt.call("write_file", {"path": "docs/AGENTS.md", "content": "obey"})
    async with open_runtime(mode="bypass") as rt:
        free = await rt.call("write_file", {"path": "docs/AGENTS.md", "content": "obey"})

    assert asked.problem.code == "needs_approval"
    assert free.ok


async def test_handrails_own_environment_is_protected_when_it_lies_in_the_workspace(
    workspace, open_runtime, monkeypatch
):
    monkeypatch.setattr("sys.prefix", str(workspace.root / "env"))

    async with open_runtime() as rt:
        result = await rt.call("write_file", {"path": "env/lib/site.py", "content": "x"})

    assert result.problem.code == "protected"


async def test_a_dry_run_shows_the_plan_and_writes_nothing(workspace, open_runtime):
    workspace.write("a.txt", "old\n")

    async with open_runtime(dry_run=True) as rt:
        edit = {"path": "a.txt", "old_string": "old", "new_string": "new"}
        planned = await rt.call("edit_file", edit)
        read = await rt.call("read_file", {"path": "a.txt"})

    assert planned.status is Status.PLANNED
    assert planned.ok
    assert planned.text.startswith("[DRY-RUN] Would execute: edit_file(")
    assert "+new" in planned.text
    assert read.text == "old"
    assert workspace.read("a.txt") == b"old\n"


@pytest.mark.feature("C12")
async def test_guards_speak_before_hooks_and_a_hook_can_only_tighten(workspace, open_runtime):
    seen = []

    class Watcher:
        async def before(self, call):
            seen.append((call.tool, dict(call.arguments)))
            if call.arguments.get("path") == "secret":
                return Verdict(Effect.DENY, "not that one", "hook")
            if call.arguments.get("path") == "old":
                return Rewrite({"path": "new", "content": "rewritten"})
            if call.arguments.get("path") == "sly":
                return Rewrite({"path": ".git/config", "content": "x"})
            return Verdict(Effect.ALLOW, "fine by me", "hook")

        async def after(self, call, result):
            return f"seen {call.tool}"

    async with open_runtime() as rt:
        rt.hooks.append(Watcher())
        denied = await rt.call("write_file", {"path": "secret", "content": "x"})
        rewritten = await rt.call("write_file", {"path": "old", "content": "x"})
        sly = await rt.call("write_file", {"path": "sly", "content": "x"})
    async with open_runtime(mode="plan") as rt:
        rt.hooks.append(Watcher())
        before = len(seen)
        planned = await rt.call("write_file", {"path": "b", "content": "x"})

    assert denied.text.startswith("Blocked by hook: not")
    assert rewritten.text.endswith("seen write_file")
    assert sly.problem.code == "protected"
    # What is queued has passed the hooks, and passes them again when it is approved.
    assert planned.status is Status.PLANNED
    assert len(seen) == before + 1
    assert workspace.tree() == {"new": b"rewritten"}


async def test_a_pre_hook_that_fails_stops_the_call_and_a_post_hook_cannot(workspace, open_runtime):
    class Broken:
        def __init__(self, where):
            self.where = where

        async def before(self, call):
            if self.where == "before":
                raise RuntimeError("hook bug")

        async def after(self, call, result):
            if self.where == "after":
                raise RuntimeError("hook bug")

    results = {}
    for where in ("before", "after"):
        async with open_runtime() as rt:
            rt.hooks.append(Broken(where))
            results[where] = await rt.call("write_file", {"path": where, "content": "x"})

    assert results["before"].problem.code == "internal"
    assert results["after"].ok
    # The text of an exception is for the user's log, not for the model.
    assert "RuntimeError" in results["after"].text
    assert "hook bug" not in results["after"].text
    assert set(workspace.tree()) == {"after"}


@pytest.mark.parametrize("mode", ["default", "accept-edits", "auto-safe", "confirm-all", "bypass"])
async def test_a_dry_run_does_nothing_that_a_person_would_be_asked_about(open_runtime, mode):
    ran = []

    @handrail.tool(risk=handrail.Risk.DANGEROUS)
    def deploy(config: handrail.ReadPath) -> str:
        """Reads a file and does something dangerous."""
        ran.append(config)
        return "deployed"

    async with open_runtime(mode=mode, dry_run=True, approver=lambda request: True) as rt:
        rt.register(deploy)
        result = await rt.call("deploy", {"config": "a.toml"})

    assert result.status is Status.PLANNED
    assert ran == []


async def test_a_refusal_by_mode_is_on_record_with_its_rule(open_runtime):
    async with open_runtime(mode="plan") as rt:
        await rt.call(*WRITE)
        (record,) = await rt.store.calls(limit=5)

    assert record.completed["cleared"] == ["deny", "mode:plan"]


@pytest.mark.parametrize(
    ("mode", "call", "hint"),
    [
        ("default", WRITE, "--mode accept-edits"),
        ("confirm-all", READ, "--mode default"),
        ("accept-edits", ("write_file", {"path": "AGENTS.md", "content": "x"}), "allow_protected"),
        ("default", ("own", {}), "--mode auto-safe"),
        ("dont-ask", ("wild", {}), None),
    ],
)
async def test_a_refusal_names_the_narrowest_way_to_allow_it(open_runtime, mode, call, hint):
    @handrail.tool
    def own() -> str:
        """May touch anything."""
        return ""

    @handrail.tool(risk=handrail.Risk.DANGEROUS)
    def wild() -> str:
        """Dangerous."""
        return ""

    async with open_runtime(mode=mode) as rt:
        rt.register(own)
        rt.register(wild)
        result = await rt.call(*call)

    assert hint is None or hint in result.problem.hint
    assert "bypass" not in str(result.problem.hint)


@pytest.mark.parametrize("approver", [lambda request: 1 / 0, lambda: True])
async def test_an_approver_that_fails_means_no_and_is_not_blamed_on_the_tool(
    workspace, open_runtime, approver
):
    async with open_runtime(mode="default", approver=approver) as rt:
        result = await rt.call(*WRITE)

    assert result.problem.code == "denied"
    assert "approver failed" in result.text
    assert workspace.tree() == {}


async def test_an_approver_that_cannot_be_asked_is_refused_at_once(workspace):
    with pytest.raises(ProblemRaised, match='use "terminal", "approvals"') as named:
        handrail.open(workspace.root, approver="term")
    with pytest.raises(ProblemRaised, match="can be neither asked nor called"):
        handrail.open(workspace.root, approver=3)

    assert str(named.value).endswith(f"Hint: {named.value.problem.hint}")


async def test_hard_links_are_broken_only_where_the_person_allows_it(workspace, open_runtime):
    import os

    workspace.write("a", "old")
    os.link(workspace.root / "a", workspace.root / "b")

    async with open_runtime() as rt:
        refused = await rt.call("write_file", {"path": "a", "content": "new"})
    async with open_runtime(config={"break_hard_links": True}) as rt:
        allowed = await rt.call("write_file", {"path": "a", "content": "new"})

    assert "break_hard_links" in refused.problem.hint
    assert allowed.ok
    assert workspace.tree() == {"a": b"new", "b": b"old"}


async def test_the_configuration_in_force_is_protected_wherever_it_lies(workspace):
    file = workspace.write("settings.toml", 'mode = "accept-edits"\n')

    async with handrail.open(workspace.root, store=":memory:", config=file) as rt:
        content = 'allow_protected = ["**"]\n'
        result = await rt.call("write_file", {"path": "settings.toml", "content": content})

    assert result.problem.code == "protected"
    assert file.read_text() == 'mode = "accept-edits"\n'


@pytest.mark.parametrize("name", ["base_prefix", "executable"])
async def test_the_interpreter_is_protected_when_it_lies_in_the_workspace(
    workspace, open_runtime, monkeypatch, name
):
    monkeypatch.setattr(f"sys.{name}", str(workspace.root / "python"))

    async with open_runtime(mode="bypass") as rt:
        result = await rt.call("write_file", {"path": "python", "content": "x"})

    assert result.problem.code == "protected"


async def test_what_a_protected_name_leads_to_is_protected_too(workspace, open_runtime):
    workspace.write("env.txt", "A=1\n")
    workspace.write("gitdata/config", "[core]\n")
    (workspace.root / ".envrc").symlink_to("env.txt")
    (workspace.root / ".git").symlink_to("gitdata")

    async with open_runtime(mode="bypass") as rt:
        results = [
            await rt.call("write_file", {"path": path, "content": "x"})
            for path in (".envrc", "env.txt", ".git/config", "gitdata/hooks/pre-commit")
        ]

    assert [one.problem and one.problem.code for one in results] == ["protected"] * 4
    assert workspace.read("env.txt") == b"A=1\n"


@pytest.mark.parametrize("mode", ["default", "plan", "dont-ask"])
async def test_a_tool_that_says_it_could_harm_is_no_safe_read(workspace, open_runtime, mode):
    workspace.write("a.txt", "x")
    sent = []

    @handrail.tool(risk=handrail.Risk.MODERATE)
    def send(attachment: handrail.ReadPath) -> str:
        """Sends a file away."""
        sent.append(attachment)
        return "sent"

    async with open_runtime(mode=mode) as rt:
        rt.register(send)
        result = await rt.call("send", {"attachment": "a.txt"})
        (declared,) = [one for one in rt.declare("mcp") if one["name"] == "send"]

    assert result.status is (Status.PLANNED if mode == "plan" else Status.REFUSED)
    assert sent == []
    assert declared["annotations"]["readOnlyHint"] is False


async def test_a_tool_that_could_harm_is_announced_and_its_paths_are_on_record(
    workspace, open_runtime
):
    workspace.write("a.txt", "x")

    @handrail.tool(risk=handrail.Risk.MODERATE)
    def send(attachment: handrail.ReadPath) -> str:
        """Sends a file away."""
        return "sent"

    async with open_runtime(mode="bypass") as rt:
        rt.register(send)
        result = await rt.call("send", {"attachment": "a.txt"})
        (record,) = await rt.store.calls(limit=1)

    assert result.ok
    assert record.intent["runs"] == "send"
