"""Tasks of the page, without a page."""

import asyncio
from contextlib import asynccontextmanager

import anyio

from handrail.ui.conversations import ConversationServices, PageConversations


async def test_closing_returns_when_the_runtime_of_a_task_is_closed():
    opened, closed = asyncio.Event(), []

    @asynccontextmanager
    async def open_runtime(session):
        opened.set()
        try:
            await anyio.sleep_forever()
            yield
        finally:
            # As a runtime whose last rows are written by a thread.
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(lambda: closed.append(session))

    services = ConversationServices(open_runtime, make_agent=None, read_task=None)
    conversations = PageConversations(services, publish=lambda session, event: None)
    name = conversations.start("a task")
    with anyio.fail_after(10):
        await opened.wait()
        await conversations.aclose()

    assert closed == [name]
    assert conversations.running == []
