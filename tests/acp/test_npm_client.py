"""The client of the SDK for Node drives `handrail acp`; every message is checked with the schemas that
the SDK is published with.
"""

import json
import subprocess
import sys
from pathlib import Path

import jsonschema
import pytest
from tests.acp.conftest import EDIT, call
from tests.support.machine import load_node_tools

CLIENT = Path(__file__).with_name("npm_client.mjs")
PROGRAM = Path(sys.executable).with_name("handrail")
# Methods that the stable schema does not have yet.
UNSTABLE = {"session/fork"}
KINDS = ("Request", "Response", "Notification")
TODOS = [{"content": "Edit", "status": "in_progress"}]


class Protocol:
    """The definitions of one schema file, by the side that handles a method."""

    def __init__(self, path):
        self._schema = json.loads(path.read_text())
        self._names = {}
        for name, one in self._schema["$defs"].items():
            kind = next((end for end in KINDS if name.endswith(end)), None)
            if "x-method" in one and kind is not None:
                self._names[one["x-side"], one["x-method"], kind] = name

    def check(self, value, *key):
        """Raise unless a value has the shape of this side, method and kind."""
        root = {**self._schema, "$ref": f"#/$defs/{self._names[key]}"}
        root.pop("anyOf")
        jsonschema.Draft202012Validator(root).validate(value)

    def check_message(self, value):
        """Raise unless a value is a message at all."""
        jsonschema.Draft202012Validator(self._schema).validate(value)


def check_messages(messages, stable, unstable):
    """Check every message; returns how many of each kind there were."""
    methods, counts = {}, {}
    for sender, message in messages:
        other = {"client": "agent", "agent": "client"}[sender]
        if "method" in message:
            kind = "Request" if "id" in message else "Notification"
            method, side, value = message["method"], other, message["params"]
            methods[sender, message.get("id")] = method
        else:
            kind, side = "Response", sender
            method, value = methods[other, message["id"]], message.get("result")
        for protocol in [unstable] if method in UNSTABLE else [stable, unstable]:
            protocol.check_message(message)
            if "error" not in message:
                protocol.check(value, side, method, kind)
        counts[method, kind] = counts.get((method, kind), 0) + 1
    return counts


@pytest.mark.needs_mcp_programs
def test_the_sdk_for_node_drives_a_session_to_its_end(root, script, tmp_path):
    tools = load_node_tools()
    sdk = tools.PLACE / "node_modules" / "@agentclientprotocol" / "sdk"
    edit_again = call("edit_file", path="a.txt", old="uno", new="eins")
    model = script(
        {"thinking": "Hm.", "text": "I plan.", "calls": [call("todo_write", todos=TODOS)]},
        {"calls": [call("read_file", path="a.txt"), EDIT]},
        {"calls": [call("write_file", path="b.txt", content="b")]},
        {"text": "Edited."},
        {"calls": [edit_again]},
        {"calls": [edit_again]},
        {"text": "Done."},
    )
    transcript = tmp_path / "transcript.jsonl"
    agent = [PROGRAM, "acp", "--mode", "default", "--model", model]
    unstable_sdk = sdk / "dist" / "v1" / "unstable" / "acp.js"
    done = subprocess.run(
        [tools.node(), CLIENT, unstable_sdk, root, transcript, *agent],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    lines = [json.loads(line) for line in transcript.read_text().splitlines()]

    assert (done.returncode, done.stderr) == (0, "")
    seen = [(line["saw"], line["value"]) for line in lines if "saw" in line]
    assert [value for name, value in seen if name == "stop"] == [
        "end_turn",
        "cancelled",
        "end_turn",
    ]
    assert ("asked", ["yes", "always", "no"]) in seen
    assert {("version", 1), ("forked", True), ("listed", 2), ("refused", -32002)} <= {
        one for one in seen if not isinstance(one[1], list)
    }
    assert (root / "a.txt").read_text() == "eins\ntwo\n"
    assert not (root / "b.txt").exists()
    schemas = [sdk / "schema" / "v1" / name for name in ("schema.json", "schema.unstable.json")]
    protocols = [Protocol(path) for path in schemas]
    messages = [(line["from"], line["message"]) for line in lines if "from" in line]
    counts = check_messages(messages, *protocols)
    # The check notices a card without a title.
    cards = [one for one in messages if '"tool_call"' in json.dumps(one)]
    del cards[0][1]["params"]["update"]["title"]
    with pytest.raises(jsonschema.ValidationError):
        check_messages(messages, *protocols)
    assert counts["session/request_permission", "Response"] == 3
    assert counts["session/prompt", "Response"] == 4
    assert counts["session/cancel", "Notification"] == 1
    shown = {value for name, value in seen if name == "update"}
    assert {"plan", "tool_call", "tool_call_update", "agent_thought_chunk", "usage_update"} <= shown
    assert {"agent_message_chunk", "user_message_chunk"} <= shown
