"""Spans and metrics of a runtime, by the SDK's in-memory exporters. The providers of a program can
be set once, so each test runs a program of its own.
"""

import json
import subprocess
import sys

import pytest

from handrail.config.layers.project_policy import SETTING_RULES, ProjectSettingPolicy

PROGRAM = """
import asyncio, json, sys
from opentelemetry import metrics, trace
from opentelemetry.sdk.metrics import MeterProvider
from opentelemetry.sdk.metrics.export import InMemoryMetricReader
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

spans, reader = InMemorySpanExporter(), InMemoryMetricReader()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(spans))
trace.set_tracer_provider(provider)
metrics.set_meter_provider(MeterProvider([reader]))
import handrail

seen = []

def points():
    found = reader.get_metrics_data()
    return {
        one.name: [
            [dict(point.attributes), point.value if hasattr(point, "value") else point.count]
            for point in one.data.data_points
        ]
        for resource in (found.resource_metrics if found else ())
        for scope in resource.scope_metrics
        for one in scope.metrics
    }

async def main():
    root, script, settings = sys.argv[1], sys.argv[2], {"telemetry": sys.argv[3] == "on"}

    def approver(request):
        seen.append(points().get("handrail.approvals.waiting"))
        return False

    opening = handrail.open(root, config=settings, store=":memory:", approver=approver, model=script)
    async with opening as rt:
        result = await rt.agent().run("Fix it")
        with trace.get_tracer("test").start_as_current_span("mine"):
            await rt.call("read_file", {"path": "a.txt"})
    print(json.dumps({
        "status": result.status,
        "waiting": seen,
        "after": points(),
        "spans": [
            {
                "name": one.name,
                "attributes": dict(one.attributes),
                "parent": one.parent and one.parent.span_id,
                "id": one.context.span_id,
                "error": one.status.status_code.name == "ERROR",
            }
            for one in spans.get_finished_spans()
        ],
    }))

asyncio.run(main())
"""
MODEL = [
    {
        "calls": [
            {"name": "read_file", "arguments": {"path": "a.txt"}},
            {"name": "read_file", "arguments": {"path": "none.txt"}},
        ],
        "usage": {"input": 100, "output": 7},
    },
    {
        "calls": [{"name": "write_file", "arguments": {"path": "b.txt", "content": "x"}}],
        "usage": {"input": 110, "output": 9},
    },
    {"text": "Done.", "usage": {"input": 120, "output": 5}},
]


@pytest.fixture
def program(tmp_path):
    """Run the program; returns what it has reported."""
    root = tmp_path / "work"
    root.mkdir()
    (root / "a.txt").write_text("one\n")
    script = tmp_path / "model.jsonl"
    script.write_text("".join(f"{json.dumps(line)}\n" for line in MODEL))

    def run(telemetry):
        done = subprocess.run(
            [sys.executable, "-c", PROGRAM, root, f"script:{script}", telemetry],
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return run


def test_spans_of_agent_requests_and_calls_belong_together(program):
    spans = program("on")["spans"]
    agent = next(one for one in spans if one["name"] == "invoke_agent main")
    below = [one for one in spans if one["parent"] == agent["id"]]
    chats = [one for one in below if one["attributes"]["gen_ai.operation.name"] == "chat"]
    calls = {
        one["attributes"].get("error.type", "ok"): one
        for one in below
        if one["attributes"]["gen_ai.operation.name"] == "execute_tool"
    }

    assert agent["attributes"]["gen_ai.usage.input_tokens"] == 330
    assert [one["attributes"]["gen_ai.usage.output_tokens"] for one in chats] == [7, 9, 5]
    assert set(calls) == {"ok", "not_found", "denied"}
    read, refused = calls["ok"], calls["denied"]
    assert read["name"] == "execute_tool read_file"
    assert read["attributes"]["handrail.verdict"] == "allow"
    assert read["attributes"]["handrail.footprint"][0].startswith("read file:/")
    assert (read["error"], refused["error"]) == (False, True)
    assert refused["attributes"]["handrail.changes"] == 0


def test_a_call_of_the_program_is_below_its_own_span(program):
    spans = program("on")["spans"]
    mine = next(one for one in spans if one["name"] == "mine")
    below = [one["name"] for one in spans if one["parent"] == mine["id"]]

    assert below == ["execute_tool read_file"]


def test_metrics_count_calls_refusals_tokens_and_questions(program):
    found = program("on")
    after = found["after"]

    assert found["waiting"] == [[[{}, 1]]]
    assert after["handrail.approvals.waiting"] == [[{}, 0]]
    assert [{"tool": "read_file", "status": "ok"}, 2] in after["handrail.calls"]
    assert after["handrail.refusals"] == [[{"tool": "write_file", "code": "denied"}, 1]]
    assert [{"type": "input"}, 330] in after["handrail.tokens"]
    assert sum(count for _, count in after["handrail.call.duration"]) == 4


def test_nothing_is_reported_unless_it_is_set(program):
    found = program("off")

    assert found["after"] == {}
    assert [one["name"] for one in found["spans"]] == ["mine"]


def test_a_project_cannot_switch_it_on():
    assert SETTING_RULES["telemetry"].policy is ProjectSettingPolicy.NEVER


BROKEN = """
import asyncio, json, os, sys, threading
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SimpleSpanProcessor, SpanExporter

class Failing(SpanExporter):
    def export(self, spans):
        raise RuntimeError("no such collector")

class Hanging(SpanExporter):
    hangs = threading.Event()

    def export(self, spans):
        self.hangs.set()
        threading.Event().wait()

provider = TracerProvider(shutdown_on_exit=False)
provider.add_span_processor(SimpleSpanProcessor(Failing()))
provider.add_span_processor(BatchSpanProcessor(Hanging(), schedule_delay_millis=1))
trace.set_tracer_provider(provider)
import handrail

async def main():
    async with handrail.open(sys.argv[1], config={"telemetry": True}, store=":memory:") as rt:
        await rt.call("read_file", {"path": "a.txt"})
        await asyncio.to_thread(Hanging.hangs.wait, 60)
        return [(await rt.call("read_file", {"path": "a.txt"})).status for _ in range(5)]

print(json.dumps(asyncio.run(main())), flush=True)
# The thread of the exporter still hangs.
os._exit(0)
"""


def test_an_exporter_that_fails_or_hangs_holds_up_no_call(tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    done = subprocess.run(
        [sys.executable, "-c", BROKEN, tmp_path],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )

    assert json.loads(done.stdout) == ["ok"] * 5, done.stderr
