"""Once a result may have shown a file that holds secrets, every call that sends data to another host
asks the user, whatever rule allows it, for the rest of the session.
"""

import json

import pytest
from tests.models.speaking import model_on

import handrail
from handrail.core.ports.models import ModelLimits
from handrail.testing import FakeProvider, calls, says

pytestmark = pytest.mark.threat("A49")

ALLOWED = ["web_search", "read_file", "grep", "edit_file"]

OFFERED = ["run_command", "web_search"]


async def search(query, limit):
    return []


class Approver:
    """Agrees to everything, and keeps the questions about searches."""

    def __init__(self):
        self.asked = 0

    def __call__(self, request):
        self.asked += request.tool == "web_search"
        return handrail.Answer("yes")


def opened(workspace, approver, **options):
    config = {"permissions": {"allow": ALLOWED}, **options.pop("config", {})}
    options = {"store": ":memory:", "mode": "accept-edits", **options}
    return handrail.open(workspace.root, config=config, approver=approver, search=search, **options)


async def asks(rt, approver):
    before = approver.asked
    result = await rt.call("web_search", {"query": "anything"})
    assert result.ok, result.text
    return approver.asked - before


@handrail.tool(effects=handrail.Effects.OPEN_ENDED)
def own() -> str:
    """Reads whatever it likes."""
    return "text"


@pytest.fixture
def project(workspace):
    workspace.write(".env", "KEY=hunter2\n")
    workspace.write("a.txt", "a line\n")
    workspace.write("sub/server.pem", "-----\n")
    return workspace


READS = [
    ("read_file", {"path": ".env"}),
    ("run_command", {"command": "cat .env"}),
    ("run_command", {"command": "cp .env copy.txt"}),
    ("run_command", {"command": "grep -r KEY ."}),
    ("run_command", {"command": "cat sub/*"}),
    ("run_command", {"command": "sh -c 'cat .e??'"}),
    ("run_command", {"command": "f=.env; cat $f"}),
    ("run_command", {"command": "python3 -c \"print(open('.en' + 'v').read())\""}),
    ("run_command", {"command": "head -n5 $(ls -A)"}),
    ("run_command", {"command": "ls -A | xargs cat"}),
    ("run_command", {"command": "git grep --no-index KEY"}),
    ("run_command", {"command": "cat .env", "background": True}),
    ("grep", {"pattern": "KEY", "path": "."}),
    ("grep", {"pattern": "KEY", "path": ".env"}),
    ("edit_file", {"path": ".env", "old_string": "no such text", "new_string": "x"}),
    ("own", {}),
]


@pytest.mark.parametrize(("tool", "arguments"), READS, ids=lambda one: str(one)[:60])
async def test_whatever_has_shown_a_secret_file_makes_web_calls_ask(project, tool, arguments):
    approver = Approver()
    async with opened(project, approver, tools=[own]) as rt:
        before = await asks(rt, approver)
        await rt.call(tool, arguments)
        after = await asks(rt, approver)

    assert (before, after) == (0, 1)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("read_file", {"path": "a.txt"}),
        ("run_command", {"command": "cat a.txt"}),
        ("run_command", {"command": "ls -la"}),
        ("list_files", {"path": "."}),
        ("find_files", {"pattern": "**/*.pem"}),
        ("grep", {"pattern": "line", "path": "."}),
        ("read_file", {"path": "gone.env.txt"}),
    ],
    ids=lambda one: str(one)[:60],
)
async def test_calls_that_show_no_content_of_such_a_file_do_not(project, tool, arguments):
    approver = Approver()
    async with opened(project, approver) as rt:
        await rt.call(tool, arguments)

        assert await asks(rt, approver) == 0


@pytest.mark.needs_sandbox
async def test_a_program_counts_only_if_there_is_a_secret_that_it_can_see(workspace):
    workspace.write("a.py", "print(1)\n")
    workspace.write("node_modules/x/test.key", "public\n")
    approver = Approver()
    async with opened(workspace, approver) as rt:
        assert (await rt.call("run_command", {"command": "python3 a.py"})).ok
        without = await asks(rt, approver)
        workspace.write("deep/down/id_rsa", "key\n")
        await rt.call("run_command", {"command": "python3 a.py"})
        with_one = await asks(rt, approver)

    assert (without, with_one) == (0, 1)


# Landlock alone hides no single file from programs.
@pytest.mark.needs_bubblewrap
async def test_what_a_rule_hides_from_programs_is_not_shown_by_them(project):
    (project.root / "sub/server.pem").unlink()
    approver, rules = Approver(), {"allow": ALLOWED, "deny": ["read_file(.env)"]}
    async with opened(project, approver, config={"permissions": rules}) as rt:
        ran = await rt.call("run_command", {"command": "python3 -c 'print(1)'"})
        asked = await asks(rt, approver)

    assert (ran.ok, asked) == (True, 0)


async def test_git_shows_only_what_it_tracks(project):
    approver = Approver()
    async with opened(project, approver) as rt:
        await rt.call("run_command", {"command": "git init -q . && git add a.txt"})
        rt.session.secrets_shown = False
        await rt.call("run_command", {"command": "git status"})
        untracked = await asks(rt, approver)
        await rt.call("run_command", {"command": "git add -f .env"})
        rt.session.secrets_shown = False
        await rt.call("run_command", {"command": "git diff --cached"})
        tracked = await asks(rt, approver)

    assert (untracked, tracked) == (0, 1)


async def test_text_of_a_hook_counts_since_a_hook_may_read_anything(project):
    hooks = {"post_tool_use": [{"name": "h", "command": "echo said", "unconfined": True}]}
    approver = Approver()
    async with opened(
        project, approver, config={"permissions": {"allow": ALLOWED}, "hooks": hooks}
    ) as rt:
        assert "said" in (await rt.call("read_file", {"path": "a.txt"})).text

        assert await asks(rt, approver) == 1


async def test_a_named_session_remembers_it_after_a_crash(project):
    approver = Approver()
    async with opened(project, approver, store=None, session="named") as rt:
        await rt.call("run_command", {"command": "cat .env"})
        # It does not wait for an orderly end.
        assert (await rt.store.load_state("named"))["secrets_shown"]
    async with opened(project, approver, store=None, session="named") as rt:
        assert await asks(rt, approver) == 1
    async with opened(project, approver, store=None, session="other") as rt:
        assert await asks(rt, approver) == 0


class TestConversations:
    async def run(self, project, approver, provider, work, session="s", runtime="one"):
        model = model_on(provider, "anthropic")
        model.limits = ModelLimits(context_tokens=14_000, max_output_tokens=1_000)
        async with opened(project, approver, store=None, session=runtime, model=model) as rt:
            found = await work(rt, rt.agent(session=session, allowed=OFFERED))
        await model.aclose()
        return found

    @pytest.mark.parametrize("how", ["resume", "fork", "compact", "rewind", "import"])
    async def test_a_conversation_takes_it_along(self, project, how):
        approver = Approver()

        async def read(rt, agent):
            assert (await agent.run("read it")).status == "done"
            if how == "compact":
                await agent.compact()
            if how == "rewind":
                await agent.rewind(0)
            if how == "fork":
                return (await agent.fork()).session
            return agent.session

        async def go_on(rt, agent):
            before = approver.asked
            assert (await agent.run("search")).status == "done"
            return approver.asked - before

        script = [calls("run_command", command="cat .env"), says("done"), says("a summary")]
        async with FakeProvider(script[: 3 if how == "compact" else 2]) as provider:
            session = await self.run(project, approver, provider, read)
        if how == "import":
            session = await self.reimport(project, session)
        async with FakeProvider([calls("web_search", query="x"), says("done")]) as provider:
            asked = await self.run(project, approver, provider, go_on, session, runtime="two")

        assert asked == 1

    async def reimport(self, project, session):
        from handrail.agent.conversation import load_conversation
        from handrail.agent.session_file import export_conversation, import_conversation

        async with opened(project, Approver(), store=None) as rt:
            kept = await load_conversation(session, rt.store)
            exported = json.loads(json.dumps(export_conversation(kept)))
            await import_conversation(exported, "imported", rt.store, 1).flush()
        return "imported"
