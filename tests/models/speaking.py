"""Models on a fake provider, and what is asked of them."""

from handrail.core.ports.models import Message, ModelLimits, ModelRequest, SystemPart, TextBlock
from handrail.models.client import Endpoint, WireModel
from handrail.models.retries import RetryPolicy
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


def model_on(
    server, wire, *, key=KEY, retries=None, headers=None, transport=None, stream_retries=5
):
    async def read_key():
        return key

    return WireModel(
        f"fake-{wire}",
        FORMATS[wire],
        WireOptions("scripted"),
        Endpoint(server.base_url(wire), read_key, headers or {}),
        transport or HttpTransport(),
        ModelLimits(stream_retries=stream_retries),
        retries=retries or RetryPolicy(sleep=no_sleep, idle_s=60),
    )


def asked(*messages, **more):
    first = Message("user", (TextBlock("please"),))
    return ModelRequest((SystemPart("Be brief."),), (first, *messages), (TOOL,), 500, **more)


async def collect(model, request=None):
    try:
        return [event async for event in model.stream(request or asked())]
    finally:
        await model.aclose()
