"""A server of a session: when it is started, compared with its approval, and left alone."""

from types import SimpleNamespace

import mcp_types as types
import pytest

from handrail.core.problems import ProblemRaised, ProblemTemplate
from handrail.mcp.client import connection, service
from handrail.mcp.client.manifest import OTHER_PROGRAM, ServerManifest, ToolRecord
from handrail.mcp.client.server_spec import RemoteServerSpec
from handrail.mcp.client.service import RemoteServer, ResultServices

APPROVED = ServerManifest("f", (ToolRecord("look", "", {}), ToolRecord("hidden", "", {})))
OTHER = ServerManifest("f", (ToolRecord("look", "other", {}),))


class Connection:
    """A connection to a server that behaves as the test says."""

    def __init__(self, manifest=APPROVED, problem=None, declined=()):
        self.manifest, self.problem, self.declined = manifest, problem, declined
        self.ended = self.list_changed = self.closed = False
        self.calls, self.listed, self.opened_with = [], 0, None

    async def open(self, fingerprint):
        self.opened_with = fingerprint
        if self.problem is not None:
            raise self.problem
        return self.manifest

    async def list_again(self):
        self.listed += 1
        self.list_changed = False
        return self.manifest

    async def call(self, tool, arguments, ctx, asker):
        self.calls.append((tool, arguments, asker))
        text = types.TextContent(type="text", text="found")
        return types.CallToolResult(content=[text]), self.declined

    async def close(self):
        self.closed = True


class Clock:
    def __init__(self):
        self.now = 1_000.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(service, "time", clock)
    return clock


class Session:
    """A server and the connections that its starts make, in order."""

    def __init__(self, *connections):
        self.changes = []
        self.waiting = list(connections)
        host = SimpleNamespace(note_change=lambda spec, text: self.changes.append(text))
        spec = RemoteServerSpec("s", ("x",), allow=("look",))
        self.server = RemoteServer(spec, host, APPROVED, ResultServices(str, None, "asker"))

    def start(self, spec, host):
        return self.waiting.pop(0)

    async def call(self, tool="look"):
        return await self.server.call(tool, {"a": 1}, None)

    async def problem(self, tool="look"):
        with pytest.raises(ProblemRaised) as raised:
            await self.call(tool)
        return raised.value.problem


@pytest.fixture
def session(monkeypatch, clock):
    def open_session(*connections):
        made = Session(*connections)
        monkeypatch.setattr(connection, "RemoteConnection", made.start)
        return made

    return open_session


async def test_the_first_call_starts_the_server_and_later_ones_use_it(session):
    running = Connection()
    made = session(running)
    assert made.server.state == "known"

    assert (await made.call()).text == "found"
    assert (await made.call()).text == "found"

    assert made.server.state == "started"
    assert running.opened_with == "f"
    assert running.calls == [("look", {"a": 1}, "asker")] * 2
    assert made.changes == [""]
    await made.server.close()
    assert running.closed
    assert made.server.state == "known"
    await made.server.close()


@pytest.mark.parametrize("tool", ["hidden", "never", "x" * 999])
async def test_a_tool_that_is_not_approved_or_not_allowed_starts_nothing(session, tool):
    problem = await session().problem(tool)

    assert problem.code == "not_found"
    assert len(problem.message) < 400


async def test_questions_that_were_declined_are_told(session):
    output = await session(Connection(declined=("nobody is there", "no"))).call()

    found, *declined = output.text.splitlines()
    assert found == "found"
    assert [line.rpartition(": ")[2] for line in declined] == ["nobody is there]", "no]"]
    assert all("was declined" in line for line in declined)


async def test_a_server_with_other_tools_is_refused_and_ended(session):
    running = Connection(OTHER)
    made = session(running)

    assert (await made.problem()).code == "untrusted"
    assert made.changes == ["removed: hidden; changed: look"]
    assert running.closed
    assert made.server.state == "known"


async def test_a_list_that_changes_is_compared_before_the_next_call(session):
    running = Connection()
    made = session(running)
    await made.call()
    running.list_changed, running.manifest = True, OTHER

    assert (await made.problem()).code == "untrusted"
    assert (await made.problem()).code == "untrusted"
    assert made.server.state == "started"
    assert not running.closed

    running.manifest = APPROVED
    assert (await made.call()).text == "found"
    assert (await made.call()).text == "found"
    assert running.listed == 3
    assert made.changes[-1] == ""


def unavailable():
    return ProblemTemplate("unavailable", "it does not start").error()


async def test_failed_starts_are_repeated_with_growing_pauses(session, clock):
    made = session(*(Connection(problem=unavailable()) for _ in range(20)))

    async def starts():
        left = len(made.waiting)
        await made.problem()
        return len(made.waiting) < left

    assert [await starts(), await starts(), await starts()] == [True, True, False]
    for pause in (1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300):
        clock.now += pause - 0.01
        assert not await starts()
        clock.now += 0.01
        assert await starts()


async def test_a_call_that_succeeds_ends_the_pauses(session, clock):
    failing = [Connection(problem=unavailable()) for _ in range(3)]
    good = [Connection(), Connection()]
    made = session(*failing[:2], good[0], failing[2], good[1])
    await made.problem()
    await made.problem()
    clock.now += 1
    await made.call()
    good[0].ended = True

    assert made.server.state == "known"
    # The end of the connection is the first failure again, the failed start the second.
    await made.problem()
    assert good[0].closed
    assert (await made.problem()).code == "unavailable"
    assert len(made.waiting) == 1
    clock.now += 1
    assert (await made.call()).text == "found"


async def test_another_program_is_no_failure_but_is_noted(session):
    untrusted = ProblemTemplate("untrusted", "other program").error()
    made = session(*(Connection(problem=untrusted) for _ in range(4)))

    assert [(await made.problem()).code for _ in range(4)] == ["untrusted"] * 4
    assert made.changes == [OTHER_PROGRAM] * 4


@pytest.mark.parametrize(("took", "remaining"), [(0, 300), (200, 100), (296, 5), (900, 5)])
async def test_pictures_may_take_the_rest_of_the_time(session, clock, monkeypatch, took, remaining):
    from handrail.core.results import Output
    from handrail.mcp.client import results

    given = []

    async def read(result, server, tool, services, pictures_s):
        given.append((server, tool, pictures_s))
        return Output("x")

    class Slow(Connection):
        async def call(self, *words):
            clock.now += took
            return await super().call(*words)

    monkeypatch.setattr(results, "read_result", read)
    await session(Slow()).call()

    assert given == [("s", "look", remaining)]
