"""Models on a fake provider, and what is asked of them."""

from handrail.core.ports.models import Message, ModelRequest, SystemPart, TextBlock
from handrail.models.client import Endpoint, RetryPolicy, WireModel
from handrail.models.transport import HttpTransport
from handrail.models.wires.formats import FORMATS
from handrail.models.wires.requests import WireOptions

WIRES = tuple(FORMATS)
TOOL = {
    "name": "write_file",
    "description": "Write a file.",
    "input_schema": {"type": "object", "properties": {"path": {"type": "string"}}},
}
KEY = "sk-test-0123456789"


async def no_sleep(_seconds):
    return


def model_on(server, wire, *, key=KEY, retries=None, headers=None, transport=None):
    async def read_key():
        return key

    return WireModel(
        f"fake-{wire}",
        FORMATS[wire],
        WireOptions("scripted"),
        Endpoint(server.base_url(wire), read_key, headers or {}),
        transport or HttpTransport(),
        retries=retries or RetryPolicy(sleep=no_sleep, idle_s=20),
    )


def asked(*messages, **more):
    first = Message("user", (TextBlock("please"),))
    return ModelRequest((SystemPart("Be brief."),), (first, *messages), (TOOL,), 500, **more)


async def collect(model, request=None):
    try:
        return [event async for event in model.stream(request or asked())]
    finally:
        await model.aclose()
