"""A server with the tools that the public conformance suite calls by name, on our own stack.

Guard, sessions, server, runtime and result shapes are the product's. Tools that ask for other
things than approvals exist only here; they answer above the runtime, in `Fixture`.
Run as `python conformance_server.py DIRECTORY`; prints its URL.
"""

import asyncio
import base64
import json
import os
import sys
from typing import Any

from mcp import MCPError
from mcp_types import INVALID_PARAMS, MISSING_REQUIRED_CLIENT_CAPABILITY

import handrail
from handrail.core.results import Image, Output
from handrail.core.tool import Tool
from handrail.host.http_serving import listen, server_url
from handrail.mcp.server import http
from handrail.mcp.server.config import ServerConfig
from handrail.mcp.server.guard import Guard, Tokens
from handrail.mcp.server.http import PATH, HttpAccess, serve_http
from handrail.mcp.server.tool_server import ToolServer

TOKENS = Tokens("c" * 43, "a" * 43)
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
)


@handrail.tool(name="test_simple_text")
def simple_text() -> str:
    """Text."""
    return "This is a simple text response for testing."


@handrail.tool(name="test_image_content")
def image_content() -> Output:
    """An image."""
    return Output("", images=(Image("image/png", PIXEL),))


@handrail.tool(name="test_error_handling")
def error_handling() -> str:
    """Fails."""
    raise handrail.ProblemRaised(
        "unavailable", "This tool intentionally returns an error for testing"
    )


def reporting(name: str, *texts: str) -> Tool[Any]:
    """A tool that reports; a client gets it as progress or as log lines, as it asked."""

    @handrail.tool(name=name)
    async def report(ctx: handrail.ToolContext) -> str:
        """Reports."""
        for text in texts:
            ctx.report(text)
        return "done"

    return report


REPORTING = (
    reporting("test_tool_with_progress", "0/100", "50/100", "100/100"),
    reporting(
        "test_tool_with_logging",
        "Tool execution started",
        "Tool processing data",
        "Tool execution completed",
    ),
    reporting("test_logging_tool", "said"),
)


class Raw(Tool[Any]):
    """A tool that is declared by a schema."""

    effects = handrail.Effects.PURE

    def __init__(self, name: str, schema: dict[str, Any]) -> None:
        self.name = name
        self.summary = name
        self.raw_schema = schema

    async def run(self, args, ctx):
        return Output("done")


class Asks(Raw):
    """A tool that the policy wants a person to approve: the product's own question."""

    def risk(self, args):
        return handrail.Risk.DANGEROUS


ADDRESS = {
    "$anchor": "addressDef",
    "type": "object",
    "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
}
SCHEMA_2020 = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": ADDRESS},
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}
HEADER = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    "required": ["region"],
}
ASKING = (
    "test_elicitation",
    "test_elicitation_sep1034_defaults",
    "test_elicitation_sep1330_enums",
    "test_input_required_result_elicitation",
    "test_input_required_result_request_state",
    "test_input_required_result_multi_round",
    "test_input_required_result_tampered_state",
    "test_input_required_result_sampling",
    "test_input_required_result_list_roots",
    "test_input_required_result_multiple_inputs",
    "test_input_required_result_capabilities",
    "test_missing_capability",
    "test_audio_content",
    "test_embedded_resource",
    "test_multiple_content_types",
    "test_reconnection",
)


def register(runtime) -> None:
    @handrail.tool(name="test_trigger_tool_change")
    def trigger_tool_change() -> str:
        """Brings another tool."""
        count = runtime.registry.count()
        runtime.register(Raw(f"test_new_{count}", {"type": "object", "properties": {}}))
        return "changed"

    for tool in (trigger_tool_change, simple_text, image_content, error_handling, *REPORTING):
        runtime.register(tool)
    runtime.register(Asks("test_streaming_elicitation", {"type": "object", "properties": {}}))
    runtime.register(Raw("json_schema_2020_12_tool", SCHEMA_2020))
    runtime.register(Raw("test_x_mcp_header", HEADER))
    for name in ASKING:
        runtime.register(
            Raw(name, {"type": "object", "properties": {"message": {"type": "string"}}})
        )


def text(said: str) -> dict[str, Any]:
    return {"resultType": "complete", "content": [{"type": "text", "text": said}]}


def form(*names: str, **types: Any) -> dict[str, Any]:
    properties = {name: {"type": "string"} for name in names} | types
    return {"type": "object", "properties": properties, "required": list(properties)}


FORMS = {
    "test_elicitation": form("username", "email"),
    "test_elicitation_sep1034_defaults": form(
        name={"type": "string", "default": "John Doe"},
        age={"type": "integer", "default": 30},
        score={"type": "number", "default": 95.5},
        status={
            "type": "string",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        verified={"type": "boolean", "default": True},
    ),
    "test_elicitation_sep1330_enums": form(
        untitledSingle={"type": "string", "enum": ["option1", "option2", "option3"]},
        titledSingle={
            "type": "string",
            "oneOf": [{"const": f"value{n}", "title": f"Option {n}"} for n in (1, 2, 3)],
        },
        legacyEnum={
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        untitledMulti={
            "type": "array",
            "items": {"type": "string", "enum": ["option1", "option2", "option3"]},
        },
        titledMulti={
            "type": "array",
            "items": {"anyOf": [{"const": f"value{n}", "title": f"Choice {n}"} for n in (1, 2, 3)]},
        },
    ),
}


RESOURCE = {"uri": "test://embedded-resource", "mimeType": "text/plain", "text": "A resource."}
IMAGE = {"type": "image", "mimeType": "image/png", "data": base64.b64encode(PIXEL).decode()}
CONTENTS = {
    "test_audio_content": [{"type": "audio", "data": "UklGRiQAAABXQVZF", "mimeType": "audio/wav"}],
    "test_embedded_resource": [{"type": "resource", "resource": RESOURCE}],
    "test_multiple_content_types": [
        {"type": "text", "text": "Multiple content types test:"},
        IMAGE,
        {"type": "resource", "resource": RESOURCE},
    ],
}


def elicitation(message: str, field: str) -> dict[str, Any]:
    params = {"mode": "form", "message": message, "requestedSchema": form(field)}
    return {"method": "elicitation/create", "params": params}


SAMPLING = {
    "method": "sampling/createMessage",
    "params": {
        "messages": [{"role": "user", "content": {"type": "text", "text": "A question"}}],
        "maxTokens": 50,
    },
}
ROOTS = {"method": "roots/list", "params": {}}
# What each tool asks, round by round.
ROUNDS = {
    "elicitation": [{"user_name": elicitation("What is your name?", "name")}],
    "sampling": [{"capital_question": SAMPLING}],
    "list_roots": [{"client_roots": ROOTS}],
    "request_state": [{"confirm": elicitation("Please confirm", "ok")}],
    "tampered_state": [{"confirm": elicitation("Please confirm", "ok")}],
    "multiple_inputs": [
        {
            "user_name": elicitation("What is your name?", "name"),
            "greeting": SAMPLING,
            "client_roots": ROOTS,
        }
    ],
    "multi_round": [
        {"step1": elicitation("Step 1: What is your name?", "name")},
        {"step2": elicitation("Step 2: What is your favorite color?", "color")},
    ],
    "capabilities": [{"sample": SAMPLING}],
}
WITHOUT_STATE = ("elicitation", "sampling", "list_roots", "capabilities")


class Fixture(ToolServer):
    """The product's server, with answers for tools that it does not have."""

    async def _call(self, ctx, params):
        if params.name in FORMS:
            said = await ctx.session.elicit_form(
                (params.arguments or {}).get("message", "?"), FORMS[params.name], ctx.request_id
            )
            return text(f"User response: action={said.action}, content={json.dumps(said.content)}")
        if params.name in CONTENTS:
            return {"resultType": "complete", "content": CONTENTS[params.name]}
        if params.name == "test_missing_capability":
            needs = {"requiredCapabilities": {"sampling": {}}}
            raise MCPError(MISSING_REQUIRED_CLIENT_CAPABILITY, "sampling is needed", needs)
        if params.name.startswith("test_input_required_result_"):
            return self.rounds(ctx, params)
        return await super()._call(ctx, params)

    def rounds(self, ctx, params):
        name = params.name.removeprefix("test_input_required_result_")
        given, state, rounds = params.input_responses or {}, params.request_state, ROUNDS[name]
        session, reached = self._session(ctx), 0
        if state is not None and session.parked(state) is None:
            raise MCPError(INVALID_PARAMS, "the state is not one of ours")
        if state is not None:
            reached = session.parked(state)
        if rounds[reached].keys() <= given.keys():
            reached += 1
        if reached == len(rounds):
            said = {key: one.model_dump(mode="json", by_alias=True) for key, one in given.items()}
            return text(f"state-ok: {json.dumps(said)}")
        wire = {"resultType": "input_required", "inputRequests": rounds[reached]}
        if name in WITHOUT_STATE:
            return wire
        state = os.urandom(16).hex()
        session.park(state, reached)
        return {**wire, "requestState": state}


class Trusting:
    """The suite cannot send our headers; everything else of the guard stays as it is."""

    def __init__(self, guard: Guard) -> None:
        self.guard = guard

    async def __call__(self, scope, receive, send):
        own = [
            (b"authorization", f"Bearer {TOKENS.calls}".encode()),
            (b"handrail-approval", TOKENS.approvals.encode()),
        ]
        await self.guard({**scope, "headers": [*scope["headers"], *own]}, receive, send)


async def main(root: str) -> None:
    def opens(*, approver, directories, session):
        return handrail.open(root, store=":memory:", mode="auto-safe", approver=approver, config={})

    offer = ServerConfig(open=opens, ready=register)
    http.ToolServer = Fixture
    guarded = http.add_guard
    http.add_guard = lambda app, door, listening: Trusting(guarded(app, door, listening))
    with listen("127.0.0.1:0") as listening:
        print(server_url(listening, PATH), flush=True)
        await serve_http({"": offer}, HttpAccess(TOKENS), listening)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
