"""A long session that is killed, resumed, switched between modes and made shorter: what was sent once is
never sent differently, unless a compaction says so.
"""

import asyncio
import itertools
import json
import os
import signal
import sys
import tomllib
from hashlib import sha256
from pathlib import Path

import pytest
from tests.models.speaking import WIRES, model_on
from tests.support.waiting import wait_until_async

import handrail
from handrail.assembly.extras.remote_servers import server_specs
from handrail.assembly.extras.server_records import ServerRecords
from handrail.mcp.client.manifest import ServerManifest, ToolRecord
from handrail.mcp.client.server_spec import ServerPlaces
from handrail.models.wires.formats import FORMATS
from handrail.testing import FakeProvider, ProviderFault, calls, says, together

ROOT = Path(__file__).parents[2]
SERVER = ROOT / "tests" / "mcp" / "client" / "hostile_server.py"
SECRET = "hunter2hunter2"
MESSAGES = {"openai-chat": "messages", "openai-responses": "input", "anthropic": "messages"}
CONTEXT_TOKENS, MAX_OUTPUT_TOKENS = 16_000, 1_000
MODES = ("accept-edits", "plan", "default")


def step(number):
    """One turn: mostly reads of long files, now and then something else."""
    kinds = [
        calls("read_file", path=f"f{number % 9}.txt", offset=1 + number % 50),
        calls("grep", pattern=f"{number % 9}", path=f"f{number % 7}.txt"),
        together(
            calls("write_file", path=f"new{number}.txt", content=f"{number}\n"),
            calls("read_file", path=f"f{(number + 1) % 9}.txt", offset=2 + number % 60),
        ),
        calls("todo_write", todos=[{"content": f"task {number}", "status": "pending"}]),
        calls("read_file", path=f"missing{number}.txt"),
    ]
    return calls("read_file", path=".env") if number == 2 else kinds[number % len(kinds)]


def step_with_others(number, small_model):
    """The same, with tools of a server that comes and goes, skills and subagents."""
    others = [
        calls("mcp_call", tool="mcp__demo__act", arguments={"number": number}),
        calls("tool_search", query="act"),
        calls("skill", name="notes"),
        calls("subagent", task=f"look at {number}", agent="explore", model=small_model),
        calls("mcp__demo__act", number=number),
    ]
    return others[number // 2 % len(others)] if number % 2 else step(number)


class LongSession:
    """Runs of `handrail run` in one session, each in a process of its own."""

    def __init__(self, folder, wire, provider):
        self.root = folder / "workspace"
        self.root.mkdir()
        self.root.joinpath(".env").write_text(f"KEY={SECRET}\n")
        for number in range(9):
            lines = "".join(f"{number} line {n} {'x' * 40}\n" for n in range(120))
            self.root.joinpath(f"f{number}.txt").write_text(lines)
        settings = folder / "config" / "handrail" / "config.toml"
        settings.parent.mkdir(parents=True)
        summary = folder / "summary.jsonl"
        summary.write_text('{"text": "A summary."}\n' * 200)
        settings.write_text(
            f'model = "fake"\nsmall_model = "script:{summary}"\nloop_guard = "off"\n'
            'freshness = "off"\n[permissions]\nallow = ["read_file", "grep"]\n[models.fake]\n'
            f'wire = "{wire}"\nbase_url = "{provider.base_url(wire)}"\nmodel = "m"\n'
            f"context_tokens = {CONTEXT_TOKENS}\nmax_output_tokens = {MAX_OUTPUT_TOKENS}\n"
        )
        self.environment = os.environ | {
            "XDG_STATE_HOME": str(folder / "state"),
            "XDG_CONFIG_HOME": str(folder / "config"),
        }
        self.events = []

    async def run(self, *words, mode, kill=None):
        """Run until the end, or until `kill` is true: then the process is killed."""
        out = self.root.parent / "out"
        with out.open("wb") as file:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "handrail", "run", "--json", "--once", "--mode", mode),
                *("--max-steps", "1000", *words),
                cwd=self.root,
                env=self.environment,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=file,
                stderr=file,
            )
            if kill is not None:
                await wait_until_async(kill, 60)
                process.send_signal(signal.SIGKILL)
            code = await asyncio.wait_for(process.wait(), 120)
        lines = [line for line in out.read_text().splitlines() if line.startswith("{")]
        self.events += [json.loads(line) for line in lines if line.endswith("}")]
        assert code == (0 if kill is None else -signal.SIGKILL), out.read_text()[-3_000:]


def sent(request):
    """The messages of a request, without the marks of caches."""
    body = json.dumps(request.body[MESSAGES.get(request.wire, "contents")])
    return json.loads(body.replace(', "cache_control": {"type": "ephemeral"}', ""))


def without_marks(request):
    return json.loads(
        json.dumps(request.body).replace(', "cache_control": {"type": "ephemeral"}', "")
    )


class Others:
    """An MCP server and skills whose files change while the session is resumed again and again."""

    def __init__(self, session):
        self._session = session
        self._settings = session.root.parent / "config" / "handrail" / "config.toml"
        allowed = '"grep", "mcp__demo__act", "skill", "subagent"'
        self._plain = self._settings.read_text().replace('"grep"', allowed)
        words = json.dumps(["-I", str(SERVER), "comes_and_goes"])
        self._table = f'[mcp.servers.demo]\ncommand = "{sys.executable}"\nargs = {words}\n'
        self.change(0)
        config = {"mcp": tomllib.loads(self._table)["mcp"]}
        records = ServerRecords(session.root.parent / "state" / "handrail" / "mcp")
        (spec,) = server_specs(
            handrail.open(session.root, config=config, store=":memory:").loaded.settings,
            session.root,
        ).values()
        places = ServerPlaces([str(session.root)])
        fingerprint = spec.fingerprint(sys.executable, places)
        act = ToolRecord("act", "", {"type": "object"})
        records.save("demo", ServerManifest(fingerprint, (act,)))

    def change(self, number):
        """Before each start: every third time the server is gone, and a skill is added each time."""
        table = "" if number % 3 == 1 else self._table
        self._settings.write_text(self._plain + table)
        for name in ("notes", f"skill-{number}"):
            file = self._settings.parent / "skills" / name / "SKILL.md"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"---\nname: {name}\ndescription: About {name}.\n---\nText.\n")


async def work(folder, wire, turns, kills, others=False):
    steps = [step(number) for number in range(turns)]
    if others:
        small = f"script:{folder / 'summary.jsonl'}"
        steps = [step_with_others(number, small) for number in range(turns)]
    places = [turns * (number + 1) // (kills + 1) for number in range(kills)]
    for place in reversed(places):
        steps.insert(place, ProviderFault("hang", after=30))
    async with FakeProvider([*steps, says("all done")]) as provider:
        session = LongSession(folder, wire, provider)
        beside = Others(session) if others else None
        words, mode = ("--session", "s", "work"), iter(MODES * turns)
        hung = []
        for number, place in enumerate(places):
            # A request that hangs is sent again after the kill.
            expected = place + 1 + number
            await session.run(
                *words, mode=next(mode), kill=lambda n=expected: len(provider.requests) >= n
            )
            hung.append(len(provider.requests) - 1)
            if beside is not None:
                beside.change(number + 1)
            words = ("--resume", "s")
        await session.run(*words, mode="accept-edits")
        return session, provider.requests, hung


def check(session, requests, hung, wire):
    for request in requests:
        FORMATS[wire].check(request.body)
    # A resumed request is the one that the killed process had sent.
    for number in hung:
        assert requests[number].body == requests[number + 1].body
    tools = {sha256(json.dumps(one.body["tools"]).encode()).hexdigest() for one in requests}
    assert len(tools) == 1
    compactions = [one for one in session.events if one["type"] == "context_compress"]
    sizes = [
        one["input_tokens_estimate"] for one in session.events if one["type"] == "model_request"
    ]
    assert max(sizes) <= CONTEXT_TOKENS - MAX_OUTPUT_TOKENS
    changed = [
        number
        for number, (before, after) in enumerate(itertools.pairwise(map(sent, requests)))
        if after[: len(before)] != before
    ]
    assert len(changed) == len(compactions), (changed, len(compactions))
    heads = {
        json.dumps({key: one.body.get(key) for key in ("system", "instructions")})
        for one in map(without_marks_request, requests)
    }
    assert len(heads) == 1
    return compactions


def without_marks_request(request):
    return type(request)(request.wire, request.path, request.headers, without_marks(request))


async def test_a_short_session_with_kills_and_compactions(tmp_path):
    session, requests, hung = await work(tmp_path, "anthropic", turns=40, kills=2)

    assert check(session, requests, hung, "anthropic")
    assert SECRET in json.dumps(requests[4].body)


async def test_a_resumed_task_decides_about_compactions_as_before(tmp_path):
    """The size of requests is corrected by what the provider counted, also after a resume."""
    workspace, events = tmp_path / "workspace", []
    workspace.mkdir()
    workspace.joinpath("a.txt").write_text("x" * 2_000)
    read = calls("read_file", path="a.txt")
    async with FakeProvider([read, read, ProviderFault("hang"), says("done")]) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(workspace, model=model, session="s") as rt:
            work = asyncio.ensure_future(rt.agent(session="s").run("x", on_event=events.append))
            await wait_until_async(lambda: len(provider.requests) == 3)
            work.cancel()
            await asyncio.wait([work])
        async with handrail.open(workspace, model=model, session="s") as rt:
            await rt.agent(session="s").resume(on_event=events.append)
        await model.aclose()

    sizes = [one.input_tokens_estimate for one in events if one.type == "model_request"]
    assert sizes[2] == sizes[3]
    assert provider.requests[2].body == provider.requests[3].body


@pytest.mark.feature("N07")
async def test_servers_skills_and_subagents_change_nothing_that_was_sent(tmp_path):
    session, requests, hung = await work(tmp_path, "anthropic", turns=30, kills=3, others=True)

    check(session, requests, hung, "anthropic")
    done = {one["tool"] for one in session.events if one["type"] == "tool_call_start"}
    assert {"mcp__demo__act", "tool_search", "skill", "subagent"} <= done


@pytest.mark.torture
@pytest.mark.timeout(1200)
async def test_two_hundred_turns_with_servers_skills_and_subagents(tmp_path):
    session, requests, hung = await work(tmp_path, "anthropic", turns=200, kills=6, others=True)

    assert len(check(session, requests, hung, "anthropic")) >= 3


@pytest.mark.torture
@pytest.mark.parametrize("wire", WIRES)
async def test_two_hundred_turns(tmp_path, wire):
    session, requests, hung = await work(tmp_path, wire, turns=200, kills=5)

    assert len(hung) == 5
    assert len(check(session, requests, hung, wire)) >= 3
