"""What an agent did, computed from the results of its calls."""

import pytest

from handrail.agent.report import CommandFacts, ReportBuilder
from handrail.core.agent_results import AgentReport, RefusedCall, ReportedCommand, Verification
from handrail.core.ports.records import CallRecord
from handrail.core.problems import Problem
from handrail.core.results import ChangeRecord, FileRead, Status, ToolResult

TESTS = CommandFacts("make test", runs_tests=True)


def result(call_id="c1", status=Status.OK, *, changed=(), exit_code=None, **more):
    changes = tuple(ChangeRecord(path, "edit", "a", "b") for path in changed)
    meta = {} if exit_code is None else {"exit_code": exit_code}
    return ToolResult(call_id, status, "", changes=changes, meta=meta, **more)


def report(*steps):
    builder = ReportBuilder()
    for number, step in enumerate(steps):
        given, command = step if isinstance(step, tuple) else (step, None)
        builder.add(given, command, number)
    return builder.build()


def test_changes_and_reads_are_listed_once():
    read = result(modifiers=(FileRead("r", "x"), FileRead("r", "y")))
    made = report(result(changed=["a", "b"]), result(changed=["a"]), read)

    assert (made.changes, made.reads) == (("a", "b"), ("r",))


@pytest.mark.parametrize(
    ("status", "unfinished", "refused"),
    [
        (Status.OK, (), ()),
        (Status.UNKNOWN, ("c1",), ()),
        (Status.INTERRUPTED, ("c1",), ()),
        (Status.REFUSED, (), (RefusedCall("c1", "denied"),)),
    ],
)
def test_calls_that_did_not_end_well(status, unfinished, refused):
    made = report(result(status=status))

    assert (made.unfinished, made.refused) == (unfinished, refused)


@pytest.mark.parametrize(
    ("ids", "unfinished"),
    [
        (("c1", "c1#e2.1"), ("c1",)),
        (("c1#e2.1",), ("c1#e2.1",)),
        (("c1#a", "c1#b"), ("c1#a", "c1#b")),
    ],
    ids=["repeated", "only the repetition", "ids with the sign"],
)
def test_a_call_that_was_requested_again_is_named_once(ids, unfinished):
    calls = [result(one, Status.UNKNOWN) for one in ids]

    assert report(*calls).unfinished == unfinished


@pytest.mark.parametrize(
    ("calls", "unfinished"),
    [
        ([("c1", Status.INTERRUPTED), ("c1", Status.OK)], ()),
        ([("c1", Status.UNKNOWN), ("c1", Status.FAILED)], ()),
        ([("c1", Status.OK), ("c1", Status.INTERRUPTED)], ("c1",)),
        ([("c1", Status.INTERRUPTED), ("c2", Status.OK)], ("c1",)),
        ([("c1", Status.UNKNOWN), ("c1#e2.1", Status.OK)], ("c1",)),
        ([("c1", Status.UNKNOWN), ("c1", Status.REFUSED)], ("c1",)),
    ],
    ids=["repeated", "failed", "the end counts", "another", "its recorded result", "refused"],
)
def test_a_call_that_ran_again_under_its_id_is_not_named(calls, unfinished):
    assert report(*(result(*call) for call in calls)).unfinished == unfinished


def test_a_refusal_has_its_code():
    problem = Problem("plan_mode", "not now")

    assert report(result(status=Status.REFUSED, problem=problem)).refused == (
        RefusedCall("c1", "plan_mode"),
    )


def test_a_command_is_listed_with_its_end():
    made = report((result(exit_code=3), CommandFacts("ls", runs_tests=False)))

    assert made.commands == (ReportedCommand("ls", 3, "c1"),)
    assert made.verified == ()


@pytest.mark.parametrize(
    ("given", "command", "verifies"),
    [
        (result(exit_code=0), TESTS, True),
        (result(exit_code=1), TESTS, False),
        (result(), TESTS, False),
        (result(status=Status.FAILED, exit_code=0), TESTS, False),
        (result(exit_code=0), CommandFacts("make test", runs_tests=False), False),
    ],
)
def test_tests_that_succeed_verify_the_work(given, command, verifies):
    assert bool(report((given, command)).verified) is verifies


def test_a_verification_is_current_until_a_file_changes():
    passed = (result(exit_code=0), TESTS)

    assert report(passed).verified[0].is_current
    assert not report(passed, result(changed=["a"])).verified[0].is_current
    assert report(passed, result(changed=["a"]), passed).verified[0].is_current
    assert report(passed, result(changed=["__pycache__/a.pyc"])).verified[0].is_current
    one, two = (report(passed, result(changed=changed)).verified[0] for changed in (["a"], "ab"))
    assert (one.state[:1], two.state[:1]) == ("1", "2")
    assert report(passed).verified[0].at_ns == 0


def test_the_last_run_of_a_command_decides():
    passed, failed = (result(exit_code=0), TESTS), (result(exit_code=1), TESTS)
    other = (result(exit_code=0), CommandFacts("pytest", runs_tests=True))

    assert report(passed, failed).verified == ()
    assert len(report(failed, passed).verified) == 1
    assert len(report(passed, passed).verified) == 1
    assert [one.command for one in report(passed, other).verified] == ["make test", "pytest"]


@pytest.mark.parametrize(
    ("data", "tools"),
    [
        ({"server": "s", "tool": "t", "structured": None}, ("s/t",)),
        ({"server": "s", "tool": "t"}, ()),
        ([], ()),
        (None, ()),
    ],
)
def test_tools_of_servers_are_listed(data, tools):
    assert report(result(data=data)).mcp_tools == tools


def test_calls_are_known_by_their_ids():
    builder = ReportBuilder()
    builder.add(result("c1"), None, 0)

    assert (builder.has_call("c1"), builder.has_call("c2")) == (True, False)


def recorded(tool="edit_file", arguments=None, completed=None):
    requested = {"tool": tool, "arguments": arguments}
    return CallRecord("s", "c1", 1, 5, requested, None, completed, None)


def from_record(*records):
    builder = ReportBuilder()
    for one in records:
        builder.add_recorded(one)
    return builder.build()


def test_a_recorded_call_without_a_result_is_unfinished():
    assert from_record(recorded()).unfinished == ("c1",)


def test_a_recorded_call_tells_what_it_did():
    done = {
        "status": "ok",
        "changes": [["a", "edit", "x", "y"], "odd"],
        "meta": {"exit_code": 2},
    }
    made = from_record(recorded(arguments={"command": "ls"}, completed=done))

    assert made.changes == ("a",)
    assert made.commands == (ReportedCommand("ls", 2, "c1"),)
    refused = {"status": "refused", "problem": {"code": "denied", "message": "no"}, "meta": 5}
    assert from_record(recorded(completed=refused)).refused == (RefusedCall("c1", "denied"),)


def test_a_recorded_command_verifies_nothing():
    done = {"status": "ok", "meta": {"exit_code": 0}}

    assert from_record(recorded(arguments={"command": "make test"}, completed=done)).verified == ()


@pytest.mark.parametrize(
    ("tool", "status", "reads"),
    [
        ("read_file", "ok", ("a",)),
        ("read_file", "failed", ()),
        ("read_file", None, ()),
        ("file_info", "ok", ()),
    ],
)
def test_a_recorded_read(tool, status, reads):
    completed = None if status is None else {"status": status}

    assert from_record(recorded(tool, {"path": "a"}, completed)).reads == reads


@pytest.mark.parametrize(
    ("tool", "status", "tools"),
    [
        ("mcp__s__t", "ok", ("s/t",)),
        ("mcp__s__t__u", "failed", ("s/t__u",)),
        ("mcp__s__t", "refused", ()),
        ("edit_file", "ok", ()),
    ],
)
def test_a_recorded_tool_of_a_server(tool, status, tools):
    assert from_record(recorded(tool, {}, {"status": status})).mcp_tools == tools


def test_what_a_subagent_did_is_done():
    passed = Verification("make test", 7, "current")
    old = Verification("pytest", 7, "1 file changed since")
    child = AgentReport(
        changes=("b",), mcp_tools=("s/t",), verified=(passed, old), agent="x", answer="one"
    )
    builder = ReportBuilder()
    builder.add(result(exit_code=0), CommandFacts("own", runs_tests=True), 1)
    builder.add_child(child)
    made = builder.build()

    assert (made.changes, made.mcp_tools, made.children) == (("b",), ("s/t",), (child,))
    assert [(one.command, one.is_current) for one in made.verified] == [
        ("own", False),
        ("make test", True),
    ]
    builder.add_child(AgentReport(agent="x", answer="two"))
    builder.add_child(AgentReport(agent="y", answer="three", verified=(passed,)))
    assert [one.answer for one in builder.build().children] == ["two", "three"]
    assert [one.command for one in builder.build().verified] == ["own", "make test"]
