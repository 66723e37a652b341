"""A recorded result is read again only under the rules that hold now, by whom it belongs to."""

import json

import pytest

import handrail
from handrail.core.footprint import reading
from handrail.engine.recording import read_review


@pytest.fixture
def opened(workspace, tmp_path):
    """Runtimes one after the other on one record and one session."""

    def open_again(**config):
        config = {"mode": "bypass", "accept_no_sandbox": True, **config}
        store = tmp_path / "record.db"
        return handrail.open(workspace.root, store=store, session="s", config=config)

    return open_again


def deny(*rules):
    return {"permissions": {"deny": list(rules)}}


CALLS = {
    "read": ("read_file", {"path": "notes.txt"}),
    "spelled": ("read_file", {"path": "./x/../notes.txt"}),
    "linked": ("read_file", {"path": "link.txt"}),
    "grep a file": ("grep", {"pattern": "token", "path": "notes.txt", "output_mode": "content"}),
    "grep a tree": ("grep", {"pattern": "token", "output_mode": "content"}),
    "edit": ("edit_file", {"path": "notes.txt", "old_string": "token", "new_string": "tokens"}),
    "command": ("run_command", {"command": "cat notes.txt"}),
}
RULES = ["read_file(notes.txt)", "Read(./notes.txt)", "grep(notes.txt)", "read_file(*.txt)"]


async def read_a_job(rt):
    started = await rt.call("run_command", {"command": "cat notes.txt", "background": True})
    look = {"job": started.data["job"], "timeout_s": 20}
    shown = await rt.call("job_output", look, id="look")
    assert "token is 7" in shown.text
    return look


@pytest.mark.finding("F17")
@pytest.mark.threat("A14")
@pytest.mark.parametrize("key", ["output_of", "unknown to older versions"])
async def test_what_a_job_has_printed_is_withheld_from_replays_and_handles(
    workspace, opened, monkeypatch, key
):
    monkeypatch.setattr("handrail.tools.commands.job_output.OUTPUT_OF", key)
    workspace.write("notes.txt", "the token is 7\n")

    async with opened() as rt:
        look = await read_a_job(rt)
        before = await rt.call("read_file", {"path": "output:look"}, id="handle")
    async with opened(**deny("Read(notes.txt)")) as rt:
        results = [
            await rt.call("job_output", look, id="look"),
            await rt.call("read_file", {"path": "output:look"}),
            await rt.call("read_file", {"path": "output:handle"}),
            await rt.call("grep", {"pattern": "token", "path": "output:look"}),
        ]

    assert "token is 7" in before.text
    assert [one.problem.code for one in results] == ["denied"] * 4
    assert "token is 7" not in json.dumps([one.to_dict() for one in results])


@pytest.mark.finding("F17")
async def test_a_job_is_read_again_while_no_rule_withholds_it(workspace, opened):
    workspace.write("notes.txt", "the token is 7\n")

    async with opened() as rt:
        look = await read_a_job(rt)
    async with opened(**deny("Read(other.txt)")) as rt:
        again = await rt.call("job_output", look, id="look")
        handle = await rt.call("read_file", {"path": "output:look"})

    assert "token is 7" in again.text
    assert "token is 7" in handle.text


@pytest.mark.finding("F17")
@pytest.mark.threat("A14")
@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("call", CALLS)
async def test_a_replay_shows_nothing_that_a_rule_withholds_by_now(workspace, opened, call, rule):
    workspace.write("notes.txt", "the token is 7\n")
    workspace.write("plain.txt", "token\n")
    (workspace.root / "x").mkdir()
    (workspace.root / "link.txt").symlink_to("notes.txt")

    async with opened() as rt:
        first = await rt.call(*CALLS[call], id="c1")
    (workspace.root / "link.txt").unlink()
    (workspace.root / "link.txt").symlink_to("plain.txt")
    async with opened(**deny(rule)) as rt:
        again = await rt.call(*CALLS[call], id="c1")

    assert first.ok, first.text
    assert again.problem.code == "denied"
    assert "token is 7" not in json.dumps(again.to_dict())


@pytest.mark.finding("F17")
@pytest.mark.threat("A14")
@pytest.mark.parametrize("call", [*CALLS, "listing"])
@pytest.mark.parametrize(
    "config", [deny(), deny("read_file(other.txt)"), deny("write_file(**)")], ids=json.dumps
)
async def test_a_replay_that_no_rule_withholds_is_what_it_was(workspace, opened, call, config):
    workspace.write("notes.txt", "the token is 7\n")
    workspace.write("other.txt", "else\n")
    (workspace.root / "x").mkdir()
    (workspace.root / "link.txt").symlink_to("notes.txt")
    asked = {**CALLS, "listing": ("list_files", {"recursive": True})}[call]

    async with opened() as rt:
        first = await rt.call(*asked, id="c1")
    async with opened(**config) as rt:
        again = await rt.call(*asked, id="c1")

    assert again.text == first.text
    assert again.meta["replayed"]


@pytest.mark.finding("F17")
@pytest.mark.threat("A14")
@pytest.mark.parametrize(("limit", "code"), [(2, "denied"), (3, None)])
async def test_a_result_of_more_paths_than_are_checked_is_withheld(
    workspace, opened, monkeypatch, limit, code
):
    for name in ("a.txt", "b.txt"):
        workspace.write(name, "token\n")
    workspace.write("other.txt", "else\n")
    call = ("grep", {"pattern": "token", "output_mode": "content"})

    async with opened() as rt:
        first = await rt.call(*call, id="c1")
    assert len(list(read_review.list_named_paths(first.data))) == 2
    monkeypatch.setattr(read_review, "MAX_PATHS", limit)
    async with opened(**deny("read_file(other.txt)")) as rt:
        again = await rt.call(*call, id="c1")

    assert (again.problem and again.problem.code) == code


@pytest.mark.finding("F17")
async def test_the_same_rules_as_then_do_not_stand_in_the_way_of_a_replay(workspace, opened):
    workspace.write("notes.txt", "token\n")
    workspace.write("a.txt", "token\n")
    config = deny("read_file(notes.txt)")
    ran = []

    @handrail.tool
    def act() -> str:
        """Acts."""
        ran.append(1)
        return "done"

    async with opened(**config) as rt:
        rt.register(act)
        grep = await rt.call("grep", {"pattern": "token"}, id="g")
        acted = await rt.call("act", id="a")
        again = await rt.call("grep", {"pattern": "token"}, id="g")
        acted_again = await rt.call("act", id="a")

    assert again.text == grep.text
    assert acted_again.text == acted.text == "done"
    assert ran == [1]


@pytest.mark.finding("F17")
@pytest.mark.threat("A14")
async def test_a_result_of_ones_own_tool_is_withheld_if_it_may_hold_what_a_rule_withholds(
    workspace, opened
):
    workspace.write("notes.txt", "the token is 7\n")

    class Everything(handrail.Tool):
        name = "everything"
        summary = "Reads all."
        effects = handrail.Effects.READS_PATHS
        params = handrail.Params

        def footprint(self, args):
            return reading(f"tree:{workspace.root}")

        async def run(self, args, ctx):
            return handrail.Output((workspace.root / "notes.txt").read_text())

    async with opened() as rt:
        rt.register(Everything())
        first = await rt.call("everything", {}, id="c1")
    async with opened(**deny("read_file(notes.txt)")) as rt:
        rt.register(Everything())
        again = await rt.call("everything", {}, id="c1")

    assert first.ok
    assert "token is 7" not in again.text


@pytest.mark.finding("F17")
@pytest.mark.threat("A14")
async def test_a_rule_that_asks_by_now_is_not_passed_by_a_replay(workspace, opened):
    workspace.write("notes.txt", "the token is 7\n")
    config = {"permissions": {"ask": ["read_file(notes.txt)"]}}

    async with opened() as rt:
        await rt.call("read_file", {"path": "notes.txt"}, id="c1")
    async with opened(**config) as rt:
        again = await rt.call("read_file", {"path": "notes.txt"}, id="c1")

    assert again.problem.code == "denied"


@pytest.mark.finding("F17")
@pytest.mark.threat("A14")
async def test_another_agent_gets_nothing_by_a_call_id(workspace, opened):
    workspace.write("a.txt", "hello\n")

    async with opened() as rt:
        await rt.call("read_file", {"path": "a.txt"}, id="c1", agent="one")
        other = await rt.call("read_file", {"path": "a.txt"}, id="c1", agent="two")
        rt.limit_agent("one", ["grep"])
        limited = await rt.call("read_file", {"path": "a.txt"}, id="c1", agent="one")

    assert other.problem.code == "duplicate_id"
    assert not limited.ok


@pytest.mark.finding("F17")
@pytest.mark.threat("A14")
async def test_another_agents_job_shows_it_nothing(workspace, opened):
    async with opened() as rt:
        rt.limit_agent("child", ["run_command", "job_output"], parent="main")
        started = await rt.call(
            "run_command", {"command": "echo hello", "background": True}, agent="child"
        )
        look = {"job": started.data["job"], "offset": 0, "timeout_s": 20}
        own = await rt.call("job_output", look, agent="child")
        above = await rt.call("job_output", look)
        other = await rt.call("job_output", look, agent="other")

    assert "hello" in own.text
    assert "hello" in above.text
    assert other.problem.code == "denied"
