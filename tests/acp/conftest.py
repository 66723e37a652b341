"""An editor: the client of the Python SDK, over a socket to the server in this process."""

import asyncio
import socket
from argparse import Namespace
from contextlib import asynccontextmanager
from types import SimpleNamespace

import anyio
import pytest
from acp import connect_to_agent, text_block
from acp.schema import AllowedOutcome, RequestPermissionResponse

from handrail.acp.server import EditorServer
from handrail.cli.commands.agent.acp import editor_services
from handrail.cli.parser import parse

LIMIT_S = 60


def call(name, **arguments):
    """A call of a scripted model."""
    return {"name": name, "arguments": arguments}


EDIT = call("edit_file", path="a.txt", old="one", new="uno")


@pytest.fixture
def root(tmp_path):
    place = tmp_path / "work"
    place.mkdir()
    (place / "a.txt").write_text("one\ntwo\n")
    return place


def choose(option, **meta):
    """The answer of a user who chooses an option."""
    outcome = AllowedOutcome(outcome="selected", option_id=option)
    return RequestPermissionResponse(outcome=outcome, field_meta=meta or None)


class Editor:
    """What an editor shows of one connection; `answer` decides questions."""

    def __init__(self, root):
        self.root = root
        self.updates = []
        self.questions = []
        self.answer = lambda question: choose("yes")
        self.session = None

    def on_connect(self, connection):
        self.agent = connection

    async def session_update(self, session_id, update, **_):
        self.updates.append(update)

    async def request_permission(self, session_id, tool_call, options, **_):
        self.questions.append((tool_call, {one.option_id: one for one in options}))
        answer = self.answer(tool_call)
        return await answer if asyncio.iscoroutine(answer) else answer

    async def open(self):
        """Begin a session."""
        opened = await self.agent.new_session(cwd=str(self.root), mcp_servers=[])
        self.session = opened.session_id
        return opened

    async def prompt(self, text="Go on."):
        """Send a prompt; returns why the agent stopped."""
        with anyio.fail_after(LIMIT_S):
            return (
                await self.agent.prompt(session_id=self.session, prompt=[text_block(text)])
            ).stop_reason

    def of(self, kind):
        """The updates of a kind."""
        return [one for one in self.updates if one.session_update == kind]

    def text(self, kind="agent_message_chunk"):
        """The streamed text of a kind."""
        return "".join(one.content.text for one in self.of(kind))

    def card(self, number=0):
        """The start of a call, and its updates."""
        start = self.of("tool_call")[number]
        changes = self.of("tool_call_update")
        return start, [one for one in changes if one.tool_call_id == start.tool_call_id]


class StreamPipe:
    """A socket as the pipe of the server."""

    def __init__(self, reader, writer):
        self._reader = reader
        self._writer = writer

    async def read(self):
        return await self._reader.read(65536)

    async def write(self, data):
        self._writer.write(data)
        await self._writer.drain()


@asynccontextmanager
async def serving(*words):
    """A server in this process; yields it with the streams of its editor and the task that serves."""
    options = Namespace()
    parse(["acp", *words], options)
    near, far = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=near)
    pipe = StreamPipe(*await asyncio.open_connection(sock=far))
    server = EditorServer(editor_services(options), pipe)
    task = asyncio.ensure_future(server.serve())
    try:
        yield SimpleNamespace(server=server, reader=reader, writer=writer, task=task)
    finally:
        writer.close()
        with anyio.fail_after(LIMIT_S):
            await task
        pipe._writer.close()


@pytest.fixture
def open_editor(root):
    """Connect an editor and begin a session in mode default, unless another one is given."""

    @asynccontextmanager
    async def opened(model, *words, begin=True):
        more = words if "--mode" in words else ("--mode", "default", *words)
        async with serving("--model", model, *more) as served:
            editor = Editor(root)
            editor.served = served
            connection = connect_to_agent(
                editor, served.writer, served.reader, use_unstable_protocol=True
            )
            try:
                editor.agent = connection
                editor.hello = await connection.initialize(protocol_version=1)
                if begin:
                    await editor.open()
                yield editor
            finally:
                await connection.close()

    return opened
