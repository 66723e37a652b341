"""The page to which a login returns."""

import asyncio

import pytest

from handrail.mcp.client.login_callback import CallbackListener


def port_of(listener):
    return int(listener.url.split(":")[2].partition("/")[0])


async def test_nothing_listens_after_the_login():
    listener = CallbackListener()
    await listener.open()
    port = port_of(listener)
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.close()

    listener.close()

    with pytest.raises(ConnectionRefusedError):
        await asyncio.open_connection("127.0.0.1", port)
    with pytest.raises(asyncio.CancelledError):
        await listener.wait()


async def test_a_listener_that_was_never_opened_is_closed():
    listener = CallbackListener()

    listener.close()

    with pytest.raises(asyncio.CancelledError):
        await listener.wait()
